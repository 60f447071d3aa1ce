"""What lies between two places, cut into what tasks read: stretches of streams with what they need to become rows.

A partition is a stable set of streams: a stream is in the same one of n partitions for ever, whatever is read, so that
its repo's caches and its rows stay together. Few rows are one partition, because each costs a task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from zlib import crc32

from roost.pipeline.input import Input
from roost.pipeline.place import CORRECTIONS, Place, Run, within, without
from roost.pipeline.release import Planner

ROWS_PER_PARTITION: Final = 20_000  # below that, a second task costs more than it brings


class Unit(NamedTuple):
    """Numbers low to high of one stream; those in `missing` are rows without a value, nobody is asked for them.

    In windows: what the numbers belong to lies in `first` to `last`, and of `open_from` and later ones the stream may
    still have more. `corrections` is how many corrections of this stream are to be taken into account, and `correction`
    the number of the correction that this is for, 0 if it is none.
    """

    input: str
    stream: str
    low: int
    high: int
    missing: tuple[Run, ...] = ()
    key: str = ""
    first: int = 0
    last: int = -1
    is_new: bool = False  # nothing of this stream has been handed out before
    open_from: int = -1
    correction: int = 0
    corrections: int = 0

    @property
    def rows(self) -> int:
        """About how many rows it makes."""
        return max(0, self.high - self.low + 1)

    @property
    def brief(self) -> tuple[Any, ...]:
        """The arguments to make it of: fewer where it is plain, because there may be tens of thousands to send."""
        return self[:_PLAIN] if self[_PLAIN:] == _PLAINLY else tuple(self)


_PLAINLY: Final = tuple(Unit._field_defaults.values())
_PLAIN: Final = len(Unit._fields) - len(_PLAINLY)  # what a unit without windows needs


def units(planner: Planner, start: Place, end: Place) -> Iterator[Unit]:
    """Everything between two places."""
    if start == end:
        return
    if planner.input.window_ns:
        yield from _windows(planner, start, end)
        return
    name, before = planner.input.name, start.numbers
    moved = [stream for stream, number in end.numbers.items() if before.get(stream, 0) < number]
    for stream in sorted(dict.fromkeys([*moved, *sorted(start.holes.keys() & end.numbers.keys())])):
        low, high = start.number(stream) + 1, end.numbers[stream]
        if not (start.holes or end.holes):
            yield Unit(name, stream, low, high)
            continue
        holes = end.holes.get(stream, ())
        for run in [
            *without(start.holes.get(stream, ()), holes),
            *without([(low, high)] if low <= high else (), holes),
        ]:
            yield Unit(name, stream, *run)


def _windows(planner: Planner, start: Place, end: Place) -> Iterator[Unit]:
    wanted = planner.input
    done: dict[str, int] = {}  # by stream, up to where corrections have read it
    for redo in end.redo:
        for stream, low, high in redo.parts:
            done[stream] = max(done.get(stream, 0), high)
            yield _unit(wanted, end, redo.key, stream, low, high, redo.window, redo.window, redo.correction)
    for stream in sorted(end.numbers):
        key = planner.key(stream)
        if key is None:
            continue
        first, last = start.windows.get(key, end.begun - 1) + 1, end.windows.get(key, -1)
        low = max(start.number(stream), done.get(stream, 0)) + 1
        if first <= last:
            is_new = start.number(stream) == 0
            yield _unit(wanted, end, key, stream, low, end.numbers[stream], first, last, 0, is_new=is_new)


def _unit(
    wanted: Input,
    end: Place,
    key: str,
    stream: str,
    low: int,
    high: int,
    first: int,
    last: int,
    correction: int,
    *,
    is_new: bool = False,
) -> Unit:
    return Unit(
        wanted.name,
        stream,
        low,
        high,
        within(end.holes.get(stream, ()), low, high),
        key,
        first,
        last,
        is_new,
        end.open.get(stream, -1),
        correction,
        end.numbers.get(stream + CORRECTIONS, 0),
    )


def partitions(found: list[Unit], most: int) -> list[list[Unit]]:
    """Share units out among at most so many partitions, all units of a stream to the same one."""
    total = sum(unit.rows for unit in found)
    count = max(1, min(most, total // ROWS_PER_PARTITION + 1))
    if count == 1:
        return [found] if found else []
    shares: dict[int, list[Unit]] = defaultdict(list)
    for unit in found:
        # A share of `most` first, and these folded: whatever the count, streams that were together stay together.
        shares[crc32(unit.stream.encode()) % most % count].append(unit)
    return [shares[number] for number in sorted(shares)]
