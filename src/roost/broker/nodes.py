"""Which other nodes of the groups live: who was heard of late, who fell silent, and since when each one runs.

A node is known by its panel. Whatever it says is a sign of life, and nodes with members of shared subscriptions beat
(`roost.broker.beat`) more often than `SILENCE`; who says nothing for so long counts as gone, until it is heard again.
What follows from that is `roost.broker.sharing`'s and `roost.broker.hearing`'s business. Nothing of this is kept over a
restart.
"""

from __future__ import annotations

from typing import Final

from roost.machine.contract import SECOND

SILENCE: Final = 6 * SECOND
_AWAY: Final = SILENCE * 3 // 2  # between two looks: this process stood still, or the clock was set forward
MAX_NODES: Final = 1000  # the one that was heard of first is forgotten


class Nodes:
    """Those that were heard."""

    def __init__(self) -> None:
        self.forgotten = 0  # by `MAX_NODES`
        self._listened = 0  # when it was looked last who is silent
        self._signs: Final[dict[bytes, int]] = {}  # by panel, when something was heard; bound of all three: MAX_NODES
        self._starts: Final[dict[bytes, int]] = {}
        self._silent: Final[dict[bytes, None]] = {}

    def __len__(self) -> int:
        return len(self._signs)

    def sign(self, panel: bytes, now: int) -> bool:
        """A node said something; whether it is new here, or was silent."""
        is_new = self.is_silent(panel)
        if len(self._signs) >= MAX_NODES and panel not in self._signs:
            oldest = next(iter(self._signs))
            for table in (self._signs, self._starts, self._silent):
                table.pop(oldest, None)
            self.forgotten += 1
        self._signs[panel] = now
        self._silent.pop(panel, None)
        return is_new

    def begin(self, panel: bytes, started: int) -> int | None:
        """A node that was heard says when it began; returns what was known of that, None for nothing."""
        before = self._starts.get(panel)
        self._starts[panel] = max(started, before or 0)
        return before

    def start_of(self, panel: bytes) -> int:
        """When a node began, as far as it has said."""
        return self._starts.get(panel, 0)

    def is_silent(self, panel: bytes) -> bool:
        """Whether a node is taken for gone, or was not heard yet."""
        return panel in self._silent or panel not in self._signs

    def lost_since(self, panel: bytes) -> int:
        """When a node was heard last that is silent now, 0 if it is not or was never heard."""
        return self._signs.get(panel, 0) if panel in self._silent else 0

    def living(self) -> list[bytes]:
        """The panels of those that were heard and are not silent."""
        return [panel for panel in self._signs if panel not in self._silent]

    def listen(self, now: int) -> bool:
        """See who fell silent; whether anybody did. Who has not listened for long cannot say so of others."""
        if self._listened and now - self._listened > _AWAY:
            self._signs.update({panel: now for panel in self._signs if panel not in self._silent})
        self._listened = now
        silent = [panel for panel, at in self._signs.items() if at + SILENCE <= now and panel not in self._silent]
        self._silent.update(dict.fromkeys(silent))
        return bool(silent)

    def deadline(self) -> int | None:
        """When the next one falls silent, unless it says something."""
        return min([at + SILENCE for panel, at in self._signs.items() if panel not in self._silent], default=None)
