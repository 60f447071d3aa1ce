"""A machine without a face of its own (`roost.pubsub.resident.Part`) on the face of an application: its driver.

It executes what the machine wants: Interests and answers through the session, one file through a keeper. A face that
drops comes back by itself; once all routes of the machine are registered again, it is started again. It ends with its
face at the latest; what comes back after that concerns nobody.

Who uses it are sync groups (`roost.host.group`), panels and subscriptions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from roost.errors import Disconnected, RoostError
from roost.forwarding.endpoint_effects import Asked, Delivered, Failed
from roost.forwarding.pending import Question
from roost.forwarding.registrar import REFUSED, REGISTERED, RegistrationChanged
from roost.host.alarm import Alarm
from roost.host.home_trust import Signers
from roost.host.keeping import Keeper
from roost.host.serving import REGISTER_S, Desk
from roost.host.session import Answer, Session
from roost.machine import Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.pubsub.membership import Ask, Cancel
from roost.pubsub.resident import Inside
from roost.sync.port import Reply
from roost.trust.acceptance import Checker
from roost.wire import Signer


@dataclass(frozen=True, slots=True)
class Way:
    """The face by which the world is reached: its driver, who is believed, who signs what, who lives on it."""

    session: Session
    desk: Desk
    verifier: Checker
    commands: Signer
    signers: Signers
    residences: set[Residence[Any]]


class Residence(Generic[Inside]):
    """A machine and its driver; `make` makes the machine from what is found on the disk. Used by `async with`."""

    def __init__(self, way: Way, make: Callable[[bytes], Inside], path: Path | None) -> None:
        self.closed = False
        self._way: Final = way
        self._session: Final = way.session
        self._tickets: Final[dict[int, int]] = {}  # the machine's → the session's; bound: its own
        self._inbox: list[Asked | Delivered | Failed] = []  # bound: what a turn of the event loop brings
        self._turn = asyncio.Event()  # set and replaced whenever something was told
        self._served: Final[list[Name]] = []  # bound: the machine's prefixes
        self._registered: Final[list[Name]] = []  # to be registered from now on; bound: the machine's routes
        self._missing: Final[set[Name]] = set()  # those of them that are not; bound: as above
        self._started = False
        self._starting: asyncio.Task[None] | None = None
        self._trouble = ""
        self._alarm: Final = Alarm(way.session.clock, self._tick)
        self._keeper: Final = Keeper(path, self._saved, self._failed)
        try:
            self.part: Final[Inside] = make(self._keeper.found)
        except BaseException:
            self._keeper.release()
            raise
        way.residences.add(self)

    @property
    def name(self) -> Name:
        """What it is called where something is said about it."""
        raise NotImplementedError

    async def open(self) -> Self:
        """Begin; returns when the forwarder sends us the machine's Interests, and it was started."""
        routes = self.part.routes
        try:
            for prefix in self.part.prefixes if routes else ():
                self._way.desk.open_taker(prefix, self.take_in)
                self._served.append(prefix)
            if not routes:
                self._start()
            self._missing.update(routes)
            for route in routes:
                self._session.register(route, self._registration)
                self._registered.append(route)
            for route in routes:
                await self._session.registered(route, REGISTER_S)
            await self.until(lambda: self._started)
        except BaseException:
            await self.close()
            raise
        return self

    async def finish(self) -> None:
        """Do what is to be done when its block is left without an error."""

    async def close(self) -> None:
        """End; what is on the disk stays. Returns when its file is free for others."""
        if not self.closed:
            self.closed = True
            self._way.residences.discard(self)
            self._alarm.cancel()
            if self._starting is not None:
                self._starting.cancel()
            for prefix in self._served:
                self._way.desk.close(prefix)
            for route in self._registered:
                self._session.unregister(route, self._registration)
            for ticket in self._tickets.values():
                self._session.cancel(ticket)
            self._tickets.clear()
            self._told()
        await self._keeper.close()

    # -- for commands

    def act(self, command: Callable[[int], list[Effect]]) -> None:
        """Give the machine a command, which takes the time and returns effects."""
        if self.closed:
            raise Disconnected(f"{self.name} was left: use it within its `async with` block, and within its face's")
        now = self._session.clock()
        self._execute(command(now), now)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something that the machine tells makes it true."""
        while not condition():
            if self._trouble:
                raise RoostError(self._trouble)
            if self.closed:
                raise Disconnected(f"{self.name} was left while this waited; open it again, and it says how to go on")
            await self._turn.wait()

    async def told(self) -> None:
        """Wait until the machine tells something."""
        turn = self._turn
        await self.until(lambda: self._turn is not turn)

    def note(self, effect: Effect) -> bool:  # noqa: ARG002  for those who listen
        """Take in what the machine tells; whether somebody may wait for it."""
        return False

    def save(self, effect: Save) -> None:
        """Keep something, in the file there is."""
        self._keeper.save(effect)

    async def before_start(self) -> None:
        """Do what has to be done each time before the machine is started."""

    # -- starting

    def _registration(self, change: RegistrationChanged) -> None:
        """Start, or start again, whenever the forwarder begins to send us the machine's Interests."""
        before = bool(self._missing)
        if change.state == REGISTERED:
            self._missing.discard(change.prefix)
        else:
            self._missing.add(change.prefix)
        if self.closed:
            return
        if before and not self._missing:
            if self._starting is not None:
                self._starting.cancel()
            self._starting = asyncio.ensure_future(self._start_again())
        elif change.state == REFUSED and self._started:
            refusal = "%s is not heard any more, the forwarder refuses its route %s: %d %s"
            self._session.journal.warn(refusal, self.name, change.prefix, change.code, change.reason)

    async def _start_again(self) -> None:
        await self.before_start()
        self._start()

    def _start(self) -> None:
        self._started = True
        now = self._session.clock()
        self._execute(self.part.start(now), now)
        self._told()

    # -- what comes in

    def take_in(self, event: Asked | Delivered | Failed) -> None:
        """Have the machine hear of it, with all else that this turn of the event loop brings: one write answers."""
        if not self._inbox:
            asyncio.get_running_loop().call_soon(self._process)
        self._inbox.append(event)

    def _process(self) -> None:
        events, self._inbox = self._inbox, []
        if self.closed:
            return
        now = self._session.clock()
        effects: list[Effect] = []
        for event in events:
            try:
                effects += self.part.receive(event, now)
            except Exception as error:  # noqa: BLE001  a bug that one of them shows must not cost the others
                about = event.interest.name if isinstance(event, Asked) else type(event).__name__
                why = f"{type(error).__name__}: {error}"
                self._session.journal.complain(f"{self.name} failed on {about}: ", why, now)
        self._execute(effects, now)

    def _answer_for(self, ticket: int) -> Answer:
        def answer(effect: Delivered | Failed) -> None:
            self._tickets.pop(ticket, None)
            ours: Delivered | Failed
            if isinstance(effect, Delivered):
                ours = Delivered(ticket, effect.data, effect.congested)
            else:
                ours = Failed(ticket, effect.kind, effect.reason, effect.nack)
            self.take_in(ours)

        return answer

    def _saved(self, event: Saved) -> None:
        now = self._session.clock()
        self._execute(self.part.receive(event, now), now)

    def _failed(self, error: RoostError) -> None:
        self._trouble = str(error)
        self._session.journal.warn("%s", error)
        self._told()

    def _tick(self, now: int) -> None:
        self._execute(self.part.tick(now), now)

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
                self.save(effect)
            elif self.note(effect):
                told = True
            else:
                self._session.journal.write(effect, now)
        if replies:  # first: somebody waits for them
            self._session.reply(replies)
        if asks:
            tickets = self._session.ask([(question, self._answer_for(ticket)) for ticket, question in asks.items()])
            self._tickets.update(zip(asks, tickets, strict=True))
        self._alarm.set(self.part.deadline(), now)
        if told:
            self._told()

    def _told(self) -> None:
        self._turn.set()
        self._turn = asyncio.Event()


Opened = TypeVar("Opened", bound=Residence[Any])


class Opening(Generic[Opened]):
    """What `join`, `follow`, `panel` and `subscribe` return: `async with` it, or `await` it and `close` it later."""

    def __init__(self, reach: Callable[[], Opened]) -> None:
        self._reach: Final = reach
        self._opened: Opened | None = None

    async def open(self) -> Opened:
        """Begin; returns when the forwarder sends us what others ask of it."""
        return await self._reach().open()

    def __await__(self) -> Generator[None, None, Opened]:
        return self.open().__await__()

    async def __aenter__(self) -> Opened:
        self._opened = await self.open()
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            try:
                if kind is None:
                    await self._opened.finish()
            finally:
                await self._opened.close()
