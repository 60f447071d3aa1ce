"""A member of a sync group (`roost.sync.port`) on an application's face: its driver, as a machine.

    Asked ──evidence──▶ vetted ──▶ member ──▶ Express ──▶ Ask …… Delivered ──▶ vetted ──▶ member ──▶ Learned
                                         └──▶ Collect ──▶ segments, each vetted ──▶ member

What comes in are the effects of an endpoint (`Asked`, `Delivered`, `Failed`) and `Saved`; what goes out are `Ask`,
`Cancel` and `Reply` for the endpoint, `Save` for the disk, and what the member tells: `Learned`, `Ready`, `Announced`.
Nothing reaches the member that was not verified, except Interests which the protocol does not sign. The face itself is
`roost.pubsub.participant`'s under the simulator and in a node, and `roost.host`'s in an application.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeAlias, TypeVar

from roost.forwarding import endpoint_effects as endpoint
from roost.forwarding.endpoint_effects import Delivered, Failed
from roost.forwarding.pending import Question
from roost.machine import Effect, Rejected, earliest
from roost.machine.disk import Saved
from roost.naming import Name
from roost.pubsub.collection import Collection
from roost.pubsub.vetting import Vetting
from roost.sync.port import Answered, Asked, Collect, Collected, Express, Forget, Listener, Stream, Unanswered
from roost.trust.acceptance import Checker
from roost.wire import Data, Interest

MAX_ASKED: Final = 1024  # Interests of ours that are unanswered
MAX_COLLECTIONS: Final = 8
CERTIFICATE_LIFETIME_MS: Final = 2000
CERTIFICATE_TRIES: Final = 2
_SAMPLE_BYTES: Final = 64

Whom = TypeVar("Whom", bound=Listener)
Event: TypeAlias = endpoint.Asked | Delivered | Failed | Saved


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
        self._asked: Final[dict[int, int | Name | tuple[int, Name]]] = {}  # ticket → for whom; bound: MAX_ASKED
        self._tickets: Final[dict[int, int]] = {}  # the member's ticket → ours
        self._collections: Final[dict[int, Collection]] = {}  # by the member's ticket; bound: MAX_COLLECTIONS

    def latest(self) -> Mapping[Stream, int]:
        """The highest known number of every stream."""
        return self.member.latest()

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
        return self._answer(event, now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        effects = self.act(self.member.tick(now), now)
        for ticket, collection in list(self._collections.items()):
            deadline = collection.deadline()
            if deadline is not None and deadline <= now:
                effects += self._collected(ticket, collection.tick(now), now)
        return effects

    def deadline(self) -> int | None:
        """When the member or a fetch wants to be called."""
        if not self._collections:
            return self.member.deadline()
        return earliest(self.member.deadline(), *[each.deadline() for each in self._collections.values()])

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {"asked": (len(self._asked), MAX_ASKED), "collections": (len(self._collections), MAX_COLLECTIONS)}

    # -- what comes in

    def _interest(self, asked: endpoint.Asked, now: int) -> list[Effect]:
        interest = asked.interest
        event = Asked(interest, asked.token)
        evidence = self.member.evidence(interest)
        if evidence is None:
            return self.act(self.member.receive(event, now), now)

        def then(refusal: str, now: int) -> list[Effect]:
            if refusal:
                return [_rejected(interest, refusal)]
            return self.act(self.member.receive(event, now), now)

        return self.vetting.check(evidence, then, now)

    def _answer(self, event: Delivered | Failed, now: int) -> list[Effect]:
        purpose = self._asked.pop(event.ticket, None)
        if purpose is None:
            return []
        if isinstance(purpose, Name):
            return self.vetting.arrived(purpose, event.data if isinstance(event, Delivered) else None, now)
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
                return [_rejected(data, refusal), *self.act(unanswered, now)]
            return self.act(self.member.receive(Answered(purpose, data), now), now)

        return self.vetting.check(data, then, now)

    def _segment(self, ticket: int, name: Name, event: Delivered | Failed, now: int) -> list[Effect]:
        collection = self._collections.get(ticket)
        if collection is None:
            return []
        if isinstance(event, Failed):
            return self._collected(ticket, collection.failed(name, event, now), now)
        delivered = event

        def then(refusal: str, now: int) -> list[Effect]:
            if self._collections.get(ticket) is not collection:
                return []
            return self._collected(ticket, collection.delivered(name, delivered, refusal, now), now)

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
            reason = f"{MAX_ASKED} Interests are unanswered, which is the limit"
            return self.act(self.member.receive(Unanswered(effect.ticket, reason), now), now)
        if effect.ticket:
            self._tickets[effect.ticket] = self._next_ticket
        return self._ask(Question(Name(), wire=effect.interest), effect.ticket)

    def _ask_certificate(self, name: Name, now: int) -> list[Effect]:
        if len(self._asked) >= MAX_ASKED:
            self.overflowed += 1
            return self.vetting.arrived(name, None, now)
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


def _rejected(packet: Interest | Data, refusal: str) -> Rejected:
    return Rejected(str(packet.name), refusal, packet.wire[:_SAMPLE_BYTES])
