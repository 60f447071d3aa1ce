"""Bits that flip on a disk: one in the files of a repo's store, and which readings that costs.

The repo does not run meanwhile. What is damaged is found out by asking the store for every reading that it holds, so
that a flipped bit that costs nothing (there are bytes that nobody reads) is not mistaken for one that does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from roost.host.rocks import RocksStore
from roost.naming import Name
from roost.naming.building import numbered
from roost.repo.store import Damaged

PARTS: Final = (0.4, 0.25, 0.55, 0.15, 0.7, 0.05, 0.85)  # of the file, until one of them costs a reading


def flip(store: Path, held: dict[Name, int]) -> list[tuple[Name, int]]:
    """Flip one bit in the largest file that has readings of these streams; returns the readings that are lost by it."""
    RocksStore(store).close()  # what was in its log is in files then
    files = sorted(store.glob("*.sst"), key=lambda each: each.stat().st_size, reverse=True)
    for file in files:
        for part in PARTS:
            at = int(file.stat().st_size * part)
            _flip(file, at)
            if lost := damaged(store, held):
                return lost
            if file.exists():
                _flip(file, at)
    return []


def damaged(store: Path, held: dict[Name, int]) -> list[tuple[Name, int]]:
    """Which readings of these streams, up to these numbers, the store cannot give any more."""
    opened = RocksStore(store)
    try:
        return [each for each in _all(held) if not _is_whole(opened, *each)]
    finally:
        opened.close()


def _is_whole(store: RocksStore, stream: Name, number: int) -> bool:
    try:
        return store.get(numbered(stream, number)) is not None
    except Damaged:
        return False


def _all(held: dict[Name, int]) -> Iterator[tuple[Name, int]]:
    for stream, highest in held.items():
        for number in range(1, highest + 1):
            yield stream, number


def _flip(file: Path, at: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(at)
        (byte,) = opened.read(1)
        opened.seek(at)
        opened.write(bytes([byte ^ 0x10]))


def ranges(readings: Sequence[tuple[Name, int]]) -> list[tuple[Name, int, int]]:
    """The same as stretches of streams."""
    found: list[tuple[Name, int, int]] = []
    for stream, number in sorted(readings):
        if found and found[-1][0] == stream and found[-1][2] == number - 1:
            found[-1] = (stream, found[-1][1], number)
        else:
            found.append((stream, number, number))
    return found
