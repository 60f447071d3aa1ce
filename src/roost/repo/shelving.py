"""A batch in the making: every packet held against the store, every row of a stream drafted, and what will be told.

- The same bytes under the same name are kept already, and it is well.
- Other bytes under the same name are refused, with a note: somebody signed two readings of one number.
- A name that was deleted, or that retention has dropped, is refused to who inserts it; from another repo it is none of
  our business, which counts as done.
- What is damaged on the disk, or lost from it, is written again, and not told again.
- The last number that fits a name is neither kept nor dropped: "the one behind the highest" is to be a number, always.

With the packets go the rows of their streams (`roost.repo.holding`), as marks b"s" and the stream; for deleted names
that are no numbers of a stream marks b"g" and the name. When to write, and what waits, is `roost.repo.shelf`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from roost.errors import BadPacket
from roost.machine import Effect, Note
from roost.naming.name import Name
from roost.naming.number import read_nni
from roost.repo.cause import REPLICATION
from roost.repo.holding import Holding
from roost.repo.holdings import Holdings
from roost.repo.numbering import MAX_NUMBER, numbered
from roost.repo.shelf_effects import Dropped, Kept
from roost.repo.store import Batch, Damaged, Entry, Store
from roost.wire.data import Data
from roost.wire.envelope import EVENT_TIME, READING, SEALED
from roost.wire.tlv import element

STREAM_MARK: Final = b"s"
GONE_MARK: Final = b"g"
DELETED: Final = "it was deleted here, or dropped when it was too old"
CONFLICT: Final = "another packet of this name is kept here, and packets do not change"
LAST: Final = "it has the last number there can be, and none could follow it"
_NO_ROOM: Final = "there is no room to remember that it was deleted"

Then: TypeAlias = Callable[[list[str], int], list[Effect]]
Record: TypeAlias = Callable[[list[Entry], int], list[Entry]]


class Wish:
    """What somebody wants, and who goes on when it is done: packets to put, or names to drop."""

    __slots__ = ("cause", "entries", "is_repair", "names", "outcome", "size_bytes", "then")

    def __init__(self, entries: Sequence[Entry], names: Sequence[Name], cause: int, then: Then) -> None:
        self.entries: Final = entries
        self.names: Final = names
        self.cause: Final = cause
        self.then: Final = then
        self.is_repair = False
        self.size_bytes: Final = sum([len(entry.wire) for entry in entries])
        self.outcome: list[str] = []

    def __len__(self) -> int:
        return len(self.entries) + len(self.names)


class Shelving:
    """What goes into one batch; the bound of all tables is the wishes that are taken in.

    If it is `certain` that the rows know all that is in the store, what is above them all need not be looked for there.
    """

    def __init__(self, store: Store, holdings: Holdings, *, certain: bool = False) -> None:
        self.conflicts = 0
        self.wishes: Final[list[Wish]] = []
        self.notes: Final[list[Effect]] = []
        self._store: Final = store
        self._certain: Final = certain
        self._draft: Final = holdings.draft()
        self._max_streams: Final = holdings.max_streams
        self._cause = REPLICATION  # or the one other cause of the batch
        self._puts: Final[dict[bytes, Entry]] = {}
        self._deletes: Final[dict[bytes, Name]] = {}
        self._tombstones: Final[list[tuple[bytes, bytes | None]]] = []
        self._kept: Final[dict[int, list[Entry]]] = {}  # by cause
        self._dropped: Final[dict[int, list[Name]]] = {}
        self._records: list[Entry] = []

    def has_place_for(self, wish: Wish) -> bool:
        """Whether a wish fits: a batch has one cause beside REPLICATION, and not both packets and deletions."""
        if not self.wishes:
            return True
        if bool(wish.names) != bool(self.wishes[0].names):
            return False
        return wish.cause in {REPLICATION, self._cause} or self._cause == REPLICATION

    def take(self, wish: Wish) -> None:
        """Take in a wish, and note for each packet and name why it cannot be, or nothing."""
        if wish.cause != REPLICATION:
            self._cause = wish.cause
        self.wishes.append(wish)
        wish.outcome = [self._put(wish, entry) for entry in wish.entries]
        wish.outcome += [self._drop(wish, name) for name in wish.names]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self._puts or self._deletes or self._draft.is_touched)

    def finish(self, record: Record, marks: dict[bytes, bytes | None]) -> Batch:
        """The batch: what was taken in, the repo's records of it, the rows of the streams, and other marks."""
        self._add_records(record)
        rows: dict[bytes, bytes | None] = {STREAM_MARK + stream: row.encode() for stream, row in self._draft.rows()}
        return Batch(
            (*self._puts.values(), *self._records),
            tuple(self._deletes.values()),
            (*self._tombstones, *(marks | rows).items()),
        )

    def settle(self) -> list[Effect]:
        """It is on the disk: have the rows take effect, and tell."""
        self._draft.settle()
        effects: list[Effect] = []
        for cause, entries in self._kept.items():
            effects.append(Kept(tuple(entries), cause, self._records_for(cause)))
        for cause, names in self._dropped.items():
            effects.append(Dropped(tuple(names), cause, self._records_for(cause)))
        return effects

    def _records_for(self, cause: int) -> tuple[Entry, ...]:
        return tuple(self._records) if cause == self._cause else ()

    def _add_records(self, record: Record) -> None:
        cause = self._cause
        news = self._kept.get(cause) or [Entry(name, b"") for name in self._dropped.get(cause, ())]
        if cause == REPLICATION or not news:
            return
        self._records = record(news, cause)
        for entry in self._records:
            stream, number = numbered(entry.name)
            row = self._draft.row(stream) if number else None
            if row is not None:
                row.add(number, len(entry.wire))

    # -- one packet, one name

    def _put(self, wish: Wish, entry: Entry) -> str:
        name, wire, _ = entry
        stream, number = numbered(name)
        row = self._draft.peek(stream)
        before = None if self._certain and number > row.highest else self._before(name)
        if before is not None and before != wire:
            self.conflicts += 1
            self.notes.append(Note("conflict", (("name", str(name)),)))
            return CONFLICT
        if before is None and self._is_gone(name, row, number):
            return "" if wish.cause == REPLICATION else DELETED
        is_known = number != 0 and row.is_held(number)
        if is_known and before is not None:
            return ""
        if number and not is_known:
            refusal = self._number(stream, row, number, len(wire))
            if refusal:
                return refusal
        if not number:
            entry = Entry(name, wire)
        if before is None:
            self._puts[name.value] = entry
        # What is there and not held was in a batch of which the disk said that it failed: it was never told.
        is_news = not is_known if number else before is None
        if is_news and not wish.is_repair:
            self._kept.setdefault(wish.cause, []).append(entry)
        return ""

    def _before(self, name: Name) -> bytes | None:
        """The packet of this name, in the batch or in the store; None if it has to be written."""
        entry = self._puts.get(name.value)
        if entry is not None:
            return entry.wire
        try:
            return self._store.get(name)
        except Damaged:
            self.notes.append(Note("damaged", (("name", str(name)),)))
            return None

    def _number(self, stream: bytes, row: Holding, number: int, size_bytes: int) -> str:
        """Note in the row of a stream that a number is held, or say why that cannot be."""
        if number >= MAX_NUMBER:
            return LAST
        if not row.has_room(number):
            return f"its stream has {len(row.held)} gaps, which is the limit"
        changed = self._draft.row(stream)
        if changed is None:
            return f"{self._max_streams} streams are kept here, which is the limit"
        changed.add(number, size_bytes)
        return ""

    def _drop(self, wish: Wish, name: Name) -> str:
        stream, number = numbered(name)
        if name.value in self._deletes or self._is_gone(name, self._draft.peek(stream), number):
            return ""
        if number >= MAX_NUMBER:
            return LAST
        if number:
            row = self._draft.row(stream)
            if row is None or not row.drop(number, number, self._size_of(name) if row.is_held(number) else 0):
                return _NO_ROOM
        else:
            self._tombstones.append((GONE_MARK + name.value, b"\1"))
        self._deletes[name.value] = name
        self._dropped.setdefault(wish.cause, []).append(name)
        return ""

    def _is_gone(self, name: Name, row: Holding, number: int) -> bool:
        if number:
            return row.is_gone(number)
        return self._store.mark(GONE_MARK + name.value) is not None

    def _size_of(self, name: Name) -> int:
        try:
            return len(self._store.get(name) or b"")
        except Damaged:
            return 0


def entry_of(packet: Data) -> Entry:
    """A packet as it is kept."""
    return Entry(packet.name, packet.wire, event_time(packet))


def event_time(packet: Data) -> int:
    """The event time of the reading in a packet, 0 if there is none in it; that of a sealed one if it is told."""
    content = packet.content
    try:
        type_, low, end = element(content, 0, len(content))
        if type_ not in {READING, SEALED} or end != len(content):
            return 0
        type_, low, end = element(content, low, end)
        return read_nni(content, low, end) if type_ == EVENT_TIME else 0
    except BadPacket:
        return 0
