"""Stream transports of two event loops, each in a thread of its own, as a program with a synchronous face has them."""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

from roost.host.address import describe_stream
from roost.host.stream import StreamTransport
from roost.host.transport import Batch, Transport
from roost.wire import tlv

PACKETS = 20_000
SIZE = 1000


class Owner:
    """Counts the packets that are as they were sent."""

    def __init__(self, packet: bytes, done: asyncio.Event) -> None:
        self.right = 0
        self.reasons: list[str] = []
        self._packet = packet
        self._done = done

    def accepted(self, transport: Transport) -> None:
        raise AssertionError(transport)

    def arrived(self, batch: Batch) -> None:
        self.right += sum(packet == self._packet for _, packets in batch for packet in packets)
        if self.right == PACKETS:
            self._done.set()

    def closed(self, transport: Transport, reason: str) -> None:
        assert isinstance(transport, StreamTransport)
        self.reasons.append(reason)
        self._done.set()


async def _received(packet: bytes) -> tuple[int, list[str]]:
    ours, theirs = socket.socketpair()
    done = asyncio.Event()
    owner = Owner(packet, done)
    transport = StreamTransport(ours, describe_stream(ours), owner)
    transport.start()

    def send() -> None:
        with theirs:
            theirs.sendall(packet * PACKETS)
            theirs.recv(1)  # until the other end is closed

    sending = threading.Thread(target=send)
    sending.start()
    await done.wait()
    transport.close()
    sending.join()
    return owner.right, owner.reasons


def test_what_one_loop_reads_never_gets_into_what_another_one_reads() -> None:
    packets = [tlv.tlv(tlv.DATA, bytes([letter]) * SIZE) for letter in b"ab"]
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda packet: asyncio.run(_received(packet)), packets))
    assert found == [(PACKETS, [])] * 2
