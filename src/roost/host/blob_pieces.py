"""Large blobs piece by piece: fetched while they are taken, each packet verified outside and inside, never whole.

A member that carries keeps the packets as they pass, and takes from there what is all there already.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from roost.errors import BadPacket, NoKey
from roost.naming import Name
from roost.pubsub.blobs.encapsulation import application_name, final_segment, unwrap
from roost.pubsub.blobs.items import Item
from roost.pubsub.blobs.sealing import BlobOpening
from roost.pubsub.discovery import EXACT
from roost.pubsub.fetch_effects import FetchSettings
from roost.wire import Data
from roost.wire.data import decode_data

AHEAD: Final = 256  # packets that are asked for, or here and not taken


@dataclass(frozen=True, slots=True)
class Shelf:
    """What a member carries, by item and segment, and whether it opens what is sealed."""

    held: Callable[[Item, int], bytes | None]
    keep: Callable[[Item, Data], None]
    reads_sealed: bool


@dataclass(frozen=True, slots=True)
class Pieces:
    """How a face gets verified Data and segments of each layer, and verifies what was had otherwise."""

    fetch_one: Callable[[Name, tuple[Name, ...]], Awaitable[Data]]  # of the application's
    fetch_inner: Callable[[Name, FetchSettings], AsyncGenerator[Data, None]]
    fetch: Callable[[Name, FetchSettings], AsyncGenerator[Data, None]]  # of the transport's
    verify_inner: Callable[[Data], Awaitable[None]]
    verify_outer: Callable[[Data], Awaitable[None]]
    verify: Callable[[Data], Awaitable[None]]  # of what a mule tells
    opening: BlobOpening

    async def of(self, item: Item, shelf: Shelf) -> AsyncGenerator[bytes, None]:
        """The blob of an item, in order; what is sealed stays so for who reads nothing that is sealed."""
        if item.pieces_at is None:
            yield item.blob
            return
        async for outer in self._packets(item, item.pieces_at, shelf):
            inner = unwrap(outer)
            await self.verify_inner(inner)
            if application_name(inner) != item.name:
                raise BadPacket(f"{inner.name} came as a piece of {item.name}, which it is not")
            shelf.keep(item, outer)
            piece = self.opening.open(outer.name, inner.content) if shelf.reads_sealed else inner.content
            if isinstance(piece, str):
                raise NoKey(f"{item.name} cannot be read further: its content key is not here, or not for us")
            yield piece

    async def _packets(self, item: Item, name: Name, shelf: Shelf) -> AsyncGenerator[Data, None]:
        """All of them from here, or all of them as they come."""
        first = shelf.held(item, 0)
        final = -1 if first is None else final_segment(decode_data(first))
        if final < 0 or any(shelf.held(item, number) is None for number in range(final + 1)):
            settings = FetchSettings(discovery=EXACT, capacity=AHEAD, hints=item.hints)
            async with contextlib.aclosing(self.fetch(name, settings)) as coming:
                async for outer in coming:
                    yield outer
            return
        for number in range(final + 1):
            wire = shelf.held(item, number)
            if wire is None:
                raise BadPacket(f"{item.name} was given up while it was taken: there is no room for all of it here")
            yield decode_data(wire)
