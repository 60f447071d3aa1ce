"""The clock that drivers hand to machines: nanoseconds since 1970 that never go back.

It runs on the monotonic clock, set by the wall clock at start. A wall clock that is set forward (a board that boots
in 1970 and then asks NTP) is followed, because certificates depend on it; one that is set back is not, because every
timer would stop. By how much it was set forward in all is told: who measures how long something takes has to know.
"""

from __future__ import annotations

import time
from typing import Final

from roost.machine import SECOND

_TOLERANCE: Final = SECOND // 2
_LOOK: Final = SECOND // 100  # how often the wall clock is looked at


class Clock:
    """Callable: `clock()` is now; `stepped` is by how much it was set forward."""

    __slots__ = ("_look_at", "_offset", "stepped")

    def __init__(self) -> None:
        self.stepped = 0
        self._offset = time.time_ns() - time.monotonic_ns()
        self._look_at = 0

    def __call__(self) -> int:
        """Now, in nanoseconds since 1970."""
        now = time.monotonic_ns() + self._offset
        if now >= self._look_at:
            wall = time.time_ns()
            if wall - now > _TOLERANCE:
                self._offset += wall - now
                self.stepped += wall - now
                now = wall
            self._look_at = now + _LOOK
        return now
