"""When a query that failed may start again: waits that double up to a bound, and are forgotten after healthy time.

A machine's part: `now` is an argument, nothing is awaited here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.machine import SECOND

FIRST: Final = SECOND
LONGEST: Final = 60 * SECOND
HEALTHY: Final = 120 * SECOND  # of running, after which a failure counts as the first again


@dataclass(slots=True)
class Restarts:
    """How one query has fared."""

    first: int = FIRST
    longest: int = LONGEST
    healthy: int = HEALTHY
    _starts: int = 0
    _failures: int = 0  # in a row
    _since: int = 0

    @property
    def count(self) -> int:
        """How often it was started again."""
        return max(0, self._starts - 1)

    def started(self, now: int) -> None:
        """Note that it runs."""
        self._starts += 1
        self._since = now

    def failed(self, now: int) -> int:
        """Give the time at which it may start again."""
        if now - self._since >= self.healthy:
            self._failures = 0
        wait: int = min(self.first << min(self._failures, 32), self.longest)
        self._failures += 1
        self._since = now + wait  # a start that fails at once has had no healthy time
        return self._since
