"""A face of the node and the transport behind it, which may come and go while the face stays.

On-demand faces end with their transport. Persistent ones that were dialled are dialled again, later each time. The node
is told that they are down, and asks others; what it sends all the same is dropped and counted.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from roost.forwarding.face import ON_DEMAND, FaceSpec
from roost.host.address import Address
from roost.host.transport import CONGESTED_BYTES, Transport

FIRST_PAUSE_S: Final = 0.5
LAST_PAUSE_S: Final = 10.0  # how long a node that is back may be missed


class Pauses:
    """How long to wait before dialling again: longer each time."""

    __slots__ = ("_next_s",)

    def __init__(self) -> None:
        self._next_s = FIRST_PAUSE_S

    def next(self) -> float:
        """Return the pause before the next try."""
        pause, self._next_s = self._next_s, min(LAST_PAUSE_S, self._next_s * 2)
        return pause


class Watcher(Protocol):
    """Who keeps a face and wants to know whether it is up."""

    def face_up(self, face: int, spec: FaceSpec, now: int) -> None: ...
    def face_down(self, face: int, reason: str, now: int) -> None: ...


class Attachment:
    """One face; `address` is where to dial again, None if the other end came to us."""

    __slots__ = ("address", "congested", "dropped", "face", "persistency", "redial", "transport", "watcher")

    def __init__(self, face: int, transport: Transport, address: Address | None, persistency: int) -> None:
        self.face: Final = face
        self.address: Final = address
        self.persistency: Final = persistency
        self.transport: Transport | None = transport
        self.congested = False
        self.dropped = 0
        self.watcher: Watcher | None = None
        self.redial: asyncio.Task[None] | None = None

    @property
    def stays(self) -> bool:
        """Whether the face outlives its transport."""
        return self.address is not None and self.persistency != ON_DEMAND

    def send(self, packets: list[bytes]) -> int:
        """Write a batch; returns the queue to report to the node, or -1 when there is nothing new to say of it."""
        transport = self.transport
        if transport is None:
            self.dropped += len(packets)
            return -1
        transport.send(packets)
        queued = transport.queued_bytes
        if queued > CONGESTED_BYTES or self.congested:
            self.congested = queued > CONGESTED_BYTES
            return queued
        return -1

    def close(self) -> None:
        """Close for good."""
        if self.redial is not None:
            self.redial.cancel()
        if self.transport is not None:
            self.transport.close()
            self.transport = None
