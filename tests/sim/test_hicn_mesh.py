"""Forwarders of hICN that route a prefix to each other: no Interest goes round, whatever its lifetime."""

from __future__ import annotations

from itertools import combinations

import pytest
from tests.flips_world import FlipsWorld, Place

from roost.hicn import HicnName, Interest, encode
from roost.hicn.face import Arrived
from roost.hicn.strategy import StrategyKind
from roost.pubsub.flips.hicn_binding import FLIPS_PREFIX
from roost.pubsub.flips.settings import Following

TOPIC = "home/temp"


def mesh(count: int, seed: int = 1) -> tuple[FlipsWorld, list[Place]]:
    world = FlipsWorld(seed)
    places = [world.place(StrategyKind.REPLICATION) for _ in range(count)]
    for low, high in combinations(places, 2):
        world.link(low, high, both=True)
    return world, places


def asker(world: FlipsWorld, place: Place) -> object:
    """Somebody on a place's machine who asks; what comes back is thrown away."""
    face = place.open(lambda _: None, local=True)

    def ask(lifetime_ms: int, suffix: int = 100) -> None:
        wire = encode(Interest(HicnName.parse(f"abcd::1|{suffix}"), lifetime_ms))
        world._forwarded(place, place.forwarder.receive(Arrived(face, [wire]), world.now))

    return ask


@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize("lifetime_ms", [0, 1, 5, 2000])
def test_an_interest_crosses_each_link_twice_at_most(count: int, lifetime_ms: int) -> None:
    world, places = mesh(count)
    ask = asker(world, places[0])
    links = count * (count - 1)
    for repeated in range(1, 6):
        ask(lifetime_ms)  # type: ignore[operator]
        world.run(0.4)
        assert len(world.crossings) <= repeated * links, (repeated, len(world.crossings))
    crossed = len(world.crossings)
    world.run(60)
    assert len(world.crossings) == crossed


@pytest.mark.parametrize("lifetime_ms", [0, 1, 5, 2000])
def test_an_interest_does_not_go_round_a_ring_of_one_way_routes(lifetime_ms: int) -> None:
    world = FlipsWorld(1)
    places = [world.place() for _ in range(3)]
    for low, high in zip(places, (*places[1:], places[0]), strict=True):
        world.link(low, high)
    ask = asker(world, places[0])
    for repeated in range(1, 6):
        ask(lifetime_ms)  # type: ignore[operator]
        world.run(0.4)
        assert len(world.crossings) <= 3 * repeated
    world.run(60)
    assert len(world.crossings) <= 15


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize("gone", ["unregistered", "crashed"])
def test_a_topic_that_is_gone_costs_a_mesh_little(count: int, adaptive: bool, gone: str) -> None:
    world, places = mesh(count)
    publisher, reader = world.member(places[1]), world.member(places[0])
    world.register(publisher, TOPIC, 1000)
    world.run(8)
    world.publish(publisher, TOPIC, b"x")
    world.subscribe(reader, TOPIC, Following(patient=True, adaptive=adaptive))
    world.run(0.3)
    assert reader.contents() == [b"x"]
    before = len(world.crossings)
    if gone == "crashed":
        world.crash(publisher)
    else:
        assert publisher.machine is not None
        world._act(publisher, publisher.machine.flips.unregister(TOPIC, world.now))
    world.run(60)
    asked = world.places[0].forwarder.fib.lookup(FLIPS_PREFIX.address)
    assert asked
    assert len(world.crossings) - before <= 60 * count * (count - 1)  # a question a second, once over every link


@pytest.mark.parametrize("count", [3, 4])
def test_a_mesh_delivers_everything_and_finds_collisions(count: int) -> None:
    world, places = mesh(count)
    publisher, *readers = [world.member(place) for place in places]
    world.register(publisher, TOPIC, 1000)
    world.run(8)
    world.publish(publisher, TOPIC, b"0")
    for reader in readers:
        world.subscribe(reader, TOPIC, Following(patient=True, adaptive=True))
    world.register(readers[0], TOPIC, 1000)
    world.run(1)
    for number in range(1, 30):
        world.publish(publisher, TOPIC, b"%d" % number)
        world.run(1)
    for reader in readers:
        assert reader.contents() == [b"%d" % number for number in range(30)]
    assert [type(each).__name__ for each in readers[0].told].count("Collided") == 1
    assert len(world.crossings) <= 35 * 3 * count * (count - 1)
