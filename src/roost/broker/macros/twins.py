"""Twins: results of two nodes for one cause, found where they are stored.

A node that takes a macro over from one that died cannot know of results that never left it, and makes them again. Both
have the macro's topic, the time of what set them off, and its name in their lineage; so they are looked for by their
time. What is sealed is not listed by time, and has no twins here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from roost.broker.macros.macros import Place, cause_in
from roost.broker.message import Message
from roost.errors import BadPacket

if TYPE_CHECKING:
    from roost.broker.recall import History

MAX_ALIKE: Final = 256  # results of one stream and time that are looked at


def twins(history: History, message: Message, streams: Iterable[bytes]) -> list[Place]:
    """Where results for the same cause are, among these other streams of the same macro."""
    found: list[Place] = []
    try:
        cause = cause_in(message)
        for stream in streams:
            for number in history.at(stream, message.time, MAX_ALIKE):
                for _, other in history.read(stream, number, number, 1):
                    if other is not None and other.topic == message.topic and cause_in(other) == cause:
                        found.append((stream, number))
    except BadPacket:
        pass  # what says nothing of its cause has no twins
    return found
