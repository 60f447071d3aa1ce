"""A consumer of a group: subscribes at the repos, fetches what it is told of, verifies and delivers it [NDN-PS §III-D].

    partial sync ──Learned──▶ delivery ──orders──▶ exact names, bundles ──verified──▶ Deliver(Arrival)
                 └─Carried──────────────────────────────────────────────────┘

It asks any repo (the group's service prefix, also as forwarding hint), so when the nearest one dies another answers the
next question. The state of the subscription is its own: the number up to which the application has dealt with each
stream. `acknowledge` moves it, and a file (`Ledger`: appended, checksummed, compacted) keeps it. After a restart the
consumer says hello, compares and goes on: every reading once and in order; twice only what had been delivered while
its acknowledgement was not on the disk yet. PSync's own place need not be kept for that.

The application has room for `credit` readings at first, and for more as it says so (`take`); no more are fetched. The
file also says for which wishes and policy it was begun: if these change, streams that are in it go on where they were,
and the others begin as the policy says. A time to look back to is that of the first start for good: "24 hours ago"
says another time at every start, and a stream that came to be meanwhile would lose its first readings. If the file is
damaged, streams that cannot be read begin with 1: rather twice than never.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from roost.errors import Backpressure, InvalidInput
from roost.forwarding.endpoint_effects import Delivered, Failed
from roost.machine import Effect, Note, Randomness, earliest
from roost.machine.disk import Saved
from roost.naming import Component, Name
from roost.naming.building import Group
from roost.naming.conventions import keyword
from roost.pubsub.asking import Asking
from roost.pubsub.consumers.arrival import Subscribed
from roost.pubsub.consumers.beginning import Beginning
from roost.pubsub.consumers.delivery import Delivery
from roost.pubsub.consumers.fulfilment import Fulfilment
from roost.pubsub.consumers.policy import Policy, sequential
from roost.pubsub.consumers.wishes import Wish, Wishes
from roost.pubsub.membership import Membership
from roost.pubsub.resident import Event
from roost.sync.ledger import Ledger
from roost.sync.port import Learned, Stream
from roost.sync.presets import ROOST_PARTIAL, PartialPreset
from roost.sync.psync_consumer import Carried, PSyncConsumer
from roost.trust.acceptance import Checker

_BEGUN: Final = keyword("begun")
_SPARE: Final = 64  # of the file, for marks of wishes and policies it was begun for


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    """The bounds of a consumer."""

    credit: int = 256  # readings the application has room for at first
    window: int = 64  # streams that are being fetched from at once
    max_streams: int = 100_000
    lifetime_ms: int = 1000  # of Interests for readings
    preset: PartialPreset = ROOST_PARTIAL


class Consumer:
    """One subscription of one application; `saved` is what `file` held when it last stopped."""

    prefixes: tuple[Name, ...] = ()
    routes: tuple[Name, ...] = ()

    def __init__(
        self,
        group: Group,
        wishes: Sequence[Wish],
        verifier: Checker,
        randomness: Randomness,
        *,
        saved: bytes,
        file: str,
        policy: Policy | None = None,
        settings: ConsumerSettings | None = None,
    ) -> None:
        settings = settings or ConsumerSettings()
        self.group: Final = group
        self.policy: Final = policy or sequential()
        self.unplaced = 0  # acknowledgements for which the file has no room
        self.asking: Final = Asking(verifier, group.service)
        self.delivery: Final = Delivery(
            self.policy,
            randomness,
            credit=settings.credit,
            window=settings.window,
            max_streams=settings.max_streams,
        )
        self._fulfilment: Final = Fulfilment(self.asking, group.service, self.delivery, settings.lifetime_ms)
        self._wishes: Final = Wishes(group.name, wishes)
        subscriptions = self._wishes.subscriptions()
        member = PSyncConsumer(group.subscriptions, settings.preset, subscriptions, randomness, b"", "")
        self.membership: Final = Membership(member, verifier)
        self._place: Final = Ledger(file, saved, settings.max_streams + _SPARE)
        timeless = replace(self.policy, from_time=min(1, self.policy.from_time))
        fingerprint = sha256(self._wishes.fingerprint() + repr(timeless).encode()).digest()
        self._mark: Final = Name.of(_BEGUN, Component(fingerprint))  # its number is the time to look back to, or 1
        begun = self._place.get(self._mark)
        self._begun = begun is not None or self._place.damaged
        self._from_time: Final = begun[1] if begun is not None and self.policy.from_time else self.policy.from_time
        self._beginning: Final = Beginning(
            self.asking, group.service, self._from_time, randomness, self._found_beginning
        )
        self._sought: Final[dict[Name, None]] = {}  # streams whose beginning is being sought; bound: max_streams
        self._paged = self._begun  # whether the wished ranges have been sought as a whole
        self._started = False

    @property
    def is_saved(self) -> bool:
        """Whether all that was acknowledged is on the disk."""
        return self._place.is_saved

    # -- commands

    def take(self, count: int, now: int) -> list[Effect]:
        """The application has room for so many more readings."""
        self.delivery.take(count)
        return self._fulfilment.go_on(now)

    def acknowledge(self, stream: Name, number: int, now: int) -> list[Effect]:  # noqa: ARG002  a command's shape
        """The application has dealt with everything of a stream up to this number, `Missing` ones included."""
        flow = self.delivery.flow(stream)
        if flow is None or number >= flow.next:
            raise InvalidInput(f"{stream}: number {number} was not delivered, it cannot be acknowledged")
        if number <= flow.placed:
            return []
        flow.placed = number
        return self._keep(stream, number)

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Subscribe."""
        effects: list[Effect] = []
        if not self._started:
            self._started = True
            if self._place.damaged:
                effects.append(Note("place damaged", (("file", self._place.file),)))
            if self._begun:
                effects.append(Subscribed(len(self.delivery)))
            elif self.policy.from_time:
                for each in self._wishes.ranges:
                    self._beginning.seek(each)
        effects += self.asking.settle(self.membership, self.membership.start(now), now)
        return self._absorb(effects, now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an answer, or that something is on the disk."""
        if isinstance(event, (Delivered, Failed)):
            return self._absorb(self.asking.receive(event, now), now)
        if isinstance(event, Saved):
            through, effects = self._place.saved(event)
            if any(stream.name == self._mark for stream, _ in through):
                effects.append(Subscribed(len(self.delivery)))
            return effects
        return []

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        self.delivery.tick(now)
        return self._absorb(self.asking.settle(self.membership, self.membership.tick(now), now), now)

    def deadline(self) -> int | None:
        """When there is something to do."""
        return earliest(self.membership.deadline(), self.delivery.deadline(), self._beginning.deadline())

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            **self.membership.sizes(),
            "questions": (len(self.asking), self.asking.max_asked),
            "streams": (len(self.delivery), self.delivery.max_streams),
            "orders": (self.delivery.orders, self.delivery.window),
        }

    # -- what is learnt

    def _absorb(self, effects: list[Effect], now: int) -> list[Effect]:
        """Take out what partial sync tells; the rest passes, and whatever follows from all of it is added."""
        passed: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Learned):
                self._learn(effect.stream.name, effect.high)
            elif isinstance(effect, Carried):
                passed += self._fulfilment.take(effect.data, now)
            else:
                passed.append(effect)
        passed += self._beginning.go_on(now)
        if not self._paged and self._beginning.idle:
            self._paged = True
            for stream in self._sought:
                self._beginning.seek_one(stream)
            passed += self._beginning.go_on(now)
        if not self._begun and self.membership.member.hellos and self._beginning.idle and not self._sought:
            passed += self._begin()
        return passed + self._fulfilment.go_on(now)

    def _learn(self, stream: Name, high: int) -> None:
        if not self._wishes.covers(stream):
            return
        flow = self.delivery.learn(stream, high)
        if flow is None or flow.next:
            return
        placed = self._place.get(stream)
        if placed is not None:
            self.delivery.begin(flow, placed[1] + 1)
        elif self.policy.from_number:
            self.delivery.begin(flow, self.policy.from_number)
        elif self.policy.live:
            self.delivery.begin(flow, 1 if self._begun else self.policy.first(high))
        elif stream not in self._sought:
            self._sought[stream] = None
            if self._paged:
                self._beginning.seek_one(stream)

    def _found_beginning(self, stream: Name, number: int) -> None:
        self._sought.pop(stream, None)
        flow = self.delivery.learn(stream, 0) if self._wishes.covers(stream) else None
        if flow is not None and not flow.next:
            placed = self._place.get(stream)
            self.delivery.begin(flow, number if placed is None else placed[1] + 1)

    def _begin(self) -> list[Effect]:
        """Keep where everything begins; the mark comes last, so that it is on the disk only if the rest is."""
        self._begun = True
        effects: list[Effect] = []
        if not self.policy.from_number:
            for flow in self.delivery.flows():
                effects += self._keep(flow.stream, flow.placed) if flow.placed else []
        return effects + self._keep(self._mark, self._from_time or 1)

    def _keep(self, stream: Name, number: int) -> list[Effect]:
        try:
            return self._place.want(Stream(stream), number)
        except Backpressure as error:
            self.unplaced += 1
            return [Note("place full", (("reason", str(error)),))] if self.unplaced == 1 else []
