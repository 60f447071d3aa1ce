"""Unix and TCP faces: non-blocking sockets on the event loop, without asyncio's streams in between.

One read per readiness event, one `send` of the joined bytes per batch. What the peer does not take waits in a bounded
queue of whole packets. Framing is in `roost.host.framing`, addresses in `roost.host.address`.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Final, TypeAlias

from roost.errors import BadPacket
from roost.forwarding.face import FaceSpec
from roost.host.framing import Framer
from roost.host.transport import MAX_QUEUE_BYTES, READ_BYTES, STREAM_BATCH, Counters, Owner


class _Room(threading.local):
    """One buffer for all reads of a thread: two loops that share one would read over each other.

    Asking `recv` for so much maps and unmaps memory every time, which costs more than the copy.
    """

    def __init__(self) -> None:
        self.view: Final = memoryview(bytearray(READ_BYTES))


_room: Final = _Room()

Describe: TypeAlias = Callable[[socket.socket], FaceSpec]


class StreamTransport:
    """One connected stream socket; it reads from the moment `start` is called."""

    def __init__(self, sock: socket.socket, spec: FaceSpec, owner: Owner, limit: int = MAX_QUEUE_BYTES) -> None:
        sock.settimeout(0)
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _keep_alive(sock)
        self.spec: Final = spec
        self.counters: Final = Counters()
        self._sock: Final = sock
        self._owner: Final = owner
        self._limit: Final = limit
        self._loop: Final = asyncio.get_running_loop()
        self._framer: Final = Framer()
        self._queue = bytearray()  # bound: limit
        self._open = True
        self._writable_end = True

    def start(self) -> None:
        """Begin to read, unless the owner has closed it already."""
        if self._open:
            self._loop.add_reader(self._sock, self._readable)

    @property
    def queued_bytes(self) -> int:
        """What the peer has not taken yet."""
        return len(self._queue)

    def send(self, packets: list[bytes]) -> None:
        """Write a batch, with one system call if the peer keeps up."""
        if not self._open or not self._writable_end:
            self.counters.dropped += len(packets)
            return
        if self._queue:
            self._enqueue(packets)
            return
        wire = b"".join(packets) if len(packets) > 1 else packets[0]
        try:
            sent = self._sock.send(wire)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            # The other end is gone. What it sent before is still to be read; reading finds the end and closes.
            self._writable_end = False
            self.counters.dropped += len(packets)
            return
        if sent == len(wire):
            self.counters.out_packets += len(packets)
            self.counters.out_bytes += sent
            return
        for index, packet in enumerate(packets):
            if sent < len(packet):
                # The first of the rest may be half sent already: it must stay, whatever the bound says.
                self._queue += packet[sent:]
                self.counters.out_packets += index + 1
                self._loop.add_writer(self._sock, self._writable)
                self._enqueue(packets[index + 1 :])
                return
            sent -= len(packet)

    def close(self) -> None:
        """Close without telling the owner."""
        if self._open:
            self._open = False
            self._loop.remove_reader(self._sock)
            self._loop.remove_writer(self._sock)
            self._sock.close()

    def _enqueue(self, packets: list[bytes]) -> None:
        for packet in packets:
            if len(self._queue) + len(packet) > self._limit:
                self.counters.dropped += 1
            else:
                self._queue += packet
                self.counters.out_packets += 1

    def _readable(self) -> None:
        view = _room.view
        try:
            size = self._sock.recv_into(view)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._fail(f"reading failed: {error.strerror}")
            return
        if not size:
            self._fail("the other end closed it")
            return
        chunk = bytes(view[:size])
        packets: list[bytes] = []
        reason = ""
        try:
            self._framer.feed(chunk, packets)
        except BadPacket as error:
            reason = f"it sent what is not a packet: {error}"
        self.counters.in_bytes += len(chunk)
        self.counters.in_packets += len(packets)
        for low in range(0, len(packets), STREAM_BATCH):
            self._owner.arrived([(self, packets[low : low + STREAM_BATCH])])
        if reason:
            self._fail(reason)

    def _writable(self) -> None:
        try:
            sent = self._sock.send(self._queue)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._writable_end = False
            self._queue.clear()
            self._loop.remove_writer(self._sock)
            return
        self.counters.out_bytes += sent
        del self._queue[:sent]
        if not self._queue:
            self._loop.remove_writer(self._sock)

    def _fail(self, reason: str) -> None:
        if self._open:
            self.close()
            self._owner.closed(self, reason)


def _keep_alive(sock: socket.socket) -> None:
    """Have the system find out within a minute that the other end vanished without a word."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("KEEPIDLE", 30), ("KEEPINTVL", 10), ("KEEPCNT", 3), ("USER_TIMEOUT", 60_000)):
        number = getattr(socket, f"TCP_{option}", None)  # not every system has them all
        if number is not None:
            sock.setsockopt(socket.IPPROTO_TCP, number, value)


class StreamListener:
    """Accepts connections on a listening socket and hands each to the owner as an on-demand face."""

    def __init__(self, sock: socket.socket, owner: Owner, describe: Describe) -> None:
        sock.settimeout(0)
        self._sock: Final = sock
        self._owner: Final = owner
        self._describe: Final = describe
        self._loop: Final = asyncio.get_running_loop()
        self._loop.add_reader(sock, self._acceptable)
        self._paused: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Accept no more."""
        if self._paused is not None:
            self._paused.cancel()
        self._loop.remove_reader(self._sock)
        self._sock.close()

    def _acceptable(self) -> None:
        try:
            sock, _ = self._sock.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError:
            # Out of file descriptors: the listener would be ready for ever, so look away for a second.
            self._loop.remove_reader(self._sock)
            self._paused = self._loop.call_later(1.0, self._loop.add_reader, self._sock, self._acceptable)
            return
        try:
            transport = StreamTransport(sock, self._describe(sock), self._owner)
        except OSError:  # gone before we looked
            sock.close()
            return
        self._owner.accepted(transport)
        transport.start()
