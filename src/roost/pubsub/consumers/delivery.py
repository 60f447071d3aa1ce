"""What to fetch next and what can be delivered: per stream in order, in all no more than the application has room for.

    learn ──▶ ready ──order──▶ busy ──came──▶ Deliver …, ready again or done
                ▲                └──nothing usable──▶ waiting (back-off) ──┐
                └───────────────────────────────────────────────────────────┘

A stream has at most one order at a time, so its readings cannot overtake each other; many streams have theirs at once.
An order is one reading or two, by name, or as many as there is room for, as a bundle (`roost.repo.question`). What an
order did not bring is ordered again, later and in the other form: a repo that was asked may not have what another one
has announced; a bundle says if it was dropped on purpose, which is told as `Missing`; and a reading too large for a
bundle comes by its name. Nothing is ever passed over in silence.

Every order takes the room it may need away from others (`credit`) until it is over. Where to begin is told by `begin`;
a stream without a beginning waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from roost.machine import MS, Effect, Note, Randomness
from roost.machine.timetable import Timetable
from roost.naming import Name
from roost.pubsub.consumers.arrival import Deliver, Missing, arrival_of
from roost.pubsub.consumers.policy import Policy
from roost.wire import Data

BUNDLE_FROM: Final = 3  # readings in a row
MAX_ORDER: Final = 64
_RETRY_LOW_MS: Final = 50
_RETRY_HIGH_MS: Final = 5000
_WORRY_TRIES: Final = 8  # after so many it is noted that a reading does not come
AWAITED: Final = "reading awaited"


@dataclass(slots=True)
class Flow:
    """One stream on its way to the application."""

    stream: Name
    ticket: int  # of its timer
    high: int = 0  # announced
    next: int = 0  # to be delivered; 0 until it is known where to begin
    placed: int = 0  # up to here the application has dealt with it, or did not want it
    tries: int = 0  # orders in a row that brought nothing
    busy: bool = False


class Order(NamedTuple):
    """Readings low to high of a stream, to be fetched by name or in a bundle."""

    flow: Flow
    low: int
    high: int
    bundle: bool


class Delivery:
    """All streams of one subscription."""

    def __init__(self, policy: Policy, randomness: Randomness, *, credit: int, window: int, max_streams: int) -> None:
        self.policy: Final = policy
        self.window: Final = window
        self.max_streams: Final = max_streams
        self.credit = credit  # readings the application has room for, those on order included
        self.delivered = 0
        self.missing = 0  # numbers told as such
        self.retries = 0
        self.turned_away = 0  # streams that found no room
        self.orders = 0  # open ones
        self._reserved = 0  # readings on order
        self._randomness: Final = randomness
        self._flows: Final[dict[Name, Flow]] = {}  # bound: max_streams
        self._by_ticket: Final[list[Flow]] = []  # bound: as above
        self._ready: Final[dict[Name, Flow]] = {}  # in the order they became so; bound: as above
        self._timers: Final = Timetable()

    def __len__(self) -> int:
        return len(self._flows)

    def flow(self, stream: Name) -> Flow | None:
        """A stream that was learnt of."""
        return self._flows.get(stream)

    def flows(self) -> list[Flow]:
        """All streams."""
        return list(self._flows.values())

    # -- what is there

    def learn(self, stream: Name, high: int) -> Flow | None:
        """Take in that a stream has come to `high`; None if there is no room for another one."""
        flow = self._flows.get(stream)
        if flow is None:
            if len(self._flows) >= self.max_streams:
                self.turned_away += 1
                return None
            flow = Flow(stream, len(self._by_ticket))
            self._flows[stream] = flow
            self._by_ticket.append(flow)
        flow.high = max(flow.high, high)
        self._consider(flow)
        return flow

    def begin(self, flow: Flow, number: int) -> None:
        """The first reading to deliver is this one."""
        flow.next = number
        flow.placed = number - 1
        self._consider(flow)

    def take(self, count: int) -> None:
        """The application has room for more."""
        self.credit += count

    # -- orders

    def order(self) -> Order | None:
        """What to fetch next; None if there is nothing, or no room for it."""
        while self._ready and self._free > 0 and self.orders < self.window:
            stream, flow = next(iter(self._ready.items()))
            del self._ready[stream]
            low = self.policy.next(stream, flow.next, flow.high)
            if low:
                return self._opened(flow, low)
        return None

    def accept(self, stream: Name, number: int) -> Order | None:
        """Take a reading that came by itself as if it had been ordered; None if it is not its turn."""
        flow = self._flows.get(stream)
        if flow is None or flow.busy or not flow.next or self._free < 1:
            return None
        if self.policy.next(stream, flow.next, flow.high) != number:
            return None
        self._ready.pop(stream, None)
        self._timers.drop(flow.ticket)
        return self._reserve(Order(flow, number, number, bundle=False))

    def came(
        self, order: Order, readings: Mapping[int, Data], dropped: Sequence[tuple[int, int]], now: int
    ) -> list[Effect]:
        """Deliver what an order brought, as far as it is in order; go on with the rest."""
        flow = order.flow
        self.orders -= 1
        self._reserved -= order.high - order.low + 1
        flow.busy = False
        effects: list[Effect] = []
        number = order.low
        while number <= order.high:
            data = readings.get(number)
            end = number if data is not None else _end_of_run(number, dropped)
            if not end:
                break
            if data is not None:
                self.credit -= 1
                self.delivered += 1
                effects.append(Deliver(arrival_of(flow.stream, number, data, now)))
            else:
                end = min(end, flow.high) if self.policy.dense else number
                self.missing += end - number + 1
                effects.append(Missing(flow.stream, number, end))
            number = end + 1
            flow.next = number
        if effects:
            flow.tries = 0
            self._consider(flow)
            return effects
        return self._wait(flow, order, now)

    # -- time

    def tick(self, now: int) -> None:
        """Order again what did not come."""
        for ticket in self._timers.overdue(now):
            flow = self._by_ticket[ticket]
            self._ready[flow.stream] = flow

    def deadline(self) -> int | None:
        """When the next of those is due."""
        return self._timers.deadline()

    @property
    def _free(self) -> int:
        return self.credit - self._reserved

    def _consider(self, flow: Flow) -> None:
        """See whether there is something to order; who waits for its next try goes on waiting."""
        if flow.next and not flow.busy and not flow.tries and flow.next <= flow.high:
            self._ready[flow.stream] = flow

    def _opened(self, flow: Flow, low: int) -> Order:
        count = min(flow.high - low + 1, self._free, MAX_ORDER) if self.policy.dense else 1
        bundle = (count >= BUNDLE_FROM) != bool(flow.tries % 2)
        if not bundle:
            count = min(count, BUNDLE_FROM - 1)
        return self._reserve(Order(flow, low, low + count - 1, bundle))

    def _reserve(self, order: Order) -> Order:
        order.flow.busy = True
        self.orders += 1
        self._reserved += order.high - order.low + 1
        return order

    def _wait(self, flow: Flow, order: Order, now: int) -> list[Effect]:
        flow.tries += 1
        self.retries += 1
        longest = min(_RETRY_LOW_MS << min(flow.tries, 10), _RETRY_HIGH_MS)
        self._timers.set(flow.ticket, now + self._randomness.randint(longest // 2 * MS, longest * MS))
        if flow.tries != _WORRY_TRIES:
            return []
        return [Note(AWAITED, (("stream", str(flow.stream)), ("number", order.low)))]


def _end_of_run(number: int, runs: Sequence[tuple[int, int]]) -> int:
    """Where the run ends that a number lies in, 0 if it lies in none."""
    return next((high for low, high in runs if low <= number <= high), 0)
