"""Succession: the readings that a repo keeps, from here or from elsewhere, as messages in the order of their streams.

    Kept ──▶ next of its stream? ──▶ message for the subscribers of this node
              └ no: it waits in the store until all before it have come

What is older than the beginning (when this node first served the group) is history, and not news. What the repo dropped
on purpose is passed over; a gap that nothing fills within `GAP` is too, and counted: a building does not wait for ever.
How far each stream was handed on is told with the messages, to be kept with what becomes of them: after a restart
`begin` hands on what came since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from roost.broker.message import Message
from roost.broker.readable import message_of
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import Group
from roost.pubsub.repos.repo import Repo
from roost.repo.catalogue import catalogue_of
from roost.repo.numbering import numbered as parse_numbered
from roost.repo.shelving import Kept

MAX_STREAMS: Final = 200_000  # whose position is known; as many as a repo holds
GAP: Final = 30 * SECOND
_BUNDLE: Final = 256


class News(NamedTuple):
    """Messages in order, and how far their streams are handed on with them."""

    messages: list[Message]
    positions: dict[bytes, int]


class Succession:
    """The machine; `positions` is how far streams were handed on, as it was kept."""

    def __init__(self, group: Group, repo: Repo, began: int, positions: Mapping[bytes, int]) -> None:
        self.passed_over = 0  # numbers that a gap hid
        self._group: Final = group
        self._repo: Final = repo
        self._began: Final = began
        self._positions: Final[dict[bytes, int]] = dict(positions)  # bound: MAX_STREAMS
        self._gaps: Final[dict[bytes, int]] = {}  # streams that wait for a number, and until when; bound: as above

    def stored(self, kept: Kept, now: int) -> News:
        """The messages that are next, in the order of their streams, and how far these are handed on now."""
        messages: list[Message] = []
        moved: dict[bytes, int] = {}
        for entry in kept.entries:
            stream, number = parse_numbered(entry.name)
            if not number or not self.concerns(stream):
                continue
            position = self.position(stream)
            if number <= position:
                continue
            if number == position + 1:
                self._hand_on(stream, number, entry.wire, messages)
                moved[stream] = self._positions[stream] = number
                if stream in self._gaps:
                    self._catch_up(stream, messages, moved, now)
            else:
                self._catch_up(stream, messages, moved, now)
        return News(messages, moved)

    def tick(self, now: int) -> News:
        """Pass over gaps that nothing has filled in time."""
        messages: list[Message] = []
        moved: dict[bytes, int] = {}
        for stream in [stream for stream, until in self._gaps.items() if until <= now]:
            row = self._repo.shelf.holdings.of(Name(stream))
            position = self.position(stream)
            following = min([low for low, _ in row.held if low > position], default=position + 1)
            self.passed_over += following - position - 1
            moved[stream] = self._positions[stream] = following - 1
            self._catch_up(stream, messages, moved, now)
        return News(messages, moved)

    def deadline(self) -> int | None:
        """When to look past a gap."""
        return min(self._gaps.values(), default=None)

    def begin(self, now: int) -> News:
        """What came while this process did not run, of streams that were handed on before or began since."""
        messages: list[Message] = []
        moved: dict[bytes, int] = {}
        for name, row in self._repo.shelf.holdings:
            if self.concerns(name.value) and row.highest > self.position(name.value):
                self._catch_up(name.value, messages, moved, now)
        return News(messages, moved)

    def concerns(self, stream: bytes) -> bool:
        """Whether a stream is one of readings: repos' records and panels' catalogues are not."""
        name = Name(stream)
        group = self._group.name
        if not name.starts_with(group) or self._repo.peers.is_repo(name) or len(name) <= len(group) + 1:
            return False
        return name != catalogue_of(name.prefix(len(group) + 1))

    def position(self, stream: bytes) -> int:
        """The last number of a stream that was handed on, or is older than we are."""
        found = self._positions.get(stream)
        if found is None:
            if len(self._positions) >= MAX_STREAMS:
                del self._positions[next(iter(self._positions))]
            found = self._positions[stream] = self._before(stream)
        return found

    def _before(self, stream: bytes) -> int:
        """The last number of a stream that is older than we are, so that it is no news."""
        name = Name(stream)
        row = self._repo.shelf.holdings.of(name)
        first = self._repo.store.since(name, self._began) or row.highest + 1
        holes = row.holes(1)
        return min(first, holes[0][0]) - 1 if holes else first - 1

    def _catch_up(self, stream: bytes, messages: list[Message], moved: dict[bytes, int], now: int) -> None:
        """Hand on what is in the store behind the position, as far as nothing is missing."""
        name = Name(stream)
        row = self._repo.shelf.holdings.of(name)
        position = self.position(stream)
        while True:
            while row.is_gone(position + 1):
                position += 1
            if not row.is_held(position + 1):
                break
            found = self._repo.store.range(name, position + 1, row.highest, _BUNDLE)
            before = position
            for number, wire in found:
                if number != position + 1:
                    break
                position = number
                self._hand_on(stream, number, wire, messages)
            if position == before:  # it is damaged on the disk, and will be mended
                break
        moved[stream] = self._positions[stream] = position
        if position >= row.highest:
            self._gaps.pop(stream, None)
        else:
            self._gaps.setdefault(stream, now + GAP)

    def _hand_on(self, stream: bytes, number: int, wire: bytes, messages: list[Message]) -> None:
        message = message_of(self._group, Name(stream), number, wire)
        if message is not None and message.time >= self._began:
            messages.append(message)
