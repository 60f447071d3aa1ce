"""How much of the processor somebody used lately: the time of this period and of the one before."""

from __future__ import annotations

from typing import Final

from roost.machine import SECOND

PERIOD: Final = 5 * SECOND
WINDOW: Final = 2 * PERIOD  # what `lately` looks back on at most


class Use:
    """The time of one user; nothing that is measured needs a timer."""

    def __init__(self) -> None:
        self._begin = 0
        self._current = 0
        self._before = 0

    def add(self, took_ns: int, now: int) -> None:
        """Count time that was used."""
        if not self._begin <= now < self._begin + PERIOD:
            self._turn(now)
        self._current += took_ns

    def lately(self, now: int) -> int:
        """How much of `WINDOW` was used."""
        if not self._begin <= now < self._begin + PERIOD:
            self._turn(now)
        return self._before + self._current

    def _turn(self, now: int) -> None:
        """Begin a period; a clock that was set back begins one too."""
        self._before = self._current if self._begin <= now < self._begin + WINDOW else 0
        self._current = 0
        self._begin = now
