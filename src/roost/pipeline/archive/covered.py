"""Which numbers of which streams: a state vector with holes in it.

A stream has few intervals, as numbers come nearly in order; what a stream's intervals are is `roost.repo.intervals`.
Bound: as many streams as the group has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from roost.naming import Name
from roost.repo import intervals
from roost.repo.question import Run


class Covered:
    """Numbers by stream; a stream is its name as text, as in the column."""

    def __init__(self) -> None:
        self._bounds: Final[dict[str, list[int]]] = {}

    def add(self, stream: str, low: int, high: int) -> None:
        intervals.add(self._bounds.setdefault(stream, []), low, high)

    def add_all(self, runs: Iterable[tuple[str, int, int]]) -> None:
        for stream, low, high in runs:
            self.add(stream, low, high)

    def covers(self, stream: str, low: int, high: int) -> bool:
        """Whether all numbers from low to high are here."""
        return not self.lacks(stream, low, high)

    def lacks(self, stream: str, low: int, high: int) -> list[Run]:
        """Which of the numbers low to high are not here."""
        found: list[Run] = []
        for begin, end in intervals.pairs(self._bounds.get(stream, [])):
            if end < low:
                continue
            if begin > high:
                break
            if begin > low:
                found.append((low, begin - 1))
            low = end + 1
        if low <= high:
            found.append((low, high))
        return found

    def count(self, stream: str) -> int:
        """How many numbers of a stream are here."""
        return intervals.count(self._bounds.get(stream, []))

    def less(self, other: Covered) -> list[tuple[str, int, int]]:
        """What is here and not in the other, in order."""
        return [(stream, *run) for stream, low, high in self for run in other.lacks(stream, low, high)]

    def __iter__(self) -> Iterator[tuple[str, int, int]]:
        for stream in sorted(self._bounds):
            for low, high in intervals.pairs(self._bounds[stream]):
                yield stream, low, high

    def __len__(self) -> int:
        return sum(intervals.count(bounds) for bounds in self._bounds.values())

    def __bool__(self) -> bool:
        return bool(self._bounds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Covered) and self._bounds == other._bounds

    __hash__ = None  # type: ignore[assignment]

    @property
    def streams(self) -> list[str]:
        return sorted(self._bounds)

    def to_json(self, group: Name) -> dict[str, list[int]]:
        """For a file: streams without the name of their group."""
        size = len(str(group))
        return {stream[size:]: self._bounds[stream] for stream in sorted(self._bounds)}

    @staticmethod
    def from_json(found: Mapping[str, list[int]], group: Name) -> Covered:
        """The way back; raises `ValueError` if it is none."""
        covered = Covered()
        for stream, bounds in found.items():
            if len(bounds) % 2 or any(not isinstance(each, int) for each in bounds):
                raise ValueError(f"the numbers of {stream} are no intervals")
            for low, high in zip(bounds[::2], bounds[1::2], strict=True):
                covered.add(f"{group}{stream}", low, high)
        return covered
