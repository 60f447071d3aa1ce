"""What a transport is to those who use it, and what it tells them: the port between sockets and machines.

A transport carries link packets of one face. Its owner (the node's server, or a client's session) gets everything that
one readiness event brought as one batch, and writes to a transport at most once per batch. A transport never blocks and
never waits: what the other end does not take is queued up to a bound, then dropped and counted, so that a slow peer
delays nobody else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from roost.forwarding.face import FaceSpec

MAX_QUEUE_BYTES: Final = 4 << 20
CONGESTED_BYTES: Final = 1 << 16  # NFD's default congestion threshold
STREAM_BATCH: Final = 128  # packets of a stream handled before writing, so that the next hop can begin meanwhile
READ_BYTES: Final = 1 << 18
MAX_BATCH: Final = 256  # datagrams per readiness event, so that one busy face lets the others in


@dataclass(slots=True)
class Counters:
    """What went through a transport, and what did not."""

    in_packets: int = 0
    in_bytes: int = 0
    out_packets: int = 0
    out_bytes: int = 0
    dropped: int = 0  # the queue was full, or the socket refused the packet


class Transport(Protocol):
    """One face's way to the other end."""

    @property
    def spec(self) -> FaceSpec: ...
    @property
    def counters(self) -> Counters: ...
    @property
    def queued_bytes(self) -> int: ...
    def send(self, packets: list[bytes]) -> None: ...
    def close(self) -> None: ...


@runtime_checkable
class Lingering(Protocol):
    """A transport whose end takes a moment: a closing handshake that has to be waited for before the loop ends."""

    async def wait_closed(self) -> None: ...


Batch = list[tuple[Transport, list[bytes]]]


class Owner(Protocol):
    """Whom a transport or listener tells what happens. None of these may raise or wait."""

    def accepted(self, transport: Transport) -> None: ...
    def arrived(self, batch: Batch) -> None: ...
    def closed(self, transport: Transport, reason: str) -> None: ...


async def wait_closed(*transports: object) -> None:
    """Wait for those among transports that were closed and whose end takes a moment."""
    for transport in transports:
        if isinstance(transport, Lingering):
            await transport.wait_closed()
