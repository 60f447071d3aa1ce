"""How far an input has come: the offset of a Spark query is the state vector of what it has read.

A `Place` says, for each stream, up to which number it has been handed out, and which numbers below that were not there.
For inputs in windows it also says up to which window each key has been released, which streams had not closed it (they
were silent at the deadline), how many corrections each key has had, and which windows are done again by the step that
led to this place. With that, what lies between two places is fixed for ever: a read of it can be repeated, and gives
the same rows.

Streams are named relative to their group: `Panel1/Heater/Voltage`. Windows are counted from 1970: window w of length l
holds the event times from w·l to (w + 1)·l.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

Run: TypeAlias = tuple[int, int]

CORRECTIONS: Final = ".corrections"  # what the last part of a stream's name ends in, if it corrects the one without


class Part(NamedTuple):
    """What a window has of a stream: the numbers low to high."""

    stream: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Redo:
    """A window that is done again, because something of it came late; `correction` is the number of the new version."""

    key: str
    window: int
    correction: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """How far one input has come."""

    numbers: Mapping[str, int] = field(default_factory=dict)
    holes: Mapping[str, tuple[Run, ...]] = field(default_factory=dict)  # up to and right behind `numbers`
    windows: Mapping[str, int] = field(default_factory=dict)  # by key, the last one released
    open: Mapping[str, int] = field(default_factory=dict)  # by stream, the first window that it had not closed
    corrections: Mapping[str, int] = field(default_factory=dict)  # by key, how many there were
    redo: tuple[Redo, ...] = ()
    begun: int = 0  # the first window of all

    def number(self, stream: str) -> int:
        """Up to where a stream has been handed out."""
        return self.numbers.get(stream, 0)


def within(runs: Iterable[Run], low: int, high: int) -> tuple[Run, ...]:
    """The parts of some runs that lie in low to high."""
    return tuple((max(first, low), min(last, high)) for first, last in runs if first <= high and last >= low)


def without(runs: Iterable[Run], holes: Sequence[Run]) -> list[Run]:
    """The parts of some runs that are in no hole; both in rising order."""
    left: list[Run] = []
    for first, last in runs:
        low = first
        for hole_low, hole_high in within(holes, first, last):
            if low < hole_low:
                left.append((low, hole_low - 1))
            low = hole_high + 1
        if low <= last:
            left.append((low, last))
    return left


def joined(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Runs in rising order, those that touch made one."""
    found: list[Run] = []
    for low, high in runs:
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def count(runs: Iterable[Run]) -> int:
    """How many numbers there are in some runs."""
    return sum(high - low + 1 for low, high in runs)


def below(number: int, holes: Iterable[Run]) -> int:
    """The highest number up to this one that is in no hole: what is missing goes with the reading behind it."""
    return next((low - 1 for low, high in holes if low <= number <= high), number)


def holes_after(
    place: Place, after: Mapping[str, int], holes: Mapping[str, Sequence[Run]]
) -> dict[str, tuple[Run, ...]]:
    """Those of before that are still there, those among the new numbers, and one right behind them.

    A hole never opens where numbers have been handed out: then it is a matter for whoever reads them.
    """
    left: dict[str, tuple[Run, ...]] = {}
    for stream in sorted(holes.keys() & after.keys()):
        runs = holes[stream]
        still = [part for run in place.holes.get(stream, ()) for part in within(runs, *run)]
        known = max((high for _, high in still), default=0)
        new = within(runs, max(place.number(stream), known) + 1, after[stream])
        behind = [run for run in runs if run[0] <= after[stream] + 1 <= run[1]]
        if found := joined(sorted({*still, *new, *behind})):
            left[stream] = found
    return left
