"""Names in canonical order, to find those in a range without looking at the others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from roost.naming import Name
from roost.sync.subscriptions import NameRange, Ranges

_BEHIND: Final = b"\xff"  # stands behind every component that may follow: none begins with this byte


class NameIndex:
    """Some names; immutable."""

    def __init__(self, names: Iterable[Name]) -> None:
        self._values: Final = sorted([name.value for name in names])

    def __len__(self) -> int:
        return len(self._values)

    def within(self, ranges: Ranges) -> list[Name]:
        """Those in any of these ranges, in canonical order."""
        found: list[Name] = []
        for each in ranges.ranges:
            low, high = self._ends(each)
            found += [Name(value) for value in self._values[low:high]]
        return found

    def _ends(self, each: NameRange) -> tuple[int, int]:
        return bisect_left(self._values, each.low.value), bisect_left(self._values, each.high.value + _BEHIND)
