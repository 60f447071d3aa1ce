"""The clock that drivers hand to machines: nanoseconds since 1970 that never go back.

It runs on the monotonic clock, set by the wall clock at start. A wall clock that is set forward (a board that boots
in 1970 and then asks NTP) is followed at once, because certificates depend on it; one that is set back is not, because
every timer would stop.
"""

from __future__ import annotations

import time
from typing import Final

from roost.machine import SECOND

_TOLERANCE: Final = SECOND // 2


class Clock:
    """Callable: `clock()` is now."""

    __slots__ = ("_offset",)

    def __init__(self) -> None:
        self._offset = time.time_ns() - time.monotonic_ns()

    def __call__(self) -> int:
        """Now, in nanoseconds since 1970."""
        now = time.monotonic_ns() + self._offset
        wall = time.time_ns()
        if wall - now > _TOLERANCE:
            self._offset += wall - now
            return wall
        return now
