"""A sync member on a face: what reaches it is verified, what it wants is asked, collected, cancelled. No network."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest
from tests.trust_world import NOW, World, data

from roost.forwarding.endpoint_effects import NACKED, OVERFLOWED, TIMED_OUT, Asked, Delivered, Failed
from roost.machine import SECOND, Effect, Rejected
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.naming.conventions import segment, version
from roost.pubsub.membership import MAX_ASKED, MAX_COLLECTIONS, Ask, Cancel, Membership
from roost.pubsub.vetting import MAX_HELD
from roost.sync import SvsSettings, port
from roost.sync.ledger import Ledger
from roost.sync.port import Answered, Collect, Collected, Express, Forget, Learned, Stream, Unanswered
from roost.sync.svs import Svs
from roost.sync.vector_format import encode_vector, key_of
from roost.trust import Accepted, Rejection, Verdict, Wanted
from roost.trust.acceptance import ACCEPT_ANY, Checker
from roost.wire import Data, DigestSigner, Interest, encode_data, encode_interest, make_data

GROUP = Name.parse("/BigCompany/Building1/Electricity")
PANEL1 = f"{GROUP}/Panel1"
VECTOR = GROUP / version(3)
OBJECT = Name.parse("/sync/reply/v=1")
ASKED = encode_interest(Name.parse("/sync/question"))


class Scripted:
    """A member that does what the test says next, and remembers what it was handed."""

    multicast = None

    def __init__(self, evidence: Data | None = None, group: Name = GROUP) -> None:
        self.group = group
        self.prefix = group / version(3)
        self.route = group
        self.events: list[port.Event] = []
        self.next: list[Effect] = []
        self.when_told: list[Effect] = []  # instead, by the next event
        self._evidence = evidence

    def evidence(self, interest: Interest) -> Interest | Data | None:  # noqa: ARG002
        return self._evidence

    def latest(self) -> Mapping[Stream, int]:
        return {}

    def start(self, now: int) -> list[Effect]:  # noqa: ARG002
        return self._take()

    def receive(self, event: port.Event, now: int) -> list[Effect]:  # noqa: ARG002
        self.events.append(event)
        told, self.when_told = self.when_told, []
        return told or self._take()

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
        self.lacking: list[Name] = []
        self._endless = endless

    def check(self, packet: Data | Interest, now: int, *, repeatable: bool = False) -> Verdict:  # noqa: ARG002
        if self.known and not self._endless:
            return Accepted("curious", ())
        return Wanted(Name.parse(f"/certificate/{self.known}"))

    def learn(self, packet: Data, now: int) -> Rejection | None:  # noqa: ARG002
        self.known += 1
        return None

    def missing(self, name: Name, now: int) -> None:  # noqa: ARG002
        self.lacking.append(name)


def membership(member: Scripted, verifier: Checker = ACCEPT_ANY) -> Membership[Scripted]:
    return Membership(member, verifier)


def say(machine: Membership[Scripted], member: Scripted, *effects: Effect) -> list[Effect]:
    """Have the member want these."""
    member.next = list(effects)
    return machine.tick(NOW)


def asks(effects: list[Effect]) -> list[Ask]:
    return [effect for effect in effects if isinstance(effect, Ask)]


def interest() -> Asked:
    return Asked(GROUP, Interest.decode(encode_interest(VECTOR)), b"token")


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
    member = Scripted(make_data(VECTOR, b"", DigestSigner()))
    (effect,) = membership(member, Suspicious()).receive(interest(), NOW)
    assert isinstance(effect, Rejected)
    assert "not for us" in effect.reason
    assert effect.source == str(GROUP), "not a name that a stranger chose"
    assert member.events == []


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("/A", "/B/v=3"),
        ("/A", "/A/Panel1/Voltage/seq=3"),
        ("/A", "/A"),
        ("/A", "/A/v=2"),
        ("/A/32=svs", "/B/v=3"),
        ("/A/32=svs", "/A/Panel1/Voltage/seq=3"),
        ("/32=svs", "/"),
    ],
)
def test_what_is_rightly_signed_for_another_name_says_nothing_in_the_group(group: str, name: str) -> None:
    member = Scripted(make_data(Name.parse(name), b"", DigestSigner()), Name.parse(group))
    (effect,) = membership(member).receive(interest(), NOW)
    assert isinstance(effect, Rejected)
    assert effect.reason == f"{Name.parse(name)} is no name for what {group}/v=3 says"
    assert member.events == []


@pytest.mark.parametrize(
    ("group", "name"), [("/A", "/A/v=3"), ("/A/32=svs", "/A/32=svs/v=3"), ("/A/32=svs", "/A/Panel1/t=5/32=svs/v=3")]
)
def test_a_vector_is_named_as_the_specification_or_as_ndnd_says(group: str, name: str) -> None:
    member = Scripted(make_data(Name.parse(name), b"", DigestSigner()), Name.parse(group))
    membership(member).receive(interest(), NOW)
    assert len(member.events) == 1


def test_real_certificates_are_fetched_once_for_all_that_wait() -> None:
    world = World()
    member = Scripted(data(str(VECTOR), world[PANEL1]))
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
    member = Scripted(data(str(VECTOR), world[PANEL1]))
    machine = membership(member, world.verifier())
    effects = machine.receive(interest(), NOW)
    while asks(effects):
        (ask,) = asks(effects)
        effects = machine.receive(Failed(ask.ticket, TIMED_OUT, "nobody answered"), NOW)
    assert [type(effect) for effect in effects] == [Rejected]
    assert member.events == []


def test_certificates_without_end_are_not_followed() -> None:
    member = Scripted(make_data(VECTOR, b"", DigestSigner()))
    machine = membership(member, Curious(endless=True))
    effects = machine.receive(interest(), NOW)
    rounds = 0
    while asks(effects):
        rounds += 1
        assert rounds < 100
        effects = machine.receive(reply(asks(effects)[0]), NOW)
    assert "more than" in next(effect.reason for effect in effects if isinstance(effect, Rejected))


def test_no_more_packets_are_held_than_the_bound() -> None:
    member = Scripted(make_data(VECTOR, b"", DigestSigner()))
    machine = membership(member, Curious())
    effects: list[Effect] = []
    for _ in range(MAX_HELD + 5):
        effects += machine.receive(interest(), NOW)
    assert len(machine.vetting) == MAX_HELD
    assert machine.vetting.overflowed == 5
    machine.receive(reply(asks(effects)[0]), NOW)
    assert len(member.events) == MAX_HELD


@pytest.mark.parametrize(
    ("signer", "name", "believed"),
    [
        (PANEL1, f"{GROUP}/v=3", True),
        ("/BigCompany/DepartmentA/Alice/Phone", f"{GROUP}/v=3", False),
        ("/BigCompany/DepartmentA/Alice/Phone", "/BigCompany/DepartmentA/Alice/Phone/Steps/seq=1", False),
        ("/BigCompany/Water/Repo/Repo1", "/BigCompany/Water/v=3", False),
    ],
)
def test_only_members_tell_with_real_keys(signer: str, name: str, believed: bool) -> None:
    world = World()
    stream = Stream(Name.parse(f"{PANEL1}/Heater/Voltage"), NOW // SECOND)
    vector = encode_vector([key_of(stream, 3)], {key_of(stream, 3): 7}, 3)
    wire = encode_interest(VECTOR, parameters=encode_data(Name.parse(name), vector, world[signer].signer))
    svs = Svs(GROUP, SvsSettings(), DigestSigner(), Random(1), Ledger("ledger", b""))
    machine = Membership(svs, world.verifier())
    effects = machine.receive(Asked(VECTOR, Interest.decode(wire), b""), NOW)
    while wanted := asks(effects):
        (ask,) = wanted
        (found,) = [held.data for held in world.certificates() if held.name.starts_with(ask.question.name)]
        effects = machine.receive(Delivered(ask.ticket, found, False), NOW)
    assert [type(effect) for effect in effects] == [Learned if believed else Rejected]


@pytest.mark.parametrize("kind", [TIMED_OUT, NACKED])
def test_a_certificate_that_nobody_has_is_remembered_as_missing(kind: str) -> None:
    verifier = Curious()
    machine = membership(Scripted(make_data(VECTOR, b"", DigestSigner())), verifier)
    (ask,) = asks(machine.receive(interest(), NOW))
    machine.receive(Failed(ask.ticket, kind, "nobody has it"), NOW)
    assert verifier.lacking == [ask.question.name]


def test_a_certificate_that_we_could_not_ask_for_is_not_missing() -> None:
    verifier = Curious()
    member = Scripted(make_data(VECTOR, b"", DigestSigner()))
    machine = membership(member, verifier)
    (ask,) = asks(machine.receive(interest(), NOW))
    effects = machine.receive(Failed(ask.ticket, OVERFLOWED, "the face is full"), NOW)
    say(machine, member, *[Express(number, ASKED) for number in range(1, MAX_ASKED + 1)])
    effects += machine.receive(interest(), NOW)
    assert [type(effect) for effect in effects] == [Rejected, Rejected]
    assert verifier.lacking == []
    assert machine.vetting.overflowed == 2
    assert machine.sizes()["held"][0] == 0


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
    assert [now for now, _ in machine.sizes().values()] == [0, 0, 0]


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


def test_all_tickets_stay_within_the_bound_however_many_objects_are_collected() -> None:
    member = Scripted()
    machine = membership(member)
    say(machine, member, *[Express(number, ASKED) for number in range(1, MAX_ASKED + 1)])
    waiting = asks(say(machine, member, *[Collect(MAX_ASKED + number, OBJECT) for number in range(1, 9)]))
    most, limit = machine.sizes()["asked"]
    while waiting:
        ask = waiting.pop()
        if ask.question.name.at(-1).number():  # all but the first segments come, so that all are out of order
            waiting += asks(machine.receive(reply(ask), NOW))
        most = max(most, machine.sizes()["asked"][0])
    assert MAX_ASKED < most <= limit


def test_an_object_may_be_forgotten_when_another_one_ends_in_the_same_tick() -> None:
    member = Scripted()
    machine = membership(member)
    say(machine, member, Collect(1, OBJECT), Collect(2, OBJECT))
    while not member.events:
        deadline = machine.deadline()
        assert deadline is not None
        member.when_told = [Forget(2)]
        machine.tick(deadline)
    assert [type(event) for event in member.events] == [Unanswered]
    assert machine.sizes()["collections"][0] == 0


def test_a_segment_asked_again_while_its_certificate_is_fetched_is_withdrawn() -> None:
    member = Scripted()
    machine = membership(member, Curious())
    (first, *_) = asks(say(machine, member, Collect(3, OBJECT)))
    (certificate,) = asks(machine.receive(reply(first, last=0), NOW))
    deadline = machine.deadline()
    assert deadline is not None
    again = [ask for ask in asks(machine.tick(deadline)) if ask.question.name == first.question.name]
    assert len(again) == 1
    effects = machine.receive(reply(certificate), deadline)
    assert Cancel(again[0].ticket) in effects
    assert member.events == [Collected(3, b"x")]
    assert machine.sizes()["asked"][0] == 0


def test_an_object_whose_segments_are_not_trusted_is_given_up() -> None:
    member = Scripted()
    machine = membership(member, Suspicious())
    effects = say(machine, member, Collect(3, OBJECT))
    now = NOW
    refused = 0
    for _ in range(20):
        pending = asks(effects)
        effects = []
        for ask in pending:
            effects += machine.receive(reply(ask, last=0), now)
        refused += sum(isinstance(effect, Rejected) for effect in effects)
        if member.events:
            break
        now += SECOND
        effects += machine.tick(now)
    (event,) = member.events
    assert isinstance(event, Unanswered)
    assert "not for us" in event.reason
    assert refused == machine.vetting.refused > 0, "each refusal is told"


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
