"""The trace of a run: a hash over everything that happened, and the latest of it to be read.

Every packet sent and handed over, every timer, command, save, fault and observed effect goes into the hash as a fixed
record of numbers, texts and packets as their CRC-32. The same seed gives the same hash on every run, interpreted or
compiled. What a person would read is also kept as lines to be written out later (`roost.sim.story`), the last `keep`
of them.

`watching` is how a replay keeps everything of a scenario that makes its worlds by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from zlib import crc32

from roost.sim.describe import describe

if TYPE_CHECKING:
    from roost.sim.world import World

KEEP_LINES: Final = 1000
_BATCH: Final = 4096
_REMEMBERED: Final = 4096
_RECORD: Final = Struct("<QIIQ")
_MASK: Final = (1 << 64) - 1

# what a record is about
ARRIVED: Final = 1  # packets were handed to a station
TICKED: Final = 2
TOLD: Final = 3
SENT: Final = 4
SAVING: Final = 5
SAVED: Final = 6
OBSERVED: Final = 7  # an effect or a fault that is in the history


Line: TypeAlias = tuple[int, str, int, Any]  # time, station, what it is about, what


class Trace:
    """The records of one world."""

    def __init__(self, keep: int = KEEP_LINES) -> None:
        self.lines: Final[deque[Line]] = deque(maxlen=keep)
        self.lines_seen = 0
        self._hash: Final = blake2b(digest_size=16)
        self._batch: Final[list[bytes]] = []  # bound: _BATCH
        self._checksums: Final[dict[object, int]] = {}  # of what was observed lately; bound: _REMEMBERED

    def add(self, time: int, station: int, about: int, detail: int) -> None:
        """Take one record into the hash."""
        self._batch.append(_RECORD.pack(time, station, about, detail & _MASK))
        if len(self._batch) >= _BATCH:
            self._absorb()

    def observe(self, time: int, station: int, name: str, what: object) -> None:
        """Take in an effect or a fault; one that a thousand stations see alike is put into words once."""
        try:
            checksum = self._checksums.get(what)
        except TypeError:  # it holds something that cannot be looked up
            checksum = crc32(describe(what).encode())
        if checksum is None:
            checksum = crc32(describe(what).encode())
            if len(self._checksums) >= _REMEMBERED:
                self._checksums.clear()
            self._checksums[what] = checksum
        self.add(time, station, OBSERVED, checksum)
        self.tell(time, name, OBSERVED, what)

    def tell(self, time: int, station: str, about: int, what: object) -> None:
        """Keep one line for the timeline."""
        self.lines_seen += 1
        self.lines.append((time, station, about, what))

    def digest(self) -> str:
        """The hash of everything so far."""
        self._absorb()
        return self._hash.hexdigest()

    def _absorb(self) -> None:
        self._hash.update(b"".join(self._batch))
        self._batch.clear()


class Watch:
    """Whoever looks at the worlds that a scenario makes."""

    def __init__(self, keep: int) -> None:
        self.keep: Final = keep
        self.worlds: Final[list[World]] = []


WATCH: Final[ContextVar[Watch | None]] = ContextVar("WATCH", default=None)


@contextmanager
def watching(keep: int) -> Iterator[list[World]]:
    """Have every world made in this block keep that many lines, and list the worlds."""
    watch = Watch(keep)
    token = WATCH.set(watch)
    try:
        yield watch.worlds
    finally:
        WATCH.reset(token)
