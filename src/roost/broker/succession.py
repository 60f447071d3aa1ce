"""Succession: the readings that a repo keeps, from here or from elsewhere, as messages in the order of their streams.

    Kept ──▶ next of its stream? ──▶ message for the subscribers of this node
              └ no: it waits in the store until all before it have come

What is older than the beginning (when this node first served the group) is history, and not news, but for what holds
on: what is retained (`roost.broker.earlier`), and what nodes tell of sessions, among the `LAST` of a stream. What the
repo dropped on purpose is passed over; what is missing or damaged and not mended within `GAP` is too, and counted, as
is what is sealed and whose key has not come by then, and what is large (`roost.broker.large`) and has not all its
parts, or others: a building does not wait for ever. So long wait results of macros, too, that come after those of
another node (`roost.broker.macros.order`). How far each stream was handed on is told with the messages, to be kept with
what becomes of them: after a restart `begin` hands on what came since. Much is handed on piece by piece, one with each
`tick`: so many messages, or so many bytes of large ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from roost.broker.announcement import RESERVED, SESSIONS
from roost.broker.earlier import Earlier
from roost.broker.large import Joining, PartsMissing
from roost.broker.macros.order import before
from roost.broker.message import Message
from roost.broker.readable import message_of
from roost.broker.sealing_opening import Opening
from roost.errors import NoKey
from roost.machine import SECOND
from roost.naming.building import Group
from roost.naming.name import Name
from roost.naming.topic import name_of_topic
from roost.pubsub.repos.repo import Repo
from roost.repo.catalogue import catalogue_of
from roost.repo.holding import Holding
from roost.repo.numbering import numbered as parse_numbered
from roost.repo.payloads import owner_of
from roost.repo.shelf_effects import Kept

MAX_STREAMS: Final = 200_000  # whose position is known; as many as a repo holds
GAP: Final = 30 * SECOND
LAST: Final = 16
LAST_OF_SESSIONS: Final = 256  # what nodes tell of one session comes in parts
PIECE: Final = 5000  # messages that are handed on at once
PIECE_BYTES: Final = 8 << 20  # of the payloads of large ones, which the last one may exceed
_BUNDLE: Final = 256
_SESSIONS: Final = name_of_topic(SESSIONS[:-1].decode()).value  # within the name of a stream
_OURS: Final = name_of_topic(RESERVED[:-1].decode()).value  # the same: what nodes tell is not retained
_AT_ONCE: Final = 1  # a deadline that is over


class News(NamedTuple):
    """Messages in order, and how far their streams are handed on with them.

    `past` are streams of which history came, with the last number before it: nobody gets that live.
    """

    messages: list[Message]
    positions: dict[bytes, int]
    past: dict[bytes, int]


class Succession:
    """The machine; `positions` is how far streams were handed on, as it was kept, `fresh` what was inserted here."""

    def __init__(
        self,
        group: Group,
        repo: Repo,
        began: int,
        positions: Mapping[bytes, int],
        fresh: dict[bytes, Message] | None = None,
        *,
        piece: int = PIECE,
        piece_bytes: int = PIECE_BYTES,
        opening: Opening | None = None,
    ) -> None:
        self.passed_over = 0  # numbers that a gap hid
        self.locked = 0  # readings to which no key came in time
        self._incomplete = 0  # large ones to which not all parts came in time, of those that were next
        self._opening: Final = opening
        self.joining: Final = Joining(repo, len(group.name) + 1)
        self._joined_bytes = 0  # of the next news
        self._group: Final = group.name
        self._fresh: Final = {} if fresh is None else fresh
        self._concerned: Final[dict[bytes, bool]] = {}  # by stream, whether it is one of readings; bound: MAX_STREAMS
        self._repo: Final = repo
        self._piece: Final = piece
        self._piece_bytes: Final = piece_bytes
        self._began: Final = began
        self._earlier: Final = Earlier(len(group.name), repo, opening, self.joining, GAP)
        self._positions: Final[dict[bytes, int]] = dict(positions)  # bound: MAX_STREAMS
        self._heirs: Final[dict[bytes, None]] = {}  # streams of results that come after others; bound: MAX_STREAMS
        self._gaps: Final[dict[bytes, tuple[int, int]]] = {}  # until when a stream waits for numbers, up to which one
        self._behind: Final[dict[bytes, None]] = {}  # streams with more to hand on at once; bound of both: as above
        self._past: dict[bytes, int] = {}  # of the next news; bound: as above

    def stored(self, kept: Kept, now: int) -> News:
        """The messages that are next, in the order of their streams, and how far these are handed on now."""
        messages: list[Message] = []
        moved: dict[bytes, int] = {}
        completed: dict[bytes, None] = {}  # streams to whose readings there are more parts now
        for entry in kept.entries:
            stream, number = parse_numbered(entry.name)
            if not number:
                self._look_for_key(entry.name, messages, moved, now)
                continue
            if not self.concerns(stream):
                if self._gaps or self._earlier.waits():
                    self._look_for_owner(stream, completed)
                continue
            position = self.position(stream)
            if number <= position:
                continue
            if number == position + 1:
                fresh = self._fresh.pop(entry.name.value, None)
                if fresh is not None:
                    messages.append(fresh)
                elif not self._hand_on(stream, number, entry.wire, messages, 0):
                    self._gaps.setdefault(stream, (now + GAP, number))
                    continue
                moved[stream] = self._positions[stream] = number
                if stream in self._gaps:
                    self._catch_up(stream, messages, moved, now)
            else:
                self._catch_up(stream, messages, moved, now)
        for stream in completed:
            self._catch_up(stream, messages, moved, now)
        self._let_heirs_follow(messages, moved, now)
        return self._news(messages, moved)

    def tick(self, now: int) -> News:
        """Hand on one more piece, and pass over gaps that nothing has filled in time."""
        messages: list[Message] = []
        moved: dict[bytes, int] = {}
        for stream in list(self._behind):
            if not self._is_much(messages):
                self._catch_up(stream, messages, moved, now)
        for stream, (until, through) in list(self._gaps.items()):
            if until <= now and not self._is_much(messages):
                del self._gaps[stream]
                self._catch_up(stream, messages, moved, now, through)
        self._let_heirs_follow(messages, moved, now)
        self._earlier.tick(now)
        if self._earlier:
            stream, message = self._earlier.proceed(now)
            if message is not None:
                messages.append(message)
                moved.setdefault(stream, self.position(stream))
        return self._news(messages, moved)

    def _news(self, messages: list[Message], moved: dict[bytes, int]) -> News:
        past, self._past = self._past, {}
        self._joined_bytes = 0
        return News(messages, moved, past)

    def _is_much(self, messages: list[Message]) -> bool:
        return len(messages) >= self._piece or self._joined_bytes >= self._piece_bytes

    def deadline(self) -> int | None:
        """When to go on, or to look past a gap."""
        if self._behind or self._earlier:
            return _AT_ONCE
        waiting = self._earlier.deadline()
        also = [] if waiting is None else [waiting]
        return min([*also, *[until for until, _ in self._gaps.values()]], default=None)

    @property
    def incomplete(self) -> int:
        """How many large ones were passed over, to which not all parts came in time."""
        return self._incomplete + self._earlier.incomplete

    def begin(self, now: int) -> News:
        """What came while this process did not run, of streams that were handed on before or began since."""
        for name, row in self._repo.shelf.holdings:
            if self.concerns(name.value) and row.highest > self.position(name.value):
                self._behind[name.value] = None
        return self.tick(now)

    def concerns(self, stream: bytes) -> bool:
        """Whether a stream is one of readings: repos' records, panels' catalogues and parts of payloads are not."""
        found = self._concerned.get(stream)
        if found is None:
            if len(self._concerned) >= MAX_STREAMS:
                self._concerned.clear()
            found = self._concerned[stream] = self._is_readable(stream)
        return found

    def _is_readable(self, stream: bytes) -> bool:
        name = Name(stream)
        group = self._group
        if not name.starts_with(group) or self._repo.peers.is_repo(name) or len(name) <= len(group) + 1:
            return False
        return name != catalogue_of(name.prefix(len(group) + 1)) and owner_of(name, len(group) + 1) is None

    def position(self, stream: bytes) -> int:
        """The last number of a stream that was handed on, or is older than we are."""
        found = self._positions.get(stream)
        if found is None:
            if len(self._positions) >= MAX_STREAMS:
                del self._positions[next(iter(self._positions))]
            found = self._positions[stream] = self._before(stream)
            if found:
                self._past[stream] = 0
        return found

    def _before(self, stream: bytes) -> int:
        """The last number of a stream that is so much older than we are that it is no news, and does not hold on."""
        name = Name(stream)
        row = self._repo.shelf.holdings.of(name)
        last = LAST_OF_SESSIONS if _SESSIONS in stream else LAST
        first = max(1, (self._repo.store.since(name, self._began) or row.highest + 1) - last)
        holes = row.holes(1)
        before = min(first, holes[0][0]) - 1 if holes else first - 1
        if before and _OURS not in stream:
            self._earlier.look(stream, before)
        return before

    def _catch_up(
        self, stream: bytes, messages: list[Message], moved: dict[bytes, int], now: int, through: int = 0
    ) -> None:
        """Hand on what is in the store behind the position: all that nothing is missing before, and a piece at most.

        What is missing, or has no key, up to `through` has been waited for.
        """
        name = Name(stream)
        row = self._repo.shelf.holdings.of(name)
        position = self.position(stream)
        is_more = True
        while is_more and not self._is_much(messages):
            position = _behind_run(row.gone, position)
            before = position
            for number, wire in self._repo.store.range(name, position + 1, row.highest, _BUNDLE):
                if number != position + 1 or not self._hand_on(stream, number, wire, messages, through):
                    break
                position = number
                if self._joined_bytes >= self._piece_bytes:
                    break
            if position == before and position < through:  # nobody has it, or it is damaged on the disk
                following = self._following(name, row, position)
                self.passed_over += following - position - 1
                position = following - 1
            elif position == before:
                is_more = False
        moved[stream] = self._positions[stream] = position
        if is_more:
            self._behind[stream] = None
            return
        self._behind.pop(stream, None)
        if position >= row.highest:
            self._gaps.pop(stream, None)
        else:
            self._gaps.setdefault(stream, (now + GAP, row.highest))

    def _following(self, name: Name, row: Holding, position: int) -> int:
        """The next number that is there, or was dropped on purpose; the one behind the highest if there is none."""
        readable = [number for number, _ in self._repo.store.range(name, position + 1, row.highest, 1)]
        gone = [low for low, _ in row.gone if low > position]
        return min([*readable, *gone], default=row.highest + 1)

    def _look_for_key(self, name: Name, messages: list[Message], moved: dict[bytes, int], now: int) -> None:
        """Something came that is no reading: go on with a stream that waited for it."""
        stream = None if self._opening is None else self._opening.came(name)
        if stream is not None and stream.value in self._gaps:
            self._catch_up(stream.value, messages, moved, now)

    def _look_for_owner(self, stream: bytes, completed: dict[bytes, None]) -> None:
        """Something came that is no reading of its own: note whose part it is, if that waits."""
        owner = owner_of(Name(stream), len(self._group) + 1)
        if owner is None:
            return
        self._earlier.came(owner.value)
        if owner.value in self._gaps:
            completed[owner.value] = None

    def _let_heirs_follow(self, messages: list[Message], moved: dict[bytes, int], now: int) -> None:
        """Streams have come further: see whether results that come after theirs can be handed on."""
        while moved and self._heirs:
            known = len(messages)
            heirs = list(self._heirs)
            self._heirs.clear()
            for stream in heirs:
                self._catch_up(stream, messages, moved, now)
            if len(messages) == known or self._is_much(messages):
                return

    def _is_early(self, stream: bytes, message: Message) -> bool:
        """Whether a message comes after others that were not handed on yet."""
        for other, number in before(message):
            if self.concerns(other) and self.position(other) < number:
                self._heirs[stream] = None
                return True
        return False

    def _hand_on(self, stream: bytes, number: int, wire: bytes, messages: list[Message], through: int) -> bool:
        """Hand on a reading, if it is a message; False if it waits: for its key, its parts, or what is before it."""
        opening = self._opening
        try:
            message = message_of(len(self._group), Name(stream), number, wire, opening, self.joining)
        except PartsMissing:
            if number > through:
                return False
            self._incomplete += 1
            return True
        except NoKey:
            if opening is None or (number > through and not opening.is_given_up(wire)):
                return False
            opening.give_up(wire)
            self.locked += 1
            return True
        if message is not None and number > through and self._is_early(stream, message):
            return False
        if message is None:
            return True
        if message.time < self._began:
            self._past.setdefault(stream, number - 1)
            if not message.retain and not message.topic.startswith(RESERVED):
                return True
        if len(message.payload) > len(wire):
            self._joined_bytes += len(message.payload)
        messages.append(message)
        if message.retain:
            self._earlier.leave(stream)
        return True


def _behind_run(runs: list[tuple[int, int]], position: int) -> int:
    """The last number of the run that begins behind a position, or holds it; the position itself if none does."""
    return next((high for low, high in runs if low <= position + 1 <= high), position)
