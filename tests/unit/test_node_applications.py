"""Applications inside a node: attached, routed, ticked, detached; a driver sees what they tell and want saved."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from roost.errors import Backpressure, InvalidInput
from roost.forwarding.control import ControlResponse
from roost.forwarding.endpoint import Endpoint
from roost.forwarding.face import Arrived, CloseFace, FaceSpec, Send
from roost.forwarding.requests import CommandWriter, read_response
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.machine import SECOND, Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.node import Node, NodeSettings
from roost.pubsub.membership import Membership
from roost.pubsub.participant import Participant
from roost.sync import SVS3
from roost.sync.choice import make_member
from roost.sync.ledger import Ledger
from roost.sync.port import Announced, Learned, Member
from roost.trust.acceptance import ACCEPT_ANY
from roost.wire import Data, DigestSigner

NOW = 1_800_000_000 * SECOND
GROUP = Name.parse("/g")
ME = Name.parse("/me")
OPERATOR = FaceSpec("unix://operator", "unix://node", local=True)


class World:
    """A node, its applications, a person with a face, and a disk; all under one clock."""

    def __init__(self, settings: NodeSettings | None = None) -> None:
        self.node = Node(settings or NodeSettings(), Random(1))
        self.now = NOW
        self.told: list[Effect] = []
        self.sent: list[bytes] = []
        self.take(self.node.start(NOW))
        self.node.forwarder.strategies.set(GROUP, STRATEGY_PREFIX / "multicast")
        self.operator = self.node.free_face_id()
        self.take(self.node.open_face(self.operator, OPERATOR, NOW))
        self._commands = CommandWriter(DigestSigner(), Random(2))

    def take(self, effects: list[Effect]) -> None:
        """Do what the node wants, and remember what it tells."""
        for effect in effects:
            if isinstance(effect, Save):
                self.take(self.node.receive(Saved(effect.file, effect.ticket), self.now))
            elif isinstance(effect, Send):
                assert effect.face == self.operator, "what goes to a face inside stays inside"
                self.sent += effect.packets
            else:
                self.told.append(effect)

    def attach(self, name: str) -> Participant[Member]:
        random = Random(name)
        member = make_member(GROUP, SVS3, DigestSigner(), random, Ledger(name, b""))
        application = Participant(Membership(member, ACCEPT_ANY), Endpoint(DigestSigner(), random), register=True)
        self.take(self.node.attach(application, self.now))
        return application

    def announce(self, application: Participant[Member], high: int) -> None:
        for effects in (
            application.act(application.member.produce(ME, self.now), self.now),
            application.act(application.member.announce(ME, high, self.now), self.now),
        ):
            self.take(self.node.act(application, effects, self.now))

    def run(self, seconds: int) -> None:
        end = self.now + seconds * SECOND
        while (deadline := self.node.deadline()) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self.take(self.node.tick(self.now))
        self.now = end

    def destroy(self, face: int) -> ControlResponse:
        """Have the operator destroy a face."""
        self.sent.clear()
        command = self._commands.destroy_face(face, self.now)
        self.take(self.node.receive(Arrived(self.operator, [command]), self.now))
        (packet,) = self.sent
        return read_response(Data.decode(packet))

    def learned(self) -> list[Learned]:
        return [effect for effect in self.told if isinstance(effect, Learned)]


def test_members_inside_one_node_register_by_themselves_and_learn_from_each_other() -> None:
    world = World()
    one, other = world.attach("one"), world.attach("other")
    world.announce(one, 3)
    world.run(1)
    assert [(learned.stream.name, learned.low, learned.high) for learned in world.learned()] == [(ME, 1, 3)]
    assert one.latest() == other.latest()
    assert [effect.high for effect in world.told if isinstance(effect, Announced)] == [3]


def test_what_is_saved_for_one_is_not_taken_for_the_other_s() -> None:
    world = World()
    one, other = world.attach("one"), world.attach("other")
    held: list[Effect] = []
    for application in (one, other):
        effects = application.act(application.member.produce(Name.parse(f"/{application is one}"), NOW), NOW)
        effects += application.act(application.member.announce(Name.parse(f"/{application is one}"), 1, NOW), NOW)
        held += [effect for effect in world.node.act(application, effects, NOW) if isinstance(effect, Save)]
    assert [effect.file for effect in held if isinstance(effect, Save)] == ["one", "other"]
    world.take(world.node.receive(Saved("one", 1), NOW))
    assert [effect.stream.name for effect in world.told if isinstance(effect, Announced)] == [Name.parse("/True")]


def test_a_timer_of_an_application_is_the_node_s() -> None:
    world = World()
    assert world.node.deadline() is None
    application = world.attach("one")
    assert world.node.deadline() == min(
        deadline for deadline in (application.deadline(), world.node.forwarder.deadline()) if deadline is not None
    )
    before = application.deadline()
    world.run(60)
    assert application.deadline() != before


def test_an_application_whose_face_is_destroyed_is_detached_and_can_be_attached_again() -> None:
    world = World()
    one, other = world.attach("one"), world.attach("other")
    face = next(face for face, attached in world.node.applications.items() if attached is one)
    assert world.destroy(face).code == 200
    assert CloseFace(face) not in world.told, "a driver has no such face"
    assert list(world.node.applications.values()) == [other]
    with pytest.raises(InvalidInput, match="attach it first"):
        world.node.act(one, [], world.now)
    world.announce(other, 2)
    world.run(60)
    assert world.learned() == []
    world.take(world.node.attach(one, world.now))
    world.run(1)
    assert [learned.high for learned in world.learned()] == [2]


def test_no_more_are_attached_than_there_may_be_faces() -> None:
    settings = NodeSettings()
    world = World(replace(settings, forwarder=replace(settings.forwarder, face_limit=3)))
    world.attach("one")
    with pytest.raises(Backpressure, match="the node has 3 faces"):
        world.attach("other")
    assert len(world.node.applications) == 1
