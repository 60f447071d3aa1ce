"""The driver of a `SegmentFetch`: Interests through a session, segments verified, handed on in order.

All that one batch brought goes into the machine together, and all it asks goes out in one write. The consumer takes
one segment at a time, and what it does not take is not asked for: that is the back-pressure.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from roost.errors import BadPacket, Disconnected, Nacked, RoostError, TimedOut, Untrusted
from roost.errors import Refused as RefusedError
from roost.forwarding.endpoint_effects import NACKED, OVERFLOWED, TIMED_OUT, Delivered, Failed
from roost.forwarding.pending import Question
from roost.host.alarm import Alarm
from roost.host.session import Answer, Session
from roost.host.verification import Verification
from roost.machine import Effect
from roost.naming import Name
from roost.pubsub.fetch import SegmentFetch
from roost.pubsub.fetch_effects import (
    DENIED,
    UNTRUSTED,
    UNUSABLE,
    Answered,
    Distrusted,
    Express,
    Finished,
    Forget,
    GaveUp,
    Refused,
    Segment,
)
from roost.wire import Data
from roost.wire.lp import CONGESTION

NOT_FOUND: Final = 404  # as in management: an application Nack carries no code of its own


class Fetching:
    """One object on its way; iterate over it, then `close` it."""

    def __init__(self, session: Session, machine: SegmentFetch, verification: Verification) -> None:
        self.machine: Final = machine
        self._session: Final = session
        self._verification: Final = verification
        self._tickets: dict[Name, int] = {}  # bound: the machine's capacity
        self._events: list[Answered | Refused | Distrusted] = []
        self._ready: deque[Data] = deque()  # bound: the machine's capacity
        self._error: RoostError | None = None
        self._done = False
        self._wake: asyncio.Future[None] | None = None
        self._checks: set[asyncio.Task[None]] = set()
        self._loop: Final = asyncio.get_running_loop()
        self._alarm: Final = Alarm(session.clock, self._tick)
        now = session.clock()
        self._execute(machine.start(now), now)

    def __aiter__(self) -> Fetching:
        return self

    async def __anext__(self) -> Data:
        while not self._ready:
            if self._error is not None:
                raise self._error
            if self._done:
                raise StopAsyncIteration
            self._wake = self._loop.create_future()
            await self._wake
        data = self._ready.popleft()
        now = self._session.clock()
        self._execute(self.machine.take(1, now), now)
        return data

    def close(self) -> None:
        """Ask no more; what is in flight is forgotten."""
        self._done = True
        self._alarm.cancel()
        for ticket in self._tickets.values():
            self._session.cancel(ticket)
        self._tickets.clear()
        for task in self._checks:
            task.cancel()

    # -- what comes back

    def _answer_for(self, name: Name) -> Answer:
        def answer(effect: Delivered | Failed) -> None:
            if self._tickets.get(name) == effect.ticket:
                del self._tickets[name]
            if self._done:
                return
            if isinstance(effect, Failed):
                if effect.kind in {NACKED, OVERFLOWED}:
                    self._take_in(Refused(name, effect.nack if effect.kind == NACKED else CONGESTION))
                elif effect.kind != TIMED_OUT:  # the machine has time-outs of its own
                    self._fail(Disconnected(effect.reason))
                return
            answered = Answered(effect.data, effect.congested)
            try:
                if self._verification.quick(effect.data):
                    self._take_in(answered)
                    return
            except Untrusted as error:
                self._take_in(Distrusted(name, str(error)))
                return
            task = self._loop.create_task(self._check(name, answered))
            self._checks.add(task)
            task.add_done_callback(self._checks.discard)

        return answer

    async def _check(self, name: Name, answered: Answered) -> None:
        try:
            await self._verification.check(answered.data)
        except Untrusted as error:
            self._take_in(Distrusted(name, str(error)))
        except RoostError as error:
            self._fail(error)
        else:
            self._take_in(answered)

    def _take_in(self, event: Answered | Refused | Distrusted) -> None:
        if not self._events:
            self._loop.call_soon(self._process)
        self._events.append(event)

    def _process(self) -> None:
        events, self._events = self._events, []
        now = self._session.clock()
        effects: list[Effect] = []
        for event in events:
            effects += self.machine.receive(event, now)
        self._execute(effects, now)

    def _tick(self, now: int) -> None:
        self._execute(self.machine.tick(now), now)

    # -- what the machine wants

    def _execute(self, effects: list[Effect], now: int) -> None:
        if self._done:
            return
        asks: dict[Name, Question] = {}
        for effect in effects:
            if isinstance(effect, Express):
                self._forget(effect.name)
                hints = self.machine.settings.hints
                asks[effect.name] = Question(
                    effect.name, effect.can_be_prefix, effect.must_be_fresh, effect.lifetime_ms, hints=hints
                )
            elif isinstance(effect, Segment):
                self._ready.append(effect.data)
            elif isinstance(effect, Forget):
                asks.pop(effect.name, None)
                self._forget(effect.name)
            elif isinstance(effect, Finished):
                self._done = True
            elif isinstance(effect, GaveUp):
                self._fail(self._explained(effect))
        if asks and self._error is None:
            try:
                tickets = self._session.ask([(question, self._answer_for(name)) for name, question in asks.items()])
            except RoostError as error:
                self._fail(error)
            else:
                self._tickets.update(zip(asks, tickets, strict=True))
        if self._done or self._error is not None:
            self._alarm.cancel()
        else:
            self._alarm.set(self.machine.deadline(), now)
        self._notify()

    def _explained(self, effect: GaveUp) -> RoostError:
        if effect.kind == UNTRUSTED:
            return Untrusted(effect.reason)
        if effect.kind == UNUSABLE:
            return BadPacket(effect.reason)
        if effect.kind == DENIED:
            return RefusedError(effect.reason, NOT_FOUND)
        trouble = self._session.endpoint.trouble
        reason = f"{effect.reason}; {trouble}" if trouble else effect.reason
        return Nacked(reason, effect.nack) if effect.nack >= 0 else TimedOut(reason)

    def _forget(self, name: Name) -> None:
        ticket = self._tickets.pop(name, None)
        if ticket is not None:
            self._session.cancel(ticket)

    def _fail(self, error: RoostError) -> None:
        if self._error is None:
            self._error = error
        self._notify()

    def _notify(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
