"""The segments of one object that have come: kept until those before them have, handed on in order, up to the end.

The end is what a FinalBlockId says. A segment may also be denied by its producer (an application Nack): while the end
is unknown that only says that the object does not reach so far, because a consumer asks ahead.
"""

from __future__ import annotations

from roost.pubsub.fetch_effects import Segment
from roost.wire import Data


class Arrivals:
    """One object's; the owner keeps the bound, by not asking further than `capacity` ahead of what was taken."""

    def __init__(self) -> None:
        self.next = 0  # the segment to be handed on next
        self.final: int | None = None  # the last segment, once known
        self.denied: int | None = None  # the first segment the producer says it does not have
        self._came: dict[int, Data] = {}  # out of order; bound: capacity

    def __len__(self) -> int:
        return len(self._came)

    def __contains__(self, number: int) -> bool:
        return number < self.next or number in self._came

    def add(self, number: int, data: Data) -> None:
        """Take a segment; what lies behind the end is passed over."""
        if self.final is None or number <= self.final:
            self._came[number] = data

    def end_at(self, final: int) -> None:
        """The last segment is known now."""
        self.final = final
        self._came = {number: data for number, data in self._came.items() if number <= final}

    def deny(self, number: int) -> None:
        """The producer says it does not have this one; of no interest behind the end."""
        if self.final is None or number <= self.final:
            self.denied = number if self.denied is None else min(number, self.denied)

    def in_order(self) -> list[Segment]:
        """Hand on what can be handed on."""
        segments: list[Segment] = []
        while self.next in self._came:
            segments.append(Segment(self.next, self._came.pop(self.next)))
            self.next += 1
        return segments

    @property
    def complete(self) -> bool:
        """Whether every segment was handed on."""
        return self.final is not None and self.next > self.final

    @property
    def lacking(self) -> int | None:
        """The segment without which it can never be complete, because the producer does not have it."""
        denied = self.denied
        if denied is not None and (denied <= self.next or (self.final is not None and denied <= self.final)):
            return denied
        return None

    def ahead(self, limit: int) -> int:
        """How far to ask: `limit`, or less where that is known to lie behind the end."""
        if self.final is not None:
            limit = min(limit, self.final + 1)
        return limit if self.denied is None else min(limit, self.denied)

    def clear(self) -> None:
        """Nobody wants them any more."""
        self._came.clear()
