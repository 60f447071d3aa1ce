"""Trees: which topics belong to a group, and which stay plain MQTT on this node.

The patterns are asked in the order of the configuration and the first that matches decides, so that an exception
stands before its rule. What none matches is plain. Topics that begin with `$` are a group's only if a pattern names
them [MQTT-4.7.2-1].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.broker.packets.fields import check_filter
from roost.broker.patterns import matches
from roost.broker.settings import DISK
from roost.naming.building import Panel

MAX_REMEMBERED: Final = 65_536


class Tree:
    """One pattern: the panel of this node that publishes its messages into a group, None for plain ones."""

    def __init__(self, number: int, pattern: bytes, panel: Panel | None, level: int = DISK, copies: int = 1) -> None:
        """Raises `Malformed` if the pattern is no filter."""
        check_filter(pattern)
        self.number: Final = number
        self.pattern: Final = pattern
        self.panel: Final = panel
        self.level: Final = level
        self.copies: Final = copies
        self.levels: Final = pattern.split(b"/")


class Trees:
    """All of them, in order."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        self.all: Final = list(trees)
        self._known: Final[dict[bytes, int | None]] = {}  # by topic; bound: MAX_REMEMBERED, then begun anew

    def of(self, topic: bytes) -> int | None:
        """The number of the tree whose group a topic belongs to, None for a plain topic."""
        try:
            return self._known[topic]
        except KeyError:
            pass
        levels = topic.split(b"/")
        found: int | None = None
        for tree in self.all:
            if matches(tree.levels, levels):
                found = tree.number if tree.panel is not None else None
                break
        if len(self._known) >= MAX_REMEMBERED:
            self._known.clear()
        self._known[topic] = found
        return found
