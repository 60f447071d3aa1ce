"""What a repo holds of every stream (`roost.repo.holding`), in memory; and as an object that other repos fetch.

    Holdings = 170 { (171 Stream { Name 7, Holding }) … }       in canonical order of the names, each once

Changes are drafted: a `Draft` has copies of the rows that a batch touches, and they take the place of the old ones when
the batch is on the disk. So what is asked here is always what is on the disk.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from roost.errors import BadPacket
from roost.naming.name import Name
from roost.repo.holding import Holding
from roost.repo.numbering import BEHIND
from roost.wire import tlv
from roost.wire.tlv import element, skip

HOLDINGS: Final = 170
STREAM: Final = 171
MAX_STREAMS: Final = 200_000

_NOTHING: Final = Holding()  # never changed


class Holdings:
    """Per stream what is held; at most `max_streams`, and how many more there would be was counted."""

    def __init__(self, max_streams: int = MAX_STREAMS) -> None:
        self.max_streams = max_streams
        self.refused = 0  # readings of streams that there was no room for
        self.size_bytes = 0
        self.count = 0
        self._rows: Final[dict[bytes, Holding]] = {}  # by the stream's name, as bytes; bound: max_streams
        self._order: Final[list[bytes]] = []  # those of them that somebody asked for in order, sorted; bound: as above
        self._torn: Final[list[bytes]] = []  # those that may lack numbers, sorted; bound: as above

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[tuple[Name, Holding]]:
        """The streams in the order in which they came: canonical after a restart."""
        return ((Name(value), row) for value, row in self._rows.items())

    def __contains__(self, stream: Name) -> bool:
        return stream.value in self._rows

    def of(self, stream: Name) -> Holding:
        """What is held of a stream; not to be changed."""
        return self._rows.get(stream.value, _NOTHING)

    def under(self, prefix: Name, after: Name | None = None, limit: int = MAX_STREAMS) -> list[Name]:
        """The streams that begin with a prefix and stand behind `after`, in canonical order."""
        return [Name(value) for value in self._page(prefix, after, limit)]

    def lacking(
        self, prefix: Name, after: Name | None, limit: int, max_bytes: int
    ) -> Iterator[tuple[Name, list[tuple[int, int]]]]:
        """Those of the next `limit` streams that lack numbers below their highest, held or dropped, and which.

        Counted are only streams of which it cannot be seen at a glance. If there are more, the last one that was looked
        at follows, without any number. Those with names of more than `max_bytes` are passed over. They are looked for
        as they are taken.
        """
        page = _between(self._torn, prefix, after, limit)
        for value in page:
            if len(value) <= max_bytes and (gaps := self._rows[value].gaps()):
                yield Name(value), gaps
        if len(page) == limit:
            last = next((value for value in reversed(page) if len(value) <= max_bytes), None)
            if last is not None:
                yield Name(last), []

    def gaps(self, stream: Name) -> list[tuple[int, int]]:
        """Which numbers of a stream below its highest are neither held nor dropped."""
        return self.of(stream).gaps()

    def dropped(self, stream: Name, low: int, high: int) -> list[tuple[int, int]]:
        """Which runs of numbers that touch low to high were dropped on purpose."""
        return [run for run in self.of(stream).gone if run[1] >= low and run[0] <= high]

    def is_held(self, stream: Name, number: int) -> bool:
        """Whether a number of a stream is here."""
        return self.of(stream).is_held(number)

    def is_gone(self, stream: Name, number: int) -> bool:
        """Whether a number of a stream was dropped on purpose."""
        return self.of(stream).is_gone(number)

    def holes(self, stream: Name, limit: int) -> list[tuple[int, int]]:
        """What of a stream is missing below its highest number."""
        return self.of(stream).holes(limit)

    def highest(self, stream: Name) -> int:
        """The highest number held of a stream, 0 without any."""
        return self.of(stream).highest

    def lowest(self, stream: Name) -> int:
        """The lowest number held of a stream, 0 without any."""
        return self.of(stream).lowest

    def add(self, stream: Name, number: int, size_bytes: int) -> bool:
        """Take in a number at once; returns whether it is new. What goes to a disk first goes through a draft."""
        draft = self.draft()
        row = draft.row(stream.value)
        is_new = row is not None and row.has_room(number) and row.add(number, size_bytes)
        draft.settle()
        return is_new

    def drop(self, stream: Name, low: int, high: int, size_bytes: int) -> bool:
        """Let numbers go on purpose, at once; returns False if there is no room to remember it."""
        draft = self.draft()
        row = draft.row(stream.value)
        is_dropped = row is not None and row.drop(low, high, size_bytes)
        if is_dropped:
            draft.settle()
        return is_dropped

    def put(self, stream: Name, row: Holding) -> None:
        """Have a row be what it says, as read from a disk."""
        self._install(stream.value, row)

    def draft(self) -> Draft:
        """Begin changes that take effect together."""
        return Draft(self)

    def _page(self, prefix: Name, after: Name | None, limit: int) -> list[bytes]:
        if len(self._order) < len(self._rows):
            self._order.extend(islice(self._rows, len(self._order), None))
            self._order.sort()  # quick, because all but the new ones are in order
        return _between(self._order, prefix, after, limit)

    def _install(self, stream: bytes, row: Holding) -> None:
        before = self._rows.get(stream, _NOTHING)
        self.size_bytes += row.size_bytes - before.size_bytes
        self.count += row.count - before.count
        self._rows[stream] = row
        at = bisect_left(self._torn, stream)
        is_torn = self._torn[at : at + 1] == [stream]
        if row.is_whole and is_torn:
            del self._torn[at]
        elif not (row.is_whole or is_torn):
            self._torn.insert(at, stream)


def _between(order: list[bytes], prefix: Name, after: Name | None, limit: int) -> list[bytes]:
    """Those of sorted names that begin with a prefix and stand behind `after`."""
    start = prefix.value if after is None else max(prefix.value, after.value + b"\x00")
    low = bisect_left(order, start)
    high = bisect_left(order, prefix.value + BEHIND)
    return order[low : min(high, low + limit)]


class Draft:
    """Rows of streams as they will be."""

    __slots__ = ("_fresh", "_holdings", "_rows")

    def __init__(self, holdings: Holdings) -> None:
        self._holdings: Final = holdings
        self._rows: Final[dict[bytes, Holding]] = {}  # bound: the streams of one batch
        self._fresh = 0

    def peek(self, stream: bytes) -> Holding:
        """A row as it will be, not to be changed."""
        return self._rows.get(stream) or self._holdings._rows.get(stream, _NOTHING)

    def row(self, stream: bytes) -> Holding | None:
        """A row to change; None if there is no room for another stream."""
        row = self._rows.get(stream)
        if row is None:
            before = self._holdings._rows.get(stream)
            if before is None and len(self._holdings) + self._fresh >= self._holdings.max_streams:
                self._holdings.refused += 1
                return None
            self._fresh += before is None
            row = self._rows[stream] = Holding() if before is None else before.copy()
        return row

    @property
    def is_touched(self) -> bool:
        """Whether a row was changed."""
        return bool(self._rows)

    def rows(self) -> Iterable[tuple[bytes, Holding]]:
        """What was touched, to be written."""
        return self._rows.items()

    def settle(self) -> None:
        """Have these rows take the place of the old ones."""
        for stream, row in self._rows.items():
            self._holdings._install(stream, row)


def encode_holdings(rows: Iterable[tuple[Name, Holding]]) -> bytes:
    """Write what is held of many streams."""
    ordered = sorted(rows, key=_by_name)
    return tlv.tlv(HOLDINGS, b"".join([tlv.tlv(STREAM, name.wire + row.encode()) for name, row in ordered]))


def decode_holdings(value: bytes, max_streams: int = MAX_STREAMS) -> list[tuple[Name, Holding]]:
    """Read what another repo holds, strictly; raises `BadPacket`."""
    type_, position, end = element(value, 0, len(value))
    if type_ != HOLDINGS or end != len(value):
        raise BadPacket(f"holdings are one element {HOLDINGS}, this is {type_} and {len(value) - end} bytes behind it")
    rows: list[tuple[Name, Holding]] = []
    last = b""
    while position < end:
        at = position
        type_, low, position = element(value, at, end)
        if type_ != STREAM:
            skip(type_, at, "Holdings")
            continue
        type_, start, stop = element(value, low, position)
        if type_ != tlv.NAME:
            raise BadPacket(f"a stream begins with its name, the one at byte {at} with element {type_}")
        name = Name.decode(value[start:stop])
        if name.value <= last:
            raise BadPacket(f"{name} is not in canonical order, or comes twice")
        if len(rows) >= max_streams:
            raise BadPacket(f"there are more than {max_streams} streams, which is the limit")
        last = name.value
        rows.append((name, Holding.decode(value[stop:position])))
    return rows


def _by_name(row: tuple[Name, Holding]) -> bytes:
    return row[0].value
