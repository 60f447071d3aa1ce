"""A member of a sync group (`roost.sync.port`) on an application's face: its driver, as a machine.

    Asked ──evidence──▶ vetted ──▶ member ──▶ Express ──▶ Ask …… Delivered ──▶ vetted ──▶ member ──▶ Learned
                                         └──▶ Collect ──▶ segments, each vetted ──▶ member

What comes in are the effects of an endpoint (`Asked`, `Delivered`, `Failed`) and `Saved`; what goes out are `Ask`,
`Cancel` and `Reply` for the endpoint, `Save` for the disk, and what the member tells: `Learned`, `Ready`, `Announced`.
Nothing reaches the member that was not verified, except Interests which the protocol does not sign. And a signature is
good for the name it stands under only: a Data that speaks for the group is named below it and ends as the member's
prefix does (`v=3`), or what somebody may rightly sign elsewhere would do as a state vector here. A group of NDNd ends
in a keyword (`32=svs`) which the names of its members' Data do not begin with.

The face itself is `roost.pubsub.participant`'s under the simulator and in a node, and `roost.host`'s in an application.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeAlias, TypeVar

from roost.forwarding import endpoint_effects as endpoint
from roost.forwarding.endpoint_effects import NACKED, TIMED_OUT, Delivered, Failed
from roost.forwarding.pending import Question
from roost.machine import Effect, Rejected, earliest
from roost.machine.disk import Saved
from roost.naming import Name
from roost.naming.component import KEYWORD
from roost.pubsub.collection import CAPACITY, Collection
from roost.pubsub.vetting import MAX_HELD, Vetting
from roost.repo.store import Unwritten, Written
from roost.sync.port import Answered, Asked, Collect, Collected, Express, Forget, Listener, Stream, Unanswered
from roost.trust.acceptance import Checker
from roost.wire import Data, Interest

MAX_COLLECTIONS: Final = 8
MAX_ASKED: Final = 1024  # Interests of ours that are unanswered, beside those of collections
_MAX_TICKETS: Final = MAX_ASKED + MAX_COLLECTIONS * CAPACITY
CERTIFICATE_LIFETIME_MS: Final = 2000
CERTIFICATE_TRIES: Final = 2
_FULL: Final = f"{MAX_ASKED} Interests are unanswered, which is the limit"
_SAMPLE_BYTES: Final = 64

Whom = TypeVar("Whom", bound=Listener)
Event: TypeAlias = endpoint.Asked | Delivered | Failed | Saved | Written | Unwritten


@dataclass(frozen=True, slots=True)
class Ask(Effect):
    """Ask this of the face; what comes back carries the ticket."""

    ticket: int
    question: Question


@dataclass(frozen=True, slots=True)
class Cancel(Effect):
    """Wait no longer."""

    ticket: int


class Membership(Generic[Whom]):
    """The machine around a member; commands go to `member`, and what they return through `act`."""

    def __init__(self, member: Whom, verifier: Checker) -> None:
        self.member: Final = member
        self.vetting: Final = Vetting(verifier, self._ask_certificate)
        self.overflowed = 0
        self._next_ticket = 1
        self._asked: Final[dict[int, int | Name | tuple[int, Name]]] = {}  # ticket → for whom; bound: _MAX_TICKETS
        self._tickets: Final[dict[int, int]] = {}  # the member's ticket → ours; bound: MAX_ASKED
        self._collections: Final[dict[int, Collection]] = {}  # by the member's ticket; bound: MAX_COLLECTIONS

    def latest(self) -> Mapping[Stream, int]:
        """The highest known number of every stream."""
        return self.member.latest()

    @property
    def prefixes(self) -> tuple[Name, ...]:
        """Under which Interests are ours."""
        return (self.member.prefix,)

    @property
    def routes(self) -> tuple[Name, ...]:
        """What to register, so that they come."""
        return () if self.member.route is None else (self.member.route,)

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Join the group."""
        return self.act(self.member.start(now), now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an Interest, an answer, or that something is on the disk."""
        if isinstance(event, endpoint.Asked):
            return self._interest(event, now)
        if isinstance(event, Saved):
            return self.act(self.member.receive(event, now), now)
        return [] if isinstance(event, (Written, Unwritten)) else self._answer(event, now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        effects = self.act(self.member.tick(now), now)
        for ticket, collection in list(self._collections.items()):
            deadline = collection.deadline()
            if ticket in self._collections and deadline is not None and deadline <= now:
                effects += self._collected(ticket, collection.tick(now), now)
        return effects

    def deadline(self) -> int | None:
        """When the member or a fetch wants to be called."""
        if not self._collections:
            return self.member.deadline()
        return earliest(self.member.deadline(), *[each.deadline() for each in self._collections.values()])

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "asked": (len(self._asked), _MAX_TICKETS),
            "collections": (len(self._collections), MAX_COLLECTIONS),
            "held": (len(self.vetting), MAX_HELD),
        }

    # -- what comes in

    def _interest(self, asked: endpoint.Asked, now: int) -> list[Effect]:
        interest = asked.interest
        event = Asked(interest, asked.token)
        evidence = self.member.evidence(interest)
        if evidence is None:
            return self.act(self.member.receive(event, now), now)
        if isinstance(evidence, Data) and not self._speaks_for_group(evidence.name):
            return [self._rejected(interest, f"{evidence.name} is no name for what {self.member.prefix} says")]

        def then(refusal: str, now: int) -> list[Effect]:
            if refusal:
                return [self._rejected(interest, refusal)]
            return self.act(self.member.receive(event, now), now)

        return self.vetting.check(evidence, then, now)

    def _answer(self, event: Delivered | Failed, now: int) -> list[Effect]:
        purpose = self._asked.pop(event.ticket, None)
        if purpose is None:
            return []
        if isinstance(purpose, Name):
            return self._certificate(purpose, event, now)
        if isinstance(purpose, tuple):
            return self._segment(purpose[0], purpose[1], event, now)
        if purpose == 0:  # nobody waits for it
            return []
        self._tickets.pop(purpose, None)
        if isinstance(event, Failed):
            return self.act(self.member.receive(Unanswered(purpose, event.reason), now), now)
        data = event.data

        def then(refusal: str, now: int) -> list[Effect]:
            if refusal:
                unanswered = self.member.receive(Unanswered(purpose, refusal), now)
                return [self._rejected(data, refusal), *self.act(unanswered, now)]
            return self.act(self.member.receive(Answered(purpose, data), now), now)

        return self.vetting.check(data, then, now)

    def _certificate(self, name: Name, event: Delivered | Failed, now: int) -> list[Effect]:
        if isinstance(event, Delivered):
            return self.vetting.arrived(name, event.data, now)
        if event.kind in {TIMED_OUT, NACKED}:
            return self.vetting.missed(name, now)
        return self.vetting.unasked(name, event.reason, now)

    def _segment(self, ticket: int, name: Name, event: Delivered | Failed, now: int) -> list[Effect]:
        collection = self._collections.get(ticket)
        if collection is None:
            return []
        collection.tickets.pop(name, None)
        if isinstance(event, Failed):
            return self._collected(ticket, collection.failed(name, event, now), now)
        delivered = event

        def then(refusal: str, now: int) -> list[Effect]:
            if self._collections.get(ticket) is not collection:
                return []
            effects: list[Effect] = [self._rejected(delivered.data, refusal)] if refusal else []
            effects += self._cancel_segment(collection, name)  # it may have been asked again meanwhile
            return effects + self._collected(ticket, collection.delivered(name, delivered, refusal, now), now)

        return self.vetting.check(event.data, then, now)

    # -- what goes out

    def act(self, effects: list[Effect], now: int) -> list[Effect]:
        """Turn what the member wants of a face into what an endpoint understands; the rest passes."""
        passed: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Express):
                passed += self._express(effect, now)
            elif isinstance(effect, Forget):
                passed += self._forget(effect.ticket)
            elif isinstance(effect, Collect):
                passed += self._collect(effect, now)
            else:
                passed.append(effect)
        return passed

    def _ask(self, question: Question, purpose: int | Name | tuple[int, Name]) -> list[Effect]:
        ticket = self._next_ticket
        self._next_ticket += 1
        self._asked[ticket] = purpose
        return [Ask(ticket, question)]

    def _express(self, effect: Express, now: int) -> list[Effect]:
        if len(self._asked) >= MAX_ASKED:
            self.overflowed += 1
            if not effect.ticket:
                return []
            return self.act(self.member.receive(Unanswered(effect.ticket, _FULL), now), now)
        if effect.ticket:
            self._tickets[effect.ticket] = self._next_ticket
        return self._ask(Question(Name(), wire=effect.interest), effect.ticket)

    def _ask_certificate(self, name: Name, now: int) -> list[Effect]:
        if len(self._asked) >= MAX_ASKED:
            self.overflowed += 1
            return self.vetting.unasked(name, _FULL, now)
        question = Question(name, can_be_prefix=True, lifetime_ms=CERTIFICATE_LIFETIME_MS, tries=CERTIFICATE_TRIES)
        return self._ask(question, name)

    def _forget(self, ticket: int) -> list[Effect]:
        ours = self._tickets.pop(ticket, 0)
        effects: list[Effect] = [Cancel(ours)] if self._asked.pop(ours, None) is not None else []
        collection = self._collections.pop(ticket, None)
        return effects if collection is None else effects + self._cancelled(collection)

    # -- objects of several segments

    def _collect(self, effect: Collect, now: int) -> list[Effect]:
        if len(self._collections) >= MAX_COLLECTIONS:
            self.overflowed += 1
            reason = f"{MAX_COLLECTIONS} objects are being fetched, which is the limit"
            return self.act(self.member.receive(Unanswered(effect.ticket, reason), now), now)
        collection = Collection(effect.name)
        self._collections[effect.ticket] = collection
        return self._collected(effect.ticket, collection.start(now), now)

    def _collected(self, ticket: int, asks: list[Question], now: int) -> list[Effect]:
        """Go on with a collection after it took something in: ask for more, or hand over what it came to."""
        collection = self._collections[ticket]
        if not collection.over:
            effects: list[Effect] = []
            for name in collection.take_forgotten():
                effects += self._cancel_segment(collection, name)
            for question in asks:
                effects += self._cancel_segment(collection, question.name)
                collection.tickets[question.name] = self._next_ticket
                effects += self._ask(question, (ticket, question.name))
            return effects
        del self._collections[ticket]
        event = Unanswered(ticket, collection.trouble) if collection.trouble else Collected(ticket, collection.content)
        return self._cancelled(collection) + self.act(self.member.receive(event, now), now)

    def _cancel_segment(self, collection: Collection, name: Name) -> list[Effect]:
        ours = collection.tickets.pop(name, 0)
        return [Cancel(ours)] if self._asked.pop(ours, None) is not None else []

    def _cancelled(self, collection: Collection) -> list[Effect]:
        effects: list[Effect] = []
        for name in list(collection.tickets):
            effects += self._cancel_segment(collection, name)
        return effects

    # -- who speaks, and who is refused

    def _speaks_for_group(self, name: Name) -> bool:
        """Whether a Data of this name may be evidence in our group."""
        group, prefix = self.member.group, self.member.prefix
        home = group.prefix(-1) if group and group.at(-1).type == KEYWORD else group
        return len(name) > len(home) and name.starts_with(home) and name.at(-1) == prefix.at(-1)

    def _rejected(self, packet: Interest | Data, refusal: str) -> Rejected:
        """Refuse in the name of the group: who is refused can choose any other, a new one each time."""
        return Rejected(str(self.member.group), refusal, packet.wire[:_SAMPLE_BYTES])
