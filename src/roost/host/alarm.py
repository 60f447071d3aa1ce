"""The one timer a driver keeps for a machine: it rings at the machine's deadline, or a little after, never before.

Moving an asyncio timer with every batch costs more than letting an early one ring for nothing, so a timer is moved
only when the deadline comes nearer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from roost.machine import SECOND

_SHORTEST_S: Final = 0.001


class Alarm:
    """Calls `ring(now)` when the deadline last set has passed; `ring` is expected to set the next one."""

    __slots__ = ("_clock", "_handle", "_loop", "_ring", "_rings_at", "_wanted")

    def __init__(self, clock: Callable[[], int], ring: Callable[[int], None]) -> None:
        self._clock: Final = clock
        self._ring: Final = ring
        self._loop: Final = asyncio.get_running_loop()
        self._handle: asyncio.TimerHandle | None = None
        self._rings_at = 0
        self._wanted: int | None = None

    def set(self, deadline: int | None, now: int) -> None:
        """Have it ring at `deadline`, or not at all."""
        self._wanted = deadline
        if deadline is None or (self._handle is not None and self._rings_at <= deadline):
            return
        if self._handle is not None:
            self._handle.cancel()
        self._rings_at = deadline
        self._handle = self._loop.call_later(max(_SHORTEST_S, (deadline - now) / SECOND), self._fired)

    def cancel(self) -> None:
        """Ring no more."""
        self._wanted = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _fired(self) -> None:
        self._handle = None
        now = self._clock()
        if self._wanted is not None:
            if self._wanted <= now:
                self._ring(now)
            else:
                self.set(self._wanted, now)
