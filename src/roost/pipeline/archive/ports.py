"""What the archive needs of the repos: which numbers there are, and the readings themselves.

`roost.host.watch` and `roost.host.stretches` have that; `live` puts them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from roost.naming import Name
from roost.repo.question import Run


class Fetched(Protocol):
    """A piece of a stream: packets by rising numbers, and what became of the numbers that have none."""

    @property
    def stream(self) -> Name: ...
    @property
    def packets(self) -> Sequence[tuple[int, bytes]]: ...
    @property
    def dropped(self) -> Sequence[Run]: ...
    @property
    def refused(self) -> Sequence[tuple[int, str]]: ...
    @property
    def missing(self) -> Sequence[int]: ...
    @property
    def verified(self) -> bool: ...


class Source(Protocol):
    """A group as its repos have it."""

    def numbers(self) -> Mapping[Name, int]:
        """The highest number of every stream."""

    def holes(self) -> Mapping[Name, Sequence[Run]]:
        """Numbers below the highest that the nearest repo has not, nor has dropped."""

    def boundaries(self, time_ns: int) -> Mapping[Name, int]:
        """The lowest number of every stream whose event time is at or after a time."""

    def read(self, stretches: Sequence[tuple[Name, int, int]]) -> Iterable[Fetched]:
        """The readings low to high of streams."""
