"""A group joined through a face: `async with face.join("/group") as group`.

    number = await group.produce("/me")      the number to go on with, after a restart too
    await group.announce("/me", number)      returns once it is on the disk and the group is being told
    async for learned in group: ...          what others have announced; news of a stream not yet taken are joined

The machine is `roost.pubsub.membership`; this executes what it wants. A face that drops comes back by itself, and the
group is joined again. Over a face to a forwarder on this machine the group's strategy is set to multicast, which sync
needs; over others a line in the log says that it is to be done there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, Self

from roost.errors import Disconnected, InvalidInput, Refused, RoostError
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
from roost.naming import Name, NameLike, as_name
from roost.pubsub.membership import Ask, Cancel, Membership
from roost.sync.port import Announced, Learned, Ready, Reply, Stream

_MULTICAST: Final = STRATEGY_PREFIX / "multicast"
_SET_STRATEGY: Final = LOCALHOST / "strategy-choice" / "set"


class Joined:
    """A group and our part in it."""

    def __init__(
        self, session: Session, desk: Desk, membership: Membership, keeper: Keeper, commands: CommandWriter
    ) -> None:
        self.membership: Final = membership
        self._session: Final = session
        self._desk: Final = desk
        self._keeper: Final = keeper
        self._commands: Final = commands
        self._tickets: Final[dict[int, int]] = {}  # the membership's → the session's; bound: its MAX_ASKED
        self._news: Final[dict[Stream, tuple[int, int]]] = {}  # low and high, not yet taken; bound: the known streams
        self._numbers: Final[dict[Name, int]] = {}  # with which our streams go on
        self._announced: Final[dict[Name, int]] = {}
        self._turn = asyncio.Event()  # set and replaced whenever something was told
        self._trouble: RoostError | None = None
        self._closed = False
        self._alarm: Final = Alarm(session.clock, self._tick)

    @property
    def group(self) -> Name:
        return self.membership.member.group

    def latest(self) -> Mapping[Stream, int]:
        """The highest known number of every stream, ours included."""
        return self.membership.latest()

    async def produce(self, stream: NameLike) -> int:
        """Make a stream ours; returns the number to go on with. The same stream must not be produced elsewhere."""
        name = as_name(stream)
        now = self._session.clock()
        self._execute(self.membership.produce(name, now), now)
        await self._until(lambda: name in self._numbers)
        return self._numbers[name]

    async def announce(self, stream: NameLike, high: int) -> None:
        """Tell the group that a stream of ours has come to `high`; store what it stands for before, serve it after.

        A number that was announced before is no news and returns at once. Raises `InvalidInput` if it turns out that
        the group knows the number already, from a time that our disk has forgotten: `produce` says how to go on.
        """
        name = as_name(stream)
        if self._numbers.get(name, 0) > high:
            return
        now = self._session.clock()
        self._execute(self.membership.announce(name, high, now), now)
        await self._until(lambda: self._numbers.get(name, 0) > high)
        if self._announced.get(name, 0) < high:
            raise InvalidInput(f"the group knows {name} up to {self._numbers[name] - 1} already: go on from there")

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Learned:
        await self._until(lambda: bool(self._news) or self._closed)
        if not self._news:
            raise StopAsyncIteration
        stream = next(iter(self._news))
        low, high = self._news.pop(stream)
        return Learned(stream, low, high)

    async def open(self) -> Self:
        """Join; returns when the forwarder sends us the group's Interests."""
        prefix = self.membership.member.prefix
        self._desk.open_taker(prefix, self._asked)
        self._session.on_registration[prefix] = self._registration
        self._session.register(prefix)
        try:
            await self._session.registered(prefix, REGISTER_S)
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Leave the group; what was announced stays announced."""
        if self._closed:
            return
        self._closed = True
        self._alarm.cancel()
        prefix = self.membership.member.prefix
        self._session.on_registration.pop(prefix, None)
        self._desk.close(prefix)
        self._session.unregister(prefix)
        for ticket in self._tickets.values():
            self._session.cancel(ticket)
        self._keeper.close()
        self._told()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- what comes in

    def _asked(self, asked: Asked) -> None:
        now = self._session.clock()
        self._execute(self.membership.receive(asked, now), now)

    def _registration(self, change: RegistrationChanged) -> None:
        """Start, or start again, whenever the forwarder sends us the group's Interests."""
        if change.state != REGISTERED or self._closed:
            return
        now = self._session.clock()
        if self._session.is_local:
            parameters = ControlParameters(name=change.prefix, strategy=_MULTICAST)
            wire = self._commands.sign(_SET_STRATEGY, parameters, now, COMMAND_LIFETIME_MS)
            self._session.ask([(Question(Name(), wire=wire), self._strategy_set)])
        else:
            where = self._session.endpoint.where
            self._session.journal.warn("%s needs the multicast strategy on %s: set it there", change.prefix, where)
        self._execute(self.membership.start(now), now)

    def _strategy_set(self, effect: Delivered | Failed) -> None:
        try:
            if isinstance(effect, Failed):
                raise Refused(effect.reason, 0)
            response = ControlResponse.decode(effect.data.content)
            if response.code != OK:
                raise Refused(f"{response.code} {response.text}", response.code)
        except RoostError as error:
            prefix = self.membership.member.prefix
            self._session.journal.warn("the multicast strategy of %s is to be set by hand: %s", prefix, error)

    def _answer_for(self, ticket: int) -> Answer:
        def answer(effect: Delivered | Failed) -> None:
            self._tickets.pop(ticket, None)
            if self._closed:
                return
            now = self._session.clock()
            ours: Delivered | Failed
            if isinstance(effect, Delivered):
                ours = Delivered(ticket, effect.data, effect.congested)
            else:
                ours = Failed(ticket, effect.kind, effect.reason, effect.nack)
            self._execute(self.membership.receive(ours, now), now)

        return answer

    def saved(self, event: Saved) -> None:
        """Something is on the disk."""
        if not self._closed:
            now = self._session.clock()
            self._execute(self.membership.receive(event, now), now)

    def failed(self, error: RoostError) -> None:
        """The disk gave up on us."""
        self._trouble = error
        self._session.journal.warn("%s", error)
        self._told()

    def _tick(self, now: int) -> None:
        self._execute(self.membership.tick(now), now)

    # -- what the machine wants

    def _execute(self, effects: list[Effect], now: int) -> None:
        asks: list[Ask] = []
        replies: list[tuple[bytes, bytes]] = []
        told = False
        for effect in effects:
            if isinstance(effect, Ask):
                asks.append(effect)
            elif isinstance(effect, Cancel):
                ticket = self._tickets.pop(effect.ticket, None)
                if ticket is not None:
                    self._session.cancel(ticket)
                asks = [ask for ask in asks if ask.ticket != effect.ticket]
            elif isinstance(effect, Reply):
                replies.append((effect.packet, effect.token))
            elif isinstance(effect, Save):
                self._keeper.save(effect)
            elif isinstance(effect, (Learned, Ready, Announced)):
                told = True
                self._note(effect)
            else:
                self._session.journal.write(effect, now)
        if asks:
            tickets = self._session.ask([(ask.question, self._answer_for(ask.ticket)) for ask in asks])
            self._tickets.update(zip([ask.ticket for ask in asks], tickets, strict=True))
        if replies:
            self._session.reply(replies)
        if not self._closed:
            self._alarm.set(self.membership.deadline(), now)
        if told:
            self._told()

    def _note(self, effect: Learned | Ready | Announced) -> None:
        if isinstance(effect, Learned):
            low, high = self._news.get(effect.stream, (effect.low, effect.high))
            self._news[effect.stream] = (min(low, effect.low), max(high, effect.high))
        elif isinstance(effect, Ready):
            self._numbers[effect.stream.name] = effect.number
        else:
            self._announced[effect.stream.name] = effect.high
            self._numbers[effect.stream.name] = effect.high + 1

    def _told(self) -> None:
        self._turn.set()
        self._turn = asyncio.Event()

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            if self._trouble is not None:
                raise self._trouble
            if self._closed:
                raise Disconnected(f"{self.group} was left while this waited")
            await self._turn.wait()
