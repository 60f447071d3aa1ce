"""Results that two nodes have published for one cause: subscribers get the first that comes.

A node that takes a macro over from one that died cannot know of results that never left it. When that one is back, they
come, and are the same: who has the other does not get them too. What one node publishes is never repeated, for a macro
may run several times for one reading: once for each result that it refers to, if these come from other nodes.
"""

from __future__ import annotations

from typing import Final

from roost.broker.macros.macros import RESULTS, Macros, cause_in
from roost.broker.message import Message
from roost.errors import BadPacket

MAX_CAUSES: Final = 10_000  # of a macro that are remembered


def is_repeated(macros: Macros, message: Message) -> bool:
    """Whether a result of a group came before, from another node."""
    if macros.alone or not message.lineage or message.origin is None:
        return False
    known = macros.known.get(message.topic[len(RESULTS) :].decode())
    if known is None:
        return False
    try:
        cause = cause_in(message)
    except BadPacket:
        return False
    stream = message.origin[1]
    if known.causes.setdefault(cause, stream) != stream:
        macros.repeated += 1
        return True
    if len(known.causes) > MAX_CAUSES:
        del known.causes[next(iter(known.causes))]
    return False
