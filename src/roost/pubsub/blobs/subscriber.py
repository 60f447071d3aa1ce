"""The subscribing side of SVS-PS as a machine: hear of numbers, learn their names, fetch what is wanted [SVS-PS §8].

    Learned ──▶ name known? ──no──▶ mapping query ──┐
                   │ yes ◀──────────────────────────┘
                   ├──nobody wants it──▶ passed over
                   └──▶ first packet ──▶ its other segments ──▶ every inner Data verified ──▶ Deliver, in order

A number is decided against the subscriptions there are when its turn comes; per producer at most `WINDOW` numbers are
under way, and they are delivered in order. What nobody answers for is asked again, later each time, without end: its
holder may be out of reach. Outer packets, inner packets and mapping are verified, by one verifier. Where it is in the
numbers is not kept: who starts again begins with what the group has.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from roost.errors import BadPacket
from roost.forwarding.pending import Question
from roost.machine import MS, Effect, Randomness, Rejected, earliest
from roost.machine.timetable import Timetable
from roost.naming import Name
from roost.pubsub.blobs.collecting import Collecting
from roost.pubsub.blobs.encapsulation import application_name, final_segment, segment_of, unwrap
from roost.pubsub.blobs.mapping import Entry, Mapped, decode_mapping
from roost.pubsub.blobs.names import Query
from roost.pubsub.blobs.prefetching import Prefetching
from roost.pubsub.blobs.seat import Seat
from roost.pubsub.blobs.wanted import MAX_PREFETCH, Wanted
from roost.pubsub.resident import Event
from roost.sync.port import Learned, Stream
from roost.wire import Data
from roost.wire.data import decode_data
from roost.wire.tlv import element

WINDOW: Final = 16
LIFETIME_MS: Final = 1000
TRIES: Final = 2
_RETRY_LOW_MS: Final = 100
_RETRY_HIGH_MS: Final = 5000
_SAMPLE_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class Item:
    """A publication: who made it, its number, what the application called it, the blob, who signed it, and when."""

    stream: Stream
    number: int
    name: Name
    blob: bytes
    signer: Name | None = None  # the key of the application's Data, as it says; None: a digest only
    published_us: int = 0  # when, as the mapping has it; 0: not known
    arrived: int = 0  # when it was whole and believed, by our clock


@dataclass(frozen=True, slots=True)
class Deliver(Effect):
    """A publication for these subscriptions."""

    subscriptions: tuple[int, ...]
    item: Item


@dataclass(slots=True)
class _Open:
    """A number that is under way."""

    number: int
    timer: int
    asked: bool = False  # something that was asked for is not answered yet
    taken: bool = False  # its first packet is here
    tries: int = 0
    settled: bool = False
    deliver: Deliver | None = None


@dataclass(slots=True)
class _Flow:
    stream: Stream
    high: int = 0
    next: int = 1  # to be looked at
    turn: int = 1  # to be delivered
    open: dict[int, _Open] = field(default_factory=dict)  # bound: WINDOW


class Subscriber:
    """One node's subscriptions in one group; put it on a face as any `Part`."""

    def __init__(self, seat: Seat, randomness: Randomness) -> None:
        self.seat: Final = seat
        self.naming: Final = seat.naming
        self.directory: Final = seat.directory
        self.asking: Final = seat.asking
        self.queries = 0  # mapping queries asked
        self._randomness: Final = randomness
        self._subscriptions: Final[dict[int, Wanted]] = {}  # bound: those who subscribe
        self._last = 0
        self._last_timer = 0
        self._flows: Final[dict[Stream, _Flow]] = {}  # bound: the streams of the group, as sync has it
        self._timers: Final = Timetable()
        self._timed: Final[dict[int, tuple[_Flow, _Open]]] = {}  # bound: WINDOW for each flow
        self._collecting: Final = Collecting(self.asking)
        self._prefetching: Final = Prefetching(self.asking, self.naming, self._prefetched)
        self._ahead: Final[dict[tuple[Stream, int], Data]] = {}  # came early; bound: MAX_PREFETCH for each flow

    @property
    def prefixes(self) -> tuple[Name, ...]:
        """Under which Interests are ours."""
        return self.seat.membership.prefixes

    @property
    def routes(self) -> tuple[Name, ...]:
        """What to register, so that they come."""
        return self.seat.membership.routes

    def subscribe(self, wanted: Wanted) -> int:
        """Want something, of all numbers whose turn has not come; returns what `Deliver` and `unsubscribe` call it."""
        self._last += 1
        self._subscriptions[self._last] = wanted
        return self._last

    def unsubscribe(self, subscription: int) -> None:
        """Want it no longer."""
        self._subscriptions.pop(subscription, None)

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Join the group."""
        return self.absorb(self.seat.start(now), now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an Interest, an answer, or that something is on the disk."""
        return self.absorb(self.seat.receive(event, now), now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        return self.absorb(self.seat.tick(now), now) + self.tick_fetches(now)

    def tick_fetches(self, now: int) -> list[Effect]:
        """Ask again what is overdue, whoever drives the group."""
        effects = self._collecting.tick(now) + self._prefetching.tick(now)
        for timer in list(self._timers.overdue(now)):
            flow, each = self._timed[timer]
            effects += self._again(flow, each, now)
        return self.absorb(effects, now)

    def deadline(self) -> int | None:
        """When the group, a fetch or the next try wants to be looked at."""
        fetches = self._timers.deadline(), self._collecting.deadline(), self._prefetching.deadline()
        return earliest(self.seat.deadline(), *fetches)

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            **self.seat.sizes(),
            "prefetched": (len(self._prefetching) + len(self._ahead), 2 * MAX_PREFETCH * max(1, len(self._flows))),
            "under way": (len(self._timed), WINDOW * max(1, len(self._flows))),
        }

    # -- what is learnt

    def absorb(self, effects: list[Effect], now: int) -> list[Effect]:
        """Take out what sync tells; the rest passes, and what follows from all of it is added."""
        passed: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Mapped):
                self.directory.learn(effect.stream, effect.entries)
            elif isinstance(effect, Learned):
                flow = self._flows.setdefault(effect.stream, _Flow(effect.stream))
                flow.high = max(flow.high, effect.high)
                passed += self._go_on(flow, now)
            else:
                passed.append(effect)
        return passed

    def _go_on(self, flow: _Flow, now: int) -> list[Effect]:
        """Deliver what is next in order, and begin with as many numbers as there is room for."""
        effects: list[Effect] = []
        while (each := flow.open.get(flow.turn)) is not None and each.settled:
            del flow.open[flow.turn], self._timed[each.timer]
            flow.turn += 1
            if each.deliver is not None:
                effects.append(each.deliver)
        while flow.next <= flow.high and len(flow.open) < WINDOW:
            self._last_timer += 1
            each = _Open(flow.next, self._last_timer)
            flow.open[flow.next] = each
            self._timed[each.timer] = flow, each
            flow.next += 1
            effects += self._consider(flow, each, now)
        return effects + self._ask_names(flow, now) + self._look_ahead(flow, now)

    def _look_ahead(self, flow: _Flow, now: int) -> list[Effect]:
        """Have Interests wait for what this producer publishes next, if somebody wants that and nothing is behind."""
        wanting = [wanted for wanted in self._subscriptions.values() if wanted.concerns(flow.stream.name)]
        ahead = max([wanted.prefetch for wanted in wanting], default=0) if flow.next > flow.high else 0
        return self._prefetching.aim(flow.stream, flow.high + 1, flow.high + ahead, now)

    def _prefetched(self, stream: Stream, number: int, outer: Data, now: int) -> list[Effect]:
        """Take a publication that came before we heard of its number; what is before it must be there too."""
        flow = self._flows[stream]
        each = flow.open.get(number)
        if each is not None:  # it was heard of meanwhile
            return self._take(flow, each, outer, now)
        if number < flow.next:
            return []
        self._ahead[stream, number] = outer
        flow.high = max(flow.high, number)
        return self._go_on(flow, now)

    def _consider(self, flow: _Flow, each: _Open, now: int) -> list[Effect]:
        """Pass over a number, fetch it, or leave it to a mapping query."""
        if each.asked or each.settled:
            return []
        wanting = [wanted for wanted in self._subscriptions.values() if wanted.concerns(flow.stream.name)]
        entry = self.directory.get(flow.stream, each.number)
        if entry is not None:
            wanted = any(each.takes(entry, now) for each in wanting)
        else:
            wanted = any(not each.needs_mapping for each in wanting)
            if not wanted and wanting:
                return []
        if wanted:
            return self._fetch(flow, each, now)
        each.settled = True
        self._ahead.pop((flow.stream, each.number), None)
        waiting = self._prefetching.drop(flow.stream, each.number)
        return waiting + (self._go_on(flow, now) if each.number == flow.turn else [])

    def _again(self, flow: _Flow, each: _Open, now: int) -> list[Effect]:
        """Try a number again that could not be had, or whose name could not."""
        effects = self._consider(flow, each, now)
        if each.asked or each.settled:
            return effects
        return effects + self._query(flow, Query(each.number, each.number), now)

    # -- names

    def _ask_names(self, flow: _Flow, now: int) -> list[Effect]:
        """Ask for the names of those numbers under way that are neither known nor asked for."""
        unknown = [each.number for each in flow.open.values() if not each.asked and not each.settled and not each.tries]
        if not unknown:
            return []
        effects: list[Effect] = []
        for query in self.directory.lacking(flow.stream, min(unknown), max(unknown)):
            effects += self._query(flow, query, now)
        return effects

    def _query(self, flow: _Flow, query: Query, now: int) -> list[Effect]:
        asked = [each for number in range(query.low, query.high + 1) if (each := flow.open.get(number)) is not None]
        asked = [each for each in asked if not each.asked and not each.settled]
        for each in asked:
            each.asked = True
        self.queries += 1

        def fetched(data: Data | None, _: str, now: int) -> list[Effect]:
            effects: list[Effect] = []
            if data is not None:
                try:
                    self.directory.learn(flow.stream, decode_mapping(data.content).entries)
                except BadPacket as error:
                    effects.append(self._refused(data, str(error)))
            for each in asked:
                each.asked = False
                if self.directory.get(flow.stream, each.number) is None:
                    self._later(each, now)
                else:
                    effects += self._consider(flow, each, now)
            return effects

        name = self.naming.query(flow.stream, query.low, query.high)
        return self.asking.fetch(Question(name, lifetime_ms=LIFETIME_MS, tries=TRIES), fetched, now)

    # -- blobs

    def _fetch(self, flow: _Flow, each: _Open, now: int) -> list[Effect]:
        each.asked = True
        ahead = self._ahead.pop((flow.stream, each.number), None)
        if ahead is not None:
            return self._take(flow, each, ahead, now)

        def fetched(outer: Data | None, _: str, now: int) -> list[Effect]:
            if outer is not None:
                return self._take(flow, each, outer, now)
            return [] if each.taken or each.settled else self._failed(each, now)

        name = self.naming.publication(flow.stream, each.number)
        question = Question(name, can_be_prefix=True, lifetime_ms=LIFETIME_MS, tries=TRIES)
        return self.asking.fetch(question, fetched, now)

    def _take(self, flow: _Flow, each: _Open, outer: Data, now: int) -> list[Effect]:
        """Go on with the first packet, whichever Interest brought it; a second one is not needed."""
        if each.taken or each.settled:
            return []
        each.asked = each.taken = True
        waiting = self._prefetching.drop(flow.stream, each.number)
        if segment_of(outer) < 0 or final_segment(outer) == 0:
            return waiting + self._unwrap(flow, each, [outer.content], outer, now)

        def collected(content: bytes | None, now: int) -> list[Effect]:
            if content is None:
                return self._failed(each, now)
            return self._unwrap(flow, each, _packets(content), outer, now)

        return waiting + self._collecting.collect(outer.name.prefix(-1), collected, now)

    def _unwrap(self, flow: _Flow, each: _Open, wires: list[bytes], outer: Data, now: int) -> list[Effect]:
        """Verify the application's Data, one after the other, and put the blob together."""
        try:
            unwrap(outer)
            inners = [decode_data(wire) for wire in wires]
            names = {application_name(inner) for inner in inners}
            if len(names) != 1:
                raise BadPacket(f"{outer.name} has packets of {len(names)} publications in it")  # noqa: TRY301  as what comes
        except BadPacket as error:
            return [self._refused(outer, str(error)), *self._failed(each, now)]
        left = list(inners)

        def check(refusal: str, now: int) -> list[Effect]:
            if refusal:
                return [self._refused(outer, refusal), *self._failed(each, now)]
            if left:
                return self.asking.check(left.pop(0), check, now)
            blob = b"".join([inner.content for inner in inners])
            signer = inners[0].signature.key_name
            return self._came(flow, each, Item(flow.stream, each.number, names.pop(), blob, signer, arrived=now), now)

        return check("", now)

    def _came(self, flow: _Flow, each: _Open, item: Item, now: int) -> list[Effect]:
        each.asked = False
        each.settled = True
        known = self.directory.get(flow.stream, each.number)
        entry = Entry(each.number, item.name, size_bytes=len(item.blob)) if known is None else known
        if entry.name == item.name:
            takers = [
                subscription
                for subscription, wanted in self._subscriptions.items()
                if wanted.concerns(flow.stream.name) and wanted.takes(entry, now)
            ]
            item = replace(item, published_us=entry.time_us)
            each.deliver = Deliver(tuple(takers), item) if takers else None
        return self._go_on(flow, now) if each.number == flow.turn else []

    def _failed(self, each: _Open, now: int) -> list[Effect]:
        each.asked = each.taken = False
        self._later(each, now)
        return []

    def _later(self, each: _Open, now: int) -> None:
        each.tries += 1
        longest = min(_RETRY_LOW_MS << min(each.tries, 10), _RETRY_HIGH_MS)
        self._timers.set(each.timer, now + self._randomness.randint(longest // 2 * MS, longest * MS))

    def _refused(self, data: Data, reason: str) -> Rejected:
        return Rejected(str(self.naming.group), f"{data.name}: {reason}", data.wire[:_SAMPLE_BYTES])


def _packets(content: bytes) -> list[bytes]:
    """Data packets that stand one behind the other."""
    wires: list[bytes] = []
    position = 0
    while position < len(content):
        _, _, end = element(content, position, len(content))
        wires.append(content[position:end])
        position = end
    return wires
