"""Readings of a file into a group, none of them twice: what the group has of the same stream, time and value stays out.

A file that was replayed before, whole or in part, adds only what is missing. Readings that were measured at the same
time with the same value are counted, so that a file with two of them brings two. The panel's outbox is on the disk: if
the command is killed, what it had taken over is sent by the next run, before anything is compared. What came from files
before is numbered as it was published, which may have been in any order of time, so a stream is read to its beginning.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from roost.errors import RoostError
from roost.naming import Name

if TYPE_CHECKING:
    from roost.cli._replay_rows import Row
    from roost.host.publishing import RunningPanel
    from roost.host.streams import StreamGroup

BATCH: Final = 500
_PAGE: Final = 1_000
MAX_STREAMS: Final = 10_000

Known = tuple[int, bool, object]  # when, whether it is true or false, which a 1 or a 0 is not, and what


class Replay:
    """One run: `sent` and `skipped` count rows."""

    def __init__(self, group: StreamGroup, panel: RunningPanel, speed: float | None) -> None:
        self.sent = 0
        self.skipped = 0
        self.streams: Final[dict[str, Name]] = {}  # bound: MAX_STREAMS
        self._group: Final = group
        self._panel: Final = panel
        self._speed: Final = speed
        self._there: Final[dict[Name, Counter[Known]]] = {}  # from the file's first time on; bound: what the group has

    async def prepare(self, first: dict[str, int]) -> None:
        """See what the group has of these streams, from their first times in the file on."""
        if len(first) > MAX_STREAMS:
            raise RoostError(
                f"the file has {len(first)} streams, and {MAX_STREAMS} at most go into one panel: cut it up"
            )
        self.streams.update({stream: self._panel.stream(stream) for stream in first})
        await self._panel.flush()
        held = await self._group.streams(self._panel.name)
        for stream, begin in first.items():
            name = self.streams[stream]
            self._there[name] = await self._read(name, held.get(name, 0), begin)

    async def _read(self, stream: Name, highest: int, begin: int) -> Counter[Known]:
        """All of it, page by page; what is older is not kept."""
        found: Counter[Known] = Counter()
        for low in range(1, highest + 1, _PAGE):
            readings = await self._group.read(stream, low, min(highest, low + _PAGE - 1))
            found.update(_known(each.event_time, each.value) for each in readings if each.event_time >= begin)
        return found

    async def send(self, rows: Iterable[Row], told: Callable[[int], None]) -> None:
        """Publish what is missing, at once or as fast as it was measured, times the speed."""
        waiting: list[Row] = []
        loop = asyncio.get_running_loop()
        began, first = loop.time(), 0
        for number, row in enumerate(rows, 1):
            told(number)
            there = self._there[self.streams[row.stream]]
            known = _known(row.time, row.value)
            if there[known] > 0:
                there[known] -= 1
                self.skipped += 1
                continue
            if self._speed is not None:
                first = first or row.time
                wait = began + (row.time - first) / 1e9 / self._speed - loop.time()
                if wait > 0:
                    await self._publish(waiting)
                    await asyncio.sleep(wait)
            waiting.append(row)
            if len(waiting) >= BATCH:
                await self._publish(waiting)
        await self._publish(waiting)
        await self._panel.flush()

    async def _publish(self, waiting: list[Row]) -> None:
        if waiting:
            panel = self._panel
            await panel.publish_many(
                [
                    (self.streams[row.stream], panel.reading(row.value, unit=row.unit, time_ns=row.time))
                    for row in waiting
                ]
            )
            self.sent += len(waiting)
            waiting.clear()


def _known(time: int, value: object) -> Known:
    """What tells a reading from others of its stream."""
    return (time, isinstance(value, bool), value)
