"""Our own numbers on the disk: the boot time and the highest number of each stream we produce, saved before announced.

A record is CRC-32 · length (2 bytes) · boot (8) · number (8) · name, appended at each announcement; a later record of a
name wins. What is wanted while a save is under way goes into the next one, so a burst costs two. When most of the file
is outdated it is replaced by one record per stream.

Reading stops at the first record that does not match its checksum: `damaged` is then True, and our last numbers may be
lost. Whether the disk flipped a bit of something announced, or lost the end of something that never was, cannot be told.
"""

from __future__ import annotations

from struct import Struct
from typing import Final
from zlib import crc32

from roost.errors import BadPacket, Backpressure
from roost.machine import Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.sync.port import Stream

MAX_STREAMS: Final = 100_000
COMPACT_BYTES: Final = 1 << 16
_HEAD: Final = Struct(">IH")
_BODY: Final = Struct(">QQ")


class Ledger:
    """What is on the disk, and what is on its way there."""

    def __init__(self, file: str, saved: bytes, max_streams: int = MAX_STREAMS) -> None:
        self.file: Final = file
        self.max_streams: Final = max_streams
        self.saves = 0
        self.damaged = False
        self._on_disk: Final[dict[Name, tuple[int, int]]] = {}  # name → boot, number; bound: max_streams
        self._size = len(saved)
        self._wanted: Final[dict[Name, tuple[int, int]]] = {}  # for the next save
        self._under_way: dict[Name, tuple[int, int]] = {}
        self._ticket = 0
        self._replace = False
        self._restore(saved)

    def get(self, name: Name) -> tuple[int, int] | None:
        """Boot and number of a stream as they are on the disk."""
        return self._on_disk.get(name)

    @property
    def newest_boot(self) -> int:
        """The latest boot time on the disk, 0 without any."""
        return max([boot for boot, _ in self._on_disk.values()], default=0)

    def want(self, stream: Stream, number: int) -> list[Effect]:
        """Have a number saved; it is on the disk when `saved` returns it."""
        known = stream.name in self._on_disk or stream.name in self._wanted or stream.name in self._under_way
        if not known and len(self._on_disk) + len(self._wanted) + len(self._under_way) >= self.max_streams:
            raise Backpressure(f"{stream.name} cannot be produced: {self.max_streams} streams are the limit here", 0)
        self._wanted[stream.name] = (stream.boot, number)
        return [] if self._under_way else self._save()

    def saved(self, event: Saved) -> tuple[list[tuple[Stream, int]], list[Effect]]:
        """Take in that a save is through: what is on the disk now, and the next save if there is one."""
        if event.ticket != self._ticket or not self._under_way:
            return [], []
        through = [(Stream(name, boot), number) for name, (boot, number) in self._under_way.items()]
        self._on_disk.update(self._under_way)
        self._under_way = {}
        return through, self._save() if self._wanted else []

    def _save(self) -> list[Effect]:
        self._under_way = dict(self._wanted)
        self._wanted.clear()
        self._ticket += 1
        self.saves += 1
        outdated = self._size > COMPACT_BYTES and self._size > 4 * 64 * len(self._on_disk)
        replace = self._replace or outdated
        entries = self._on_disk | self._under_way if replace else self._under_way
        data = b"".join([_record(name, boot, number) for name, (boot, number) in entries.items()])
        self._size = len(data) if replace else self._size + len(data)
        self._replace = False
        return [Save(self.file, self._ticket, data, replace)]

    def _restore(self, saved: bytes) -> None:
        position = 0
        while position < len(saved):
            end = _end_of_record(saved, position)
            if end < 0:
                self.damaged = True
                self._replace = True
                return
            boot, number = _BODY.unpack_from(saved, position + _HEAD.size)
            try:
                name = Name.decode(saved[position + _HEAD.size + _BODY.size : end])
            except BadPacket:
                self.damaged = True
                self._replace = True
                return
            self._on_disk[name] = (boot, number)
            position = end


def _record(name: Name, boot: int, number: int) -> bytes:
    body = _BODY.pack(boot, number) + name.value
    return _HEAD.pack(crc32(body, len(body)), len(body)) + body


def _end_of_record(saved: bytes, position: int) -> int:
    """Where the record ends if it is whole, else -1."""
    if position + _HEAD.size + _BODY.size > len(saved):
        return -1
    checksum, length = _HEAD.unpack_from(saved, position)
    low = position + _HEAD.size
    if length < _BODY.size or low + length > len(saved):
        return -1
    body = saved[low : low + length]
    return low + length if crc32(body, length) == checksum else -1
