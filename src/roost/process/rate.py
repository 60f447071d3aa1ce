"""How often a macro may run: a rate in runs per second, of which one second's worth may come at once."""

from __future__ import annotations

from typing import Final

from roost.machine import SECOND


class Rate:
    """Runs that come back with time; integers throughout, so nothing drifts."""

    def __init__(self, per_s: int, now: int) -> None:
        self.per_s: Final = per_s
        self._full: Final = per_s * SECOND  # a run costs one second of credit, `per_s` of it come every nanosecond
        self._credit = self._full
        self._at = now

    def take(self, now: int) -> bool:
        """Take one run if there is one."""
        if now > self._at:
            self._credit = min(self._full, self._credit + (now - self._at) * self.per_s)
            self._at = now
        if self._credit < SECOND:
            return False
        self._credit -= SECOND
        return True
