"""What a group's repos say right now, as much of it as is needed to say what is handed out next.

Nothing here waits for news: `roost.pipeline.watching` has the real one, tests have theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from roost.pipeline.place import Run


class View(Protocol):
    """What a group's repos say; streams are relative to the group."""

    def numbers(self) -> Mapping[str, int]:
        """The highest number of every stream that is wished for."""
        ...

    def holes(self) -> Mapping[str, Sequence[Run]]:
        """The numbers below it that no repo at hand has, or has dropped: runs in rising order, that do not touch."""
        ...

    def boundaries(self, time_ns: int) -> Mapping[str, int]:
        """Each stream's lowest number with an event time at or after this, or the one behind its highest."""
        ...

    def times(self, stream: str, low: int, high: int) -> Mapping[int, int]:
        """The event times of readings that are there."""
        ...
