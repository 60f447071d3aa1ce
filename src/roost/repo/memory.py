"""The store in memory: for simulations, for tests, and as the model that the store on a disk is held against.

Nothing is kept when the process ends; `roost.repo.store_log` adds that. There is no bound of its own: what is put in
is bounded by those who put it, as on a disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from roost.naming import Name
from roost.repo.numbering import BEHIND, MAX_NUMBER, key_of, number_at, numbered
from roost.repo.sorted_keys import SortedKeys
from roost.repo.store import Batch, Entry


class MemoryStore:
    """A `Keeper` that forgets."""

    def __init__(self) -> None:
        self._packets: Final[dict[bytes, tuple[bytes, int]]] = {}  # name → packet, event time
        self._names: Final = SortedKeys()
        self._times: Final[dict[bytes, SortedKeys]] = {}  # stream → event time (8), number (8)
        self._marks: Final[dict[bytes, bytes]] = {}
        self._mark_keys: Final = SortedKeys()

    # -- reading

    def get(self, name: Name) -> bytes | None:
        """The packet of exactly this name."""
        found = self._packets.get(name.value)
        return None if found is None else found[0]

    def find(self, prefix: Name) -> bytes | None:
        """The last packet whose name begins with this prefix."""
        for key in self._names.backward(prefix.value + BEHIND):
            return self._packets[key][0] if key.startswith(prefix.value) else None
        return None

    def range(self, stream: Name, low: int, high: int, limit: int) -> list[tuple[int, bytes]]:
        """The packets low to high of a stream, as far as they are here."""
        found = ((number, self._packets[key][0]) for number, key in self._numbers(stream.value, low, high))
        return list(islice(found, max(0, limit)))

    def latest(self, stream: Name) -> int:
        """The highest number of a stream that is here, 0 without any."""
        size = len(stream.value)
        for key in self._names.backward(key_of(stream.value, MAX_NUMBER) + BEHIND):
            if not key.startswith(stream.value):
                break
            number = number_at(key, size)
            if number:
                return number
        return 0

    def scan(self, prefix: Name, after: Name | None, limit: int) -> list[Name]:
        """The names that begin with a prefix and stand behind `after`."""
        return [Name(key) for key in _behind(self._names, prefix.value, after.value if after else None, limit)]

    def since(self, stream: Name, time: int) -> int:
        """The lowest number of a stream at or after `time`, 0 without any; since 0 is all that is here."""
        for number, key in self._numbers(stream.value, 1, MAX_NUMBER):
            when = self._packets[key][1]
            if when >= max(1, time) or not time:
                return number
        return 0

    def since_each(self, streams: Sequence[Name], time: int) -> list[int]:
        """The same for each of some streams."""
        return [self.since(stream, time) for stream in streams]

    def between(self, stream: Name, low: int, high: int, limit: int) -> list[tuple[int, int]]:
        """The readings of a stream with an event time from low to high, as (event time, number)."""
        rows = self._times.get(stream.value)
        found: list[tuple[int, int]] = []
        if rows is None or low > high or low > MAX_NUMBER:
            return found
        for row in rows.forward(_row(max(0, low), 0)):
            time, number = int.from_bytes(row[:8], "big"), int.from_bytes(row[8:], "big")
            if time > high or len(found) >= limit:
                break
            found.append((time, number))
        return found

    def mark(self, key: bytes) -> bytes | None:
        """A mark, None if there is none."""
        return self._marks.get(key)

    def marks(self, prefix: bytes, after: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """The marks whose key begins with a prefix and stands behind `after`, by key."""
        return [(key, self._marks[key]) for key in _behind(self._mark_keys, prefix, after, limit)]

    def _numbers(self, stream: bytes, low: int, high: int) -> Iterator[tuple[int, bytes]]:
        size = len(stream)
        low, high = max(1, low), min(high, MAX_NUMBER)
        if low > high:
            return
        last = key_of(stream, high)
        for key in self._names.forward(key_of(stream, low)):
            if key > last:
                return
            number = number_at(key, size)
            if number:
                yield number, key

    # -- writing

    def write(self, batches: Sequence[Batch]) -> None:
        """Take these in."""
        for batch in batches:
            for name in batch.deletes:
                self._delete(name)
            for entry in batch.puts:
                self._put(entry)
            for key, value in batch.marks:
                self._set_mark(key, value)

    def close(self) -> None:
        """Let it go."""

    def _put(self, entry: Entry) -> None:
        key = entry.name.value
        before = self._packets.get(key)
        self._packets[key] = (entry.wire, entry.time)
        if before is None:
            self._names.add(key)
        stream, number = numbered(entry.name)
        was = before[1] if before else 0
        if not number or was == entry.time:
            return
        if was:
            self._times[stream].remove(_row(was, number))
        if entry.time:
            self._times.setdefault(stream, SortedKeys()).add(_row(entry.time, number))

    def _delete(self, name: Name) -> None:
        before = self._packets.pop(name.value, None)
        if before is None:
            return
        self._names.remove(name.value)
        stream, number = numbered(name)
        if number and before[1]:
            self._times[stream].remove(_row(before[1], number))

    def _set_mark(self, key: bytes, value: bytes | None) -> None:
        is_there = key in self._marks
        if value is None:
            if is_there:
                del self._marks[key]
                self._mark_keys.remove(key)
            return
        self._marks[key] = value
        if not is_there:
            self._mark_keys.add(key)


def _row(time: int, number: int) -> bytes:
    return time.to_bytes(8, "big") + number.to_bytes(8, "big")


def _behind(keys: SortedKeys, prefix: bytes, after: bytes | None, limit: int) -> list[bytes]:
    """The keys with a prefix that stand behind another."""
    low = prefix if after is None else max(prefix, after)
    found: list[bytes] = []
    for key in keys.forward(low):
        if len(found) >= limit or not key.startswith(prefix):
            break
        if key != after:
            found.append(key)
    return found
