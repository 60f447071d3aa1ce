"""What a member carries itself: its own subscriptions get it, whole, in part, and large as it may be."""

from __future__ import annotations

import pytest
from tests.sim.blob_stations import GROUP, delivered, member, publish

from roost.machine import SECOND
from roost.naming import Name
from roost.pubsub.blobs.cargo import Cargo
from roost.pubsub.blobs.wanted import Wanted
from roost.sim.wire import Wire
from roost.sim.world import World

ALL = Wanted(topic=Name())
SIZES = (10, 30_000, 5_000_000)


def brought() -> tuple[World, Cargo]:
    """A mule's cargo, and a world with nobody in it but who may take it."""
    world = World(1)
    world.add("p", member("/p"), sync_ms=0)
    world.add("m", member("/m", ALL, carries=True), sync_ms=0)
    world.bus(["p", "m"], Wire(delay_ms=5))
    world.run(for_=SECOND)
    for number, size in enumerate(SIZES):
        publish(world, "p", f"/image/{number}", bytes([number]) * size)
    world.run(for_=60 * SECOND)
    cargo = world.machine("m").part.cargo()
    assert len(delivered(world, "m")) == len(SIZES)
    there = World(2)
    there.add("d", member("/d", carries=True), sync_ms=0)
    there.add("e", member("/e", carries=True), sync_ms=0)
    there.bus(["d", "e"], Wire(delay_ms=5))
    there.run(for_=10 * SECOND)
    return there, cargo


def load(world: World, station: str, cargo: Cargo) -> None:
    world.tell(station, lambda machine, now: machine.settle(machine.part.load(cargo, now), now))


def subscribe(world: World, station: str) -> int:
    subscriber = world.machine(station).part.subscriber
    number: int = subscriber.subscribe(ALL)
    world.tell(station, lambda machine, now: machine.settle(subscriber.resume(now), now))
    return number


def blobs(world: World, station: str, subscription: int) -> list[tuple[int, int]]:
    return [(len(item.blob), item.blob[0]) for item in delivered(world, station, subscription)]


def test_who_carries_something_gets_it_without_asking_anybody() -> None:
    world, cargo = brought()
    load(world, "d", cargo)
    number = subscribe(world, "d")
    world.run(for_=SECOND)
    assert blobs(world, "d", number) == [(size, at) for at, size in enumerate(SIZES)]


def test_many_that_are_carried_are_had_at_once() -> None:
    world = World(3)
    world.add("p", member("/p"), sync_ms=0)
    world.add("m", member("/m", ALL, carries=True), sync_ms=0)
    world.bus(["p", "m"], Wire(delay_ms=5))
    world.run(for_=SECOND)
    for number in range(1500):
        publish(world, "p", f"/image/{number % 7}", b"%d" % number)
        if not number % 50:
            world.run(for_=SECOND)
    world.run(for_=60 * SECOND)
    number = subscribe(world, "m")
    world.run(for_=SECOND)
    assert [int(item.blob) for item in delivered(world, "m", number)] == list(range(1500))


@pytest.mark.parametrize("part", [0, 1])
def test_who_carries_half_of_something_asks_others_for_the_rest(part: int) -> None:
    world, cargo = brought()
    halves = [Cargo(GROUP, 3), Cargo(GROUP, 3)]
    for half in halves:
        for stream, high in cargo.highs.items():
            half.tell(stream, high, list(cargo.entries[stream].values()))
    for key, wire in cargo.packets.items():
        halves[key[2] % 2].load(*key, wire)
    load(world, "d", halves[part])
    load(world, "e", halves[1 - part])
    number = subscribe(world, "d")
    world.run(for_=60 * SECOND)
    assert blobs(world, "d", number) == [(size, at) for at, size in enumerate(SIZES)]
