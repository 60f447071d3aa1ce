"""The disk of a station, as `roost.machine.disk` promises it: appended or replaced, forced, answered in order.

What is saved lies in a cache until the sync latency has passed; then it is on the disk. A crash may lose the cache: of
each file any first part of the writes that were not through is kept, or nothing, and a replacement is there or is not.
A crash may also flip bits, anywhere, or leave nothing at all.
"""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Final, NamedTuple

from roost.machine.disk import Save
from roost.sim.happened import Crash, Violation

MAX_DISK_BYTES: Final = 1 << 28
MAX_UNSYNCED: Final = 100_000
MAX_FLIPS: Final = 8


class _Write(NamedTuple):
    data: bytes
    replace: bool


class Disk:
    """Files that survive, and what is on its way into them."""

    def __init__(self, station: str, sync_ns: int, randomness: Random, max_bytes: int = MAX_DISK_BYTES) -> None:
        self.flipped = 0
        self.lost = 0  # writes that a crash cost, whole or in part
        self.max_bytes: Final = max_bytes
        self._station: Final = station
        self._sync_ns: Final = sync_ns
        self._randomness: Final = randomness
        self._files: Final[dict[str, bytearray]] = {}  # bound: max_bytes in all
        self._unsynced: Final[deque[tuple[str, _Write]]] = deque()  # bound: MAX_UNSYNCED
        self._size = 0
        self._free_at = 0

    def files(self) -> dict[str, bytes]:
        """What a machine finds when it is built."""
        return {file: bytes(content) for file, content in self._files.items()}

    def save(self, effect: Save, now: int) -> int:
        """Take a write into the cache; returns when it will be through."""
        self._size += len(effect.data)
        if self._size > self.max_bytes or len(self._unsynced) >= MAX_UNSYNCED:
            waiting = len(self._unsynced)
            raise Violation(f"the disk of {self._station} is full: {self._size} bytes, {waiting} writes unsynced", now)
        self._unsynced.append((effect.file, _Write(effect.data, effect.replace)))
        self._free_at = max(self._free_at, now + self._sync_ns)
        return self._free_at

    def synced(self) -> None:
        """The oldest write is through."""
        self._apply(*self._unsynced.popleft())

    def crash(self, how: Crash) -> None:
        """Decide what is left."""
        if how & Crash.LOSE_UNSYNCED:
            self._lose()
        while self._unsynced:
            self.synced()
        if how & Crash.FLIP_BITS:
            self._flip()
        if how & Crash.LOSE_ALL:
            self._files.clear()
            self._size = 0
        self._free_at = 0

    def _apply(self, file: str, write: _Write) -> None:
        content = self._files.setdefault(file, bytearray())
        if write.replace:
            self._size -= len(content)
            content[:] = write.data
        else:
            content += write.data

    def _lose(self) -> None:
        """Cut the cache: each file keeps a first part of its writes, the last of which may be torn."""
        by_file: dict[str, list[_Write]] = {}
        for file, write in self._unsynced:
            by_file.setdefault(file, []).append(write)
        self._unsynced.clear()
        for file, writes in by_file.items():
            kept = self._randomness.randrange(len(writes) + 1)
            self._unsynced.extend((file, write) for write in writes[:kept])
            if kept < len(writes):
                self.lost += len(writes) - kept
                self._size -= sum(len(write.data) for write in writes[kept:])
                torn = writes[kept]
                if not torn.replace:
                    part = torn.data[: self._randomness.randrange(len(torn.data) + 1)]
                    self._size += len(part)
                    self._unsynced.append((file, _Write(part, replace=False)))

    def _flip(self) -> None:
        contents = [content for content in self._files.values() if content]
        total = sum(map(len, contents))
        for _ in range(self._randomness.randint(1, MAX_FLIPS) if total else 0):
            at = self._randomness.randrange(total)
            for content in contents:
                if at < len(content):
                    content[at] ^= 1 << self._randomness.randrange(8)
                    self.flipped += 1
                    break
                at -= len(content)
