"""Our own numbers on the disk: the boot time and the highest number of each stream we produce, saved before announced.

A record is appended for each stream of a save; a later record of a name wins. What is wanted while a save is under way
goes into the next one, so a burst costs two. When most of the file is outdated it is replaced by one record per stream.

    record   length of the body (2) · CRC-32 of the body (4) · CRC-32 of these six bytes (4) · body
    body     boot (8) · number (8) · name      the doubt: a body of boot 0 and number 0 without a name

- A last record that is cut off was never `Saved`: the length in its head, which has a checksum of its own, says so.
  Nothing is lost with it.
- Anything else that does not match its checksum is damage: from there on nothing can be read, and which numbers stood
  there is unknown, of streams we still see as of streams we do not. What was readable then is written before a record
  that says so (the doubt), and streams saved since then behind it. So a stream is `doubtful` until it is saved again,
  over as many restarts as that takes; `get` gives what its number is at least.

Who keeps its numbers elsewhere, as a repo does in its store, makes a ledger `of` them, and answers a save with `Saved`
once they are on the disk there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Final
from zlib import crc32

from roost.errors import Backpressure
from roost.machine import Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.sync.port import Stream

MAX_STREAMS: Final = 100_000
COMPACT_BYTES: Final = 1 << 16
_COMPACT_RATIO: Final = 4  # the file is replaced when this much larger than what counts in it
_LENGTH: Final = Struct(">HI")
_HEAD_BYTES: Final = 10
_BODY: Final = Struct(">QQ")
_DAMAGE: Final = -1
_CUT_OFF: Final = -2


class Ledger:
    """What is on the disk, and what is on its way there."""

    def __init__(self, file: str, saved: bytes, max_streams: int = MAX_STREAMS) -> None:
        self.file: Final = file
        self.max_streams: Final = max_streams
        self.saves = 0
        self.damaged = False  # numbers were lost, at this reading or an earlier one: streams may be doubtful
        self._on_disk: Final[dict[Name, tuple[int, int]]] = {}  # name → boot, number; bound of all: max_streams
        self._doubtful: Final[dict[Name, tuple[int, int]]] = {}  # as found before the doubt
        self._wanted: Final[dict[Name, tuple[int, int]]] = {}  # for the next save
        self._under_way: dict[Name, tuple[int, int]] = {}
        self._new = 0  # names that are wanted or under way, and not on the disk
        self._ticket = 0
        self._size = len(saved)
        self._counts = 0  # bytes of the file that are not outdated, once all is saved
        self._replace = False  # nothing can be appended to a file that ends in something unreadable
        self._restore(saved)

    @staticmethod
    def of(
        file: str, known: Iterable[tuple[Stream, int]], *, damaged: bool = False, max_streams: int = MAX_STREAMS
    ) -> Ledger:
        """A ledger of numbers that are kept elsewhere; if that is `damaged`, each is a lower bound."""
        ledger = Ledger(file, b"", max_streams)
        ledger.damaged = damaged
        found = ledger._doubtful if damaged else ledger._on_disk
        for stream, number in known:
            found[stream.name] = (stream.boot, number)
        ledger._counts = sum(_size_of(name) for name in found)
        return ledger

    def get(self, name: Name) -> tuple[int, int] | None:
        """Boot and number of a stream as they are on the disk; of a doubtful one the number is a lower bound."""
        return self._on_disk.get(name) or self._doubtful.get(name)

    def doubtful(self, name: Name) -> bool:
        """Whether this stream may have had a higher number than the disk knows, or one although the disk has none."""
        return self.damaged and name not in self._on_disk

    def known(self) -> Iterator[tuple[Stream, int]]:
        """All that can be read, doubtful numbers first: a stream that was saved again since then comes twice."""
        for name, (boot, number) in [*self._doubtful.items(), *self._on_disk.items()]:
            yield Stream(name, boot), number

    @property
    def is_saved(self) -> bool:
        """Whether all that was wanted is on the disk."""
        return not self._under_way and not self._wanted

    @property
    def newest_boot(self) -> int:
        """The latest boot time on the disk, 0 without any."""
        return max([stream.boot for stream, _ in self.known()], default=0)

    def want(self, stream: Stream, number: int) -> list[Effect]:
        """Have a number saved; it is on the disk when `saved` returns it."""
        name = stream.name
        if not (name in self._on_disk or name in self._under_way or name in self._wanted):
            if len(self._on_disk) + self._new >= self.max_streams:
                raise Backpressure(f"{name} cannot be produced: {self.max_streams} streams are the limit here", 0)
            self._new += 1
        self._wanted[name] = (stream.boot, number)
        return [] if self._under_way else self._save()

    def saved(self, event: Saved) -> tuple[list[tuple[Stream, int]], list[Effect]]:
        """Take in that a save is through: what is on the disk now, and the next save if there is one."""
        if event.file != self.file or event.ticket != self._ticket or not self._under_way:
            return [], []
        through = [(Stream(name, boot), number) for name, (boot, number) in self._under_way.items()]
        self._new -= sum(name not in self._on_disk for name in self._under_way)
        self._on_disk.update(self._under_way)
        self._under_way = {}
        return through, self._save() if self._wanted else []

    def _save(self) -> list[Effect]:
        self._under_way = dict(self._wanted)
        self._wanted.clear()
        self._ticket += 1
        self.saves += 1
        self._counts += sum(_size_of(name) for name in self._under_way if name not in self._on_disk)
        outdated = self._size > COMPACT_BYTES and self._size > _COMPACT_RATIO * self._counts
        replace = self._replace or outdated
        data = self._everything() if replace else _records(self._under_way)
        self._size = len(data) if replace else self._size + len(data)
        self._replace = False
        return [Save(self.file, self._ticket, data, replace)]

    def _everything(self) -> bytes:
        """The whole file as it will be, without what is outdated."""
        doubt = _records(self._doubtful) + _record(b"", 0, 0) if self.damaged else b""
        return doubt + _records(self._on_disk | self._under_way)

    def _restore(self, saved: bytes) -> None:
        position = 0
        while position < len(saved):
            end = _end_of_record(saved, position)
            if end < 0:
                self._replace = True
                if end == _DAMAGE:
                    self._doubt()
                break
            boot, number = _BODY.unpack_from(saved, position + _HEAD_BYTES)
            value = saved[position + _HEAD_BYTES + _BODY.size : end]
            if value or number:
                self._on_disk[Name.decode(value)] = (boot, number)
            else:
                self._doubt()
            position = end
        self._counts = sum(_size_of(stream.name) for stream, _ in self.known())

    def _doubt(self) -> None:
        """Nothing that was read so far is certain any more."""
        self.damaged = True
        self._doubtful.update(self._on_disk)
        self._on_disk.clear()


def _records(entries: dict[Name, tuple[int, int]]) -> bytes:
    return b"".join([_record(name.value, boot, number) for name, (boot, number) in entries.items()])


def _record(value: bytes, boot: int, number: int) -> bytes:
    body = _BODY.pack(boot, number) + value
    head = _LENGTH.pack(len(body), crc32(body))
    return head + crc32(head).to_bytes(4, "big") + body


def _size_of(name: Name) -> int:
    return _HEAD_BYTES + _BODY.size + len(name.value)


def _end_of_record(saved: bytes, position: int) -> int:
    """Where the record ends if it is whole; else whether it is damaged or cut off."""
    low = position + _HEAD_BYTES
    if low > len(saved):
        return _CUT_OFF
    head = saved[position : position + _LENGTH.size]
    if crc32(head).to_bytes(4, "big") != saved[position + _LENGTH.size : low]:
        return _DAMAGE
    length, checksum = _LENGTH.unpack(head)
    if low + length > len(saved):
        return _CUT_OFF
    body = saved[low : low + length]
    return low + length if crc32(body) == checksum and length >= _BODY.size else _DAMAGE
