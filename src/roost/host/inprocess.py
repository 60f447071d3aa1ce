"""Two ends of a face inside one process: what one sends arrives at the other in the next turn of the event loop.

Delivery is never in the same call, so neither end's machine is entered twice. Both ends are local by nature.
"""

from __future__ import annotations

import asyncio
from typing import Final

from roost.forwarding.face import FaceSpec
from roost.host.transport import MAX_QUEUE_BYTES, Counters, Owner


class InProcessTransport:
    """One end; made in pairs by `in_process_pair`."""

    def __init__(self, owner: Owner, name: str) -> None:
        self.spec: Final = FaceSpec(f"internal://{name}", "internal://node", local=True)
        self.counters: Final = Counters()
        self.queued_bytes = 0
        self.peer: InProcessTransport | None = None
        self._owner: Final = owner
        self._loop: Final = asyncio.get_running_loop()
        self._inbox: list[bytes] = []  # bound: MAX_QUEUE_BYTES, counted by the sender

    def send(self, packets: list[bytes]) -> None:
        """Write a batch into the other end's inbox."""
        peer = self.peer
        if peer is None:
            self.counters.dropped += len(packets)
            return
        if not peer._inbox:
            self._loop.call_soon(peer._deliver)
        for packet in packets:
            if self.queued_bytes + len(packet) > MAX_QUEUE_BYTES:
                self.counters.dropped += 1
                continue
            self.queued_bytes += len(packet)
            self.counters.out_packets += 1
            self.counters.out_bytes += len(packet)
            peer._inbox.append(packet)

    def close(self) -> None:
        """Close both ends; the other one is told in the next turn."""
        peer, self.peer = self.peer, None
        if peer is not None:
            peer.peer = None
            self._loop.call_soon(peer._owner.closed, peer, "the other end closed it")

    def _deliver(self) -> None:
        packets, self._inbox = self._inbox, []
        if not packets or self.peer is None:
            return
        self.peer.queued_bytes = 0
        self.counters.in_packets += len(packets)
        self.counters.in_bytes += sum(map(len, packets))
        self._owner.arrived([(self, packets)])


def in_process_pair(one: Owner, other: Owner, name: str = "app") -> tuple[InProcessTransport, InProcessTransport]:
    """Make two connected ends."""
    left, right = InProcessTransport(one, name), InProcessTransport(other, name)
    left.peer, right.peer = right, left
    return left, right
