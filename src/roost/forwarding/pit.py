"""The pending Interest table [nfd-management §7].

An entry is keyed by name, CanBePrefix and MustBeFresh: one dictionary for each of the four combinations, keyed by the
bytes of the name. The table is bounded in entries and in bytes, and no face may fill more than half of it. Timers are
in `roost.forwarding.timers`.
"""

from __future__ import annotations

from typing import Final

from roost.forwarding.faces import Face
from roost.forwarding.timers import Timed, Timers
from roost.wire.data import Data
from roost.wire.interest import Interest

INITIAL_SUPPRESSION_NS: Final = 10_000_000


class InRecord:
    """Who waits for an answer: the face, its last Interest and until when."""

    __slots__ = ("expires", "face", "nonce", "token", "wire")

    def __init__(self, face: Face, nonce: bytes, expires: int, token: bytes, wire: bytes) -> None:
        self.face: Final = face
        self.nonce: Final = nonce
        self.expires: Final = expires
        self.token: Final = token
        self.wire: Final = wire


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


class PitEntry(Timed):
    """One pending name with its selectors, downstreams and upstreams."""

    __slots__ = ("cuts", "flags", "indexed", "ins", "interval_ns", "last_sent", "outs", "value")

    def __init__(self, value: bytes, cuts: list[int], flags: int, first: InRecord) -> None:
        super().__init__()
        self.value: Final = value
        self.cuts: Final = cuts
        self.flags: Final = flags
        self.indexed: Final = flags & 1 == 1 or has_digest(value, cuts)  # can be matched by other names than its own
        self.ins: list[InRecord] = [first]
        self.outs: list[OutRecord] = []
        self.interval_ns = 0  # the strategy's retransmission suppression; 0 until it is first needed
        self.last_sent = 0

    def in_record(self, face: int) -> InRecord | None:
        """Return the in-record of a face."""
        for record in self.ins:
            if record.face.id == face:
                return record
        return None

    def out_record(self, face: int) -> OutRecord | None:
        """Return the out-record of a face."""
        for record in self.outs:
            if record.face == face:
                return record
        return None


class Pit:
    """The table: bounded, with expiry."""

    def __init__(self, limit: int, limit_bytes: int) -> None:
        self.limit = limit
        self.limit_bytes = limit_bytes
        self.size_bytes = 0
        self.refused = 0
        self._tables: list[dict[bytes, PitEntry]] = [{}, {}, {}, {}]
        self._digests = 0  # entries whose name ends in an implicit digest
        self._depths: dict[int, int] = {}  # components of CanBePrefix entries → how many have so many
        self._timers: Timers[PitEntry] = Timers()

    def __len__(self) -> int:
        tables = self._tables
        return len(tables[0]) + len(tables[1]) + len(tables[2]) + len(tables[3])

    def has_room(self, face: Face) -> bool:
        """Whether one more Interest of a face may wait."""
        if len(self) < self.limit and self.size_bytes < self.limit_bytes and 2 * face.waiting < self.limit:
            return True
        self.refused += 1
        return False

    def find(self, interest: Interest) -> PitEntry | None:
        """Return the entry of an Interest."""
        return self._tables[flags_of(interest)].get(interest.value)

    def insert(self, interest: Interest, first: InRecord) -> PitEntry:
        """Make a new entry; the caller has checked that there is none, and room."""
        flags = flags_of(interest)
        value = interest.value
        entry = PitEntry(value, interest.cuts, flags, first)
        self._tables[flags][value] = entry
        self._count(first, 1)
        if entry.indexed:
            self._index(entry, 1)
        self._timers.arm(entry, first.expires)
        return entry

    def renew(self, entry: PitEntry, record: InRecord) -> None:
        """Add a downstream to an entry, or replace what is known of it."""
        self.release(entry, record.face.id)
        entry.ins.append(record)
        self._count(record, 1)
        self._timers.arm(entry, max(entry.expires, record.expires))

    def release(self, entry: PitEntry, face: int) -> InRecord | None:
        """Forget a downstream of an entry; returns what was known of it."""
        record = entry.in_record(face)
        if record is not None:
            entry.ins.remove(record)
            self._count(record, -1)
        return record

    def remove(self, entry: PitEntry) -> None:
        """Forget an entry; what is known of its downstreams stays readable."""
        table = self._tables[entry.flags]
        if table.get(entry.value) is not entry:
            return
        del table[entry.value]
        for record in entry.ins:
            self._count(record, -1)
        if entry.indexed:
            self._index(entry, -1)
        self._timers.stop(entry)

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
        if self._depths:
            self._match_prefixes(data, found)
        if self._digests:
            full = value + b"\x01\x20" + data.implicit_digest
            for table in tables:
                entry = table.get(full)
                if entry is not None:
                    found.append(entry)
        return found

    def everything(self) -> list[PitEntry]:
        """Collect all entries; walks the table, for rare events only."""
        return [entry for table in self._tables for entry in table.values()]

    def expired(self, now: int) -> list[PitEntry]:
        """Collect every entry whose time has come; the caller removes them."""
        return [entry for entry in self._timers.due(now) if isinstance(entry, PitEntry)]

    def deadline(self) -> int | None:
        """When the next entry may expire."""
        return self._timers.deadline()

    def _match_prefixes(self, data: Data, found: list[PitEntry]) -> None:
        cuts = data.name.cuts
        last = len(cuts) - 1
        for depth in self._depths:
            if depth <= last:
                prefix = data.value[: cuts[depth]]
                for table in (self._tables[1], self._tables[3]):
                    entry = table.get(prefix)
                    if entry is not None:
                        found.append(entry)

    def _count(self, record: InRecord, change: int) -> None:
        record.face.waiting += change
        self.size_bytes += change * len(record.wire)

    def _index(self, entry: PitEntry, change: int) -> None:
        if has_digest(entry.value, entry.cuts):
            self._digests += change
        if entry.flags & 1:
            depth = len(entry.cuts) - 1
            population = self._depths.get(depth, 0) + change
            if population:
                self._depths[depth] = population
            else:
                del self._depths[depth]


def flags_of(interest: Interest) -> int:
    """Number the combination of CanBePrefix (1) and MustBeFresh (2)."""
    return (1 if interest.can_be_prefix else 0) + (2 if interest.must_be_fresh else 0)


def has_digest(value: bytes, cuts: list[int]) -> bool:
    """Whether the last component of a name is an implicit digest."""
    return len(cuts) > 1 and len(value) >= 34 and value[cuts[-2]] == 1
