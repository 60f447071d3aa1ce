"""What a result of a group says itself of what it was made of: topics that its lineage names and its macro does not.

Who may see a result that no document names follows from what its macro reads (`roost.process.roles.derived`). That is
known by the macro's definition; but a name may be computed in a run, at another node, and the past has results of
macros that are no more, or were others then. So each result is asked too: most name only what is known already.

A lineage names streams. Which topic a stream has is seen from a reading of it; if this node has none, it counts as both
of the topics that it may have. Inputs that are too many to be named are those of the definition, and anything if there
is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from roost.broker.message import Message
from roost.errors import BadPacket, BadTopic
from roost.naming.name import Name
from roost.naming.topic import topic_of_name
from roost.process.roles.derived import InputsOf, sees_all
from roost.process.roles.policy import Policy
from roost.process.wildcards import matches
from roost.repo.numbering import numbered
from roost.wire.lineage import read_lineage

if TYPE_CHECKING:
    from roost.broker.core import Core
    from roost.broker.roles.keeper import RoleKeeper
    from roost.process.roles.decision import Roles

MAX_STREAMS: Final = 100_000  # whose topics are remembered; then begun anew
_ANYTHING: Final = ("#",)


class Ancestry:
    """Remembers which topics streams have."""

    def __init__(self) -> None:
        self._topics: Final[dict[bytes, str]] = {}  # by stream; bound: MAX_STREAMS
        self._last: tuple[Message, Sequence[str], Sequence[str]] | None = None  # asked for once for each who gets it

    def further(self, core: Core, policy: Policy, inputs_of: InputsOf, message: Message) -> Sequence[str]:
        """What a result was made of beyond what is known of its macro; nothing if a document says who may see it."""
        topic = (message.stream or message.topic).decode()
        if not message.lineage or not policy.documents or policy.decide(topic, None) is not None:
            return ()
        known = inputs_of(topic) or ()
        last = self._last
        if last is None or last[0] is not message or last[1] != known:
            last = self._last = (message, known, self._unknown(core, message, known))
        return last[2]

    def _unknown(self, core: Core, message: Message, known: Sequence[str]) -> Sequence[str]:
        try:
            said = read_lineage(message.lineage)
        except BadPacket:
            return _ANYTHING
        if said.digest is not None:
            return () if known else _ANYTHING
        places = [numbered(name) for name in said.inputs] + [(each.stream.value, each.high) for each in said.ranges]
        topics = [topic for stream, number in places for topic in self._topics_of(core, stream, number)]
        return tuple([each for each in dict.fromkeys(topics) if not any(matches(filter_, each) for filter_ in known)])

    def _topics_of(self, core: Core, stream: bytes, number: int) -> Sequence[str]:
        topic = self._topics.get(stream)
        if topic is not None:
            return (topic,)
        group = b"" if core.roaming is None else core.roaming.group_of(stream)
        if core.history is None or not group:
            return _ANYTHING
        for _, message in core.history.read(stream, number, number, 1):
            if message is not None:
                if len(self._topics) >= MAX_STREAMS:
                    self._topics.clear()
                self._topics[stream] = message.topic.decode()
                return (self._topics[stream],)
        return _possible(Name(stream), len(Name(group)))


def _possible(stream: Name, parts: int) -> Sequence[str]:
    """The topics that a stream may have: behind its panel if it came over MQTT, its whole name if from a sensor."""
    try:
        return topic_of_name(stream.suffix(parts + 1)), topic_of_name(stream)
    except BadTopic:
        return _ANYTHING


def is_hidden(core: Core, keeper: RoleKeeper, roles: Roles, message: Message) -> bool:
    """Whether a result was made of something that these roles may not see, and that its macro is not known to read."""
    further = keeper.ancestry.further(core, keeper.policy, keeper.inputs_of, message)
    return bool(further) and not sees_all(keeper.policy, further, roles, keeper.inputs_of)
