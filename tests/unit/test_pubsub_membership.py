"""A sync member on a face: what reaches it is verified, what it wants is asked, collected, cancelled. No network."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.trust_world import NOW, World, data

from roost.forwarding.endpoint_effects import TIMED_OUT, Asked, Delivered, Failed
from roost.machine import SECOND, Effect, Rejected
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.naming.conventions import segment
from roost.pubsub.membership import MAX_ASKED, MAX_COLLECTIONS, Ask, Cancel, Membership
from roost.pubsub.vetting import MAX_HELD
from roost.sync import port
from roost.sync.port import Answered, Collect, Collected, Express, Forget, Stream, Unanswered
from roost.trust import Accepted, Rejection, Verdict, Wanted
from roost.trust.acceptance import ACCEPT_ANY, Checker
from roost.wire import Data, DigestSigner, Interest, encode_interest, make_data

GROUP = Name.parse("/BigCompany/Building1/Electricity")
PANEL1 = f"{GROUP}/Panel1"
VECTOR = f"{GROUP}/v=3"
OBJECT = Name.parse("/sync/reply/v=1")
ASKED = encode_interest(Name.parse("/sync/question"))


class Scripted:
    """A member that does what the test says next, and remembers what it was handed."""

    group = GROUP
    prefix = GROUP / "v"
    route = GROUP
    multicast = None

    def __init__(self, evidence: Data | None = None) -> None:
        self.events: list[port.Event] = []
        self.next: list[Effect] = []
        self._evidence = evidence

    def evidence(self, interest: Interest) -> Interest | Data | None:  # noqa: ARG002
        return self._evidence

    def latest(self) -> Mapping[Stream, int]:
        return {}

    def start(self, now: int) -> list[Effect]:  # noqa: ARG002
        return self._take()

    def receive(self, event: port.Event, now: int) -> list[Effect]:  # noqa: ARG002
        self.events.append(event)
        return self._take()

    def tick(self, now: int) -> list[Effect]:  # noqa: ARG002
        return self._take()

    def deadline(self) -> int | None:
        return None

    def _take(self) -> list[Effect]:
        effects, self.next = self.next, []
        return effects


class Suspicious:
    """A verifier that refuses everything."""

    def check(self, packet: Data | Interest, now: int, *, repeatable: bool = False) -> Verdict:  # noqa: ARG002
        return Rejection(f"{packet.name} is not for us")

    def learn(self, packet: Data, now: int) -> Rejection | None:  # noqa: ARG002
        return None

    def missing(self, name: Name, now: int) -> None:
        pass


class Curious(Suspicious):
    """A verifier that wants one certificate, and then accepts everything; or wants another one each time."""

    def __init__(self, endless: bool = False) -> None:
        self.known = 0
        self._endless = endless

    def check(self, packet: Data | Interest, now: int, *, repeatable: bool = False) -> Verdict:  # noqa: ARG002
        if self.known and not self._endless:
            return Accepted("curious", ())
        return Wanted(Name.parse(f"/certificate/{self.known}"))

    def learn(self, packet: Data, now: int) -> Rejection | None:  # noqa: ARG002
        self.known += 1
        return None


def membership(member: Scripted, verifier: Checker = ACCEPT_ANY) -> Membership[Scripted]:
    return Membership(member, verifier)


def say(machine: Membership[Scripted], member: Scripted, *effects: Effect) -> list[Effect]:
    """Have the member want these."""
    member.next = list(effects)
    return machine.tick(NOW)


def asks(effects: list[Effect]) -> list[Ask]:
    return [effect for effect in effects if isinstance(effect, Ask)]


def interest() -> Asked:
    return Asked(GROUP, Interest.decode(encode_interest(GROUP / "v")), b"token")


def reply(ask: Ask, content: bytes = b"x", last: int | None = None) -> Delivered:
    final = None if last is None else segment(last)
    return Delivered(ask.ticket, make_data(ask.question.name, content, DigestSigner(), final_block=final), False)


# -- Interests


def test_an_interest_without_evidence_reaches_the_member_with_its_token() -> None:
    member = Scripted()
    membership(member).receive(interest(), NOW)
    (event,) = member.events
    assert isinstance(event, port.Asked)
    assert event.token == b"token"


def test_an_interest_whose_evidence_fails_never_reaches_the_member() -> None:
    member = Scripted(make_data(GROUP, b"", DigestSigner()))
    (effect,) = membership(member, Suspicious()).receive(interest(), NOW)
    assert isinstance(effect, Rejected)
    assert "not for us" in effect.reason
    assert member.events == []


def test_real_certificates_are_fetched_once_for_all_that_wait() -> None:
    world = World()
    member = Scripted(data(VECTOR, world[PANEL1]))
    machine = membership(member, world.verifier())
    effects = machine.receive(interest(), NOW)
    assert machine.receive(interest(), NOW) == [], "what is on its way is not asked twice"
    served = {held.name: held.data for held in world.certificates()}
    while effects:
        (ask,) = asks(effects)
        (found,) = [held for name, held in served.items() if name.starts_with(ask.question.name)]
        effects = machine.receive(Delivered(ask.ticket, found, False), NOW)
    assert len(member.events) == 2
    machine.receive(interest(), NOW)
    assert len(member.events) == 3, "the chain is remembered"


def test_a_certificate_that_cannot_be_had_ends_in_a_refusal() -> None:
    world = World()
    member = Scripted(data(VECTOR, world[PANEL1]))
    machine = membership(member, world.verifier())
    effects = machine.receive(interest(), NOW)
    while asks(effects):
        (ask,) = asks(effects)
        effects = machine.receive(Failed(ask.ticket, TIMED_OUT, "nobody answered"), NOW)
    assert [type(effect) for effect in effects] == [Rejected]
    assert member.events == []


def test_certificates_without_end_are_not_followed() -> None:
    member = Scripted(make_data(GROUP, b"", DigestSigner()))
    machine = membership(member, Curious(endless=True))
    effects = machine.receive(interest(), NOW)
    rounds = 0
    while asks(effects):
        rounds += 1
        assert rounds < 100
        effects = machine.receive(reply(asks(effects)[0]), NOW)
    assert "more than" in next(effect.reason for effect in effects if isinstance(effect, Rejected))


def test_no_more_packets_are_held_than_the_bound() -> None:
    member = Scripted(make_data(GROUP, b"", DigestSigner()))
    machine = membership(member, Curious())
    effects: list[Effect] = []
    for _ in range(MAX_HELD + 5):
        effects += machine.receive(interest(), NOW)
    assert len(machine.vetting) == MAX_HELD
    assert machine.vetting.overflowed == 5
    machine.receive(reply(asks(effects)[0]), NOW)
    assert len(member.events) == MAX_HELD


# -- Interests of its own


def test_what_is_expressed_is_asked_and_its_answer_comes_back_under_the_members_ticket() -> None:
    member = Scripted()
    machine = membership(member)
    (ask,) = asks(say(machine, member, Express(7, ASKED)))
    assert ask.question.wire == ASKED
    answer = make_data(Name.parse("/sync/question"), b"answer", DigestSigner())
    machine.receive(Delivered(ask.ticket, answer, False), NOW)
    assert member.events == [Answered(7, answer)]


def test_an_answer_that_is_not_trusted_is_no_answer() -> None:
    member = Scripted()
    machine = membership(member, Suspicious())
    (ask,) = asks(say(machine, member, Express(7, ASKED)))
    effects = machine.receive(reply(ask), NOW)
    assert [type(effect) for effect in effects] == [Rejected]
    (event,) = member.events
    assert isinstance(event, Unanswered)
    assert event.ticket == 7


def test_a_time_out_reaches_only_a_member_that_waits() -> None:
    member = Scripted()
    machine = membership(member)
    waits, ignores = asks(say(machine, member, Express(7, ASKED), Express(0, ASKED)))
    for ask in (waits, ignores):
        machine.receive(Failed(ask.ticket, TIMED_OUT, "nothing came"), NOW)
    assert member.events == [Unanswered(7, "nothing came")]


def test_what_is_forgotten_is_cancelled_and_its_late_answer_dropped() -> None:
    member = Scripted()
    machine = membership(member)
    (ask,) = asks(say(machine, member, Express(7, ASKED)))
    assert say(machine, member, Forget(7)) == [Cancel(ask.ticket)]
    machine.receive(reply(ask), NOW)
    assert member.events == []


def test_no_more_is_asked_than_the_bound() -> None:
    member = Scripted()
    machine = membership(member)
    say(machine, member, *[Express(number, ASKED) for number in range(1, MAX_ASKED + 1)])
    assert asks(say(machine, member, Express(MAX_ASKED + 1, ASKED), Express(0, ASKED))) == []
    assert machine.overflowed == 2
    (event,) = member.events
    assert isinstance(event, Unanswered)


# -- objects of several segments


def test_an_object_is_collected_segment_by_segment_whatever_the_order() -> None:
    member = Scripted()
    machine = membership(member)
    waiting = asks(say(machine, member, Collect(3, OBJECT)))
    done: set[Name] = set()
    while not member.events:
        ask = waiting.pop()
        number = ask.question.name.at(-1).number()
        assert ask.question.name not in done
        done.add(ask.question.name)
        if number <= 4:
            waiting += asks(machine.receive(reply(ask, b"%d" % number, last=4), NOW))
    assert member.events == [Collected(3, b"01234")]
    assert machine.sizes()["asked"][0] == 0, "nothing is left behind"


def test_a_lost_segment_is_asked_again_and_an_object_that_stays_away_is_given_up() -> None:
    member = Scripted()
    machine = membership(member)
    (first, *_) = asks(say(machine, member, Collect(3, OBJECT)))
    deadline = machine.deadline()
    assert deadline is not None
    again = asks(machine.tick(deadline))
    assert first.question.name in {ask.question.name for ask in again}
    for _ in range(50):
        deadline = machine.deadline()
        if deadline is None:
            break
        machine.tick(deadline)
    (event,) = member.events
    assert isinstance(event, Unanswered)
    assert machine.sizes() == {"asked": (0, MAX_ASKED), "collections": (0, MAX_COLLECTIONS)}


def test_a_forgotten_object_is_not_asked_for_any_more() -> None:
    member = Scripted()
    machine = membership(member)
    asked = asks(say(machine, member, Collect(3, OBJECT)))
    cancelled = say(machine, member, Forget(3))
    assert {effect.ticket for effect in cancelled if isinstance(effect, Cancel)} == {ask.ticket for ask in asked}
    assert machine.deadline() is None


def test_no_more_objects_are_collected_than_the_bound() -> None:
    member = Scripted()
    machine = membership(member)
    say(machine, member, *[Collect(number, OBJECT) for number in range(1, MAX_COLLECTIONS + 2)])
    assert [type(event) for event in member.events] == [Unanswered]


def test_an_object_whose_segments_are_not_trusted_is_given_up() -> None:
    member = Scripted()
    machine = membership(member, Suspicious())
    effects = say(machine, member, Collect(3, OBJECT))
    now = NOW
    for _ in range(20):
        pending = asks(effects)
        effects = []
        for ask in pending:
            effects += machine.receive(reply(ask, last=0), now)
        if member.events:
            break
        now += SECOND
        effects += machine.tick(now)
    (event,) = member.events
    assert isinstance(event, Unanswered)
    assert "not for us" in event.reason


# -- the disk


@pytest.mark.parametrize("verb", ["command", "start"])
def test_what_is_to_be_saved_passes_and_the_member_hears_when_it_is(verb: str) -> None:
    member = Scripted()
    machine = membership(member)
    save = Save("ledger", 1, b"x")
    member.next = [save]
    assert (machine.act([save], NOW) if verb == "command" else machine.start(NOW)) == [save]
    machine.receive(Saved("ledger", 1), NOW)
    assert member.events == [Saved("ledger", 1)]
