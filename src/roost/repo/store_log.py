"""The store as one append-only file: for the simulator, and for machines without RocksDB.

    file     batch …
    batch    head head index index bodies
    head     bytes of the index (4) · bytes of the bodies (4) · CRC-32 of these (4)
    index    entry … · CRC-32 of the entries (4)
    entry    kind (1) · event time (8) · length of the key (2) · of the body (4) · CRC-32 of key and body (4) · key

What says where things are stands there twice, so a flipped bit costs the packet it is in, and its name is known. Where
both heads are damaged nothing behind them can be found; where both indexes are, their batch is lost: both are holes,
which their owner notices by the marks and by its peers. A last batch that is cut off was never reported as written, and
is not there. What comes next belongs behind byte `size`, which says so to the owner of the file.

The whole store is in memory too. Nothing is ever taken out of the file.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple
from zlib import crc32

from roost.naming import Name
from roost.repo.memory import MemoryStore
from roost.repo.store import Batch, Damaged, Entry

_PUT: Final = 1
_DELETE: Final = 2
_MARK: Final = 3
_UNMARK: Final = 4
_SIZES: Final = Struct(">II")
_ENTRY: Final = Struct(">BQHII")
_CRC_BYTES: Final = 4
_HEAD_BYTES: Final = _SIZES.size + _CRC_BYTES


class _Line(NamedTuple):
    kind: int
    time: int
    key: bytes
    body: bytes
    whole: bool


def encode_batch(batch: Batch) -> bytes:
    """What to append to the file."""
    lines = [(_DELETE, 0, name.value, b"") for name in batch.deletes]
    lines += [(_PUT, entry.time, entry.name.value, entry.wire) for entry in batch.puts]
    lines += [(_UNMARK if value is None else _MARK, 0, key, value or b"") for key, value in batch.marks]
    entries = [
        _ENTRY.pack(kind, time, len(key), len(body), crc32(body, crc32(key))) + key for kind, time, key, body in lines
    ]
    index = _sealed(b"".join(entries))
    bodies = b"".join([body for _, _, _, body in lines])
    head = _sealed(_SIZES.pack(len(index), len(bodies)))
    return head + head + index + index + bodies


class LoggedStore(MemoryStore):
    """What a file holds: the packets that are whole, and the names of those that are not."""

    def __init__(self, found: bytes) -> None:
        super().__init__()
        self.size = 0  # how much of the file can be read; the next batch belongs there
        self.lost = 0  # batches that cannot be read, the rest of the file counting as one
        self._damaged: Final[set[bytes]] = set()  # bound: the packets in the file
        while self.size < len(found):
            sizes = _sizes_at(found, self.size)
            if sizes is None:
                self.lost += len(found) - self.size >= 2 * _HEAD_BYTES
                return
            index_bytes, body_bytes = sizes
            low = self.size + 2 * _HEAD_BYTES
            end = low + 2 * index_bytes + body_bytes
            if end > len(found):
                return
            self._replay(found, low, index_bytes)
            self.size = end

    @property
    def damaged(self) -> list[Name]:
        """The packets that are there, but not as they were written, in canonical order."""
        return [Name(value) for value in sorted(self._damaged)]

    def get(self, name: Name) -> bytes | None:
        """The packet of exactly this name; raises `Damaged`."""
        if name.value in self._damaged:
            raise Damaged(name)
        return super().get(name)

    def apply(self, batch: Batch) -> None:
        """Take in a batch that is in the file now."""
        self.write([batch])

    def _put(self, entry: Entry) -> None:
        self._damaged.discard(entry.name.value)
        super()._put(entry)

    def _delete(self, name: Name) -> None:
        self._damaged.discard(name.value)
        super()._delete(name)

    def _replay(self, found: bytes, low: int, index_bytes: int) -> None:
        bodies = low + 2 * index_bytes
        for at in (low, low + index_bytes):
            index = found[at : at + index_bytes]
            if _is_whole(index):
                break
        else:
            self.lost += 1
            return
        for line in _lines(found, index, bodies):
            if line.kind == _PUT and line.whole:
                self._put(Entry(Name(line.key), line.body, line.time))
            elif line.kind == _PUT:
                self._delete(Name(line.key))
                self._damaged.add(line.key)
            elif line.kind == _DELETE:
                self._delete(Name(line.key))
            else:
                self._set_mark(line.key, line.body if line.kind == _MARK and line.whole else None)


def _lines(found: bytes, index: bytes, bodies: int) -> list[_Line]:
    lines: list[_Line] = []
    position = 0
    while position < len(index) - _CRC_BYTES:
        kind, time, key_bytes, body_bytes, checksum = _ENTRY.unpack_from(index, position)
        position += _ENTRY.size
        key = index[position : position + key_bytes]
        position += key_bytes
        body = found[bodies : bodies + body_bytes]
        bodies += body_bytes
        lines.append(_Line(kind, time, key, body, crc32(body, crc32(key)) == checksum))
    return lines


def _sizes_at(found: bytes, position: int) -> tuple[int, int] | None:
    """The sizes that the first readable of two heads gives."""
    for at in (position, position + _HEAD_BYTES):
        head = found[at : at + _HEAD_BYTES]
        if len(head) == _HEAD_BYTES and _is_whole(head):
            index_bytes, body_bytes = _SIZES.unpack_from(head)
            return index_bytes, body_bytes
    return None


def _sealed(data: bytes) -> bytes:
    return data + crc32(data).to_bytes(_CRC_BYTES, "big")


def _is_whole(sealed: bytes) -> bool:
    cut = len(sealed) - _CRC_BYTES
    return cut >= 0 and crc32(sealed[:cut]).to_bytes(_CRC_BYTES, "big") == sealed[cut:]
