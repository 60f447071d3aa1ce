"""The store on RocksDB: what a repo keeps on a real disk, in the rows of `roost.host.rocks_layout`.

A value that does not match its checksum, or is in a damaged block of a file, is `Damaged` for who asks for it, and
lists leave it out. A damaged block also hides from lists what was written over it, and ends RocksDB's housekeeping and
with that all writing. So the next write copies all that can be read to a new store first, which takes as long as it
takes, and as much room; without the room the store goes on as it is while it can. That is why each packet is in a list
beside its row: what one of the two does not give, the other does.

`roost.host.rocks_rows` knows RocksDB, and what it does when the disk is full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Final

from roost.errors import BadConfig
from roost.host.rocks_layout import (
    BLOCK,
    CRC_BYTES,
    HEAD_BYTES,
    Writing,
    block_key,
    is_sealed,
    listed_name,
    readings,
    same_width,
    successor,
    time_key,
    time_of,
)
from roost.host.rocks_mending import fresh_path, swap_in, tidy_up
from roost.host.rocks_rows import RocksRows
from roost.naming import Name
from roost.repo.numbering import BEHIND, MAX_NUMBER, key_of, number_at
from roost.repo.store import Batch, Damaged, Entry

_SEQUENCE: Final = b"\x3a"
_PAGE: Final = 2000  # rows that are copied at once
_FEW: Final = 64  # readings, which are looked at sooner than the blocks of a stream
_PLACE: Final = 16  # bytes of event time and number


class RocksStore:
    """A `Keeper` in a folder, which it holds alone; one thread may read while another writes.

    Raises `BadConfig` if the folder cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        self.mended = 0  # how often all was copied to a new store
        tidy_up(path)
        self._rows = RocksRows(path)
        self._lock: Final = Lock()  # so that nobody reads while the store is opened anew, or forced to the disk
        self.is_doubtful: Final = self._rows.is_doubtful  # batches that were written may be missing
        self._mends: bool = True  # until there was no room for it
        self.damaged = 0  # packets and marks whose checksum was wrong, each time they were read

    # -- reading

    def get(self, name: Name) -> bytes | None:
        """The packet of exactly this name; raises `Damaged`."""
        key = b"p" + name.value
        with self._lock:
            value = self._rows.get(key)
        if value is None:
            return None
        if not self._is_whole(key, value):
            raise Damaged(name)
        return value[HEAD_BYTES:]

    def find(self, prefix: Name) -> bytes | None:
        """The last packet whose name begins with this prefix."""
        low = b"p" + prefix.value
        with self._lock:
            for key, value in self._rows.backward(low, low + BEHIND):
                if self._is_whole(key, value):
                    return value[HEAD_BYTES:]
        return None

    def range(self, stream: Name, low: int, high: int, limit: int) -> list[tuple[int, bytes]]:
        """The packets low to high of a stream, as far as they are here."""
        if low == high and limit > 0:
            return self._reading(stream.value, low)
        found: list[tuple[int, bytes]] = []
        with self._lock:
            for first, last in same_width(max(1, low), min(high, MAX_NUMBER)):
                if len(found) < limit:
                    found += self._readings(stream.value, first, last, limit - len(found))
        return found

    def latest(self, stream: Name) -> int:
        """The highest number of a stream that is here, 0 without any."""
        low = b"p" + stream.value + _SEQUENCE
        size = len(low) - 1
        with self._lock:
            for key, value in self._rows.backward(low, b"p" + key_of(stream.value, MAX_NUMBER) + BEHIND):
                number = number_at(key, size)
                if number and self._is_whole(key, value):
                    return number
        return 0

    def scan(self, prefix: Name, after: Name | None, limit: int) -> list[Name]:
        """The names that begin with a prefix and stand behind `after`."""
        rows = self._behind(b"p" + prefix.value, b"p" + after.value if after else b"", limit)
        return [Name(key[1:]) for key, _ in rows]

    def since(self, stream: Name, time: int) -> int:
        """The lowest number of a stream at or after `time`, 0 without any; since 0 is all that is here."""
        return self.since_each([stream], time)[0]

    def since_each(self, streams: Sequence[Name], time: int) -> list[int]:
        """The same for each of some streams: where few readings are as late, they are all looked at."""
        with self._lock:
            late: list[list[bytes]] = []
            if 0 < time <= MAX_NUMBER:
                starts = [time_key(stream.value, time, 0) for stream in streams]
                ranges = [(start, start[:-_PLACE] + BEHIND * (_PLACE + 1)) for start in starts]
                late = list(self._rows.first_keys(ranges, _FEW))
            if not late or self._rows.damaged:  # what is listed by event time may be damaged, too
                return [self._since(stream.value, time) for stream in streams]
            return [
                min([int.from_bytes(key[-8:], "big") for key in keys], default=0)
                if len(keys) < _FEW
                else self._since(stream.value, time)
                for stream, keys in zip(streams, late, strict=True)
            ]

    def _since(self, stream: bytes, time: int) -> int:
        for first, _ in self._numbers(stream, 1, MAX_NUMBER):
            if not time:
                return first
            for block in self._blocks(stream, first // BLOCK, time):
                for number, value in self._numbers(stream, block * BLOCK, block * BLOCK + BLOCK - 1):
                    if time_of(value) and time_of(value) >= time:
                        return number
            return 0
        return 0

    def between(self, stream: Name, low: int, high: int, limit: int) -> list[tuple[int, int]]:
        """The readings of a stream with an event time from low to high, as (event time, number)."""
        found: list[tuple[int, int]] = []
        low, high = max(1, low), min(high, MAX_NUMBER)
        if limit <= 0 or low > high:
            return found
        with self._lock:
            for key, _ in self._rows.forward(
                time_key(stream.value, low, 0), time_key(stream.value, high, MAX_NUMBER) + b"\0"
            ):
                found.append((int.from_bytes(key[-16:-8], "big"), int.from_bytes(key[-8:], "big")))
                if len(found) == limit:
                    break
        return found

    def mark(self, key: bytes) -> bytes | None:
        """A mark; None if there is none, or it is damaged."""
        with self._lock:
            value = self._rows.get(b"m" + key)
        return value[CRC_BYTES:] if value is not None and self._is_whole(b"m" + key, value) else None

    def marks(self, prefix: bytes, after: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """The marks whose key begins with a prefix and stands behind `after`, by key."""
        return [(key[1:], value[CRC_BYTES:]) for key, value in self._behind(b"m" + prefix, b"m" + after, limit)]

    def _behind(self, prefix: bytes, after: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """The whole rows with a prefix that stand behind a key."""
        found: list[tuple[bytes, bytes]] = []
        if limit <= 0:
            return found
        with self._lock:
            for key, value in self._rows.forward(max(prefix, after), successor(prefix)):
                if key != after and self._is_whole(key, value):
                    found.append((key, value))
                    if len(found) == limit:
                        break
        return found

    def _reading(self, stream: bytes, number: int) -> list[tuple[int, bytes]]:
        """One packet, which is looked up sooner than a walk begins."""
        if not 1 <= number <= MAX_NUMBER:
            return []
        key = b"p" + key_of(stream, number)
        with self._lock:
            value = self._rows.get(key)
        return [] if value is None or not self._is_whole(key, value) else [(number, value[HEAD_BYTES:])]

    def _readings(self, stream: bytes, low: int, high: int, limit: int) -> list[tuple[int, bytes]]:
        """The packets low to high, which are numbers of one width, in pages."""
        found: list[tuple[int, bytes]] = []
        at, end = b"p" + key_of(stream, low), b"p" + key_of(stream, high) + b"\0"
        length = len(at)
        while len(found) < limit:
            wanted = min(limit - len(found), high - low + 1)
            rows = self._rows.page(at, end, wanted)
            whole = readings(rows, len(stream) + 1, length)
            self.damaged += sum(len(key) == length for key, _ in rows) - len(whole) if len(whole) < len(rows) else 0
            found += whole
            if len(rows) < wanted or len(whole) == wanted:
                break
            at = rows[-1][0] + b"\0"
        return found

    def _numbers(self, stream: bytes, low: int, high: int) -> Iterator[tuple[int, bytes]]:
        """The numbers of a stream, with the values of their rows."""
        low, high = max(1, low), min(high, MAX_NUMBER)
        if low > high:
            return
        size = len(stream) + 1
        for key, value in self._rows.forward(b"p" + key_of(stream, low), b"p" + key_of(stream, high) + b"\0"):
            number = number_at(key, size)
            if number and self._is_whole(key, value):
                yield number, value

    def _blocks(self, stream: bytes, first: int, time: int) -> Iterator[int]:
        """The blocks, from `first` on, in which there may be a reading of this time or later."""
        low = block_key(stream, first)
        for key, value in self._rows.forward(low, low[:-8] + BEHIND * 9):
            if int.from_bytes(value, "big") >= time:
                yield int.from_bytes(key[-8:], "big")

    def _is_whole(self, key: bytes, value: bytes) -> bool:
        if is_sealed(key, value):
            return True
        self.damaged += 1
        return False

    def entries(self) -> Iterator[Entry]:
        """All packets that can be read: first as they stand, and where there is damage again as they are listed."""
        for key, value in self._rows.forward(b"p", b"q"):
            if self._is_whole(key, value):
                yield Entry(Name(key[1:]), value[HEAD_BYTES:], time_of(value))
        if not self._rows.damaged:
            return
        for low in (b"t", b"n"):
            for listed, _ in self._rows.forward(low, successor(low)):
                key = b"p" + (listed_name(listed) if low == b"t" else listed[1:])
                value = self._rows.get(key) or b""
                if is_sealed(key, value):
                    yield Entry(Name(key[1:]), value[HEAD_BYTES:], time_of(value))

    # -- writing

    def write(self, batches: Sequence[Batch]) -> None:
        """Write these, all in one instant, and force them to the disk; raises `OSError`."""
        if self._rows.damaged and self._mends:
            self._mend()
        try:
            self._write(batches)
        except OSError:
            if not (self._rows.damaged and self._mends):
                raise
            self._mend()
            self._write(batches)

    def close(self) -> None:
        """Let it go."""
        with self._lock:
            self._rows.close()

    def _write(self, batches: Sequence[Batch]) -> None:
        writing = Writing(self._rows)
        for batch in batches:
            writing.add(batch)
        with self._lock:  # nobody reads what may be lost with the machine
            self._rows.write(writing.finish())
            self._rows.force()

    def _mend(self) -> None:
        """Copy what can be read to a new store, and go on with that; if there is no room, go on with this one."""
        try:
            copy_readable(self, fresh_path(self.path))
        except (OSError, BadConfig):
            fresh_path(self.path)  # what there is of the copy takes room that is needed
            self._mends = False
            return
        with self._lock:
            self._rows.close()
            swap_in(self.path)
            self._rows = RocksRows(self.path)
        self.mended += 1


def copy_readable(store: RocksStore, path: Path) -> None:
    """Write all that can be read of a store to a new one; raises `OSError` or `BadConfig`."""
    fresh = RocksStore(path)
    try:
        page: list[Entry] = []
        for entry in store.entries():
            page.append(entry)
            if len(page) >= _PAGE:
                fresh.write([Batch(tuple(page))])
                page.clear()
        fresh.write([Batch(tuple(page))])
        after = b""
        while marks := store.marks(b"", after, _PAGE):
            fresh.write([Batch(marks=tuple(marks))])
            after = marks[-1][0]
    finally:
        fresh.close()
