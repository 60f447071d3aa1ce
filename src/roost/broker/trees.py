"""Trees: which topics belong to a group, and which stay plain MQTT on this node.

The patterns are asked in the order of the configuration and the first that matches decides, so that an exception
stands before its rule. What none matches is plain. Topics that begin with `$` are a group's only if a pattern names
them [MQTT-4.7.2-1], and what nodes tell each other (`$roost/…`) never is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from roost.broker.announcement import RESERVED
from roost.broker.message import Message
from roost.broker.packets.fields import check_filter
from roost.broker.patterns import matches
from roost.broker.settings import DISK
from roost.naming.building import Panel
from roost.pubsub.panels.dispatch import MAX_READING_BYTES
from roost.trust.building import MAX_PARTS

MAX_REMEMBERED: Final = 65_536
MIN_PARTS: Final = 2
_AROUND_BYTES: Final = 500  # of a reading: signature with its key's name, and the heads of elements


def _has_room(_topic: bytes) -> bool:
    return True


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
        self.name_bytes: Final = 0 if panel is None else len(panel.name.value)
        self.has_room: Callable[[bytes], bool] = _has_room  # whether its group takes a topic; set by who joins it
        self.added_bytes: Callable[[bytes], int] | None = None  # by how much sealing makes a message longer; as above


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
        for tree in () if topic.startswith(RESERVED) else self.all:
            if matches(tree.levels, levels):
                found = tree.number if tree.panel is not None else None
                break
        if len(self._known) >= MAX_REMEMBERED:
            self._known.clear()
        self._known[topic] = found
        return found

    def refusal_of(self, tree: int, message: Message) -> str:
        """Why a message cannot be a reading of the tree's group, empty if it can."""
        found = self.all[tree]
        if found.panel is None:
            return "the topic has no group"
        added_bytes = 0 if found.added_bytes is None else found.added_bytes(message.topic)
        refusal = why_not(found.name_bytes + added_bytes, message)
        return refusal or ("" if found.has_room(message.topic) else "the group has as many streams as there may be")


def has_levels(topic: bytes) -> bool:
    """Whether a topic has as many levels as a stream has parts."""
    return MIN_PARTS <= topic.count(b"/") + 1 <= MAX_PARTS


def why_not(name_bytes: int, message: Message) -> str:
    """Why a message cannot be a reading of a panel whose name has so many bytes, empty if it can."""
    if not has_levels(message.topic):
        levels = message.topic.count(b"/") + 1
        return f"a topic of a group has {MIN_PARTS} to {MAX_PARTS} levels, this one has {levels}"
    size_bytes = name_bytes + 2 * len(message.topic) + len(message.payload) + len(message.kept) + len(message.lineage)
    if size_bytes + len(message.publisher) + _AROUND_BYTES > MAX_READING_BYTES:
        return f"a message of a group is one packet of {MAX_READING_BYTES} bytes at most, all included: make it smaller"
    return ""
