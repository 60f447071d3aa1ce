"""Our own publications on the disk: appended before they are announced, so that a restarted member still has them.

    record   length of the body (4) · CRC-32 of the body (4) · body
    body     boot (8) · number (8) · time in µs (8) · length of the name (2) · name · blob, or the name of its file

A blob that is in a file of its own is named instead (the highest bit of the name's length says so): it may be larger
than memory. Whoever reads the log opens those files, and what has none any more is passed over.

A later record of a number wins. What cannot be read ends the file: a record that is cut off was never `Saved`, and
behind a damaged one nothing can be found. When more than half of it is outdated, the file is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from struct import Struct
from typing import Final, TypeAlias
from zlib import crc32

from roost.errors import BadName
from roost.machine.disk import Save
from roost.naming import Name

SPARE_BYTES: Final = 1 << 20
_HEAD: Final = Struct(">II")
_BODY: Final = Struct(">QQQH")
_IN_FILE: Final = 0x8000

OpenFile: TypeAlias = Callable[[str], memoryview | None]  # what a file holds, None if it is not there


@dataclass(frozen=True, slots=True)
class Record:
    """One publication."""

    boot: int
    number: int
    time_us: int
    name: Name
    content: bytes | memoryview
    file: str = ""  # where the content is, if not in the log

    @property
    def size_bytes(self) -> int:
        """How many bytes it takes in the log."""
        content = len(self.file.encode()) if self.file else len(self.content)
        return _HEAD.size + _BODY.size + len(self.name.value) + content

    def encode(self) -> bytes:
        """Write it."""
        value = self.name.value
        content = self.file.encode() if self.file else bytes(self.content)
        length = len(value) | (_IN_FILE if self.file else 0)
        body = _BODY.pack(self.boot, self.number, self.time_us, length) + value + content
        return _HEAD.pack(len(body), crc32(body)) + body


class BlobLog:
    """The file; `found` is what was in it, the oldest first."""

    def __init__(self, file: str, saved: bytes, open_file: OpenFile = lambda _: None) -> None:
        self.file: Final = file
        self.found, read = _restore(saved, open_file)
        self.last_ticket = 0
        self._size = len(saved)
        self._replace = read < len(saved)  # nothing can be appended behind what cannot be read

    def append(self, record: Record, kept: Callable[[], Iterable[Record]], kept_bytes: int) -> Save:
        """Have one more saved; `kept` makes those before it that still count, should the file be replaced.

        So many bytes they take here: that is known without making them.
        """
        data = record.encode()
        replace = self._replace or self._size > 2 * kept_bytes + SPARE_BYTES
        if replace:
            data = b"".join([each.encode() for each in kept()]) + data
        self._size = len(data) if replace else self._size + len(data)
        self._replace = False
        self.last_ticket += 1
        return Save(self.file, self.last_ticket, data, replace)


def _restore(saved: bytes, open_file: OpenFile) -> tuple[list[Record], int]:
    """The records that can be read, and how many bytes they take."""
    found: dict[tuple[int, int], Record] = {}
    position = 0
    while position + _HEAD.size <= len(saved):
        size, checksum = _HEAD.unpack_from(saved, position)
        low = position + _HEAD.size
        body = saved[low : low + size]
        if len(body) < size or size < _BODY.size or crc32(body) != checksum:
            break
        boot, number, time_us, length = _BODY.unpack_from(body)
        end = _BODY.size + (length & ~_IN_FILE)
        try:
            name = Name.decode(body[_BODY.size : end])
        except BadName:
            break
        position = low + size
        if not length & _IN_FILE:
            found[boot, number] = Record(boot, number, time_us, name, body[end:])
            continue
        file = body[end:].decode(errors="replace")
        content = open_file(file)
        if content is not None:
            found[boot, number] = Record(boot, number, time_us, name, content, file)
    return list(found.values()), position
