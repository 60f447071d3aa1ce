"""The machine contract as types: `Machine`, `Effect`, `Rejected`, `Note`, `Randomness`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

MS: Final = 1_000_000
SECOND: Final = 1_000_000_000


class Effect:
    """What a machine asks its driver to do; subclasses are frozen dataclasses named by an imperative."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Rejected(Effect):
    """Input that was refused: from whom, why, and (bounded) what. The driver counts and logs it."""

    source: str
    reason: str
    sample: bytes = b""


@dataclass(frozen=True, slots=True)
class Note(Effect):
    """Something a person may want to know: an event name and its facts, never a secret."""

    event: str
    facts: tuple[tuple[str, str | int], ...] = ()


class Randomness(Protocol):
    """The part of `random.Random` that machines may use; the driver hands in a seeded or a system one."""

    def getrandbits(self, k: int, /) -> int: ...
    def random(self) -> float: ...
    def randint(self, a: int, b: int) -> int: ...


Event = TypeVar("Event", contravariant=True)


class Machine(Protocol[Event]):
    """The four verbs. Commands of a particular machine come on top and return effects too."""

    def start(self, now: int) -> Sequence[Effect]: ...
    def receive(self, event: Event, now: int) -> Sequence[Effect]: ...
    def tick(self, now: int) -> Sequence[Effect]: ...
    def deadline(self) -> int | None: ...


def earliest(*deadlines: int | None) -> int | None:
    """The first of several deadlines, None where there is none."""
    first: int | None = None  # a loop, for machines are asked after every call
    for deadline in deadlines:
        if deadline is not None and (first is None or deadline < first):
            first = deadline
    return first
