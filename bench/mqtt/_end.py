"""A connection of a run under epoll, which never blocks: what the broker does not take waits here, in order.

It does little while the clock runs: what comes is answered and counted, and looked at only when the buffer is full or
the run is over.
"""

from __future__ import annotations

import select
import socket
import time
from typing import Final

import numpy as np

from bench.mqtt._layout import Lost

BUFFER_BYTES: Final = 512 << 10
_LOW_ROOM_BYTES: Final = 64 << 10


class End:
    """One connection under epoll."""

    def __init__(self, link: socket.socket, poll: select.epoll) -> None:
        self._socket: Final = link
        self._socket.setblocking(False)  # noqa: FBT003  the socket's own spelling
        self._poll = poll
        self._waiting = bytearray()
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._octets = np.frombuffer(self._buffer, np.uint8)
        self._filled = 0
        self._read_ns = 0  # when the newest of it came
        poll.register(self._socket, select.EPOLLIN)

    def fileno(self) -> int:
        return self._socket.fileno()

    def readable(self) -> int:
        """Take what has come; returns how many bytes."""
        got = self._socket.recv_into(self._view[self._filled :])
        if not got:
            raise Lost("the broker closed a connection")
        self._read_ns = time.perf_counter_ns()
        self._filled += got
        self._advance()
        if len(self._buffer) - self._filled < _LOW_ROOM_BYTES:
            self._empty()
        return got

    def send(self, data: bytes | memoryview) -> None:
        if self._waiting:
            self._waiting += data
            return
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            self._waiting += data[sent:]
            self._poll.modify(self._socket, select.EPOLLIN | select.EPOLLOUT)

    def writable(self) -> None:
        """Send more of what waits."""
        del self._waiting[: self._socket.send(self._waiting)]
        if not self._waiting:
            self._poll.modify(self._socket, select.EPOLLIN)

    def verify(self) -> None:
        """Look at everything that has not been looked at yet."""
        self._empty()

    def close(self) -> None:
        self._poll.unregister(self._socket)
        self._socket.close()

    def _advance(self) -> None:
        """Answer and count what is new in the buffer."""
        raise NotImplementedError

    def _empty(self) -> None:
        """Check what is in the buffer and keep only a packet that is not whole yet."""
        raise NotImplementedError

    def _keep_from(self, at: int) -> None:
        self._view[: self._filled - at] = self._view[at : self._filled]
        self._filled -= at
