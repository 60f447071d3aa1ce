"""The content store: a cache of Data, least recently used first out, bounded by packets and by bytes.

Exact look-ups are one dictionary operation. Prefix look-ups use an index of sorted names that is brought up to date
only when somebody asks by prefix, so that ordinary traffic does not pay for it. Of several Data with one name the
newest is kept.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from typing import Final

from roost.forwarding.pit import has_digest
from roost.naming.name import Name
from roost.wire.data import Data
from roost.wire.interest import Interest

_MAX_BEHIND: Final = 4096
_FEW: Final = 64
_MAX_STEPS: Final = 4096  # a prefix query passes over so many stale packets, then it is a miss
_MS: Final = 1_000_000


class Cached:
    """One Data in the store, and until when it is fresh."""

    __slots__ = ("data", "fresh_until")

    def __init__(self, data: Data, fresh_until: int) -> None:
        self.data: Final = data
        self.fresh_until: Final = fresh_until


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
        self._cached: OrderedDict[bytes, Cached] = OrderedDict()
        self._index: list[bytes] = []
        self._behind: list[bytes] | None = None  # names added since the index was sorted; None: build it anew

    def __len__(self) -> int:
        return len(self._cached)

    def insert(self, data: Data, now: int) -> None:
        """Keep a Data, making room for it; inserting it again makes it fresh again."""
        if not self.admit or not self.capacity_packets:
            return
        value = data.name.value
        old = self._cached.pop(value, None)
        if old is not None:
            self.size_bytes -= len(old.data.wire)
        elif self._behind is not None:
            self._behind.append(value)
            if len(self._behind) > _MAX_BEHIND:
                self._behind = None
        self._cached[value] = Cached(data, now + data.meta.freshness_ms * _MS)
        self.size_bytes += len(data.wire)
        if len(self._cached) > self.capacity_packets or self.size_bytes > self.capacity_bytes:
            self._make_room()

    def find(self, interest: Interest, now: int) -> Data | None:
        """Return the Data that answers an Interest, the first in canonical order, and count hit or miss."""
        found = self._find(interest, now) if self.serve else None
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._cached.move_to_end(found.name.value)
        return found

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
                self.size_bytes -= len(cached.data.wire)
                gone += 1
            position += 1
        return gone

    def _find(self, interest: Interest, now: int) -> Data | None:
        value = interest.name.value
        cached = self._cached.get(value)
        if cached is not None and (not interest.must_be_fresh or cached.fresh_until > now):
            return cached.data
        if interest.can_be_prefix:
            return self._find_under(value, interest.must_be_fresh, now)
        if has_digest(value, interest.name.cuts):
            cached = self._cached.get(value[:-34])
            if (
                cached is not None
                and cached.data.implicit_digest == value[-32:]
                and (not interest.must_be_fresh or cached.fresh_until > now)
            ):
                return cached.data
        return None

    def _find_under(self, prefix: bytes, must_be_fresh: bool, now: int) -> Data | None:
        self._catch_up()
        index = self._index
        position = bisect_left(index, prefix)
        last = min(len(index), position + _MAX_STEPS)
        while position < last and index[position].startswith(prefix):
            cached = self._cached.get(index[position])
            if cached is not None and (not must_be_fresh or cached.fresh_until > now):
                return cached.data
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

    def _make_room(self) -> None:
        while self._cached and (len(self._cached) > self.capacity_packets or self.size_bytes > self.capacity_bytes):
            _, cached = self._cached.popitem(last=False)
            self.size_bytes -= len(cached.data.wire)
            self.evicted += 1
