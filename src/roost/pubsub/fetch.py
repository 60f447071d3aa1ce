"""Fetching a segmented object, as a machine: discover the version, keep a window of Interests, deliver in order.

    start ──discover──▶ asking segments ──every segment delivered──▶ Finished
                 └──────────────┴──a segment asked `tries` times, or an answer that cannot be right──▶ GaveUp

- One bound holds everything: no segment at or beyond `taken + capacity` is asked, where `taken` is what the consumer
  said it has taken (`take`). In flight, out of order and delivered but not taken together never exceed `capacity`.
- A segment is lost when its retransmission time-out passes (`roost.pubsub.rtt`). Loss, congestion marks and congestion
  Nacks shrink the window (`roost.pubsub.congestion`), at most once per window of segments.
- The driver sends `Express` with a fresh Nonce each time, and hands back `Answered` and `Refused`. It verifies first:
  what is handed in here is believed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

from roost.errors import BadName, BadPacket
from roost.machine import MS, Effect
from roost.naming import Name
from roost.naming.component import SEGMENT
from roost.naming.conventions import segment
from roost.pubsub import discovery
from roost.pubsub.congestion import Window, make_window
from roost.pubsub.rtt import RttEstimator
from roost.wire import Data
from roost.wire.data import NACK as APPLICATION_NACK
from roost.wire.lp import CONGESTION, NO_ROUTE, REASON_NAMES

DISCOVERY: Final = -1  # the "segment number" of the Interest that discovers
_NO_ROUTE_TRIES: Final = 3  # routes come late after a registration, but not much later
_DISCOVERY_TRIES: Final = 3  # while there is another way to try


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """How to fetch; the defaults suit a building network."""

    discovery: str = discovery.AUTO
    algorithm: str = "cubic"
    capacity: int = 1024
    tries: int = 10
    lifetime_ms: int = 4000


@dataclass(frozen=True, slots=True)
class Express(Effect):
    """Send an Interest with a fresh Nonce; an earlier one of the same name is forgotten."""

    name: Name
    can_be_prefix: bool
    must_be_fresh: bool
    lifetime_ms: int


@dataclass(frozen=True, slots=True)
class Forget(Effect):
    """No longer wait for this name: it lies behind the end of the object."""

    name: Name


@dataclass(frozen=True, slots=True)
class Segment(Effect):
    """The next segment, in order."""

    number: int
    data: Data


@dataclass(frozen=True, slots=True)
class Finished(Effect):
    """Every segment has been delivered."""

    name: Name
    segments: int


@dataclass(frozen=True, slots=True)
class GaveUp(Effect):
    """The object cannot be had; `nack` is the reason code if a Nack was the last answer, else -1."""

    reason: str
    nack: int = -1


@dataclass(frozen=True, slots=True)
class Answered:
    """Event: a verified Data came."""

    data: Data
    congested: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Event: an Interest was nacked."""

    name: Name
    reason: int


class _Flight:
    """One segment that was asked and has not come."""

    __slots__ = ("due", "last", "nack", "number", "refusals", "sent_at", "tries", "waiting")

    def __init__(self, number: int) -> None:
        self.number: Final = number
        self.tries = 0
        self.refusals = 0
        self.sent_at = 0
        self.due = 0
        self.waiting = False  # not in the air: to be sent again when it is due, or when the window has room
        self.nack = -1
        self.last = "nothing came back"


