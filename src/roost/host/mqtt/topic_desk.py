"""Topics for doors other than MQTT: the past out of groups, retained messages of the rest, and what comes live.

    past      recalls of groups (`roost.broker.recall`), merged by event time, and what plain topics retain
    follow    while somebody does, the broker tells of its messages (`Heard`); each goes to those who follow its topic

Who may read what is asked message by message: of the permissions for the topic that a message is shown as, and of the
roles, which may show another stream in the place of a topic (`Judge`). Long pasts are read in pieces, between which the
node does its other work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import count
from typing import Final, Protocol

from roost.broker.access import NOTHING
from roost.broker.announcement import RESERVED
from roost.broker.core import Core
from roost.broker.macros.macros import sample_of_message
from roost.broker.message import Message
from roost.broker.patterns import matches
from roost.broker.recall import Recall
from roost.broker.roles.presenting import RAW
from roost.broker.since import Since
from roost.errors import Denied
from roost.host.clock import Clock
from roost.naming import Name

PIECE: Final = 64  # messages that are looked at in one turn
MAX_BYTES: Final = 32 << 20  # of all messages in one answer, but the last
MAX_SEEN: Final = 200_000  # messages that are looked at for one question, those that the user may not read too
_MQTT_5: Final = 5  # what is expired is shown as well
_NOBODY: Final = b""  # the client id, which nobody has here

Send = Callable[[dict[str, object]], None]


class Judge(Protocol):
    """Roles: what a user who asks for a topic or filter gets (`roost.process.roles.reach`)."""

    async def admit(self, user: bytes, wanted: str) -> None:
        """Find the user's roles; raises `Denied` if they get nothing of it."""
        ...

    def candidates(self, wanted: str) -> Sequence[str]:
        """Where anything can come for it, whatever the roles."""
        ...

    def presented(self, user: bytes, wanted: str, message: Message) -> str | None:
        """As which topic a message comes to the user; None if it does not, or the roles are not known yet."""
        ...


class NoRoles:
    """A judge without roles: permissions decide alone."""

    async def admit(self, user: bytes, wanted: str) -> None:
        """Let everybody ask."""

    def candidates(self, wanted: str) -> Sequence[str]:
        """Look where was asked."""
        return (wanted,)

    def presented(self, user: bytes, wanted: str, message: Message) -> str | None:
        """Show it as it is."""
        del user, wanted
        return message.topic.decode()


_NO_ROLES: Final = NoRoles()


class _Follower:
    """Somebody who follows a filter."""

    def __init__(self, user: bytes, filter_: bytes, levels: list[list[bytes]], send: Send) -> None:
        self.user: Final = user
        self.filter: Final = filter_
        self.levels: Final = levels
        self.send: Final = send


