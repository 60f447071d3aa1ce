"""The pending Interest table, its timers and the dead nonce list [nfd-management §7].

An entry is keyed by name, CanBePrefix and MustBeFresh: one dictionary for each of the four combinations, keyed by the
bytes of the name. Timers are buckets of 10 ms: starting one is an append, stopping one a decrement, and a bucket that
holds mostly stopped ones is swept.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from typing import Final

from roost.wire.data import Data
from roost.wire.interest import Interest

BUCKET_NS: Final = 10_000_000
INITIAL_SUPPRESSION_NS: Final = 10_000_000
DEAD_NONCE_NS: Final = 6_000_000_000
_FEW: Final = 64


class InRecord:
    """Who waits for an answer: the face, its last Interest and until when."""

    __slots__ = ("expires", "face", "nonce", "token", "wire")

    def __init__(self, face: int, nonce: bytes, expires: int, token: bytes, wire: bytes) -> None:
        self.face: Final = face
        self.nonce = nonce
        self.expires = expires
        self.token = token
        self.wire = wire


class OutRecord:
    """Whom we asked: the face, the nonce sent, when, until when, and the Nack that came back (-1: none)."""

    __slots__ = ("expires", "face", "interval_ns", "nack", "nonce", "sent")

    def __init__(self, face: int, nonce: bytes, sent: int, expires: int) -> None:
        self.face: Final = face
        self.nonce = nonce
        self.sent = sent
        self.expires = expires
        self.nack = -1
        self.interval_ns = INITIAL_SUPPRESSION_NS


class Bucket:
    """Entries that expire within the same 10 ms; those that left it early stay listed until it is swept."""

    __slots__ = ("entries", "live", "number")

    def __init__(self, number: int) -> None:
        self.number: Final = number
        self.live = 0
        self.entries: list[PitEntry] = []


class PitEntry:
    """One pending name with its selectors, downstreams and upstreams."""

    __slots__ = ("bucket", "cuts", "expires", "flags", "ins", "interval_ns", "last_sent", "outs", "value")

    def __init__(self, value: bytes, cuts: list[int], flags: int, first: InRecord) -> None:
        self.value: Final = value
        self.cuts: Final = cuts
        self.flags: Final = flags
        self.ins: list[InRecord] = [first]
        self.outs: list[OutRecord] = []
        self.expires = 0
        self.bucket: Bucket | None = None
        self.interval_ns = 0  # the strategy's retransmission suppression; 0 until it is first needed
        self.last_sent = 0

    def waits(self, record: InRecord) -> None:
        """Add a downstream, or replace what is known of it."""
        for index, known in enumerate(self.ins):
            if known.face == record.face:
                self.ins[index] = record
                return
        self.ins.append(record)

    def in_record(self, face: int) -> InRecord | None:
        """Return the in-record of a face."""
        for record in self.ins:
            if record.face == face:
                return record
        return None

    def out_record(self, face: int) -> OutRecord | None:
        """Return the out-record of a face."""
        for record in self.outs:
            if record.face == face:
                return record
        return None


class Pit:
    """The table: bounded, with expiry in buckets."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.refused = 0
        self._tables: list[dict[bytes, PitEntry]] = [{}, {}, {}, {}]
        self._digests = 0  # entries whose name ends in an implicit digest
        self._buckets: dict[int, Bucket] = {}
        self._order: list[int] = []

    def __len__(self) -> int:
        tables = self._tables
        return len(tables[0]) + len(tables[1]) + len(tables[2]) + len(tables[3])

    def find(self, interest: Interest) -> PitEntry | None:
        """Return the entry of an Interest."""
        return self._tables[flags_of(interest)].get(interest.value)

    def insert(self, interest: Interest, first: InRecord) -> PitEntry:
        """Make a new entry; the caller has checked that there is none and that the table has room."""
        flags = flags_of(interest)
        value = interest.value
        entry = PitEntry(value, interest.cuts, flags, first)
        self._tables[flags][value] = entry
        if has_digest(value, interest.cuts):
            self._digests += 1
        return entry

    def arm(self, entry: PitEntry, expires: int) -> None:
        """Set when the entry expires."""
        entry.expires = expires
        number = expires // BUCKET_NS + 1
        bucket = entry.bucket
        if bucket is not None:
            if bucket.number == number:
                return
            self._disarm(entry, bucket)
        bucket = self._buckets.get(number)
        if bucket is None:
            bucket = Bucket(number)
            self._buckets[number] = bucket
            heapq.heappush(self._order, number)
        bucket.entries.append(entry)
        bucket.live += 1
        entry.bucket = bucket

    def remove(self, entry: PitEntry) -> None:
        """Forget an entry."""
        table = self._tables[entry.flags]
        if table.get(entry.value) is entry:
            del table[entry.value]
            if has_digest(entry.value, entry.cuts):
                self._digests -= 1
        if entry.bucket is not None:
            self._disarm(entry, entry.bucket)

    def matching(self, data: Data) -> list[PitEntry]:
        """Collect every entry that a Data satisfies."""
        tables = self._tables
        value = data.value
        found: list[PitEntry] = []
        entry = tables[0].get(value)
        if entry is not None:
            found.append(entry)
        entry = tables[2].get(value)
        if entry is not None:
            found.append(entry)
        if tables[1] or tables[3]:
            for cut in data.name.cuts:
                prefix = value[:cut]
                entry = tables[1].get(prefix)
                if entry is not None:
                    found.append(entry)
                entry = tables[3].get(prefix)
                if entry is not None:
                    found.append(entry)
        if self._digests:
            full = value + b"\x01\x20" + data.implicit_digest
            for table in tables:
                entry = table.get(full)
                if entry is not None:
                    found.append(entry)
        return found

    def under(self, prefix: bytes) -> list[PitEntry]:
        """Collect every entry whose name starts with a prefix; walks the table, for rare events only."""
        return [entry for table in self._tables for entry in table.values() if entry.value.startswith(prefix)]

    def everything(self) -> list[PitEntry]:
        """Collect all entries."""
        return self.under(b"")

    def expired(self, now: int) -> list[PitEntry]:
        """Take out every entry whose time has come."""
        gone: list[PitEntry] = []
        order = self._order
        while order and order[0] * BUCKET_NS <= now:
            bucket = self._buckets.pop(heapq.heappop(order))
            gone.extend([entry for entry in bucket.entries if entry.bucket is bucket])
        for entry in gone:
            self.remove(entry)
        return gone

    def deadline(self) -> int | None:
        """When the next entry may expire."""
        order = self._order
        while order and not self._buckets[order[0]].live:
            del self._buckets[heapq.heappop(order)]
        return order[0] * BUCKET_NS if order else None

    def _disarm(self, entry: PitEntry, bucket: Bucket) -> None:
        entry.bucket = None
        bucket.live -= 1
        if len(bucket.entries) > 2 * bucket.live + _FEW:
            bucket.entries = [other for other in bucket.entries if other.bucket is bucket]


