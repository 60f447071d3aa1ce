"""Sync members on one lossy medium under a virtual clock: everybody hears everybody, nothing is cached.

Just enough of a driver to run PSync machines together in unit tests: it keeps their tickets, fetches segments and is
their disk. The simulator proper is `roost.sim`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from random import Random
from typing import cast

from roost.machine import MS, SECOND, Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.naming.conventions import segment
from roost.sync.port import (
    Answered,
    Asked,
    Collect,
    Collected,
    Event,
    Express,
    Forget,
    Learned,
    Listener,
    Member,
    Reply,
    Unanswered,
)
from roost.wire import Data, Interest, encode_interest
from roost.wire.interest import matches
from roost.wire.segment import Joiner

START = 1_790_000_000 * SECOND
LOOK_EVERY = 10 * MS
NEVER = 1 << 63
SEGMENT_RTO = 300 * MS
SEGMENT_TRIES = 20


class Seat:
    """A member and what its driver keeps for it."""

    def __init__(self, member: Listener) -> None:
        self.member = member
        self.up = True
        self.due = NEVER  # as of its last call
        self.tickets: dict[int, Interest] = {}
        self.collects: dict[int, Joiner] = {}
        self.files: dict[str, bytes] = defaultdict(bytes)
        self.told: list[Effect] = []
        self.interests = 0
        self.replies = 0

    def learned(self) -> list[tuple[str, int, int]]:
        return [(str(e.stream.name), e.low, e.high) for e in self.told if isinstance(e, Learned)]


class Bus:
    """The medium, and the time."""

    def __init__(self, seed: int = 1, loss: float = 0.0, delay: int = 5 * MS) -> None:
        self.now = START
        self.loss = loss
        self.seats: list[Seat] = []
        self._random = Random(seed)
        self._delay = delay
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    def add(self, member: Listener) -> Seat:
        seat = Seat(member)
        self.seats.append(seat)
        self.do(seat, member.start(self.now))
        return seat

    def produce(self, seat: Seat, stream: str) -> None:
        self.do(seat, cast("Member", seat.member).produce(Name.parse(stream), self.now))

    def announce(self, seat: Seat, stream: str, high: int) -> None:
        self.do(seat, cast("Member", seat.member).announce(Name.parse(stream), high, self.now))

    def crash(self, seat: Seat) -> None:
        seat.up = False
        self.seats.remove(seat)

    def run(self, span: int, until: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass, at most so much of it; returns whether what was waited for has come."""
        end = self.now + span
        look_at = self.now
        while True:
            if self.now >= look_at:
                if until():
                    return True
                look_at = self.now + LOOK_EVERY
            due = min([seat.due for seat in self.seats], default=NEVER)
            if self._agenda:
                due = min(due, self._agenda[0][0])
            if due > end:
                self.now = end
                return until()
            self.now = max(self.now, due)
            if self._agenda and self._agenda[0][0] <= self.now:
                heappop(self._agenda)[2]()
                continue
            for seat in self.seats:
                if seat.due <= self.now:
                    self.do(seat, seat.member.tick(self.now))
                    assert seat.due > self.now, "a tick that does not settle its deadline"

    # -- what members want

    def do(self, seat: Seat, effects: list[Effect]) -> None:
        due = seat.member.deadline()
        seat.due = NEVER if due is None else due
        for effect in effects:
            if isinstance(effect, Express):
                self._express(seat, effect)
            elif isinstance(effect, Forget):
                seat.tickets.pop(effect.ticket, None)
                seat.collects.pop(effect.ticket, None)
            elif isinstance(effect, Reply):
                seat.replies += 1
                self._spread(seat, partial(self._data, Data.decode(effect.packet)))
            elif isinstance(effect, Collect):
                seat.collects[effect.ticket] = Joiner(effect.name)
                self._fetch(seat, effect.ticket, 0)
            elif isinstance(effect, Save):
                seat.files[effect.file] = (b"" if effect.replace else seat.files[effect.file]) + effect.data
                self.later(MS, partial(self.hand, Saved(effect.file, effect.ticket), seat))
            else:
                seat.told.append(effect)

    def hand(self, event: Event, seat: Seat) -> None:
        if seat.up:
            self.do(seat, seat.member.receive(event, self.now))

    def later(self, span: int, action: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._agenda, (self.now + span, self._count, action))

    def _spread(self, seat: Seat, action: Callable[[Seat], None]) -> None:
        for other in self.seats:
            if other is not seat and self._random.random() >= self.loss:
                self.later(self._delay + self._random.randint(0, MS), partial(action, other))

    def _express(self, seat: Seat, effect: Express) -> None:
        interest = Interest.decode(Interest.decode(effect.interest).with_nonce(b"\1\2\3\4"))
        seat.interests += 1
        seat.tickets[effect.ticket] = interest
        self.later(interest.lifetime_ms * MS, partial(self._expire, seat, effect.ticket, interest))
        self._spread(seat, partial(self.hand, Asked(interest, b"token")))

    def _expire(self, seat: Seat, ticket: int, interest: Interest) -> None:
        if seat.tickets.get(ticket) is interest:
            del seat.tickets[ticket]
            self.hand(Unanswered(ticket, "expired"), seat)

    def _data(self, data: Data, seat: Seat) -> None:
        for ticket, interest in list(seat.tickets.items()):
            if matches(interest, data.name, data.implicit_digest):
                del seat.tickets[ticket]
                self.hand(Answered(ticket, data), seat)
        for ticket, joiner in list(seat.collects.items()):
            if data.name.starts_with(joiner.prefix) and joiner.add(data):
                if joiner.complete:
                    del seat.collects[ticket]
                    self.hand(Collected(ticket, joiner.content()), seat)
                else:
                    self._fetch(seat, ticket, 0)

    def _fetch(self, seat: Seat, ticket: int, tries: int) -> None:
        """Ask for the next segment, again and again until it is there."""
        if ticket not in seat.collects or not seat.up:
            return
        joiner = seat.collects[ticket]
        number = joiner.missing(1)[0] if joiner.missing(1) else joiner.received
        wire = encode_interest(joiner.prefix / segment(number), nonce=b"\1\2\3\4", lifetime_ms=1000)
        self._spread(seat, partial(self.hand, Asked(Interest.decode(wire))))
        received = joiner.received

        def again() -> None:
            if ticket in seat.collects and joiner.received == received:
                if tries >= SEGMENT_TRIES:
                    del seat.collects[ticket]
                    self.hand(Unanswered(ticket, "a segment did not come"), seat)
                else:
                    self._fetch(seat, ticket, tries + 1)

        self.later(SEGMENT_RTO, again)
