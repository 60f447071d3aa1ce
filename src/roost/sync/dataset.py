"""What a PSync group holds: the latest number of every stream, and the sketches of it, kept up to date [PSync §1].

The elements of the set are `/<stream>/<number>`; a stream with number 0 is known, but is no element. Numbers only grow.
A table (`Iblt`) is built from all streams when it is first asked for; from then on an update changes its six cells.

Keys have 32 bits: among 100,000 streams two elements with the same key are to be expected. Both are kept and both are
in the tables, `elements_of` returns both, `collisions` counts them. A difference in which both are is incomplete, which
passes as soon as one of the two streams goes on.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final

from roost.naming import Name
from roost.sync.iblt import Iblt, cells_for
from roost.sync.murmur import element_key
from roost.sync.sync_state import element_value

MAX_TABLES: Final = 8  # sizes that are kept up to date
MAX_NUMBER: Final = 0xFFFFFFFFFFFFFFFF
_NO_KEY: Final = -1


class _Entry:
    """A stream, its latest number, and the key of the two; -1 while the number is 0."""

    __slots__ = ("key", "number", "stream")

    def __init__(self, stream: Name) -> None:
        self.stream: Final = stream
        self.number = 0
        self.key = _NO_KEY


class Dataset:
    """Streams and their numbers, at most `max_streams`; the one changed last comes last."""

    def __init__(self, max_streams: int) -> None:
        self.max_streams: Final = max_streams
        self.total = 0  # the cumulative count n; stays at what a number component can carry
        self.elements = 0  # streams that have a number
        self.names_bytes = 0  # of all streams
        self.collisions = 0
        self.turned_away = 0  # new streams that found no room
        self._entries: Final[dict[Name, _Entry]] = {}
        self._holders: Final[dict[int, _Entry]] = {}  # key → the entry that has had it longest
        self._doubles: Final[dict[int, list[_Entry]]] = {}  # key → the others that have it
        self._tables: Final[dict[int, Iblt]] = {}  # cells → table, the one used last at the end; bound: MAX_TABLES

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, stream: Name) -> bool:
        return stream in self._entries

    def set(self, stream: Name, number: int) -> bool:
        """Take in the latest number of a stream; returns whether that was news, and there was room for it."""
        entry = self._entries.get(stream)
        if entry is None:
            if len(self._entries) >= self.max_streams:
                self.turned_away += 1
                return False
            entry = _Entry(stream)
            self.names_bytes += len(stream.value)
        elif number <= entry.number:
            return False
        key = element_key(element_value(stream, number)) if number else _NO_KEY
        self._entries.pop(stream, None)
        self._entries[entry.stream] = entry
        if entry.key != _NO_KEY:
            self._detach(entry)
        self.total = min(self.total + number - entry.number, MAX_NUMBER)
        entry.number = number
        entry.key = key
        if key != _NO_KEY:
            self._attach(entry)
        return True

    def get(self, stream: Name) -> int:
        """The latest number of a stream: 0 if it has published nothing yet, -1 if it is unknown."""
        entry = self._entries.get(stream)
        return -1 if entry is None else entry.number

    def items(self) -> list[tuple[Name, int]]:
        """All streams, the one changed last at the end."""
        return [(entry.stream, entry.number) for entry in self._entries.values()]

    def recent(self) -> Iterator[tuple[Name, int]]:
        """All streams, the one changed last first; for whoever may stop early."""
        for entry in reversed(self._entries.values()):
            yield entry.stream, entry.number

    # -- keys

    def number_in(self, stream: Name, keys: Container[int], reach: int) -> int:
        """The number that a stream has among other elements' keys, if it is within reach of ours; 0 if it is not."""
        ours = max(0, self.get(stream))
        ahead: list[int] = list(range(ours + 1, min(ours + reach, MAX_NUMBER) + 1))
        behind: list[int] = list(range(ours - 1, max(ours - reach, 1) - 1, -1))
        for number in ahead + behind:
            if element_key(element_value(stream, number)) in keys:
                return number
        return 0

    def elements_of(self, keys: list[int]) -> list[tuple[Name, int]]:
        """All elements with these keys, in the order of the keys; unknown keys are passed over."""
        found: list[tuple[Name, int]] = []
        for key in keys:
            entry = self._holders.get(key)
            if entry is None:
                continue
            found.append((entry.stream, entry.number))
            if self._doubles:
                found += [(double.stream, double.number) for double in self._doubles.get(key, [])]
        return found

    # -- tables

    def iblt(self, expected: int) -> Iblt:
        """The table for `expected` differing elements. It goes on changing with the dataset: copy it to keep it."""
        return self._table(cells_for(expected), expected)

    def iblt_like(self, other: Iblt) -> Iblt:
        """The table that can be compared with another one, whose size the caller has agreed to."""
        return self._table(other.cells, other.expected)

    def _table(self, cells: int, expected: int) -> Iblt:
        table = self._tables.pop(cells, None)
        if table is None:
            table = Iblt(expected)
            for entry in self._entries.values():
                if entry.key != _NO_KEY:
                    table.insert(entry.key)
            if len(self._tables) >= MAX_TABLES:
                del self._tables[next(iter(self._tables))]
        self._tables[cells] = table
        return table

    def _attach(self, entry: _Entry) -> None:
        key = entry.key
        self.elements += 1
        for table in self._tables.values():
            table.insert(key)
        if key not in self._holders:
            self._holders[key] = entry
        else:
            self.collisions += 1
            self._doubles.setdefault(key, []).append(entry)

    def _detach(self, entry: _Entry) -> None:
        key = entry.key
        self.elements -= 1
        for table in self._tables.values():
            table.erase(key)
        doubles = self._doubles.get(key)
        if doubles is None:
            del self._holders[key]
            return
        if self._holders[key] is entry:
            self._holders[key] = doubles.pop(0)
        else:
            doubles.remove(entry)
        if not doubles:
            del self._doubles[key]
