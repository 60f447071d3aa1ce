"""Timers of pending Interests, in buckets of 10 ms: starting one is an append, stopping one a decrement.

A stopped entry stays listed until its bucket is swept, which happens as soon as such entries are the larger part; a
bucket without running timers lists nothing, and empty buckets are cleared away once they are many.
"""

from __future__ import annotations

import heapq
from typing import Final, Generic, TypeVar

BUCKET_NS: Final = 10_000_000
_FEW: Final = 8
_MANY: Final = 1024


class Timed:
    """Something that expires; knows the bucket it is in."""

    __slots__ = ("bucket", "expires")

    def __init__(self) -> None:
        self.expires = 0
        self.bucket: Bucket | None = None


class Bucket:
    """What expires within the same 10 ms."""

    __slots__ = ("listed", "live", "number")

    def __init__(self, number: int) -> None:
        self.number: Final = number
        self.live = 0
        self.listed: list[Timed] = []


Item = TypeVar("Item", bound=Timed)


class Timers(Generic[Item]):
    """All running timers."""

    def __init__(self) -> None:
        self._buckets: dict[int, Bucket] = {}
        self._order: list[int] = []
        self._live = 0

    def arm(self, item: Item, expires: int) -> None:
        """Start or move a timer."""
        item.expires = expires
        number = expires // BUCKET_NS + 1
        bucket = item.bucket
        if bucket is not None:
            if bucket.number == number:
                return
            self.stop(item)
        bucket = self._buckets.get(number)
        if bucket is None:
            bucket = Bucket(number)
            self._buckets[number] = bucket
            heapq.heappush(self._order, number)
            if len(self._buckets) > 2 * self._live + _MANY:
                self._clear_away(number)
        bucket.listed.append(item)
        bucket.live += 1
        self._live += 1
        item.bucket = bucket

    def stop(self, item: Item) -> None:
        """Stop a timer, if it runs."""
        bucket = item.bucket
        if bucket is None:
            return
        item.bucket = None
        bucket.live -= 1
        self._live -= 1
        if not bucket.live:
            bucket.listed = []
        elif len(bucket.listed) > 2 * bucket.live + _FEW:
            bucket.listed = [other for other in bucket.listed if other.bucket is bucket]

    def due(self, now: int) -> list[Timed]:
        """List what has expired; the caller stops each."""
        found: list[Timed] = []
        order = self._order
        while order and order[0] * BUCKET_NS <= now:
            bucket = self._buckets.pop(heapq.heappop(order))
            found.extend([item for item in bucket.listed if item.bucket is bucket])
        return found

    def deadline(self) -> int | None:
        """When the next one may expire."""
        order = self._order
        while order and not self._buckets[order[0]].live:
            del self._buckets[heapq.heappop(order)]
        return order[0] * BUCKET_NS if order else None

    def _clear_away(self, kept: int) -> None:
        self._buckets = {number: bucket for number, bucket in self._buckets.items() if bucket.live or number == kept}
        self._order = sorted(self._buckets)