class SegmentFetch:
    """The machine; one object, one use."""

    def __init__(self, name: Name, settings: FetchSettings | None = None) -> None:
        self.name: Final = name
        self.settings: Final = settings or FetchSettings()
        self.rtt: Final = RttEstimator()
        self.window: Final[Window] = make_window(self.settings.algorithm)
        self.retransmitted = 0
        self.over = False
        self.final: int | None = None  # the last segment, once known
        self._ways: Final = discovery.ways(name, self.settings.discovery)
        self._way = self._ways.pop(0)
        self._base: Name | None = None
        self._flights: dict[int, _Flight] = {}  # bound: capacity
        self._again: deque[int] = deque()  # lost ones; bound: capacity
        self._timers: list[tuple[int, int]] = []  # (due, segment), stale entries swept beyond 4 × capacity
        self._came: dict[int, Data] = {}  # out of order; bound: capacity
        self._air = 0
        self._next_new = 0
        self._next_delivered = 0
        self._taken = 0
        self._calm_until = 0
        self._recovery = -1  # shrinking again only for segments asked after the last shrinking

    def start(self, now: int) -> list[Effect]:
        """Ask the first Interest."""
        if self._way == discovery.EXACT:
            self._base = self.name
            return self._pump(now)
        return self._send(_Flight(DISCOVERY), now)

    def receive(self, event: Answered | Refused, now: int) -> list[Effect]:
        """Take in what came back for one Interest."""
        if self.over:
            return []
        if isinstance(event, Refused):
            return self._refused(event, now)
        if self._base is None:
            return self._discovered(event, now)
        return self._arrived(event, now)

    def take(self, count: int, now: int) -> list[Effect]:
        """Say that the consumer has taken `count` more segments, which makes room for as many."""
        self._taken += count
        return [] if self.over or self._base is None else self._pump(now)

    def tick(self, now: int) -> list[Effect]:
        """Declare lost what is overdue."""
        effects: list[Effect] = []
        lost = False
        while self._timers and self._timers[0][0] <= now and not self.over:
            due, number = heappop(self._timers)
            flight = self._flights.get(number)
            if flight is None or flight.due != due:
                continue
            if not flight.waiting:
                lost = True
                flight.waiting = True
                self._air -= 1
                self._congested(number, now)
            other_way = number == DISCOVERY and self._ways
            if flight.tries >= (_DISCOVERY_TRIES if other_way else self.settings.tries):
                effects += self._exhausted(flight, now)
            else:
                self._again.append(number)
        if lost and now >= self._calm_until:  # one blackout is one reason to wait longer, whatever it cost
            self.rtt.backed_off()
            self._calm_until = now + self.rtt.rto
        return effects if self.over else effects + self._pump(now)

    def deadline(self) -> int | None:
        """When the first Interest in flight is overdue."""
        while self._timers:
            due, number = self._timers[0]
            flight = self._flights.get(number)
            if flight is not None and flight.due == due:
                return None if self.over else due
            heappop(self._timers)
        return None

    # -- what comes in

    def _discovered(self, event: Answered, now: int) -> list[Effect]:
        try:
            self._base = discovery.versioned(self.name, self._way, event.data)
        except BadPacket as error:
            return self._give_up(f"{self.name}: {error}")
        flight = self._flights.pop(DISCOVERY, None)
        if flight is not None:
            self._air -= not flight.waiting
            if flight.tries == 1:
                self.rtt.measured(now - flight.sent_at)
        if self._way == discovery.PREFIX and event.data.name == self._base / segment(0):
            return self._arrived(event, now)
        return self._pump(now)

    def _arrived(self, event: Answered, now: int) -> list[Effect]:
        data = event.data
        number = self._number_of(data.name)
        if number < self._next_delivered or number in self._came or number >= self._taken + self.settings.capacity:
            return []
        flight = self._flights.pop(number, None)
        if flight is not None:
            self._air -= not flight.waiting
            if flight.tries == 1:
                self.rtt.measured(now - flight.sent_at)
        if data.content_type == APPLICATION_NACK:
            return self._give_up(f"{data.name}: the producer answered with an application Nack: it does not have this")
        self.window.grow(now, self.rtt.smoothed)
        if event.congested:
            self._congested(number, now)
        self._next_new = max(self._next_new, number + 1)
        effects: list[Effect] = []
        if data.final_block is not None and data.final_block.type == SEGMENT:
            try:
                self._end_at(data.final_block.number(), effects)
            except BadName:
                return self._give_up(f"{data.name}: its FinalBlockId is not a segment number")
        if self.final is None or number <= self.final:
            self._came[number] = data
        while self._next_delivered in self._came:
            effects.append(Segment(self._next_delivered, self._came.pop(self._next_delivered)))
            self._next_delivered += 1
        if self.final is not None and self._next_delivered > self.final:
            self.over = True
            effects.append(Finished(self._base or self.name, self._next_delivered))
            return effects
        return effects + self._pump(now)

    def _refused(self, event: Refused, now: int) -> list[Effect]:
        number = DISCOVERY if self._base is None else self._number_of(event.name)
        flight = self._flights.get(number)
        if flight is None or flight.waiting:
            return []
        flight.waiting = True
        self._air -= 1
        flight.refusals += 1
        flight.nack = event.reason
        flight.last = f"the last answer was a Nack: {REASON_NAMES.get(event.reason, f'reason {event.reason}')}"
        if event.reason == CONGESTION:
            self._congested(number, now)
        elif event.reason == NO_ROUTE and flight.refusals >= _NO_ROUTE_TRIES:
            return self._exhausted(flight, now)
        # Wait before asking again, longer each time: the network said it has no room, or no route yet.
        flight.due = now + min(self.rtt.maximum, (50 * MS) << min(flight.refusals, 6))
        heappush(self._timers, (flight.due, number))
        return self._pump(now)

    # -- what goes out

    def _pump(self, now: int) -> list[Effect]:
        effects: list[Effect] = []
        room = max(1, self.window.size) - self._air
        while room > 0 and self._again:
            flight = self._flights.get(self._again.popleft())
            if flight is not None and flight.waiting:
                self.retransmitted += 1
                effects += self._send(flight, now)
                room -= 1
        if self._base is None:
            return effects
        limit = self._taken + self.settings.capacity
        while room > 0 and self._next_new < limit and (self.final is None or self._next_new <= self.final):
            if self._next_new not in self._came:
                effects += self._send(_Flight(self._next_new), now)
                room -= 1
            self._next_new += 1
        return effects

    def _send(self, flight: _Flight, now: int) -> list[Effect]:
        flight.waiting = False
        flight.tries += 1
        flight.sent_at = now
        flight.due = now + self.rtt.rto
        self._air += 1
        number = flight.number
        self._flights[number] = flight
        heappush(self._timers, (flight.due, number))
        if len(self._timers) > 4 * self.settings.capacity + 16:
            self._timers = [(waits.due, waits.number) for waits in self._flights.values()]
            heapify(self._timers)
        discovers = number == DISCOVERY
        return [Express(self._name_of(number), discovers, discovers, self.settings.lifetime_ms)]

    def _congested(self, number: int, now: int) -> None:
        if number > self._recovery:
            self.window.shrink(now)
            self._recovery = self._next_new - 1

    def _end_at(self, final: int, effects: list[Effect]) -> None:
        self.final = final
        for number in [number for number in self._flights if number > final]:
            self._air -= not self._flights.pop(number).waiting
            effects.append(Forget(self._name_of(number)))
        for number in [number for number in self._came if number > final]:
            del self._came[number]

    def _exhausted(self, flight: _Flight, now: int) -> list[Effect]:
        name = self._name_of(flight.number)
        if flight.number == DISCOVERY and self._ways:
            self._way = self._ways.pop(0)
            del self._flights[DISCOVERY]
            return [Forget(name), *self._send(_Flight(DISCOVERY), now)]
        what = f"version of {self.name}" if flight.number == DISCOVERY else f"segment {flight.number} of {self._base}"
        times = "once" if flight.tries == 1 else f"{flight.tries} times"
        had = f"; segments 0 to {self._next_delivered - 1} had come" if self._next_delivered else ""
        return self._give_up(f"the {what} was asked {times} as {name}; {flight.last}{had}", flight.nack)

    def _give_up(self, reason: str, nack: int = -1) -> list[Effect]:
        self.over = True
        self._flights.clear()
        self._came.clear()
        self._timers.clear()
        return [GaveUp(reason, nack)]

    def _name_of(self, number: int) -> Name:
        if number == DISCOVERY or self._base is None:
            return discovery.asked(self.name, self._way)
        return self._base / segment(number)

    def _number_of(self, name: Name) -> int:
        """Read the segment number of one of this object's names, -1 for any other."""
        if self._base is None or len(name) != len(self._base) + 1 or not name.starts_with(self._base):
            return -1
        last = name.at(-1)
        try:
            return last.number() if last.type == SEGMENT else -1
        except BadName:
            return -1