def flags_of(interest: Interest) -> int:
    """Number the combination of CanBePrefix (1) and MustBeFresh (2)."""
    return (1 if interest.can_be_prefix else 0) + (2 if interest.must_be_fresh else 0)


def has_digest(value: bytes, cuts: list[int]) -> bool:
    """Whether the last component of a name is an implicit digest."""
    return len(cuts) > 1 and len(value) >= 34 and value[cuts[-2]] == 1


class DeadNonces:
    """Nonces of Interests whose entries are gone, kept for about 6 s so that a late loop is recognised."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.evicted = 0
        self._expiry: OrderedDict[bytes, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._expiry)

    def add(self, value: bytes, nonce: bytes, now: int) -> None:
        """Remember one."""
        key = value + nonce
        if key in self._expiry:
            self._expiry.move_to_end(key)
        elif len(self._expiry) >= self.limit:
            self._expiry.popitem(last=False)
            self.evicted += 1
        self._expiry[key] = now + DEAD_NONCE_NS

    def has(self, value: bytes, nonce: bytes, now: int) -> bool:
        """Whether this name was asked with this nonce lately."""
        if not self._expiry:
            return False
        return self._expiry.get(value + nonce, 0) > now

    def expire(self, now: int) -> None:
        """Forget what is old."""
        while self._expiry and next(iter(self._expiry.values())) <= now:
            self._expiry.popitem(last=False)
