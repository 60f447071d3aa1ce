"""FLIPS over NDN names, through a real forwarder machine: one publisher and followers behind one node."""

from __future__ import annotations

from random import Random

from roost.forwarding.endpoint import Endpoint
from roost.forwarding.face import INTERNAL_FACE
from roost.machine import SECOND, Effect, Rejected
from roost.machine.disk import Save, Saved
from roost.node.node import Node
from roost.node.settings import NodeSettings
from roost.pubsub.flips.flips import Flips
from roost.pubsub.flips.ndn_binding import NdnFlips
from roost.pubsub.flips.port import Attract, Deliver, Registered
from roost.pubsub.flips.settings import FlipsSettings
from roost.pubsub.resident import Resident
from roost.trust.acceptance import ACCEPT_ANY
from roost.wire import DigestSigner

TOPIC = "home/temp"


class House:
    def __init__(self, followers: int) -> None:
        self.now = 1_700_000_000 * SECOND
        self.node = Node(NodeSettings(), Random(1))
        self.node.start(self.now)
        self.told: list[Effect] = []
        self.residents = [self._resident(number) for number in range(followers + 1)]
        for resident in self.residents:
            self.execute(self.node.attach(resident, self.now))

    def _resident(self, number: int) -> Resident[NdnFlips]:
        flips = Flips(FlipsSettings(), Random(number), file=f"flips{number}")
        return Resident(NdnFlips(flips, DigestSigner(), ACCEPT_ANY), Endpoint(DigestSigner(), Random(number)))

    def execute(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Save):
                self.execute(self.node.receive(Saved(effect.file, effect.ticket), self.now))
            elif isinstance(effect, Attract) and not effect.on_probation:
                prefix = self.residents[0].part.prefix_of(effect.hash)
                face = next(iter(self.node.applications))
                assert face != INTERNAL_FACE
                self.execute(self.node.add_route(prefix, face, 0, self.now))
            else:
                self.told.append(effect)

    def command(self, who: int, effects: list[Effect]) -> None:
        resident = self.residents[who]
        self.execute(self.node.act(resident, resident.settle(resident.part.act(effects, self.now), self.now), self.now))

    def run(self, seconds: int) -> None:
        end = self.now + seconds * SECOND
        while (due := self.node.deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.execute(self.node.tick(self.now))
        self.now = end


def test_content_reaches_all_followers_and_is_asked_for_once() -> None:
    house = House(20)
    publisher = house.residents[0].part
    asked: list[int] = []
    receive = publisher.flips.receive

    def counted(event: object, now: int) -> list[Effect]:
        asked.append(getattr(event, "number", 0))
        return receive(event, now)  # type: ignore[arg-type]

    house.command(0, publisher.flips.register(TOPIC, 1000, house.now))
    house.run(8)
    assert any(isinstance(each, Registered) for each in house.told)
    publisher.flips.receive = counted  # type: ignore[method-assign]
    for who in range(1, 21):
        house.command(who, house.residents[who].part.flips.subscribe(TOPIC, house.now))
    for number in range(10):
        house.command(0, publisher.flips.publish(TOPIC, b"%d" % number, house.now))
        house.run(1)
    delivered = [each.content for each in house.told if isinstance(each, Deliver)]
    assert sorted(delivered) == sorted([b"%d" % number for number in range(10)] * 20)
    assert not any(isinstance(each, Rejected) for each in house.told)
    assert all(asked.count(number) == 1 for number in range(100, 110))
