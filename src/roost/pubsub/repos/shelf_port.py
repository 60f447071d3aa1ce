"""What insertion asks of a repo's shelf (`roost.repo.shelf`), and how it takes the answer.

The shelf answers once everything is on the disk, one text per packet or name: empty where it was done, else why not.
A refusal is either for good, because of what the store holds, or for now: the disk or a queue is full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeAlias

from roost.machine import Effect
from roost.naming import Name
from roost.repo.shelving import CONFLICT, DELETED, LAST
from roost.wire import Data

Shelved: TypeAlias = Callable[[list[str], int], list[Effect]]

_FOR_GOOD: Final = frozenset({CONFLICT, DELETED, LAST})


class Stored(Protocol):
    """What is there already."""

    def get(self, name: Name) -> bytes | None: ...


class ShelfPort(Protocol):
    """Where packets are put, and taken away from."""

    @property
    def store(self) -> Stored: ...
    def put(self, packets: Sequence[Data], cause: int, then: Shelved, now: int) -> list[Effect]: ...
    def drop(self, names: Sequence[Name], then: Shelved, now: int) -> list[Effect]: ...


def is_for_now(refusal: str) -> bool:
    """Whether the same packet may be kept later."""
    return bool(refusal) and refusal not in _FOR_GOOD