class BrokerTopics:
    """Satisfies `TopicDesk` for a broker; `core` is the broker's."""

    def __init__(self, core: Core, clock: Clock, judge: Judge | None = None) -> None:
        self.cut_short = 0  # questions that MAX_BYTES or MAX_SEEN ended
        self.judge: Judge = judge or _NO_ROLES
        self._core: Final = core
        self._clock: Final = clock
        self._followers: Final[dict[int, _Follower]] = {}  # bound: the doors'
        self._numbers: Final = count(1)

    async def past(self, user: bytes, filter_: bytes, since: Since, limit: int) -> list[dict[str, object]]:
        """Read the first `limit` readings since then, oldest first; of `Since()` the last one of each topic."""
        await self.judge.admit(user, filter_.decode())
        self._check(user, filter_)
        found: list[dict[str, object]] = []
        size = 0
        messages = self._last(filter_) if since == Since() else self._since(filter_, since)
        for seen, message in enumerate(messages, 1):
            topic = self._presented(user, filter_, message)
            if topic is not None:
                found.append(reading_of(message, topic))
                size += message.size
            if len(found) >= limit:
                break
            if seen >= MAX_SEEN or size >= MAX_BYTES:
                self.cut_short += 1
                break
            if seen % PIECE == 0:
                await asyncio.sleep(0)
        return found

    async def follow(self, user: bytes, filter_: bytes, send: Send) -> Callable[[], None]:
        """Have readings sent as they come; returns how to stop."""
        await self.judge.admit(user, filter_.decode())
        self._check(user, filter_)
        levels = [each.encode().split(b"/") for each in self.judge.candidates(filter_.decode())]
        number = next(self._numbers)
        if not self._followers:
            self._core.listen(wanted=True)
        self._followers[number] = _Follower(user, filter_, levels, send)

        def stop() -> None:
            if self._followers.pop(number, None) is not None and not self._followers:
                self._core.listen(wanted=False)

        return stop

    def hear(self, messages: Sequence[Message]) -> None:
        """Take in what the broker tells of."""
        for message in messages:
            self._hand_on(message)

    def _hand_on(self, message: Message) -> None:
        if message.topic.startswith(RESERVED):
            return
        levels = message.topic.split(b"/")
        readings: dict[bytes, dict[str, object]] = {}  # most see the same; bound: the followers
        for follower in list(self._followers.values()):
            if any(matches(each, levels) for each in follower.levels):
                topic = self._presented(follower.user, follower.filter, message)
                if topic is not None:
                    if topic not in readings:
                        readings[topic] = reading_of(message, topic)
                    follower.send(readings[topic])

    def _check(self, user: bytes, filter_: bytes) -> None:
        if self.judge is _NO_ROLES and self._core.roles is not None:
            raise Denied("there are roles here, and nobody to say what they may read in this way")
        topics = filter_ if self._core.roles is None else filter_.removeprefix(RAW)
        if self._core.access.reach(user, _NOBODY, topics) == NOTHING:
            raise Denied(f"to read this takes the permission to read {topics.decode()}")

    def _presented(self, user: bytes, filter_: bytes, message: Message) -> bytes | None:
        shown = self.judge.presented(user, filter_.decode(), message)
        if shown is None or not self._core.access.may_receive(user, _NOBODY, shown.encode()):
            return None
        return shown.encode()

    def _since(self, filter_: bytes, since: Since) -> Iterator[Message]:
        """Everything since then, by time; the readings of a stream by number."""
        sources: list[Iterator[Message]] = [iter(self._retained(filter_, since.time))]
        if self._core.history is not None:
            sources.append(self._recalled(Recall(filter_, since, self._core.history, None, self._filters(filter_))))
        return merge(*sources, key=_time)

    def _recalled(self, recall: Recall) -> Iterator[Message]:
        while (message := recall.next(_MQTT_5, self._clock())) is not None:
            yield message

    def _last(self, filter_: bytes) -> Iterator[Message]:
        """The last message of each stream, and of each plain topic that retains one."""
        history = self._core.history
        if history is not None:
            for stream in dict.fromkeys([one for each in self._filters(filter_) for one in history.streams(each)]):
                number = history.present(stream)
                for _, message in history.read(stream, number, number, 1) if number > 0 else ():
                    if message is not None:
                        yield message
        yield from self._retained(filter_, 0)

    def _retained(self, filter_: bytes, since: int) -> list[Message]:
        """What plain topics retain, by time; what is of a group is found there."""
        now = self._clock()
        found = {
            message.topic: message  # one, though several filters match it
            for each in self._filters(filter_)
            for table in (self._core.retained, self._core.system)
            for _, message in table.matching(each, now)
            if message.origin is None and message.time >= since
        }
        return sorted(found.values(), key=_time)

    def _filters(self, filter_: bytes) -> list[bytes]:
        return [each.encode() for each in self.judge.candidates(filter_.decode())]


def reading_of(message: Message, topic: bytes) -> dict[str, object]:
    """Show a message as one of a topic: its own, or one that it stands for."""
    _, stream, number = message.origin or (0, b"", 0)
    sample = sample_of_message(message, stream, number)
    reading: dict[str, object] = {
        "topic": topic.decode(),
        "time": sample.time,
        "value": sample.value,
        "unit": sample.unit,
        "quality": sample.quality,
    }
    if stream:
        reading |= {"stream": str(Name(stream)), "number": number}
    return reading


def _time(message: Message) -> int:
    return message.time
