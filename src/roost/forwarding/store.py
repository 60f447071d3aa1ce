"""The content store: a cache of Data, least recently used first out, bounded by packets and by bytes.

Exact look-ups are one dictionary operation. Prefix look-ups use an index of sorted names that is brought up to date
only when somebody asks by prefix, so that ordinary traffic does not pay for it. Of several Data with one name the
newest is kept. What is kept is bytes and numbers only: the garbage collector has nothing to walk through.

The order of use is a queue of names. A use appends the name again and counts one occurrence too many; eviction takes
names off the front and passes over those that occur again further back. So the order is exact, and costs an append.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from hashlib import sha256
from typing import Final

from roost.forwarding.pit import has_digest
from roost.naming.name import Name
from roost.wire.data import Data
from roost.wire.interest import Interest

_MAX_BEHIND: Final = 4096
_FEW: Final = 64
_MAX_STEPS: Final = 4096  # a prefix query passes over so many stale packets, then it is a miss
_MS: Final = 1_000_000


class ContentStore:
    """The cache of one forwarder."""

    def __init__(self, capacity_packets: int, capacity_bytes: int) -> None:
        self.capacity_packets = capacity_packets
        self.capacity_bytes = capacity_bytes
        self.admit = True
        self.serve = True
        self.hits = 0
        self.misses = 0
        self.evicted = 0
        self.size_bytes = 0
        self._cached: dict[bytes, tuple[bytes, int]] = {}  # name → wire, fresh until
        self._queue: deque[bytes] = deque()
        self._again: dict[bytes, int] = {}  # how many occurrences too many a name has in the queue
        self._surplus = 0
        self._index: list[bytes] = []
        self._behind: list[bytes] | None = None  # names added since the index was sorted; None: build it anew

    def __len__(self) -> int:
        return len(self._cached)

    def insert(self, data: Data, now: int) -> None:
        """Keep a Data, making room for it; inserting it again makes it fresh again."""
        if not self.admit or not self.capacity_packets:
            return
        value = data.value
        old = self._cached.get(value)
        if old is not None:
            self.size_bytes -= len(old[0])
            self._used(value)
        else:
            self._queue.append(value)
            if self._behind is not None:
                self._behind.append(value)
                if len(self._behind) > _MAX_BEHIND:
                    self._behind = None
        self._cached[value] = (data.wire, now + data.meta.freshness_ms * _MS)
        self.size_bytes += len(data.wire)
        if len(self._cached) > self.capacity_packets or self.size_bytes > self.capacity_bytes:
            self._make_room()

    def find(self, interest: Interest, now: int) -> bytes | None:
        """Return the Data that answers an Interest, the first in canonical order, and count hit or miss."""
        if not self.serve:
            self.misses += 1
            return None
        value = interest.value
        cached = self._cached.get(value)
        if cached is None or (interest.must_be_fresh and cached[1] <= now):
            cached = None
            if interest.can_be_prefix:
                first = self._first_under(value, now if interest.must_be_fresh else -1)
                if first is not None:
                    value = first
                    cached = self._cached.get(value)
            elif has_digest(value, interest.cuts):
                digest = value[-32:]
                value = value[:-34]
                cached = self._cached.get(value)
                if cached is not None:
                    stale = interest.must_be_fresh and cached[1] <= now
                    if stale or sha256(cached[0]).digest() != digest:
                        cached = None
        if cached is None:
            self.misses += 1
            return None
        self.hits += 1
        self._used(value)
        return cached[0]

    def resize(self, capacity_packets: int) -> None:
        """Change the bound in packets; what is too much goes."""
        self.capacity_packets = capacity_packets
        self._make_room()

    def erase(self, prefix: Name, count: int) -> int:
        """Remove at most `count` packets under a prefix; returns how many went."""
        self._catch_up()
        gone = 0
        position = bisect_left(self._index, prefix.value)
        while gone < count and position < len(self._index) and self._index[position].startswith(prefix.value):
            cached = self._cached.pop(self._index[position], None)
            if cached is not None:
                self.size_bytes -= len(cached[0])
                gone += 1
            position += 1
        if gone:
            self._tidy()
        return gone

    def _first_under(self, prefix: bytes, fresh_after: int) -> bytes | None:
        """Return the first name under a prefix whose Data will do."""
        self._catch_up()
        index = self._index
        position = bisect_left(index, prefix)
        last = min(len(index), position + _MAX_STEPS)
        while position < last and index[position].startswith(prefix):
            cached = self._cached.get(index[position])
            if cached is not None and cached[1] > fresh_after:
                return index[position]
            position += 1
        return None

    def _catch_up(self) -> None:
        behind = self._behind
        if behind is None or len(self._index) > 2 * len(self._cached) + _MAX_BEHIND:
            self._index = sorted(self._cached)
        elif len(behind) < _FEW:
            for value in behind:
                insort(self._index, value)
        else:
            self._index.extend(behind)
            self._index.sort()
        self._behind = []

    def _used(self, value: bytes) -> None:
        self._queue.append(value)
        self._again[value] = self._again.get(value, 0) + 1
        self._surplus += 1
        if self._surplus > len(self._cached) + _MAX_BEHIND:
            self._tidy()

    def _tidy(self) -> None:
        """Leave one occurrence of each name in the queue: the last."""
        last: dict[bytes, None] = {}
        for value in reversed(self._queue):
            if value in self._cached:
                last.setdefault(value)
        self._queue = deque(reversed(last))
        self._again = {}
        self._surplus = 0

    def _make_room(self) -> None:
        cached = self._cached
        while cached and (len(cached) > self.capacity_packets or self.size_bytes > self.capacity_bytes):
            value = self._queue.popleft()
            if self._surplus:
                again = self._again.get(value, 0)
                if again:
                    self._surplus -= 1
                    if again == 1:
                        del self._again[value]
                    else:
                        self._again[value] = again - 1
                    continue
            gone = cached.pop(value, None)
            if gone is not None:
                self.size_bytes -= len(gone[0])
                self.evicted += 1
