"""Trees: which topics belong to a group, and which stay plain MQTT on this node.

The patterns are asked in the order of the configuration and the first that matches decides, so that an exception
stands before its rule. What none matches is plain. Topics that begin with `$` are a group's only if a pattern names
them [MQTT-4.7.2-1], and what nodes tell each other (`$roost/…`) never is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from roost.broker.announcement import RESERVED
from roost.broker.large import why_too_large
from roost.broker.message import Message
from roost.broker.packets.fields import check_filter
from roost.broker.patterns import matches
from roost.naming.building import Panel
from roost.naming.name import Name
from roost.naming.topic import topic_of_name
from roost.repo.catalogue import catalogue_of
from roost.trust.building import MAX_PARTS

MAX_REMEMBERED: Final = 65_536
MIN_PARTS: Final = 2
CATALOGUE: Final = topic_of_name(catalogue_of(Name())).encode()
NO_STREAM: Final = "the group has as many streams as there may be"


def _has_room(_topic: bytes) -> bool:
    return True


class Tree:
    """One pattern: the panel of this node that publishes its messages into a group, None for plain ones."""

    def __init__(self, number: int, pattern: bytes, panel: Panel | None, copies: int = 1) -> None:
        """Raises `Malformed` if the pattern is no filter."""
        check_filter(pattern)
        self.number: Final = number
        self.pattern: Final = pattern
        self.panel: Final = panel
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
        return refusal or ("" if found.has_room(message.topic) else NO_STREAM)


def why_no_stream(topic: bytes) -> str:
    """Why a topic cannot name a stream of readings, empty if it can."""
    levels = topic.count(b"/") + 1
    if not MIN_PARTS <= levels <= MAX_PARTS:
        return f"a topic of a group has {MIN_PARTS} to {MAX_PARTS} levels, this one has {levels}"
    if topic == CATALOGUE:
        return f"{CATALOGUE.decode()} is where a panel describes its streams, and no topic of a group"
    return ""


def why_not(name_bytes: int, message: Message) -> str:
    """Why a message cannot be a reading of a panel whose name has so many bytes, empty if it can."""
    return why_no_stream(message.topic) or why_too_large(name_bytes, message)
