"""Sets of numbers as intervals: a flat list of bounds, low high low high …, both inclusive, apart and in order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


def contains(bounds: list[int], number: int) -> bool:
    """Whether a number is in one of the intervals."""
    at = bisect_left(bounds, number)
    return at < len(bounds) and (at & 1 == 1 or bounds[at] == number)


def touches(bounds: list[int], low: int, high: int) -> bool:
    """Whether any number from low to high is in one of the intervals."""
    at = bisect_left(bounds, low)
    return at & 1 == 1 or (at < len(bounds) and bounds[at] <= high)


def add(bounds: list[int], low: int, high: int) -> None:
    """Put in all numbers from low to high; what touches is joined."""
    first = bisect_left(bounds, low - 1)
    last = bisect_right(bounds, high + 1)
    if first & 1:  # low continues an interval
        first -= 1
        low = bounds[first]
    if last & 1:  # high runs into one
        high = bounds[last]
        last += 1
    elif last > first:
        high = max(high, bounds[last - 1])
    if first < last:
        low = min(low, bounds[first])
    bounds[first:last] = [low, high]


def remove(bounds: list[int], low: int, high: int) -> None:
    """Take out all numbers from low to high."""
    first = bisect_left(bounds, low)
    last = bisect_right(bounds, high)
    left = [low - 1] if first & 1 else []
    right = [high + 1] if last & 1 else []
    bounds[first:last] = left + right


def count(bounds: list[int]) -> int:
    """How many numbers there are."""
    return sum(bounds[1::2]) - sum(bounds[::2]) + len(bounds) // 2


def pairs(bounds: list[int]) -> list[tuple[int, int]]:
    """The intervals as low and high."""
    return list(zip(bounds[::2], bounds[1::2], strict=True))
