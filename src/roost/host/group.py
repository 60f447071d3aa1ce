"""A sync group reached through a face: the driver of a `Membership` (`roost.pubsub.membership`).

It executes what the machine wants: Interests and answers through the session, files through a keeper. A face that drops
comes back by itself, and the group is joined again: registered, sent to all members (`roost.host.choosing`), started. A
group ends with its face at the latest; what comes back after that concerns nobody.

Who uses it are `roost.host.joining`'s `Joined` and `Followed`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, Self

from roost.errors import Disconnected, RoostError
from roost.forwarding.endpoint_effects import Asked, Delivered, Failed
from roost.forwarding.pending import Question
from roost.forwarding.registrar import REFUSED, REGISTERED, RegistrationChanged
from roost.forwarding.requests import CommandWriter
from roost.host.alarm import Alarm
from roost.host.choosing import choose_multicast
from roost.host.keeping import Keeper
from roost.host.serving import REGISTER_S, Desk
from roost.host.session import Answer, Session
from roost.machine import Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.pubsub.membership import Ask, Cancel, Membership, Whom
from roost.sync.port import Learned, Reply, Stream
from roost.trust.acceptance import Checker
from roost.wire import Signer


@dataclass(frozen=True, slots=True)
class Way:
    """The face by which groups are reached: its driver, who is believed on it, who signs commands, which there are."""

    session: Session
    desk: Desk
    verifier: Checker
    commands: Signer
    groups: set[Group[Any]]


class Group(Generic[Whom]):
    """A group and our part in it; `make` makes the member from what is found on the disk. Used by `async with`."""

    def __init__(self, way: Way, make: Callable[[bytes], Whom], path: Path | None) -> None:
        self.closed = False
        self._way: Final = way
        self._session: Final = way.session
        self._commands: Final = CommandWriter(way.commands, way.session.randomness)
        self._tickets: Final[dict[int, int]] = {}  # the membership's → the session's; bound: its own
        self._news: Final[dict[Stream, tuple[int, int]]] = {}  # low and high, not yet taken; bound: the known streams
        self._turn = asyncio.Event()  # set and replaced whenever something was told
        self._served = False
        self._registered = False
        self._started = False
        self._joining: asyncio.Task[None] | None = None
        self._trouble = ""
        self._alarm: Final = Alarm(way.session.clock, self._tick)
        self._keeper: Final = Keeper(path, self._saved, self._failed)
        try:
            self._membership: Final = Membership(make(self._keeper.found), way.verifier)
        except BaseException:
            self._keeper.release()
            raise
        way.groups.add(self)

    @property
    def member(self) -> Whom:
        """The machine that speaks the protocol."""
        return self._membership.member

    @property
    def name(self) -> Name:
        """The group's name."""
        return self.member.group

    def latest(self) -> Mapping[Stream, int]:
        """The highest known number of every stream, ours included."""
        return self.member.latest()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Learned:
        await self.until(lambda: bool(self._news) or self.closed)
        if not self._news:
            raise StopAsyncIteration
        stream = next(iter(self._news))
        low, high = self._news.pop(stream)
        return Learned(stream, low, high)

    async def open(self) -> Self:
        """Join; returns when the forwarder sends us the group's Interests, and ours to all members."""
        route = self.member.route
        try:
            if route is None:
                self._start()
            else:
                self._way.desk.open_taker(self.member.prefix, self._asked)
                self._served = True
                self._session.register(route, self._registration)
                await self._session.registered(route, REGISTER_S)
                await self.until(lambda: self._started)
        except BaseException:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        """Leave the group; what was announced stays announced. Returns when its file is free for others."""
        if not self.closed:
            self.closed = True
            self._way.groups.discard(self)
            self._alarm.cancel()
            if self._joining is not None:
                self._joining.cancel()
            if self._served and self.member.route is not None:
                self._way.desk.close(self.member.prefix)
                self._session.unregister(self.member.route, self._registration)
            for ticket in self._tickets.values():
                self._session.cancel(ticket)
            self._tickets.clear()
            self._told()
        await self._keeper.close()

    # -- for commands

    def act(self, command: Callable[[int], list[Effect]]) -> None:
        """Give the member a command, which takes the time and returns effects."""
        if self.closed:
            raise Disconnected(f"{self.name} was left: use it within its `async with` block, and within its face's")
        now = self._session.clock()
        self._execute(self._membership.act(command(now), now), now)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something that the member tells makes it true."""
        while not condition():
            if self._trouble:
                raise RoostError(self._trouble)
            if self.closed:
                raise Disconnected(
                    f"{self.name} was left while this waited; join again, and `produce` says how to go on"
                )
            await self._turn.wait()

    def note(self, effect: Effect) -> bool:
        """Take in what the member tells; whether somebody may wait for it."""
        if not isinstance(effect, Learned):
            return False
        low, high = self._news.get(effect.stream, (effect.low, effect.high))
        self._news[effect.stream] = (min(low, effect.low), max(high, effect.high))
        return True

    def forget_news(self) -> None:
        """Drop the news of streams that are not known any more."""
        known = self.latest()
        for stream in [stream for stream in self._news if stream not in known]:
            del self._news[stream]

    # -- joining

    def _registration(self, change: RegistrationChanged) -> None:
        """Join, or join again, whenever the forwarder begins to send us the group's Interests."""
        before, self._registered = self._registered, change.state == REGISTERED
        if self.closed:
            return
        if self._registered and not before:
            if self._joining is not None:
                self._joining.cancel()
            self._joining = asyncio.ensure_future(self._join())
        elif change.state == REFUSED and self._started:
            refusal = "%s is not heard any more, the forwarder refuses its route %s: %d %s"
            self._session.journal.warn(refusal, self.name, change.prefix, change.code, change.reason)

    async def _join(self) -> None:
        if self.member.multicast is not None:
            await choose_multicast(self._session, self._commands, self.member.multicast)
        self._start()

    def _start(self) -> None:
        self._started = True
        now = self._session.clock()
        self._execute(self._membership.start(now), now)
        self._told()

    # -- what comes in

    def _asked(self, asked: Asked) -> None:
        now = self._session.clock()
        self._execute(self._membership.receive(asked, now), now)

    def _answer_for(self, ticket: int) -> Answer:
        def answer(effect: Delivered | Failed) -> None:
            self._tickets.pop(ticket, None)
            now = self._session.clock()
            ours: Delivered | Failed
            if isinstance(effect, Delivered):
                ours = Delivered(ticket, effect.data, effect.congested)
            else:
                ours = Failed(ticket, effect.kind, effect.reason, effect.nack)
            self._execute(self._membership.receive(ours, now), now)

        return answer

    def _saved(self, event: Saved) -> None:
        now = self._session.clock()
        self._execute(self._membership.receive(event, now), now)

    def _failed(self, error: RoostError) -> None:
        self._trouble = str(error)
        self._session.journal.warn("%s", error)
        self._told()

    def _tick(self, now: int) -> None:
        self._execute(self._membership.tick(now), now)

    # -- what the machine wants

    def _execute(self, effects: list[Effect], now: int) -> None:
        if self.closed:
            return
        asks: dict[int, Question] = {}
        replies: list[tuple[bytes, bytes]] = []
        told = False
        for effect in effects:
            if isinstance(effect, Ask):
                asks[effect.ticket] = effect.question
            elif isinstance(effect, Cancel):
                asks.pop(effect.ticket, None)
                ticket = self._tickets.pop(effect.ticket, None)
                if ticket is not None:
                    self._session.cancel(ticket)
            elif isinstance(effect, Reply):
                replies.append((effect.packet, effect.token))
            elif isinstance(effect, Save):
                self._keeper.save(effect)
            elif self.note(effect):
                told = True
            else:
                self._session.journal.write(effect, now)
        if asks:
            tickets = self._session.ask([(question, self._answer_for(ticket)) for ticket, question in asks.items()])
            self._tickets.update(zip(asks, tickets, strict=True))
        if replies:
            self._session.reply(replies)
        self._alarm.set(self._membership.deadline(), now)
        if told:
            self._told()

    def _told(self) -> None:
        self._turn.set()
        self._turn = asyncio.Event()
