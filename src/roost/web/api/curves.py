"""Times and values of a stream as columns of numbers, by the hundred thousand; what was read once is remembered.

    numbers 1 … 4096 │ 4097 … 8192 │ …      a block of which nothing is missing never changes, so it is kept

A day of readings every ten seconds is three blocks. They are decoded as the pipeline decodes them (`roost.columns`):
the value of a pack or an object is its first number. What is sealed, or what roles may hide, is read one by one as
subscribers get it, and not remembered. Times are in microseconds here. Work is done a little at a time, so that the
node does its other work in between.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roost.columns.decoding import decode
from roost.columns.readings import SEALED
from roost.naming import Name
from roost.web.api.lookout import Lookout
from roost.web.api.tables import number_of
from roost.web.api.wording import measured
from roost.web.index_rows import StreamRow

BLOCK: Final = 4096
PIECE: Final = 1024  # readings that are read and decoded in one turn
FEW: Final = 64  # the same where they are read one by one
MAX_BLOCKS: Final = 2048  # 200 MB, if all are whole

Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]


class Curve(NamedTuple):
    """Readings by number, each with its time, -1 where nobody can read it, and its value, NaN where it is no number."""

    numbers: Integers
    times_us: Integers
    values: Floats
    unit: str

    def chosen(self, kept: Bools) -> Curve:
        """Some of them."""
        if kept.all():
            return self
        return Curve(self.numbers[kept], self.times_us[kept], self.values[kept], self.unit)

    def between(self, low: int, begin: int, end: int) -> Curve:
        """Those from a number on, and from a time to a time in ns, both inclusive."""
        times = self.times_us
        return self.chosen((self.numbers >= low) & (times >= max(0, begin // 1000)) & (times <= end // 1000))

    def drawn(self) -> Curve:
        """Those that have a number as their value."""
        return self.chosen(np.isfinite(self.values))


EMPTY: Final = Curve(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), "")


def joined(curves: list[Curve]) -> Curve:
    """Several as one."""
    if len(curves) < 2:
        return curves[0] if curves else EMPTY
    numbers, times, values = (np.concatenate([each[at] for each in curves]) for at in range(3))
    return Curve(numbers, times, values, next((each.unit for each in reversed(curves) if each.unit), ""))


class Curves:
    """Those of all streams."""

    def __init__(self, lookout: Lookout) -> None:
        self.hits = 0
        self.misses = 0
        self._lookout: Final = lookout
        self._warming: asyncio.Task[None] | None = None
        self._blocks: Final[OrderedDict[tuple[StreamRow, int], Curve]] = OrderedDict()  # bound: MAX_BLOCKS

    async def read(self, user: bytes, row: StreamRow, low: int, begin: int, end: int) -> Curve:
        """The readings of a stream from a number on, and from a time to a time."""
        await self.warm_up()
        found: list[Curve] = []
        at = (low - 1) // BLOCK
        while at * BLOCK < row.number:
            block = await self._block(user, row, at)
            inside = block.between(low, begin, end)
            found.append(inside)
            if len(block.numbers) and not len(inside.numbers) and int(block.times_us.min()) > end // 1000:
                break
            at += 1
        return joined(found)

    async def warm_up(self) -> None:
        """Have imported what decoding takes, which is long, and not in the event loop."""
        if self._warming is None:
            self._warming = asyncio.create_task(asyncio.to_thread(_warm_up))
        await asyncio.shield(self._warming)

    async def _block(self, user: bytes, row: StreamRow, at: int) -> Curve:
        low, high = at * BLOCK + 1, min((at + 1) * BLOCK, row.number)
        is_judged = row.virtual and self._lookout.views.has_roles
        holdings = row.group.repo.shelf.holdings
        known = None if is_judged or holdings.dropped(row.name, low, high) else self._blocks.get((row, at))
        if known is not None:
            self.hits += 1
            self._blocks.move_to_end((row, at))
            return known
        self.misses += 1
        curves: list[Curve] = []
        is_plain = not is_judged
        for first in range(low, high + 1, PIECE):
            packets = row.group.repo.store.range(row.name, first, min(high, first + PIECE - 1), PIECE)
            curve = None if is_judged else _decoded(row, packets)
            if curve is None:
                is_plain = False
                curve = await self._one_by_one(user, row, first, min(high, first + PIECE - 1))
            curves.append(curve)
            await asyncio.sleep(0)
        block = joined(curves)
        if is_plain and len(block.numbers) == BLOCK:
            while len(self._blocks) >= MAX_BLOCKS:
                self._blocks.popitem(last=False)
            self._blocks[row, at] = block
        return block

    async def _one_by_one(self, user: bytes, row: StreamRow, low: int, high: int) -> Curve:
        found: list[tuple[int, int, float]] = []
        unit = ""
        for first in range(low, high + 1, FEW):
            last = min(high, first + FEW - 1)
            for number, message in self._lookout.reader.messages(row, first, last, FEW):
                if message is None or self._lookout.views.hides(user, message):
                    found.append((number, -1, math.nan))
                    continue
                shown = self._lookout.reader.shown(row, number, message)
                value = number_of(measured(shown["value"]))
                found.append((number, message.time // 1000, math.nan if value is None else value))
                unit = str(shown["unit"]) or unit
            await asyncio.sleep(0)
        numbers, times, values = zip(*found, strict=True) if found else ((), (), ())
        return Curve(np.array(numbers, np.int64), np.array(times, np.int64), np.array(values, np.float64), unit)


def _warm_up() -> None:
    """Decode two packets that look different: what their columns take is imported by the first who do."""
    decode(Name.parse("/a/b"), [(1, b"\x06\x00"), (2, b"\x06\x01\x00")], arrival_us=0, verified=False)


def _decoded(row: StreamRow, packets: list[tuple[int, bytes]]) -> Curve | None:
    """Many at once; None if some are sealed."""
    if not packets:
        return EMPTY
    batch = decode(row.name, packets, arrival_us=0, verified=False)
    if SEALED in batch.column("quality").unique().to_pylist():
        return None
    times = batch.column("event_time").cast("int64").fill_null(-1).to_numpy()
    values = batch.column("value").to_numpy(zero_copy_only=False)
    units = [unit for unit in batch.column("unit").unique().to_pylist() if unit]
    return Curve(batch.column("seq").to_numpy(), times, values, units[-1] if units else "")
