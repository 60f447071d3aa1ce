"""How `roost mule` gets what a group has: until all is here that there was, or until nothing comes for a while."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import TYPE_CHECKING

from roost.errors import RoostError

if TYPE_CHECKING:
    from roost.cli._progress import Progress
    from roost.host.blobs import BlobGroup, Since
    from roost.pubsub.blobs.items import Item
    from roost.sync.port import Stream


async def unless_stopped(work: Coroutine[None, None, None]) -> None:
    """Work until it is done, or we are told to stop: what comes then is still done, unless we are told once more."""
    try:
        await work
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()


def want(
    group: BlobGroup, topics: list[str], max_bytes: int, *, since: Since | None = None, latest: bool = False
) -> None:
    """Subscribe to topics, or to everything, and to content keys; whatever comes, the member carries it."""

    async def take(item: Item) -> None:
        if item.pieces_at is None:
            return
        if item.size_bytes > max_bytes:
            group.warn("%s has %d bytes, more than a mule carries", item.name, item.size_bytes)
            return
        try:
            async with contextlib.aclosing(group.pieces(item)) as pieces:
                async for _ in pieces:
                    pass
        except RoostError as error:
            group.warn("%s is carried in part: %s", item.name, error)

    for topic in topics or ["/"]:
        group.subscribe(topic, take, since=since, latest=latest, in_order=False)
    group.part.want_keys()
    group.act(group.part.subscriber.resume)


async def collect(
    group: BlobGroup, highs: dict[Stream, int], wait_s: float, at_most_s: float, progress: Progress
) -> None:
    """Listen for a while, and get what there is by then; `highs` takes up to which numbers that is.

    It is over when all of it is here, when nothing of it came for so long, or it took too long.
    """
    subscriber = group.part.subscriber
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(at_most_s):
            await _passed(wait_s)
            highs.update(subscriber.highs)
            before: tuple[int, int, int] | None = None
            while (state := _state(group, highs)) != before and (state[0] or subscriber.untaken):
                before = state
                progress.say(group.part.carried, "packets")
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await group.until(lambda: _state(group, highs)[0] != before[0])  # noqa: B023  in this turn
    progress.end()


def _state(group: BlobGroup, highs: dict[Stream, int]) -> tuple[int, int, int]:
    """What is lacking, what came of it, and, while somebody takes pieces, of those."""
    subscriber = group.part.subscriber
    pieces = group.part.ever_carried if subscriber.untaken else 0
    return subscriber.lacking(highs), subscriber.pieces(highs), pieces


async def settled(group: BlobGroup, wait_s: float, at_most_s: float) -> None:
    """Wait until nothing new has come for a while, but no longer than at most."""
    part = group.part
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(at_most_s):
            before = -1
            while part.ever_carried != before:
                before = part.ever_carried
                await _passed(wait_s)


async def _passed(seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()
