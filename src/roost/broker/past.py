"""The past of a group, as far as the repo of this node holds it: what recalls (`roost.broker.recall`) read.

What was handed on live is past (`Succession.position`); what the repo has beyond that is still to come. What nodes tell
each other (`$roost/…`) is nobody's past, and neither is what is sealed without a key to it here, nor a large payload
whose parts are not here.
"""

from __future__ import annotations

from typing import Final

from roost.broker.announcement import RESERVED
from roost.broker.large import Joining, Leaving, PartsMissing
from roost.broker.message import Message
from roost.broker.patterns import matches
from roost.broker.readable import Joins, Opens, message_of
from roost.broker.since import Since
from roost.broker.succession import MAX_STREAMS, Succession
from roost.errors import NoKey
from roost.naming import Name
from roost.naming.building import Group
from roost.pubsub.repos.repo import Repo

MAX_READ_BYTES: Final = 4 << 20  # of payloads at a time, which the last one may exceed


class Past:
    """One group; satisfies `History`."""

    def __init__(self, group: Group, repo: Repo, succession: Succession, opens: Opens | None = None) -> None:
        self._parts: Final = len(group.name)
        self._repo: Final = repo
        self._succession: Final = succession
        self._opens: Final = opens
        self._joining: Final = Joining(repo, len(group.name) + 1)
        self._topics: Final[
            dict[bytes, list[bytes]]
        ] = {}  # by stream, the levels of its topic, none if nobody may have it; bound: MAX_STREAMS

    def streams(self, filter_: bytes) -> list[bytes]:
        """The streams with topics that a filter matches."""
        levels = filter_.split(b"/")
        found: list[bytes] = []
        for name, _ in self._repo.shelf.holdings:
            if self._has(name.value, levels):
                found.append(name.value)
        return found

    def has(self, stream: bytes, filter_: bytes) -> bool:
        """Whether a filter matches the topic of a stream."""
        return self._has(stream, filter_.split(b"/"))

    def present(self, stream: bytes) -> int:
        """The last number of a stream that was handed on live."""
        return self._succession.position(stream)

    def first(self, stream: bytes, since: Since) -> int:
        """The first number of a stream that is wanted."""
        if since.number:
            return since.number
        return self._repo.store.since(Name(stream), since.time) or self.present(stream) + 1

    def read(self, stream: bytes, low: int, high: int, limit: int) -> list[tuple[int, Message | None]]:
        """Readings low to high of a stream, as far as they are here, and not more than some megabytes of them."""
        name = Name(stream)
        found: list[tuple[int, Message | None]] = []
        size_bytes = 0
        for number, wire in self._repo.store.range(name, low, high, limit):
            message = self._message(name, number, wire, self._joining)
            found.append((number, message))
            size_bytes += 0 if message is None else len(message.payload)
            if size_bytes >= MAX_READ_BYTES:
                break
        return found

    def outlines(self, stream: bytes, low: int, high: int, limit: int) -> list[tuple[int, Message | None, bool]]:
        """The same with the payloads of large ones left out, and whether one is; all of them, however large."""
        name, leaving = Name(stream), Leaving()
        found: list[tuple[int, Message | None, bool]] = []
        for number, wire in self._repo.store.range(name, low, high, limit):
            message = self._message(name, number, wire, leaving)
            found.append((number, message, leaving.number == number))
        return found

    def at(self, stream: bytes, time: int, limit: int) -> list[int]:
        """The numbers of readings of a stream that have this event time."""
        return [number for _, number in self._repo.store.between(Name(stream), time, time, limit)]

    def _message(self, stream: Name, number: int, wire: bytes, joins: Joins) -> Message | None:
        try:
            return message_of(self._parts, stream, number, wire, self._opens, joins)
        except (NoKey, PartsMissing):
            return None

    def _has(self, stream: bytes, levels: list[bytes]) -> bool:
        if not self._succession.concerns(stream):
            return False
        topic = self._topics.get(stream)
        if topic is None:
            topic = self._learn(stream)
        return len(topic) > 0 and matches(levels, topic)

    def _learn(self, stream: bytes) -> list[bytes]:
        """The levels of a stream's topic, from its newest reading; none if that is no message."""
        high = self._repo.shelf.holdings.of(Name(stream)).highest
        newest = self.outlines(stream, high, high, 1)
        message = newest[0][1] if newest else None
        if message is None:
            return []
        levels = [] if message.topic.startswith(RESERVED) else message.topic.split(b"/")
        if len(self._topics) >= MAX_STREAMS:
            self._topics.clear()
        self._topics[stream] = levels
        return levels
