"""The subscribing end of a run: it acknowledges as its QoS asks, and sees that nothing is missing."""

from __future__ import annotations

import select
import socket

import numpy as np

from bench.mqtt._end import End
from bench.mqtt._layout import Check, Layout, Lost, Numbers, Rows
from bench.mqtt._packets import PUBACK, PUBCOMP, PUBREC, PUBREL


class Subscriber(End):
    """Takes messages of QoS 0 and 1; `delivered` counts them, `delays_ns` are of those that say when they were sent."""

    def __init__(
        self, link: socket.socket, poll: select.epoll, layout: Layout, publishers: int, *, timed: bool = False
    ) -> None:
        super().__init__(link, poll)
        self._layout = layout
        self._check = Check(layout, publishers)
        self._emptied = 0  # messages that are no longer in the buffer
        self._acked = 0  # of those in the buffer
        self.delivered = 0
        self._timed = timed
        self._arrivals: list[tuple[int, int]] = []  # how many messages had come by when
        self._sent_ns: list[Numbers] = []

    @property
    def settled(self) -> int:
        """Messages with which nothing is left to do."""
        return self.delivered

    def readable(self) -> int:
        got = super().readable()
        if self._timed:
            self._arrivals.append((self.delivered, self._read_ns))
        return got

    def delays_ns(self, since_ns: int) -> Numbers:
        """Those of the messages that were sent since then."""
        self._empty()
        counts = np.diff([count for count, _ in self._arrivals], prepend=0)
        sent = np.concatenate(self._sent_ns)
        delays: Numbers = np.repeat([now for _, now in self._arrivals], counts) - sent
        return delays[sent >= since_ns]

    def _advance(self) -> None:
        size, whole = self._layout.size, self._filled // self._layout.size
        self.delivered = self._emptied + whole
        if self._layout.qos and whole > self._acked:
            buffer, first = self._buffer, self._acked * size + self._layout.id_at
            self.send(b"".join([PUBACK + buffer[at : at + 2] for at in range(first, whole * size, size)]))
        self._acked = whole

    def _empty(self) -> None:
        whole = self._filled // self._layout.size
        self._see(np.frombuffer(self._buffer, self._layout.row, whole))
        self._keep_from(whole * self._layout.size)
        self._emptied += whole
        self._acked = 0

    def _see(self, rows: Rows) -> None:
        self._check.see(rows)
        if self._timed:
            self._sent_ns.append(rows["time_ns"].astype(np.int64))


class ExactSubscriber(Subscriber):
    """Takes messages of QoS 2, between which the broker's PUBRELs stand."""

    def __init__(
        self, link: socket.socket, poll: select.epoll, layout: Layout, publishers: int, *, timed: bool = False
    ) -> None:
        super().__init__(link, poll, layout, publishers, timed=timed)
        self._starts: list[int] = []  # of the messages in the buffer
        self._at = 0  # up to here the buffer has been answered
        self._released = 0

    @property
    def settled(self) -> int:
        return self._released

    def _advance(self) -> None:
        buffer, at, end, size = self._buffer, self._at, self._filled, self._layout.size
        kind, id_at, release = self._layout.kind, self._layout.id_at, PUBREL[0]
        answers: list[bytes] = []
        starts = self._starts
        before = len(starts)
        while at + 4 <= end:
            if buffer[at] == kind:
                if at + size > end:
                    break
                starts.append(at)
                answers.append(PUBREC + buffer[at + id_at : at + id_at + 2])
                at += size
            elif buffer[at] == release:
                answers.append(PUBCOMP + buffer[at + 2 : at + 4])
                self._released += 1
                at += 4
            else:
                raise Lost(f"a packet of kind {buffer[at]:#x} came where a message or PUBREL was due")
        self._at = at
        self.delivered += len(starts) - before
        if answers:
            self.send(b"".join(answers))

    def _empty(self) -> None:
        fronts = np.array(self._starts, np.int64)[:, None] + np.arange(self._layout.front_bytes)
        self._see(self._octets[fronts].view(self._layout.front).reshape(-1))
        self._keep_from(self._at)
        self._at = 0
        self._starts.clear()
