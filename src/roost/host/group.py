"""A sync group reached through a face: the driver of a `Membership` (`roost.pubsub.membership`).

It executes what the machine wants: Interests and answers through the session, files through a keeper. A face that drops
comes back by itself, and the group is joined again. Over a face to a forwarder on this machine the group's strategy is
set to multicast, which sync needs; over others a line in the log says that it is to be done there.

Who uses it are `roost.host.joining`'s `Joined` and `Followed`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, Self

from roost.errors import Disconnected, Refused, RoostError
from roost.forwarding.control import OK, ControlParameters, ControlResponse
from roost.forwarding.endpoint_effects import Asked, Delivered, Failed
from roost.forwarding.pending import Question
from roost.forwarding.registrar import REGISTERED, RegistrationChanged
from roost.forwarding.requests import COMMAND_LIFETIME_MS, LOCALHOST, CommandWriter
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.host.alarm import Alarm
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

_MULTICAST: Final = STRATEGY_PREFIX / "multicast"
_SET_STRATEGY: Final = LOCALHOST / "strategy-choice" / "set"


@dataclass(frozen=True, slots=True)
class Way:
    """The face by which a group is reached: its driver, who is believed on it, and who signs commands."""

    session: Session
    desk: Desk
    verifier: Checker
    commands: Signer


class Group(Generic[Whom]):
    """A group and our part in it; `make` makes the member from what is found on the disk. Used by `async with`."""

    def __init__(self, way: Way, make: Callable[[bytes], Whom], path: Path | None) -> None:
        self.closed = False
        self._session: Final = way.session
        self._desk: Final = way.desk
        self._commands: Final = CommandWriter(way.commands, way.session.randomness)
        self._tickets: Final[dict[int, int]] = {}  # the membership's → the session's; bound: its MAX_ASKED
        self._news: Final[dict[Stream, tuple[int, int]]] = {}  # low and high, not yet taken; bound: the known streams
        self._turn = asyncio.Event()  # set and replaced whenever something was told
        self._opened = False
        self._trouble: RoostError | None = None
        self._alarm: Final = Alarm(way.session.clock, self._tick)
        self._keeper: Final = Keeper(path, self._saved, self._failed)
        self._membership: Final = Membership(make(self._keeper.found), way.verifier)

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
        """Join; returns when the forwarder sends us the group's Interests."""
        route = self.member.route
        try:
            if route is None:
                self._start()
            else:
                self._desk.open_taker(self.member.prefix, self._asked)
                self._opened = True
                self._session.register(route, self._registration)
                await self._session.registered(route, REGISTER_S)
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Leave the group; what was announced stays announced."""
        if self.closed:
            return
        self.closed = True
        self._alarm.cancel()
        if self._opened and self.member.route is not None:
            self._desk.close(self.member.prefix)
            self._session.unregister(self.member.route, self._registration)
        for ticket in self._tickets.values():
            self._session.cancel(ticket)
        self._keeper.close()
        self._told()

    # -- for commands

    def act(self, command: Callable[[int], list[Effect]]) -> None:
        """Give the member a command, which takes the time and returns effects."""
        if self.closed:
            raise Disconnected(f"{self.name} was left: use it within its `async with` block")
        now = self._session.clock()
        self._execute(self._membership.act(command(now), now), now)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something that the member tells makes it true."""
        while not condition():
            if self._trouble is not None:
                raise self._trouble
            if self.closed:
                raise Disconnected(f"{self.name} was left while this waited")
            await self._turn.wait()

    def note(self, effect: Effect) -> bool:
        """Take in what the member tells; whether somebody may wait for it."""
        if not isinstance(effect, Learned):
            return False
        low, high = self._news.get(effect.stream, (effect.low, effect.high))
        self._news[effect.stream] = (min(low, effect.low), max(high, effect.high))
        return True

    # -- what comes in

    def _asked(self, asked: Asked) -> None:
        now = self._session.clock()
        self._execute(self._membership.receive(asked, now), now)

    def _registration(self, change: RegistrationChanged) -> None:
        """Start, or start again, whenever the forwarder sends us the group's Interests."""
        if change.state == REGISTERED and not self.closed:
            if self.member.multicast is not None:
                self._set_multicast(self.member.multicast)
            self._start()

    def _start(self) -> None:
        now = self._session.clock()
        self._execute(self._membership.start(now), now)

    def _set_multicast(self, prefix: Name) -> None:
        if self._session.is_local:
            parameters = ControlParameters(name=prefix, strategy=_MULTICAST)
            wire = self._commands.sign(_SET_STRATEGY, parameters, self._session.clock(), COMMAND_LIFETIME_MS)
            self._session.ask([(Question(Name(), wire=wire), self._strategy_set)])
        else:
            where = self._session.endpoint.where
            self._session.journal.warn("%s needs the multicast strategy on %s: set it there", prefix, where)

    def _strategy_set(self, effect: Delivered | Failed) -> None:
        try:
            if isinstance(effect, Failed):
                raise Refused(effect.reason, 0)
            response = ControlResponse.decode(effect.data.content)
            if response.code != OK:
                raise Refused(f"{response.code} {response.text}", response.code)
        except RoostError as error:
            prefix = self.member.multicast
            self._session.journal.warn("the multicast strategy of %s is to be set by hand: %s", prefix, error)

    def _answer_for(self, ticket: int) -> Answer:
        def answer(effect: Delivered | Failed) -> None:
            self._tickets.pop(ticket, None)
            if self.closed:
                return
            now = self._session.clock()
            ours: Delivered | Failed
            if isinstance(effect, Delivered):
                ours = Delivered(ticket, effect.data, effect.congested)
            else:
                ours = Failed(ticket, effect.kind, effect.reason, effect.nack)
            self._execute(self._membership.receive(ours, now), now)

        return answer

    def _saved(self, event: Saved) -> None:
        if not self.closed:
            now = self._session.clock()
            self._execute(self._membership.receive(event, now), now)

    def _failed(self, error: RoostError) -> None:
        self._trouble = error
        self._session.journal.warn("%s", error)
        self._told()

    def _tick(self, now: int) -> None:
        self._execute(self._membership.tick(now), now)

    # -- what the machine wants

    def _execute(self, effects: list[Effect], now: int) -> None:
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
        if not self.closed:
            self._alarm.set(self._membership.deadline(), now)
        if told:
            self._told()

    def _told(self) -> None:
        self._turn.set()
        self._turn = asyncio.Event()
