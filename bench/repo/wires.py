"""Bytes on all wires for one reading delivered: to 1, 10 and 100 consumers behind one access node.

Simulation: a panel, a repo, an access node with nobody inside, and the consumers at it, all wires alike; a reading of
40 bytes each second, all consumers subscribed to it. The access node asks once for what many ask of it, and answers
from its cache: `wire_bytes` is what all wires carried, by the number of deliveries, `trunk_bytes` what the wire between
repo and access node carried, by the number of readings. What is sent while nothing happens is in both.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.figure import Figure, progress
from roost.forwarding.face import FaceSpec
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.machine import SECOND, Effect
from roost.naming.topic import TopicFilter
from roost.node import Node, NodeSettings
from roost.pubsub.consumers.arrival import Deliver
from roost.pubsub.panels.panel import Panel
from roost.sim import Wire, World
from roost.sim.deployment import GROUP, streams
from roost.sim.houses import House, consumer_house, panel_house, repo_house
from roost.sim.station import Boot
from roost.wire.reading import SENML_CBOR, Reading

CONSUMERS = (1, 10, 100)
BUSY_S = 30
STREAM = streams("pi1")[0]


class Access(Node):
    """A node with nobody inside, which knows the way to the repo."""

    def __init__(self, boot: Boot) -> None:
        super().__init__(NodeSettings(), boot.randomness)
        for prefix in (GROUP.name, GROUP.subscriptions):
            self.forwarder.strategies.set(prefix, STRATEGY_PREFIX / "fail-over")

    def open_face(self, face_id: int, spec: FaceSpec, now: int) -> list[Effect]:
        effects = super().open_face(face_id, spec, now)
        if spec.remote_uri.endswith("repo1"):
            effects += self.add_route(GROUP.name, face_id, 1, now)
        return effects


def run() -> Iterator[Figure]:
    for count in CONSUMERS:
        progress(f"repo.wires {count} consumers")
        everywhere, trunk = play(count)
        yield Figure(f"wire_bytes_{count}", everywhere, "bytes/delivery")
        yield Figure(f"trunk_bytes_{count}", trunk, "bytes/reading")


def play(count: int) -> tuple[float, float]:
    world = World(1)
    world.add("repo1", repo_house("repo1"))
    world.add("pi1", panel_house("pi1", ["repo1"]))
    world.add("access", Access)
    consumers = [f"c{number}" for number in range(1, count + 1)]
    for name in consumers:
        world.add(name, consumer_house([TopicFilter("pi1/#")], ["access"]))
    wire = Wire(delay_ms=5)
    trunk = world.wire("access", "repo1", wire)
    world.wires([("pi1", "repo1"), *((name, "access") for name in consumers)], wire)
    world.run(for_=10 * SECOND)
    world.every(SECOND, lambda: _publish(world))
    world.run(for_=10 * SECOND)
    everywhere, on_trunk = _sent(world), trunk.tally.sent_bytes
    delivered = _delivered(world)
    world.run(for_=BUSY_S * SECOND)
    delivered = _delivered(world) - delivered
    if delivered != count * BUSY_S:
        raise AssertionError(f"{count * BUSY_S} deliveries were expected, there were {delivered}")
    return (_sent(world) - everywhere) / delivered, (trunk.tally.sent_bytes - on_trunk) / BUSY_S


def _publish(world: World) -> None:
    def publish(house: House[Panel], now: int) -> list[Effect]:
        return house.act(house.part.publish(STREAM, Reading(now, SENML_CBOR, bytes(40)), now), now)

    world.tell("pi1", publish, "publish")


def _sent(world: World) -> int:
    return sum(medium.tally.sent_bytes for medium in world.media.values())


def _delivered(world: World) -> int:
    return sum(isinstance(each.what, Deliver) for each in world.history)
