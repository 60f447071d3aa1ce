"""A membership with a face of its own: it joins when its Interests begin to come, and passes things to and fro."""

from __future__ import annotations

from random import Random

from roost.forwarding.control import ControlParameters, ControlResponse
from roost.forwarding.endpoint import Endpoint
from roost.forwarding.face import FIRST_FACE, Arrived, FaceSpec, Send
from roost.machine import SECOND, Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.pubsub.membership import Membership
from roost.pubsub.participant import Participant
from roost.sync import PSYNC, SVS3, Protocol
from roost.sync.choice import make_member
from roost.sync.ledger import Ledger
from roost.sync.port import Announced, Learned, Member, Ready
from roost.trust.acceptance import ACCEPT_ANY
from roost.wire import DigestSigner, Interest, encode_data

NOW = 1_800_000_000 * SECOND
GROUP = Name.parse("/g")
ME = Name.parse("/me")
LOCAL = FaceSpec("internal://node", "internal://app", local=True)
SIGNER = DigestSigner()


def make(protocol: Protocol = SVS3, *, register: bool = False, seed: int = 1) -> Participant[Member]:
    random = Random(seed)
    member = make_member(GROUP, protocol, SIGNER, random, Ledger("ledger", b""))
    return Participant(Membership(member, ACCEPT_ANY), Endpoint(SIGNER, random), register=register)


def interests(effects: list[Effect]) -> list[Interest]:
    return [Interest.decode(packet) for effect in effects if isinstance(effect, Send) for packet in effect.packets]


def vectors(effects: list[Effect]) -> list[Interest]:
    return [interest for interest in interests(effects) if interest.name.starts_with(GROUP)]


def answer(effects: list[Effect], code: int = 200) -> Arrived:
    """What the forwarder says to the command that was sent."""
    (command,) = [interest for interest in interests(effects) if not interest.name.starts_with(GROUP)]
    body = ControlParameters(name=GROUP).encode()
    return Arrived(FIRST_FACE, [encode_data(command.name, ControlResponse(code, "", body).encode(), SIGNER)])


def test_without_a_forwarder_the_group_is_joined_with_the_face_and_again_with_the_next_one() -> None:
    machine = make()
    assert machine.start(NOW) == []
    assert len(vectors(machine.open_face(FIRST_FACE, LOCAL, NOW))) == 1
    machine.close_face(FIRST_FACE, NOW)
    machine.tick(NOW + 2 * SECOND)  # what was pending is over, and the next would be due in half a minute
    assert len(vectors(machine.open_face(FIRST_FACE, LOCAL, NOW + 2 * SECOND))) == 1


def test_with_a_forwarder_the_group_is_joined_when_its_interests_begin_to_come() -> None:
    machine = make(register=True)
    for turn in (1, 2):
        now = NOW + 2 * turn * SECOND
        machine.tick(now)  # what was pending is over, and the next would be due in half a minute
        sent = machine.open_face(FIRST_FACE, LOCAL, now)
        assert vectors(sent) == [], "an answer would not find us yet"
        assert len(vectors(machine.receive(answer(sent), now))) == 1
        machine.close_face(FIRST_FACE, now)


def test_a_route_that_is_refused_joins_nothing() -> None:
    machine = make(register=True)
    sent = machine.open_face(FIRST_FACE, LOCAL, NOW)
    assert vectors(machine.receive(answer(sent, 404), NOW)) == []


def test_another_face_that_closes_is_not_ours() -> None:
    machine = make()
    machine.open_face(FIRST_FACE, LOCAL, NOW)
    assert machine.close_face(FIRST_FACE + 1, NOW) == []
    assert machine.endpoint.face == FIRST_FACE


def test_two_that_hear_each_other_learn_what_is_saved() -> None:
    for protocol in (SVS3, PSYNC):
        one, other = make(protocol), make(protocol, seed=2)
        packets = {one: one.open_face(FIRST_FACE, LOCAL, NOW), other: other.open_face(FIRST_FACE, LOCAL, NOW)}
        told: list[Effect] = []
        packets[one] += one.act(one.member.produce(ME, NOW), NOW)
        packets[one] += one.act(one.member.announce(ME, 3, NOW), NOW)
        for _ in range(8):
            for machine, peer in ((one, other), (other, one)):
                effects, packets[machine] = packets[machine], []
                for effect in effects:
                    if isinstance(effect, Send):
                        packets[peer] += peer.receive(Arrived(FIRST_FACE, effect.packets), NOW)
                    elif isinstance(effect, Save):
                        packets[machine] += machine.receive(Saved(effect.file, effect.ticket), NOW)
                    else:
                        told.append(effect)
        assert [type(effect) for effect in told] == [Ready, Announced, Learned]
        assert one.latest() == other.latest() == {effect.stream: 3 for effect in told if isinstance(effect, Learned)}
