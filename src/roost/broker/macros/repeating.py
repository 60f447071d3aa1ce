"""Results that two nodes have published for one cause: subscribers get the first that comes.

A node that takes a macro over from one that died cannot know of results that never left it. When that one is back, they
come, and are the same: who has the other does not get them too. What one node publishes is never repeated, for a macro
may run several times for one reading: once for each result that it refers to, if these come from other nodes.

What came lately is remembered, what came before is looked up where it is stored (`twins`), so that a node that was
restarted, or to which another comes back after days, can tell too.
"""

from __future__ import annotations

from typing import Final

from roost.broker.core import Core
from roost.broker.macros.macros import RESULTS, Cause, Known, Macros, cause_in
from roost.broker.macros.twins import twins
from roost.broker.message import Message
from roost.broker.recall import History
from roost.broker.since import Since
from roost.errors import BadPacket
from roost.naming.name import Name

MAX_CAUSES: Final = 10_000  # of a macro that are remembered; earlier ones are looked up
MAX_STREAMS: Final = 100  # of a macro's results in which one is looked for: the nodes that have run it
_END: Final = (1 << 63) - 1


def arrive(macros: Macros, messages: list[Message]) -> None:
    """These messages come one after the other: what is behind in them has not come yet, though it is stored."""
    macros.arriving = {}
    for message in messages:
        if message.lineage and message.origin is not None:
            macros.arriving.setdefault(message.origin[1], message.origin[2])


def is_repeated(core: Core, macros: Macros, message: Message) -> bool:
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
    first = known.causes.get(cause) or _stored(core, macros, known, message, stream)
    if first and first != stream:
        macros.repeated += 1
        return True
    _remember(known, cause, stream)
    return False


def _remember(known: Known, cause: Cause, stream: bytes) -> None:
    known.causes[cause] = stream
    known.quiet.pop(stream, None)
    if len(known.streams) < MAX_STREAMS:
        known.streams.add(stream)
    if len(known.causes) > MAX_CAUSES:
        del known.causes[next(iter(known.causes))]


def _stored(core: Core, macros: Macros, known: Known, message: Message, stream: bytes) -> bytes:
    """The stream with a result for the same cause that came before an earlier start, or long ago; nothing if none."""
    history = core.history
    if history is None:
        return b""
    group = Name(macros.panel).prefix(-1).value
    if not known.is_listed:  # since this start, results came only from those that are remembered
        known.is_listed = True
        known.streams.update(history.streams(message.topic)[: MAX_STREAMS - len(known.streams)])
    for other in known.streams | known.record.results.keys():
        if other == stream or message.time >= known.quiet.get(other, _END) or not other.startswith(group):
            continue
        if not history.present(other):
            continue
        came = min(history.present(other), macros.arriving.get(other, _END) - 1)
        if any(number <= came for _, number in twins(history, message, [other])):
            return other
        _note_quiet(history, known, other, message.time)
    return b""


def _note_quiet(history: History, known: Known, stream: bytes, time: int) -> None:
    """Look no more where nothing is as late: a macro that has moved leaves a stream behind for good."""
    if history.first(stream, Since(time=time)) > history.present(stream):
        known.quiet[stream] = time
