"""Fetching a segmented object, as a machine: discover the version, keep a window of Interests, deliver in order.

    start ──discover──▶ asking segments ──every segment delivered──▶ Finished
                 └──────────────┴──a segment asked `tries` times, or an answer that cannot be right──▶ GaveUp

- One bound holds everything: no segment at or beyond `taken + capacity` is asked, where `taken` is what the consumer
  said it has taken (`take`). In flight, out of order and delivered but not taken together never exceed `capacity`.
- A segment is lost when its retransmission time-out passes (`roost.machine.rtt`). Loss, congestion marks and congestion
  Nacks shrink the window (`roost.pubsub.congestion`), at most once per window of segments.
- While the end is unknown, segments behind it may be asked. A producer that answers those with an application Nack ends
  nothing: nothing from there on is asked, and the fetch fails only if the segments before do not say where the end is.
- The driver sends `Express` with a fresh Nonce each time, and hands back `Answered`, `Refused` and `Distrusted`. It
  verifies first: what is `Answered` is believed. What fails is asked again at most twice, after a pause and with
  MustBeFresh: an Interest cannot exclude a bad copy, but one that went stale in a cache is not served to such an
  Interest, and meanwhile the cache may have lost it or another path may answer. Then the fetch fails, with the segment
  and the rule.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.machine import MS, Effect
from roost.machine.rtt import RttEstimator
from roost.naming import Name
from roost.naming.component import SEGMENT
from roost.naming.conventions import segment
from roost.pubsub.arrivals import Arrivals
from roost.pubsub.congestion import Window, make_window
from roost.pubsub.discovery import EXACT, METADATA, PREFIX, Discovery
from roost.pubsub.fetch_effects import (
    DENIED,
    UNANSWERED,
    UNTRUSTED,
    UNUSABLE,
    Answered,
    Distrusted,
    Express,
    FetchSettings,
    Finished,
    Forget,
    GaveUp,
    Refused,
)
from roost.pubsub.flights import Flight, Flights
from roost.wire.data import NACK as APPLICATION_NACK
from roost.wire.lp import CONGESTION, NO_ROUTE, REASON_NAMES
from roost.wire.segment import segment_number

DISCOVERY: Final = -1  # the "segment number" of the Interest that discovers
MAX_DISTRUSTED: Final = 3  # answers for one Interest that fail verification
_NO_ROUTE_TRIES: Final = 3  # routes come late after a registration, but not much later
_DISCOVERY_TRIES: Final = 3  # while there is another way to try
_FIRST_PAUSE: Final = 100 * MS  # before a refused or distrusted one is asked again; doubled each time


class SegmentFetch:
    """The machine; one object, one use."""

    def __init__(self, name: Name, settings: FetchSettings | None = None) -> None:
        self.name: Final = name
        self.settings: Final = settings or FetchSettings()
        self.rtt: Final = RttEstimator()
        self.window: Final[Window] = make_window(self.settings.algorithm)
        self.flights: Final = Flights()
        self.arrivals: Final = Arrivals()
        self.retransmitted = 0
        self.over = False
        self._discovery: Final = Discovery(name, self.settings.discovery)
        self._base: Name | None = None
        self._next_new = 0
        self._taken = 0
        self._calm_until = 0
        self._recovery = -1  # shrinking again only for segments asked after the last shrinking

    def start(self, now: int) -> list[Effect]:
        """Ask the first Interest."""
        if self._discovery.way == EXACT:
            self._base = self.name
            return self._pump(now)
        return [self._send(Flight(DISCOVERY), now)]

    def receive(self, event: Answered | Refused | Distrusted, now: int) -> list[Effect]:
        """Take in what came back for one Interest."""
        if self.over:
            return []
        if isinstance(event, Refused):
            return self._refused(event, now)
        if isinstance(event, Distrusted):
            return self._distrusted(event, now)
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
        for flight in self.flights.overdue(now):
            if not flight.waiting:
                lost = True
                self.flights.lose(flight)
                self._congested(flight.number, now)
            other_way = flight.number == DISCOVERY and self._discovery.left
            tries = self.settings.tries
            if flight.tries >= (min(tries, _DISCOVERY_TRIES) if other_way else tries):
                effects += self._exhausted(flight, now)
            else:
                self.flights.queue(flight)
        if lost and now >= self._calm_until:  # one blackout is one reason to wait longer, whatever it cost
            self.rtt.backed_off()
            self._calm_until = now + self.rtt.rto
        return effects if self.over else effects + self._pump(now)

    def deadline(self) -> int | None:
        """When the first Interest in flight is overdue."""
        return None if self.over else self.flights.timers.deadline()

    # -- what comes in

    def _discovered(self, event: Answered, now: int) -> list[Effect]:
        data = event.data
        if self._discovery.way == METADATA and data.content_type == APPLICATION_NACK:
            return self._other_way(now) if self._discovery.left else self._deny(data.name)
        try:
            self._base = self._discovery.versioned(data)
        except BadPacket as error:
            return self._give_up(f"{self.name}: {error}", UNUSABLE)
        self._landed(DISCOVERY, now)
        if self._discovery.way == PREFIX and data.name == self._base / segment(0):
            return self._arrived(event, now)
        return self._pump(now)

    def _arrived(self, event: Answered, now: int) -> list[Effect]:
        data = event.data
        number = self._number_of(data.name)
        if number in self.arrivals or number >= self._taken + self.settings.capacity:
            return []
        self._landed(number, now)
        effects: list[Effect] = []
        if data.content_type == APPLICATION_NACK:
            self.arrivals.deny(number)
            return self._forget_beyond(number) + self._deliver(now)
        self.window.grow(now, self.rtt.smoothed)
        if event.congested:
            self._congested(number, now)
        self._next_new = max(self._next_new, number + 1)
        if data.final_block is not None and data.final_block.type == SEGMENT:
            try:
                final = segment_number(data.final_block)
            except BadPacket as error:
                return self._give_up(f"{data.name}: its FinalBlockId cannot be read: {error}", UNUSABLE)
            self.arrivals.end_at(final)
            effects += self._forget_beyond(final)
        self.arrivals.add(number, data)
        return effects + self._deliver(now)

    def _deliver(self, now: int) -> list[Effect]:
        """Hand on what is next in order, and see whether that was all, or all there can be."""
        effects: list[Effect] = [*self.arrivals.in_order()]
        if self.arrivals.complete:
            self.over = True
            return [*effects, Finished(self._base or self.name, self.arrivals.next)]
        lacking = self.arrivals.lacking
        return effects + (self._pump(now) if lacking is None else self._deny(self._name_of(lacking)))

    def _refused(self, event: Refused, now: int) -> list[Effect]:
        flight = self._flight_of(event.name)
        if flight is None:
            return []
        flight.refusals += 1
        flight.nack = event.reason
        flight.last = f"the last answer was a Nack: {REASON_NAMES.get(event.reason, f'reason {event.reason}')}"
        if event.reason == CONGESTION:
            self._congested(flight.number, now)
        elif event.reason == NO_ROUTE and flight.refusals >= _NO_ROUTE_TRIES:
            return self._exhausted(flight, now)
        # Wait before asking again, longer each time: the network said it has no room, or no route yet.
        return self._pause(flight, flight.refusals, now)

    def _distrusted(self, event: Distrusted, now: int) -> list[Effect]:
        flight = self._flight_of(event.name)
        if flight is None:
            return []
        flight.distrusted += 1
        flight.nack = -1
        flight.last = f"what came failed verification: {event.reason}"
        if flight.distrusted >= MAX_DISTRUSTED:
            return self._exhausted(flight, now)
        return self._pause(flight, flight.distrusted, now)

    # -- what goes out

    def _pump(self, now: int) -> list[Effect]:
        effects: list[Effect] = []
        room = max(1, self.window.size) - self.flights.air
        while room > 0 and (lost := self.flights.next_again()) is not None:
            self.retransmitted += 1
            effects.append(self._send(lost, now))
            room -= 1
        if self._base is None:
            return effects
        limit = self.arrivals.ahead(self._taken + self.settings.capacity)
        while room > 0 and self._next_new < limit:
            if self._next_new not in self.arrivals:
                effects.append(self._send(Flight(self._next_new), now))
                room -= 1
            self._next_new += 1
        return effects

    def _send(self, flight: Flight, now: int) -> Express:
        discovers = flight.number == DISCOVERY
        patience = min(self.rtt.rto, self.settings.lifetime_ms * MS) if discovers else self.rtt.rto
        self.flights.send(flight, now, now + patience)
        fresh = discovers or flight.distrusted > 0
        return Express(self._name_of(flight.number), discovers, fresh, self.settings.lifetime_ms)

    def _pause(self, flight: Flight, times: int, now: int) -> list[Effect]:
        self.flights.pause(flight, now + min(self.rtt.maximum, _FIRST_PAUSE << min(times - 1, 5)))
        return self._pump(now)

    def _landed(self, number: int, now: int) -> None:
        flight = self.flights.land(number)
        if flight is not None and flight.tries == 1:
            self.rtt.measured(now - flight.sent_at)

    def _congested(self, number: int, now: int) -> None:
        if number > self._recovery:
            self.window.shrink(now)
            self._recovery = self._next_new - 1

    def _forget_beyond(self, number: int) -> list[Effect]:
        return [Forget(self._name_of(other)) for other in self.flights.land_beyond(number)]

    def _other_way(self, now: int) -> list[Effect]:
        forgotten = self._name_of(DISCOVERY)
        self.flights.land(DISCOVERY)
        self._discovery.give_way()
        return [Forget(forgotten), self._send(Flight(DISCOVERY), now)]

    def _exhausted(self, flight: Flight, now: int) -> list[Effect]:
        if flight.number == DISCOVERY and self._discovery.left:
            return self._other_way(now)
        name = self._name_of(flight.number)
        what = f"version of {self.name}" if flight.number == DISCOVERY else f"segment {flight.number} of {self._base}"
        times = "once" if flight.tries == 1 else f"{flight.tries} times"
        had = f"; segments 0 to {self.arrivals.next - 1} had come" if self.arrivals.next else ""
        kind = UNTRUSTED if flight.distrusted and flight.nack < 0 else UNANSWERED
        return self._give_up(f"the {what} was asked {times} as {name}; {flight.last}{had}", kind, flight.nack)

    def _deny(self, name: Name) -> list[Effect]:
        return self._give_up(f"{name}: the producer answered with an application Nack: it does not have this", DENIED)

    def _give_up(self, reason: str, kind: str, nack: int = -1) -> list[Effect]:
        self.over = True
        self.flights.clear()
        self.arrivals.clear()
        return [GaveUp(reason, nack, kind)]

    # -- names

    def _name_of(self, number: int) -> Name:
        if number == DISCOVERY or self._base is None:
            return self._discovery.asked
        return self._base / segment(number)

    def _number_of(self, name: Name) -> int:
        """Read the segment number of one of this object's names, -1 for any other."""
        if self._base is None or len(name) != len(self._base) + 1 or not name.starts_with(self._base):
            return -1
        try:
            return segment_number(name.at(-1))
        except BadPacket:
            return -1

    def _flight_of(self, asked: Name) -> Flight | None:
        """The flight that is in the air under this name."""
        if self._base is None:
            number = DISCOVERY
            if asked != self._name_of(DISCOVERY):
                return None  # of the way that was tried before
        else:
            number = self._number_of(asked)
        flight = self.flights.get(number)
        return None if flight is None or flight.waiting else flight
