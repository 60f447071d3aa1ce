"""Sealed readings of a group, opened with the keys of the face that got them.

What no key here opens is handed on as it came, and says so (`Arrival.sealed`): to leave it out would be a silent gap. A
content key that could not be had is not asked for again for a while: it may be that its publisher lets us read later.
"""

from __future__ import annotations

import asyncio
from typing import Final

from roost.errors import BadPacket, Untrusted
from roost.host.sealed import SealedReader
from roost.pubsub.consumers.arrival import Arrival, unsealed
from roost.trust.access import parse_sealed

CLOSED_S: Final = 30.0
MAX_CLOSED: Final = 4096


class Unsealing:
    """Opens what it can."""

    def __init__(self, reader: SealedReader) -> None:
        self.forgotten = 0  # keys that were to be left alone, and of which there were too many
        self._reader: Final = reader
        self._closed: Final[dict[bytes, float]] = {}  # by content key, until when; bound: MAX_CLOSED

    async def opened(self, arrival: Arrival) -> Arrival:
        """The reading, opened if it is sealed and that can be done."""
        if not arrival.sealed:
            return arrival
        try:
            key = parse_sealed(arrival.data.content)[2].value
        except BadPacket:
            return arrival
        if asyncio.get_running_loop().time() < self._closed.get(key, 0):
            return arrival
        try:
            return unsealed(arrival, await self._reader.open(arrival.data))
        except Untrusted:  # `NoKey` is one
            self._close(key)
            return arrival

    def _close(self, key: bytes) -> None:
        if len(self._closed) >= MAX_CLOSED:
            del self._closed[next(iter(self._closed))]
            self.forgotten += 1
        self._closed[key] = asyncio.get_running_loop().time() + CLOSED_S
