"""The publishing end of a run: packets made ahead, and acknowledgements checked when it is over."""

from __future__ import annotations

import select
import socket
from typing import Final

import numpy as np

from bench.mqtt._end import End
from bench.mqtt._layout import LAST_ID, Layout, Lost, Numbers, ids_of
from bench.mqtt._packets import PUBACK, PUBCOMP, PUBREC, PUBREL

_BLOCK_BYTES: Final = 64 << 10


class Publisher(End):
    """Publishes to a topic of its own; `acked` counts what the broker has taken over, with QoS 0 all of it."""

    def __init__(self, link: socket.socket, poll: select.epoll, layout: Layout, number: int) -> None:
        super().__init__(link, poll)
        self._layout = layout
        self._block = max(8, _BLOCK_BYTES // layout.size)
        self._rows = layout.rows(number, self._block)
        self._packets = memoryview(self._rows.view(np.uint8).data)
        self._at = 0  # in the block
        self.sent = 0
        self._acked = 0
        self._answered = 0  # bytes of the buffer
        self._heard: list[Numbers] = []  # acknowledgements, as they came

    @property
    def acked(self) -> int:
        return self._acked if self._layout.qos else self.sent

    def publish(self, count: int) -> None:
        self.sent += count
        size = self._layout.size
        while count:
            if self._at == self._block:
                self._layout.renumber(self._rows, self._rows["number"] + self._block)
                self._at = 0
            taken = min(count, self._block - self._at)
            self.send(self._packets[self._at * size : (self._at + taken) * size])
            self._at += taken
            count -= taken

    def publish_one(self, now_ns: int) -> None:
        """Publish one message that says when."""
        self._rows["time_ns"][self._at % self._block] = now_ns
        self.publish(1)

    def _advance(self) -> None:
        whole = self._filled & ~3
        if self._layout.qos == 1:
            self._acked += (whole - self._answered) // 4
        else:
            buffer, received = self._buffer, PUBREC[0]
            ids = [buffer[at + 2 : at + 4] for at in range(self._answered, whole, 4) if buffer[at] == received]
            self._acked += (whole - self._answered) // 4 - len(ids)
            if ids:
                self.send(b"".join([PUBREL + one for one in ids]))
        self._answered = whole

    def _empty(self) -> None:
        self._heard.append(np.frombuffer(self._buffer, ">u4", self._answered // 4).astype(np.uint32))
        self._keep_from(self._answered)
        self._answered = 0

    def verify(self) -> None:
        """Every message was acknowledged once, in each step that its QoS has, and nothing else was said."""
        super().verify()
        heard = np.concatenate(self._heard)
        kinds = [(), (PUBACK,), (PUBREC, PUBCOMP)][self._layout.qos]
        due = np.bincount(ids_of(np.arange(self.sent)), minlength=LAST_ID + 1)
        for kind in kinds:
            ids = heard[heard >> 16 == int.from_bytes(kind, "big")] & 0xFFFF
            if not (np.bincount(ids, minlength=LAST_ID + 1) == due).all():
                raise Lost(f"a message got {kind.hex()} twice or not at all")
        if len(heard) != len(kinds) * self.sent:
            raise Lost("a publisher got something else than acknowledgements")
