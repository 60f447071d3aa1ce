"""What is told of a run: what happened when and where, the faults among it, and the promise that was broken."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import NamedTuple


class Crash(IntFlag):
    """What a crash does to the disk; losing and flipping may come together."""

    KEEP = 0  # the process died, the system did not: everything written is there
    LOSE_UNSYNCED = 1  # the power failed: of what was not yet forced to the disk, any first part is there, or nothing
    FLIP_BITS = 2  # and a few bits, anywhere in the files, are not what they were
    LOSE_ALL = 4  # the disk died, and an empty one is in its place


class Happened(NamedTuple):
    """One line of the history: an effect that a driver does not execute, or a fault (`station` "" for all)."""

    time: int
    station: str
    incarnation: int
    what: object


@dataclass(frozen=True, slots=True)
class Started:
    """A station was built and started: for the first time, or again after a crash."""

    files: int  # found on its disk


@dataclass(frozen=True, slots=True)
class Crashed:
    """A station is down: its machine, its timers and what was under way to it are gone."""

    how: Crash


@dataclass(frozen=True, slots=True)
class Parted:
    """Stations of different groups do not hear each other; who is in no group hears everybody."""

    groups: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Healed:
    """All hear each other again."""


class Violation(AssertionError):
    """A promise that was not kept: a finding about what is simulated. `time` is when, if that is known."""

    def __init__(self, sentence: str, time: int | None = None) -> None:
        super().__init__(sentence)
        self.time = time
