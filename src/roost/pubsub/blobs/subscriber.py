"""The subscribing side of SVS-PS as a machine: hear of numbers, learn their names, fetch what is wanted [SVS-PS §8].

    Learned ──▶ name known? ──no──▶ mapping query ──┐
                   │ yes ◀──────────────────────────┘
                   ├──not wanted──▶ passed over
                   └──▶ obtained (`Obtaining`) ──▶ Deliver, in order or as it comes

Each subscription goes through each stream by itself (`Line`), from where it stopped (`Places`) or where it begins in
the past (`History`), so who is slow holds up nobody else; what several want at once is fetched once. With
`max_untaken` and `max_untaken_bytes` (`Allowance`), a subscription begins with no more while so many of its items were
delivered and not `taken`, or so many bytes of it wait.

What nobody answers for is asked again, later each time, without end: its holder may be out of reach. Every other time
it is asked of members that carry what others published. What its producer says it has no more (`oldest`), and nobody
carries, is given up; so is what is hopeless (`roost.pubsub.blobs.patience`), and what came a few times in packets of
its producer and was refused for what is inside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from roost.errors import BadPacket
from roost.machine import Effect, Randomness, Rejected, earliest
from roost.machine.disk import Saved
from roost.naming import Name
from roost.pubsub.blobs.allowance import Allowance
from roost.pubsub.blobs.carrying import Carrying
from roost.pubsub.blobs.history import History
from roost.pubsub.blobs.items import Deliver, Item
from roost.pubsub.blobs.line import SPAN, WINDOW, Line
from roost.pubsub.blobs.line_work import LineWork
from roost.pubsub.blobs.mapping import Entry, Mapped
from roost.pubsub.blobs.obtaining import Key, Obtaining, Then
from roost.pubsub.blobs.places import Places
from roost.pubsub.blobs.prefetching import Prefetching
from roost.pubsub.blobs.seat import Seat
from roost.pubsub.blobs.wanted import MAX_PREFETCH, PREFETCH_MS, Wanted
from roost.pubsub.resident import Event
from roost.sync.ledger import Ledger
from roost.sync.port import Learned, Stream
from roost.wire import Data


class Subscriber:
    """One node's subscriptions in one group; put it on a face as any `Part`."""

    def __init__(
        self,
        seat: Seat,
        randomness: Randomness,
        *,
        places: Places | None = None,
        max_untaken: int = 0,
        max_untaken_bytes: int = 0,
        carrying: Carrying | None = None,
    ) -> None:
        self.seat: Final = seat
        self.naming: Final = seat.naming
        self.directory: Final = seat.directory
        self.asking: Final = seat.asking
        self.places: Final = Places(Ledger("", b"")) if places is None else places
        self.carrying: Final = carrying
        self._durable: Final = places is not None
        self.allowance: Final = Allowance(max_untaken, max_untaken_bytes)
        self._subscriptions: Final[dict[int, Wanted]] = {}  # bound: those who subscribe
        self._identities: Final[dict[int, bytes]] = {}  # of those
        self._last = 0
        self._highs: Final[dict[Stream, int]] = {}  # bound: the streams of the group, as sync has it
        self._lines: Final[dict[tuple[int, Stream], Line]] = {}  # bound: subscriptions × streams
        self._obtaining: Final = Obtaining(seat, self._takes, carrying)
        self._prefetching: Final = Prefetching(self.asking, self.naming, self._prefetched)
        self._work: Final = LineWork(
            seat, randomness, self._obtaining, self._prefetching, self.allowance, self._deliver
        )

    @property
    def queries(self) -> int:
        """How many mapping queries were asked."""
        return self._work.inquiring.asked

    @property
    def gone(self) -> int:
        """How many numbers were given up, as nobody has them any more."""
        return self._work.gone

    @property
    def disbelieved(self) -> int:
        """How many numbers were passed over, as what is in them was refused, each time that it came."""
        return self._work.disbelieved

    @property
    def prefixes(self) -> tuple[Name, ...]:
        """Under which Interests are ours."""
        return self.seat.membership.prefixes

    @property
    def routes(self) -> tuple[Name, ...]:
        """What to register, so that they come."""
        return self.seat.membership.routes

    # -- what is wanted

    def subscribe(self, wanted: Wanted) -> int:
        """Want something; returns the number of the subscription. Call `resume` then."""
        self._last += 1
        self._subscriptions[self._last] = wanted
        taken = set(self._identities.values())
        candidates = map(wanted.identity, range(len(taken) + 1))
        self._identities[self._last] = next(each for each in candidates if each not in taken)
        self.allowance.open(self._last)
        for stream, high in self._highs.items():
            self._draw(self._last, wanted, stream, high)
        return self._last

    def obtain(self, key: Key, then: Then, wanted: Callable[[], bool], now: int, *, held: bool) -> list[Effect]:
        """Get one publication, whole, without a subscription; `held`: from members that carry it."""
        effects = self._obtaining.obtain(key, then, wanted, now, in_pieces=False, held=held, anyway=True)
        return self.absorb(effects, now)

    def unsubscribe(self, subscription: int) -> None:
        """Want it no longer. Call `resume` then."""
        self._subscriptions.pop(subscription, None)
        self._identities.pop(subscription, None)
        self.allowance.close(subscription)
        for key in [key for key in self._lines if key[0] == subscription]:
            self._work.drop(self._lines.pop(key))

    def resume(self, now: int) -> list[Effect]:
        """Go on after something has changed in what is wanted."""
        effects: list[Effect] = []
        for line in list(self._lines.values()):
            effects += self._work.go_on(line, now)
        for stream in self._highs:
            effects += self._look_ahead(stream, now)
        return effects

    def taken(self, subscription: int, item: Item, now: int) -> list[Effect]:
        """An item has been dealt with, and does not come again."""
        line = self._lines.get((subscription, item.stream))
        if line is None:
            return []
        was_full = not self.allowance.has_room(subscription)
        self.allowance.take(subscription, len(item.blob))
        line.deal(item.number)
        effects = self.places.keep(line.identity, line.stream, line.kept) if self._durable else []
        if was_full or self._work.is_parked:
            for each in [line for line in self._lines.values() if line.subscription == subscription]:
                effects += self._work.go_on(each, now)
        return effects

    @property
    def highs(self) -> dict[Stream, int]:
        """How far each stream has come, as far as we know."""
        return dict(self._highs)

    @property
    def untaken(self) -> int:
        """How many items were delivered and not dealt with, in all subscriptions."""
        return self.allowance.items

    def lacking(self, highs: Mapping[Stream, int]) -> int:
        """How many publications, up to these numbers of each stream, are neither here nor passed over."""
        return sum(max(0, highs.get(line.stream, 0) - line.turn + 1) for line in self._lines.values())

    def lacks(self, stream: Stream, number: int) -> bool:
        """Whether a publication is counted there."""
        return any(line.turn <= number <= line.high for line in self._lines.values() if line.stream == stream)

    def pieces(self, highs: Mapping[Stream, int]) -> int:
        """How many packets came of what is under way, up to these numbers of each stream."""
        return self._obtaining.pieces(highs)

    def _draw(self, subscription: int, wanted: Wanted, stream: Stream, high: int) -> None:
        """Begin with a stream, if it is wanted at all."""
        if not wanted.concerns(stream.name):
            return
        line = Line(subscription, wanted, stream, high, self._identities[subscription], past=high)
        self._work.add(line)
        line.begin(0 if wanted.keys or wanted.replay else self.places.get(line.identity, stream))
        if wanted.since_us or wanted.latest:
            line.history = History(line.next, high, wanted.since_us, latest=wanted.latest)
        self._lines[subscription, stream] = line

    def _takes(self, key: Key, entry: Entry, now: int) -> bool:
        """Whether anybody who waits for this publication wants it, now that its name is known."""
        stream, number = key
        lines = [line for line in self._lines.values() if line.stream == stream and number in line.open]
        return any(line.wanted.takes(entry, now) for line in lines)

    def _deliver(self, line: Line, item: Item) -> list[Effect]:
        if not line.wanted.keys:
            self.allowance.deliver(line.subscription, len(item.blob))
            return [Deliver(line.subscription, item)]
        try:
            if self.seat.opening is not None:
                self.seat.opening.learn(item.name, item.blob)
        except BadPacket as error:
            return [Rejected(str(self.naming.group), f"{item.name} of {item.producer}: {error}", item.blob[:64])]
        return []

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Join the group."""
        return self.absorb(self.seat.start(now), now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an Interest, an answer, or that something is on the disk."""
        if isinstance(event, Saved):
            saves = self.places.saved(event)
            return saves + self.absorb(self.seat.receive(event, now), now)
        return self.absorb(self.seat.receive(event, now), now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        return self.absorb(self.seat.tick(now), now) + self.tick_fetches(now)

    def tick_fetches(self, now: int) -> list[Effect]:
        """Ask again what is overdue, whoever drives the group."""
        return self.absorb(self._obtaining.tick(now) + self._prefetching.tick(now) + self._work.tick(now), now)

    def deadline(self) -> int | None:
        """When the group, a fetch or the next try wants to be looked at."""
        fetches = self._work.deadline(), self._obtaining.deadline(), self._prefetching.deadline()
        return earliest(self.seat.deadline(), *fetches)

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        lines = max(1, len(self._lines))
        return {
            **self.seat.sizes(),
            "prefetched": (len(self._prefetching) + self._obtaining.ahead, 2 * MAX_PREFETCH * max(1, len(self._highs))),
            "under way": (len(self._obtaining), (2 * WINDOW + 1) * lines),
            "waiting bytes": self.allowance.size,
            "open": (len(self._work), (SPAN + 1) * lines),
        }

    # -- what is learnt

    def absorb(self, effects: list[Effect], now: int) -> list[Effect]:
        """Take out what sync tells; the rest passes, and what follows from all of it is added."""
        passed: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Mapped):
                self.directory.learn(effect.stream, effect.entries)
            elif isinstance(effect, Learned):
                passed += self._heard(effect.stream, effect.high, now)
            else:
                passed.append(effect)
        return passed

    def _heard(self, stream: Stream, high: int, now: int) -> list[Effect]:
        """A stream has come so far."""
        if stream not in self._highs:
            for subscription, wanted in self._subscriptions.items():
                self._draw(subscription, wanted, stream, high)
            if self.carrying is not None:
                self.carrying.know(self.naming, stream)
        self._highs[stream] = max(high, self._highs.get(stream, 0))
        effects: list[Effect] = []
        for subscription in list(self._subscriptions):
            line = self._lines.get((subscription, stream))
            if line is not None:
                if self._highs[stream] > line.high:
                    self._work.heard(line, now)
                line.high = self._highs[stream]
                effects += self._work.go_on(line, now)
        return effects + self._look_ahead(stream, now)

    def _look_ahead(self, stream: Stream, now: int) -> list[Effect]:
        """Have Interests wait for what this producer publishes next, if somebody wants that and is not behind."""
        high = self._highs[stream]
        lines = [line for each in self._subscriptions if (line := self._lines.get((each, stream))) is not None]
        wishes = [line.wanted for line in lines if line.next > high and line.wanted.prefetch]
        ahead = max([wanted.prefetch for wanted in wishes], default=0)
        lifetime_ms = max([wanted.prefetch_ms for wanted in wishes], default=PREFETCH_MS)
        return self._prefetching.aim(stream, high + 1, high + ahead, lifetime_ms, now)

    def _prefetched(self, stream: Stream, number: int, outer: Data, now: int) -> list[Effect]:
        """Take a publication that came before we heard of its number; what is before it must be there too."""
        effects = self._obtaining.came((stream, number), outer, now)
        if effects is not None:
            return effects
        if number <= self._highs[stream]:
            self._obtaining.drop((stream, number))
            return []
        return self._heard(stream, number, now)
