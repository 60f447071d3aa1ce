"""A token bucket: a rate that may be exceeded for a moment, by its burst.

Time is handed in. Nothing waits here: `spend` says when the debt will be paid, `take` refuses to make any.
"""

from __future__ import annotations

from typing import Final


class Bucket:
    """Tokens that come back at a rate, up to a burst; integers throughout, so nothing drifts."""

    def __init__(self, rate: int, per_ns: int, burst: int, now: int) -> None:
        self._rate: Final = rate
        self._unit: Final = per_ns  # one token is this much credit, and `rate` of credit comes every nanosecond
        self._full: Final = burst * per_ns
        self._credit = self._full
        self._at = now

    def spend(self, tokens: int, now: int) -> int:
        """Take tokens, into debt if need be; 0, or when the debt will be paid."""
        self._refill(now)
        self._credit -= tokens * self._unit
        return 0 if self._credit >= 0 else now - self._credit // self._rate  # rounds towards later

    def take(self, now: int) -> bool:
        """Take one token if there is one."""
        self._refill(now)
        if self._credit < self._unit:
            return False
        self._credit -= self._unit
        return True

    def holds(self, now: int) -> bool:
        """Whether there is a token to take."""
        self._refill(now)
        return self._credit >= self._unit

    def _refill(self, now: int) -> None:
        if now > self._at:
            self._credit = min(self._full, self._credit + (now - self._at) * self._rate)
        self._at = now  # also when the clock was set back: then time counts from there
