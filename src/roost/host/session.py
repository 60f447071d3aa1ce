"""The driver of an `Endpoint`: one application's face to a forwarder, kept up.

It dials again after a drop, later each time, and the endpoint registers again and re-sends what is pending. Answers go
to whoever holds the ticket, Interests to whoever serves. People use `roost.host.face` instead.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable
from typing import Final

from roost.errors import Backpressure, Disconnected, Nacked, Refused, RoostError, TimedOut
from roost.forwarding.endpoint import Endpoint
from roost.forwarding.endpoint_effects import NACKED, OVERFLOWED, TIMED_OUT, Asked, Delivered, Failed
from roost.forwarding.face import FIRST_FACE, Arrived, Send
from roost.forwarding.pending import Question
from roost.forwarding.registrar import REFUSED, REGISTERED, RegistrationChanged
from roost.host.alarm import Alarm
from roost.host.clock import Clock
from roost.host.journal import Journal
from roost.host.transport import Batch, Owner, Transport, wait_closed
from roost.machine import Effect
from roost.naming import Name
from roost.wire import Data, Signer

FIRST_PAUSE_S: Final = 0.1
LAST_PAUSE_S: Final = 10.0
STEADY_S: Final = 10.0  # a face that was up for so long is dialled again at once, one that was not later each time

Dial = Callable[[Owner], Awaitable[Transport]]
Answer = Callable[[Delivered | Failed], None]
Watcher = Callable[[RegistrationChanged], None]


def heedless(change: RegistrationChanged) -> None:
    """Watch nothing."""


class Session:
    """One face; the owner of its transport."""

    def __init__(self, dial: Dial, signer: Signer) -> None:
        self.clock: Final = Clock()
        self.journal: Final = Journal()
        self.randomness: Final = random.Random(secrets.randbits(128))  # noqa: S311  nonces are no secrets
        self.endpoint: Final = Endpoint(signer, self.randomness)
        self.on_asked: Callable[[list[Asked]], None] = lambda asked: None  # noqa: ARG005  until somebody serves
        self.connections = 0
        self._watchers: Final[dict[Name, list[Watcher]]] = {}  # by prefix, one for each who registered it
        self._dial: Final = dial
        self._transport: Transport | None = None
        self._answers: dict[int, Answer] = {}  # bound: the endpoint's max_pending
        self._waiting: dict[Name, list[asyncio.Future[RegistrationChanged]]] = {}
        self._next_ticket = 1
        self._redial: asyncio.Task[None] | None = None
        self._pause_s = FIRST_PAUSE_S
        self._loop: Final = asyncio.get_running_loop()
        self._up_since = self._loop.time()
        self._alarm: Final = Alarm(self.clock, self._tick)
        self._ended = False

    # -- the face

    async def open(self) -> None:
        """Connect for the first time; raises `Disconnected`."""
        self._connected(await self._dial(self))

    async def close(self) -> None:
        """Close the face; whoever still waits gets `Disconnected`."""
        self._ended = True
        self._alarm.cancel()
        if self._redial is not None:
            self._redial.cancel()
            await asyncio.gather(self._redial, return_exceptions=True)
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()
        answers, self._answers = self._answers, {}
        for ticket, answer in answers.items():
            answer(Failed(ticket, "closed", "the face was closed while this was pending"))
        for waiting in self._waiting.values():
            for future in waiting:
                if not future.done():
                    future.set_exception(Disconnected("the face was closed before the prefix was registered"))
        self._waiting.clear()
        await wait_closed(transport)

    def accepted(self, transport: Transport) -> None:
        """Nobody connects to a client."""
        transport.close()

    def arrived(self, batch: Batch) -> None:
        """Packets came."""
        now = self.clock()
        effects: list[Effect] = []
        for transport, packets in batch:
            if transport is self._transport:
                effects += self.endpoint.receive(Arrived(FIRST_FACE, packets), now)
        self._execute(effects, now)

    def closed(self, transport: Transport, reason: str) -> None:
        """The face dropped."""
        if transport is not self._transport:
            return
        self._transport = None
        self.journal.say("the face to %s is down: %s", transport.spec.remote_uri, reason)
        self._execute(self.endpoint.disconnected(reason), self.clock())
        if not self._ended:
            if self._loop.time() - self._up_since >= STEADY_S:
                self._pause_s = FIRST_PAUSE_S
            self._redial = self._loop.create_task(self._dial_again())

    @property
    def where(self) -> str:
        """The other end, as a URI."""
        return self.endpoint.where

    @property
    def is_local(self) -> bool:
        """Whether the face is up and its other end on this machine."""
        return self._transport is not None and self._transport.spec.local

    # -- what an application wants

    def ask(self, questions: list[tuple[Question, Answer]]) -> list[int]:
        """Ask, in one write; each answer is called once, never from within this call. Returns the tickets."""
        if self._ended:
            raise Disconnected("the face is closed: ask within its `async with` block")
        tickets: list[int] = []
        asked: list[tuple[int, Question]] = []
        for question, answer in questions:
            ticket = self._next_ticket
            self._next_ticket += 1
            self._answers[ticket] = answer
            tickets.append(ticket)
            asked.append((ticket, question))
        now = self.clock()
        self._execute(self.endpoint.ask(asked, now), now)
        return tickets

    async def exchange(self, question: Question) -> Data:
        """Ask for one Data and wait for it, unverified; who stops waiting takes back what was asked."""
        future: asyncio.Future[Data] = self._loop.create_future()

        def answer(effect: Delivered | Failed) -> None:
            if future.done():
                return
            if isinstance(effect, Delivered):
                future.set_result(effect.data)
            else:
                future.set_exception(_error(effect))

        (ticket,) = self.ask([(question, answer)])
        try:
            return await future
        except asyncio.CancelledError:
            self.cancel(ticket)
            raise

    def cancel(self, ticket: int) -> None:
        """Wait no longer."""
        self._answers.pop(ticket, None)
        self.endpoint.cancel(ticket)

    def reply(self, answers: list[tuple[bytes, bytes]]) -> None:
        """Send Data with the tokens of the Interests they answer."""
        now = self.clock()
        self._execute(self.endpoint.reply(answers, now), now)

    def register(self, prefix: Name, watcher: Watcher = heedless) -> None:
        """Keep a prefix registered until everyone who asked for it has unregistered; `watcher` hears of its changes."""
        if self._ended:
            raise Disconnected(f"the face is closed: serve {prefix} within its `async with` block")
        now = self.clock()
        effects = self.endpoint.register(prefix, now)
        self._watchers.setdefault(prefix, []).append(watcher)
        self._execute(effects, now)

    def unregister(self, prefix: Name, watcher: Watcher = heedless) -> None:
        """Keep it no longer, unless others want it."""
        watchers = self._watchers.get(prefix, [])
        if watcher in watchers:
            watchers.remove(watcher)
        if watchers:
            return
        self._watchers.pop(prefix, None)
        if not self._ended:
            now = self.clock()
            self._execute(self.endpoint.unregister(prefix, now), now)

    async def registered(self, prefix: Name, timeout_s: float) -> None:
        """Wait until a prefix is registered; raises `Refused` or `TimedOut` with the reason."""
        held = self.endpoint.registrar.registrations.get(prefix)
        if held is None:
            raise Disconnected(f"{prefix} is not to be registered: its serving was closed")
        change = RegistrationChanged(prefix, held.state, held.reason, held.code)
        try:
            async with asyncio.timeout(timeout_s):
                while change.state not in {REGISTERED, REFUSED}:
                    future: asyncio.Future[RegistrationChanged] = self._loop.create_future()
                    waiting = [one for one in self._waiting.get(prefix, []) if not one.done()]
                    self._waiting[prefix] = [*waiting, future]
                    change = await future
        except TimeoutError:
            why = f": {held.reason}" if held.reason else ""
            asked = f"{prefix} is not registered with {self.endpoint.where} after {timeout_s:g} s"
            raise TimedOut(f"{asked}; it is {held.state}{why}") from None
        if change.state == REFUSED:
            raise Refused(
                f"{self.endpoint.where} refused to register {prefix}: {change.code} {change.reason}; "
                "check which keys its policy lets register this prefix",
                change.code,
            )

    # -- inside

    def _connected(self, transport: Transport) -> None:
        self._transport = transport
        self._up_since = self._loop.time()
        self.connections += 1
        now = self.clock()
        self._execute(self.endpoint.connected(FIRST_FACE, transport.spec, now), now)

    async def _dial_again(self) -> None:
        while True:
            await asyncio.sleep(self._pause_s * (0.75 + self.randomness.random() / 2))
            self._pause_s = min(LAST_PAUSE_S, self._pause_s * 2)
            try:
                transport = await self._dial(self)
            except Disconnected as error:
                self.endpoint.disconnected(str(error))
                continue
            except Exception as error:  # noqa: BLE001  whatever it is, it must not end the dialling
                self.journal.warn("dialling again failed: %s: %s", type(error).__name__, error)
                self.endpoint.disconnected(str(error))
                continue
            self._connected(transport)
            return

    def _execute(self, effects: list[Effect], now: int) -> None:
        asked: list[Asked] = []
        for effect in effects:
            if isinstance(effect, Send):
                if self._transport is not None:
                    self._transport.send(effect.packets)
            elif isinstance(effect, (Delivered, Failed)):
                answer = self._answers.pop(effect.ticket, None)
                if answer is not None:
                    self._loop.call_soon(answer, effect)
            elif isinstance(effect, Asked):
                asked.append(effect)
            elif isinstance(effect, RegistrationChanged):
                for future in self._waiting.pop(effect.prefix, []):
                    if not future.done():
                        future.set_result(effect)
                for watcher in self._watchers.get(effect.prefix, []):
                    self._loop.call_soon(watcher, effect)
            else:
                self.journal.write(effect, now)
        if not self._ended:
            self._alarm.set(self.endpoint.deadline(), now)
        if asked:
            self.on_asked(asked)

    def _tick(self, now: int) -> None:
        self._execute(self.endpoint.tick(now), now)


def _error(failed: Failed) -> RoostError:
    if failed.kind == TIMED_OUT:
        return TimedOut(failed.reason)
    if failed.kind == NACKED:
        return Nacked(failed.reason, failed.nack)
    if failed.kind == OVERFLOWED:
        return Backpressure(failed.reason, 100)
    return Disconnected(failed.reason)
