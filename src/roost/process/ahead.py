"""What was processed of streams before what lies below it: results are made again in another order than they were made.

    processed up to 5, and  8–9, 12   ──▶  7: still to come   9: was processed   10: still to come

New results have consecutive numbers, so a range is most of what there is.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final


class Ahead:
    """Ranges of numbers by stream, in order, none of them next to another."""

    def __init__(self) -> None:
        self._ranges: Final[dict[bytes, list[tuple[int, int]]]] = {}  # bound: what has results already, and as many new

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self._ranges)

    def has(self, stream: bytes, number: int) -> bool:
        """Whether a reading was processed."""
        ranges = self._ranges.get(stream, [])
        at = bisect_right(ranges, number, key=_low) - 1
        return at >= 0 and number <= ranges[at][1]

    def add(self, stream: bytes, number: int) -> None:
        """It is processed now."""
        ranges = self._ranges.setdefault(stream, [])
        at = bisect_right(ranges, number, key=_low)
        low = high = number
        if at < len(ranges) and ranges[at][0] == number + 1:
            high = ranges.pop(at)[1]
        if at and ranges[at - 1][1] >= number - 1:
            at -= 1
            low, below = ranges.pop(at)
            high = max(high, below)
        ranges.insert(at, (low, high))

    def reach(self, stream: bytes, number: int) -> int:
        """A stream is processed up to a number: forget what is below; returns how far it is with what is next to it."""
        ranges = self._ranges.get(stream)
        while ranges and ranges[0][0] <= number + 1:
            number = max(number, ranges.pop(0)[1])
        if ranges is not None and not ranges:
            del self._ranges[stream]
        return number

    def tops(self) -> dict[bytes, int]:
        """The highest number of each stream that has any."""
        return {stream: ranges[-1][1] for stream, ranges in self._ranges.items()}


def _low(each: tuple[int, int]) -> int:
    return each[0]
