"""Blobs without subscribing: by their numbers, or by the names that applications gave them [SVS-PS §8].

By number a blob comes as a subscription gets it. By name the inner packets come, from whoever has them. Such names lead
nowhere by themselves, so Interests have a forwarding hint: to one producer, or to all members of a group that carry. A
blob of one packet has the name itself, a larger one segments below it; which it is nobody knows before, so both are
asked for. A name should be used once: of one that was used again, whoever answers has its last one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from roost.errors import BadPacket, InvalidInput, NoKey, RoostError, TimedOut, Untrusted
from roost.machine import Effect
from roost.naming import Name
from roost.naming.conventions import segment
from roost.pubsub.blobs.encapsulation import application_name, final_segment, segment_of
from roost.pubsub.blobs.items import Disbelieved, Item
from roost.pubsub.blobs.member import BlobMember
from roost.pubsub.blobs.names import VERSION_0
from roost.pubsub.blobs.obtaining import MAX_WHOLE_BYTES, Key
from roost.pubsub.blobs.sealing import BlobOpening
from roost.pubsub.discovery import EXACT
from roost.pubsub.fetch_effects import FetchSettings
from roost.wire import Data
from roost.wire.data import decode_data
from roost.wire.envelope import SEALED
from roost.wire.segment import SEGMENT_BYTES

if TYPE_CHECKING:
    from roost.host.blobs import BlobGroup


@dataclass(frozen=True, slots=True)
class Found:
    """A blob that was had by its name, and whose key signed it as it says; None: a digest only."""

    name: Name
    blob: bytes
    signer: Name | None


async def find_number(group: BlobGroup, producer: Name, number: int) -> Found:
    """Get what a producer published with a number: from here, from itself, or from members that carry it."""
    part = group.part
    stream = part.newest(producer)
    if stream is None:
        raise InvalidInput(f"nothing was heard of {producer} yet: it is no member of {group.name}, or we just joined")
    packets, content = part.publisher.kept.packets(number), part.publisher.kept.content(number)
    if stream == part.publisher.stream and packets is not None and content is not None:
        inner = decode_data(packets.inner(0))
        return Found(application_name(inner), bytes(content), inner.signature.key_name)
    key = stream, number
    outcome: Item | Disbelieved | None = None
    for held in (False, True):
        future: asyncio.Future[Item | Disbelieved | None] = asyncio.get_running_loop().create_future()
        group.act(partial(_obtain, part, key, future, held=held))
        try:
            outcome = await future
        finally:
            future.cancel()
        if isinstance(outcome, Item):
            break
    if isinstance(outcome, Disbelieved):
        raise Untrusted(outcome.reason)
    if outcome is None:
        raise TimedOut(f"number {number} of {producer} is not to be had: neither it nor anybody who carries it answers")
    if outcome.pieces_at is not None:
        raise InvalidInput(f"{outcome.name} is too large to be had whole: subscribe to it with in_pieces=True")
    if outcome.sealed:
        raise NoKey(f"{outcome.name} is sealed, and not for us")
    return Found(outcome.name, outcome.blob, outcome.signer)


def _obtain(
    part: BlobMember, key: Key, future: asyncio.Future[Item | Disbelieved | None], now: int, *, held: bool
) -> list[Effect]:
    def then(outcome: Item | Disbelieved | None, now: int) -> list[Effect]:  # noqa: ARG001  a continuation
        if not future.done():
            future.set_result(outcome)
        return []

    return part.subscriber.obtain(key, then, lambda: not future.done(), now, held=held)


@dataclass(frozen=True, slots=True)
class Finder:
    """How a member gets verified Data by hints, and what it has itself."""

    here: Callable[[Name], bytes | None]
    fetch: Callable[[Name, tuple[Name, ...]], Awaitable[Data]]
    fetch_segments: Callable[[Name, FetchSettings], AsyncGenerator[Data, None]]
    opening: BlobOpening

    async def find(self, name: Name, hints: tuple[Name, ...], outer_names: Iterable[Name]) -> Found:
        """Get what is called so; if it is sealed, it is opened as a piece of one of `outer_names`."""
        first = await self._first(name, hints)
        pieces = [first.content]
        if segment_of(first) >= 0 and final_segment(first) != 0:
            if final_segment(first) * SEGMENT_BYTES > MAX_WHOLE_BYTES:
                raise InvalidInput(f"{name} is too large to be had whole: subscribe to it with in_pieces=True")
            pieces = self._all_here(name, final_segment(first)) or await self._all_there(name, hints)
        if any(piece[:1] == bytes([SEALED]) for piece in pieces):
            pieces = self._opened(first, pieces, outer_names)
        return Found(name, b"".join(pieces), first.signature.key_name)

    def _all_here(self, name: Name, final: int) -> list[bytes]:
        found = [self.here(name / VERSION_0 / segment(number)) for number in range(final + 1)]
        pieces = [decode_data(wire).content for wire in found if wire is not None]
        return pieces if len(pieces) == len(found) else []

    async def _all_there(self, name: Name, hints: tuple[Name, ...]) -> list[bytes]:
        settings = FetchSettings(discovery=EXACT, hints=hints)
        async with contextlib.aclosing(self.fetch_segments(name / VERSION_0, settings)) as segments:
            return [data.content async for data in segments]

    async def _first(self, name: Name, hints: tuple[Name, ...]) -> Data:
        """Whichever of the two forms comes."""
        names = name, name / VERSION_0 / segment(0)
        for wire in map(self.here, names):
            if wire is not None:
                return decode_data(wire)
        asking = [asyncio.ensure_future(self.fetch(each, hints)) for each in names]
        try:
            for done in asyncio.as_completed(asking):
                with contextlib.suppress(RoostError):
                    return await done
            return asking[0].result()
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)

    def _opened(self, first: Data, pieces: list[bytes], outer_names: Iterable[Name]) -> list[bytes]:
        several = segment_of(first) >= 0
        for outer in outer_names:
            with contextlib.suppress(BadPacket):
                names = [outer / VERSION_0 / segment(at) if several else outer for at in range(len(pieces))]
                opened = [self.opening.open(at, piece) for at, piece in zip(names, pieces, strict=True)]
                if not any(isinstance(piece, str) for piece in opened):
                    return [piece for piece in opened if isinstance(piece, bytes)]
        raise NoKey(f"{first.name} is sealed, and its content key or its number is not known here: subscribe to it")
