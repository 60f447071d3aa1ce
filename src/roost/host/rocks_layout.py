"""The rows of a store in RocksDB: their keys, their checksums, and a batch turned into them.

    b"p" name                             CRC-32 of key and rest (4) · event time (8) · packet
    b"t" stream 00 event time, number     nothing: the numbers of a stream by event time, which may be 0
    b"n" name                             nothing: the names that are no numbers of a stream
    b"b" stream 00 block                  a time (8): no reading among the BLOCK numbers of this block has a later one
    b"m" key                              CRC-32 of key and rest (4) · mark

The bytes of a name are in canonical order, so ranges, prefixes and the newest of a stream are seeks; no component
begins with 00, so the rows of a stream do not mix with those of streams below it. Blocks make `since` exact, although
readings may be late: the first block whose time is late enough has the answer, or it was deleted and the next one has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from zlib import crc32

from roost.host.rocks_rows import RocksRows
from roost.naming import Name
from roost.repo.numbering import MAX_NUMBER, key_of, numbered
from roost.repo.store import Batch, Entry

BLOCK: Final = 1024
CRC_BYTES: Final = 4
HEAD_BYTES: Final = 12


class Writing:
    """Batches on their way to rows, and what they are about to change that they also ask for."""

    def __init__(self, rows: RocksRows) -> None:
        self._rows: Final = rows
        self._batch: Final[Any] = rows.batch()
        self._times: Final[dict[bytes, int]] = {}  # of what is put, by the key of the packet
        self._blocks: Final[dict[bytes, int]] = {}  # by the key of the block

    def add(self, batch: Batch) -> None:
        """Put one in."""
        for name in batch.deletes:
            self._delete(name)
        for entry in batch.puts:
            self._put(entry)
        for key, value in batch.marks:
            if value is None:
                self._batch.delete(b"m" + key)
            else:
                self._batch.put(b"m" + key, sealed(b"m" + key, value))

    def finish(self) -> Any:  # noqa: ANN401  a WriteBatch, which has no type without rocksdict
        """The rows to write."""
        for key, time in self._blocks.items():
            self._batch.put(key, time.to_bytes(8, "big"))
        return self._batch

    def _put(self, entry: Entry) -> None:
        name, wire, time = entry
        key = b"p" + name.value
        self._batch.put(key, sealed(key, time.to_bytes(8, "big") + wire))
        self._times[key] = time
        stream, number = numbered(name)
        if not number:
            self._batch.put(b"n" + name.value, b"")
            return
        self._batch.put(time_key(stream, time, number), b"")
        block = block_key(stream, number // BLOCK)
        if time > self._latest_in(block):
            self._blocks[block] = time

    def _delete(self, name: Name) -> None:
        key = b"p" + name.value
        self._batch.delete(key)
        stream, number = numbered(name)
        if number:
            for time in self._times_of(key, stream, number):
                self._batch.delete(time_key(stream, time, number))
        else:
            self._batch.delete(b"n" + name.value)
        self._times.pop(key, None)

    def _times_of(self, key: bytes, stream: bytes, number: int) -> list[int]:
        """Under which event times a reading is listed: those of a damaged one are looked for in the list."""
        if key in self._times:
            return [self._times[key]]
        value = self._rows.get(key)
        if value is None:
            return []
        if is_sealed(key, value):
            return [time_of(value)]
        rows = self._rows.forward(time_key(stream, 0, 0), time_key(stream, MAX_NUMBER, MAX_NUMBER) + b"\0")
        return [int.from_bytes(row[-16:-8], "big") for row, _ in rows if row.endswith(number.to_bytes(8, "big"))]

    def _latest_in(self, block: bytes) -> int:
        time = self._blocks.get(block)
        if time is None:
            time = int.from_bytes(self._rows.get(block) or b"", "big")
        return time


def sealed(key: bytes, rest: bytes) -> bytes:
    """A value, with the checksum before it."""
    return crc32(rest, crc32(key)).to_bytes(CRC_BYTES, "big") + rest


def is_sealed(key: bytes, value: bytes) -> bool:
    """Whether a value is as it was written."""
    return crc32(value[CRC_BYTES:], crc32(key)).to_bytes(CRC_BYTES, "big") == value[:CRC_BYTES]


def readings(rows: list[tuple[bytes, bytes]], size: int, length: int) -> list[tuple[int, bytes]]:
    """The numbers and packets in the whole ones of some rows, whose keys begin with `size` bytes of the same stream.

    Keys of another length than `length` are no numbers. One expression, because a repo hands out millions of them.
    """
    if not rows:
        return []
    begun = crc32(rows[0][0][:size])
    low = size + 2  # behind the type and the length of the number
    of = int.from_bytes
    return [
        (of(key[low:], "big"), value[HEAD_BYTES:])
        for key, value in rows
        if len(key) == length and crc32(value[CRC_BYTES:], crc32(key[size:], begun)) == of(value[:CRC_BYTES], "big")
    ]


def same_width(low: int, high: int) -> Iterator[tuple[int, int]]:
    """Cut a run of numbers where they begin to take more bytes: the keys of a part are all of one length."""
    for most in (0xFF, 0xFFFF, 0xFFFFFFFF, MAX_NUMBER):
        if low <= min(most, high):
            yield low, min(most, high)
            low = most + 1


def successor(prefix: bytes) -> bytes:
    """The first key behind all that begin with this prefix."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes((kept[-1] + 1,))


def time_of(value: bytes) -> int:
    """The event time in the value of a packet's row."""
    return int.from_bytes(value[CRC_BYTES:HEAD_BYTES], "big")


def time_key(stream: bytes, time: int, number: int) -> bytes:
    """Where a number stands in the list by event time."""
    return b"t" + stream + b"\0" + time.to_bytes(8, "big") + number.to_bytes(8, "big")


def listed_name(key: bytes) -> bytes:
    """The name of the reading that stands under this key in the list by event time."""
    return key_of(key[1:-17], int.from_bytes(key[-8:], "big"))


def block_key(stream: bytes, block: int) -> bytes:
    """Where the time of a block stands."""
    return b"b" + stream + b"\0" + block.to_bytes(8, "big")
