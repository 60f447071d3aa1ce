"""The port of a data store: packets by name, the readings of a stream by number and by event time, and small marks.

    reading            machines ask a `Store` at once: `get`, `find`, `range`, `latest`, `scan`, `since`, `between`
    writing            machines want a `Batch` written; the driver writes it whole or not at all, forces it to the disk
                       and hands back `Written`, or `Unwritten` with the reason (the disk is full)

A packet whose name ends in `seq=<n>`, n from 1 on and in its shortest form, is number n of the stream its name begins
with, whatever else it is; one that has an event time is found by that too. Packets are immutable: who puts a name that
is there writes the same bytes. A mark is a row of a few bytes under a key of its own, for what must change in the same
instant as the packets.

Every packet is kept with a checksum. What was damaged on the disk is never handed out: reading it raises `Damaged`, and
lists leave it out, so that its owner fetches it again from another repo. A store that was damaged where the names
stand may take a name for damaged that it never had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from roost.errors import RoostError
from roost.machine import Effect
from roost.naming import Name


class Damaged(RoostError):
    """A packet is on the disk, but not as it was written."""

    def __init__(self, name: Name) -> None:
        super().__init__(f"{name} is damaged on the disk: fetch it from another repo")
        self.name = name


class Entry(NamedTuple):
    """A packet to keep, and the event time (ns since 1970) of the reading in it, 0 for what is no reading."""

    name: Name
    wire: bytes
    time: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """What is written in one instant, the deletions first; a mark of None is taken away."""

    puts: tuple[Entry, ...] = ()
    deletes: tuple[Name, ...] = ()
    marks: tuple[tuple[bytes, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Write(Effect):
    """Write a batch and force it to the disk; answer with `Written` or `Unwritten` of the same ticket, in order."""

    store: str  # which one, where a driver has several
    ticket: int
    batch: Batch


@dataclass(frozen=True, slots=True)
class Written:
    """Event: the batch is on the disk, and can be read."""

    store: str
    ticket: int


@dataclass(frozen=True, slots=True)
class Unwritten:
    """Event: nothing of the batch is on the disk, nor of those after it; why, and what to do."""

    store: str
    ticket: int
    reason: str


class Store(Protocol):
    """What can be asked at once. Lists are in canonical order of names; `limit` bounds them."""

    def get(self, name: Name) -> bytes | None:
        """The packet of exactly this name; raises `Damaged`."""
        ...

    def find(self, prefix: Name) -> bytes | None:
        """The last packet, in canonical order, whose name begins with this prefix: the newest of a stream."""
        ...

    def range(self, stream: Name, low: int, high: int, limit: int) -> list[tuple[int, bytes]]:
        """The packets low to high of a stream, with their numbers, as far as they are here."""
        ...

    def latest(self, stream: Name) -> int:
        """The highest number of a stream that is here, 0 without any."""
        ...

    def scan(self, prefix: Name, after: Name | None, limit: int) -> list[Name]:
        """The names that begin with a prefix and stand behind `after`."""
        ...

    def since(self, stream: Name, time: int) -> int:
        """The lowest number of a stream with an event time at or after `time`, 0 without any; readings may be late.

        With a time of 0 it is the lowest that is here, even if it has no event time: it may be sealed.
        """
        ...

    def since_each(self, streams: Sequence[Name], time: int) -> list[int]:
        """The same for each of some streams; where one is damaged, it may be the number of that."""
        ...

    def between(self, stream: Name, low: int, high: int, limit: int) -> list[tuple[int, int]]:
        """The readings of a stream with an event time from low to high, as (event time, number), in that order."""
        ...

    def mark(self, key: bytes) -> bytes | None:
        """A mark; None if there is none, or it is damaged."""
        ...

    def marks(self, prefix: bytes, after: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """The marks whose key begins with a prefix and stands behind `after`, by key."""
        ...


class Keeper(Store, Protocol):
    """A store as its driver sees it."""

    def write(self, batches: Sequence[Batch]) -> None:
        """Write these, all in one instant, and force them to the disk; raises `OSError`."""
        ...

    def close(self) -> None:
        """Let it go."""
        ...
