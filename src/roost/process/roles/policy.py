"""All role-based publishing specifications together: what a user gets of a topic [Noctua, section IV].

    decide("t", roles)                     the default stream of the roles, and what else they may ask for
    decide("Noctua/t/anonymize", roles)    that very stream, if some document lets the roles see it

For a topic at most one document counts, the most specific one: that of the topic itself, else that of the filter with
the longer written beginning (`roost.process.roles.patterns` has the order to the end). Documents are never added up.
The results of a macro are governed by, in this order:

1. a document for `Noctua/<name>` itself, as if it were any topic;
2. the documents of which the macro is a stream; it is enough that one of them gives it to the roles. A name with
   `{topic}` leads back to the topic, and there the document that counts for it decides, so that who overrides a filter
   for one topic closes the filter's streams of that topic as well;
3. a document whose filter matches `Noctua/<name>`.

What no document governs is None: the ordinary permissions decide, as they do beside every decision here.

A user with several roles may see what any of them may. The default is that of the first of them, in the order of the
document, that has streams. Where a stream leads is not looked up again: a document for `Noctua/x` says nothing of who
is sent to `Noctua/x` by another document.

A policy never changes; `reloaded` makes another and tells where the two may differ. Who may write documents may give
away any stream: that is the administrator's to grant, and not asked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeVar

from roost.errors import BadConfig
from roost.process.definition import PREFIX
from roost.process.roles.decision import Decision, Roles
from roost.process.roles.patterns import Patterns
from roost.process.roles.specification import TOPIC, Specification, stream_topic
from roost.process.wildcards import is_wild

MAX_DOCUMENTS: Final = 10_000
MAX_NAMED: Final = 100_000  # different results that are streams by their names alone, over all documents
MAX_SHAPES: Final = 256  # different names with {topic} in documents for filters; each costs a look at every new result
MAX_REMEMBERED: Final = 100_000  # decisions, and as many origins of results

_UNKNOWN: Final = "the roles of the user are not known"

Key = TypeVar("Key")
Answer = TypeVar("Answer")


class Policy:
    """The documents, and the decisions that were made by them."""

    def __init__(self, documents: Iterable[Specification] = (), max_remembered: int = MAX_REMEMBERED) -> None:
        """Take them all, or raise `BadConfig`."""
        self.forgotten = 0  # answers that made room for others
        self._documents: Final[dict[str, Specification]] = {}  # by topic; bound: MAX_DOCUMENTS
        self._patterns: Final[Patterns[Specification]] = Patterns()
        self._named: Final[dict[str, list[Specification]]] = {}  # by the topic of a result; bound: MAX_NAMED
        self._shapes: Final[dict[str, None]] = {}  # bound: MAX_SHAPES
        self._max_remembered: Final = max_remembered
        self._decided: Final[dict[tuple[str, Roles], Decision | None]] = {}  # bound: max_remembered, as of the next
        self._led_back: Final[dict[str, list[tuple[str, Specification]]]] = {}  # the topic of a result → its origins
        for document in documents:
            self._add(document)

    @property
    def documents(self) -> Mapping[str, Specification]:
        """The documents by their topics, in the order in which they came."""
        return MappingProxyType(self._documents)

    def decide(self, topic: str, roles: Roles) -> Decision | None:
        """What a user with these roles gets of a topic; None if no document governs it.

        The filter of a document is answered for too, as that document has it: its streams are filters then.
        """
        key = (topic, roles)
        try:
            return self._decided[key]
        except KeyError:
            decision = self._decide(topic, roles)
        self.forgotten += _make_room(self._decided, self._max_remembered)
        self._decided[key] = decision
        return decision

    def decide_direct(self, topic: str, roles: Roles) -> Decision | None:
        """Whether these roles may have the results of a macro as a stream; None if it is a stream of no document."""
        origins = self._origins(topic)
        if not origins:
            return None
        for origin, document in origins:
            for row in [] if roles is None else document.rows_of(roles):
                if topic in [stream_topic(stream, origin) for stream in row.streams]:
                    reason = f"it is a stream of {origin} that role {row.role!r} may see"
                    return Decision(topic, topic, (topic,), document.topic, row.role, reason)
        origin, document = origins[0]
        reason = _UNKNOWN if roles is None else f"it is a stream of {origin}, and no role of the user's may see it"
        return Decision(topic, None, (), document.topic, "", reason)

    def governing(self, topic: str) -> list[Specification]:
        """The documents whose topic or filter matches a topic: the first one counts."""
        return self._patterns.matching(topic)

    def origins(self, topic: str) -> tuple[str, ...]:
        """The topics, or filters, of which the results on this topic are a stream."""
        return tuple([origin for origin, _ in self._origins(topic)])

    def reloaded(self, documents: Iterable[Specification]) -> tuple[Policy, tuple[str, ...]]:
        """Another policy of these documents, and the topics and filters outside which it decides as this one does."""
        policy = Policy(documents, self._max_remembered)
        before, after = self._documents, policy._documents
        topics = [topic for topic in {**before, **after} if before.get(topic) != after.get(topic)]
        shapes = {**self._shapes, **policy._shapes}
        changed: dict[str, None] = dict.fromkeys(topics)
        for topic in topics:
            for document in (before.get(topic), after.get(topic)):
                streams = () if document is None else document.streams
                changed.update(dict.fromkeys([stream_topic(stream, topic) for stream in (*streams, *shapes)]))
        return policy, tuple(changed)

    # -- deciding

    def _decide(self, topic: str, roles: Roles) -> Decision | None:
        document = self._documents.get(topic)
        if document is not None:
            return _given(document, topic, roles)
        direct = self.decide_direct(topic, roles)
        if direct is not None:
            return direct
        matching = self._patterns.matching(topic)
        return _given(matching[0], topic, roles) if matching else None

    def _origins(self, topic: str) -> list[tuple[str, Specification]]:
        """Where results come from: topics, or filters if a stream serves all of them, and the documents that count."""
        if not topic.startswith(PREFIX):
            return []
        if topic not in self._led_back:
            self.forgotten += _make_room(self._led_back, self._max_remembered)
            self._led_back[topic] = self._lead_back(topic)
        return self._led_back[topic]

    def _lead_back(self, topic: str) -> list[tuple[str, Specification]]:
        found = {document.topic: document for document in self._named.get(topic, ())}
        for shape in self._shapes:
            head, _, tail = (PREFIX + shape).partition(TOPIC)
            origin = topic[len(head) : len(topic) - len(tail)]
            if origin and topic == head + origin + tail:
                documents = self._patterns.matching(origin)
                if any(shape in document.streams for document in documents):
                    found.setdefault(origin, documents[0])
        return list(found.items())

    def _add(self, document: Specification) -> None:
        topic = document.topic
        if topic in self._documents:
            raise BadConfig(f"there are two documents for {topic!r}; write one with the roles of both")
        if len(self._documents) >= MAX_DOCUMENTS:
            raise BadConfig(f"there are more than {MAX_DOCUMENTS:,} documents; use filters and {TOPIC} to have fewer")
        self._documents[topic] = document
        self._patterns.put(topic, document)
        for stream in document.streams:
            if is_wild(topic) and TOPIC in stream.split("/"):
                self._shapes[stream] = None
            elif (result := stream_topic(stream, topic)) != topic:
                self._named.setdefault(result, []).append(document)
        if len(self._named) > MAX_NAMED:
            raise BadConfig(
                f"there are more than {MAX_NAMED:,} different streams; use filters and {TOPIC} to have fewer"
            )
        if len(self._shapes) > MAX_SHAPES:
            raise BadConfig(f"there are more than {MAX_SHAPES} different streams with {TOPIC}; name macros more alike")


def _make_room(table: dict[Key, Answer], bound: int) -> int:
    """Forget the oldest answer if the table is full; how many that were."""
    if len(table) < bound:
        return 0
    del table[next(iter(table))]
    return 1


def _given(document: Specification, topic: str, roles: Roles) -> Decision:
    """What a document gives to roles that ask for a topic it is for."""
    if roles is None:
        return Decision(topic, None, (), document.topic, "", _UNKNOWN)
    rows = document.rows_of(roles)
    permitted = tuple(dict.fromkeys([stream_topic(stream, topic) for row in rows for stream in row.streams]))
    for row in rows:
        if row.default:
            reason = f"{row.default} is the default of role {row.role!r}"
            return Decision(topic, stream_topic(row.default, topic), permitted, document.topic, row.role, reason)
    denied = f"role {rows[0].role!r} has no streams" if rows else "no role of the user's is mentioned"
    return Decision(topic, None, permitted, document.topic, "", denied)
