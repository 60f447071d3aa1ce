"""How much of each subscription may wait: items and bytes, so that who takes nothing, or a stuck head, costs so much.

    under way ──▶ settled, behind one that is not ──▶ delivered ──▶ taken
    └────── `waiting` bytes, as announced ──────┘    └ `untaken` ┘

What comes next in order may be fetched while there is room for what is untaken: it frees what waits behind it. So there
can be one blob more than allowed for each stream, and those whose sizes were not told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(slots=True)
class _Used:
    items: int = 0  # untaken
    untaken: int = 0  # bytes
    waiting: int = 0


class Allowance:
    """Of all subscriptions, for each the same; 0 is no limit."""

    def __init__(self, max_items: int, max_bytes: int) -> None:
        self.held_up = 0  # fetches that had to wait for room
        self._max_items: Final = max_items
        self._max_bytes: Final = max_bytes
        self._used: Final[dict[int, _Used]] = {}  # by subscription; bound: those who subscribe

    def open(self, subscription: int) -> None:
        """Begin with one."""
        self._used[subscription] = _Used()

    def close(self, subscription: int) -> None:
        """It is over; what is still said about it does not matter."""
        self._used.pop(subscription, None)

    @property
    def items(self) -> int:
        """How many items were delivered and not taken, in all of them."""
        return sum(used.items for used in self._used.values())

    @property
    def size(self) -> tuple[int, int]:
        """How many bytes wait, and how many may."""
        full = sum(used.untaken + used.waiting for used in self._used.values())
        return full, self._max_bytes * len(self._used)

    def has_room(self, subscription: int) -> bool:
        """Whether one more item may be delivered."""
        used = self._used.get(subscription)
        if used is None:
            return False
        return (not self._max_items or used.items < self._max_items) and not self._is_over(used.untaken)

    def may_fetch(self, subscription: int, *, is_next: bool) -> bool:
        """Whether one more may be fetched; what comes next in order frees what waits for it."""
        used = self._used.get(subscription)
        return used is not None and not self._is_over(used.untaken + (0 if is_next else used.waiting))

    def reserve(self, subscription: int, size: int) -> None:
        """So many bytes more wait; fewer, if it is negative."""
        used = self._used.get(subscription)
        if used is not None:
            used.waiting += size

    def deliver(self, subscription: int, size: int) -> None:
        """An item is delivered."""
        used = self._used.get(subscription)
        if used is not None:
            used.items += 1
            used.untaken += size

    def take(self, subscription: int, size: int) -> None:
        """An item is taken."""
        used = self._used.get(subscription)
        if used is not None:
            used.items -= 1
            used.untaken -= size

    def _is_over(self, size: int) -> bool:
        return bool(self._max_bytes) and size >= self._max_bytes
