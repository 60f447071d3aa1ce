"""When each of many things is due: a heap whose outdated entries are passed over, and swept when they are too many.

For tables whose entries are set again far more often than they come due, such as unanswered Interests. Things are
numbers; what they stand for is their owner's business, and so is the bound on how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

_SPARE = 64


class Timetable:
    """At most one time per number; setting it again replaces it."""

    __slots__ = ("_due", "_heap")

    def __init__(self) -> None:
        self._due: dict[int, int] = {}
        self._heap: list[tuple[int, int]] = []  # (due, number); bound: 4 × the numbers that have a time, and 64

    @property
    def entries(self) -> int:
        """How many entries are kept, outdated ones included."""
        return len(self._heap)

    def set(self, number: int, due: int) -> None:
        """Have a number come out of `overdue` at a time, instead of any earlier one."""
        self._due[number] = due
        heappush(self._heap, (due, number))
        if len(self._heap) > 4 * len(self._due) + _SPARE:
            self._heap = [(due, number) for number, due in self._due.items()]
            heapify(self._heap)

    def drop(self, number: int) -> None:
        """It is not due any more."""
        self._due.pop(number, None)

    def overdue(self, now: int) -> Iterator[int]:
        """Those whose time has come, the first first; each comes once, and may be set again meanwhile."""
        while (due := self.deadline()) is not None and due <= now:
            number = heappop(self._heap)[1]
            del self._due[number]
            yield number

    def deadline(self) -> int | None:
        """When the next one is due."""
        while self._heap:
            due, number = self._heap[0]
            if self._due.get(number) == due:
                return due
            heappop(self._heap)
        return None

    def clear(self) -> None:
        """Nothing is due any more."""
        self._due.clear()
        self._heap.clear()
