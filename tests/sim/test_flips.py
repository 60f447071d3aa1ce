"""FLIPS under faults, over hICN forwarders and over NDN names: loss, restarts, other clocks, the wrap, collisions.

Everyone who follows a topic gets all of it, each content once and in order, from the first one they got.
"""

from __future__ import annotations

from random import Random

import pytest
from tests.flips_world import FlipsWorld, Member

from roost.forwarding.endpoint import Endpoint
from roost.machine import MS, SECOND
from roost.pubsub.flips import ring
from roost.pubsub.flips.flips import FILE, Flips
from roost.pubsub.flips.ndn_binding import NdnFlips
from roost.pubsub.flips.port import Collided, Deliver, Registered
from roost.pubsub.flips.settings import FlipsSettings, Following
from roost.pubsub.resident import Resident
from roost.sim.happened import Crash
from roost.sim.station import Boot
from roost.sim.wire import Wire
from roost.sim.world import World
from roost.trust.acceptance import ACCEPT_ANY
from roost.wire import DigestSigner

TOPIC = "home/temp"
LOSSES = (0.0, 0.01, 0.05, 0.1)
CONTENTS = 60
DIGEST = DigestSigner()


def content(number: int) -> bytes:
    """Every tenth has more than one packet."""
    return b"%d " % number * (600 if number % 10 == 9 else 1)


def whole(got: list[bytes], count: int) -> bool:
    """Whether these are the last so many contents, without a hole."""
    first = int(got[0].split()[0]) if got else count
    return got == [content(number) for number in range(first, count)]


# -- over hICN


def published(world: FlipsWorld, publisher: Member, low: int, end: int, interval_ms: int) -> None:
    for number in range(low, end):
        world.publish(publisher, TOPIC, content(number))
        world.run((interval_ms or 400) / 1000)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(10))
def test_all_get_all_over_hicn(seed: int, loss: float) -> None:
    draw = Random(seed)
    interval_ms = draw.choice((0, 200, 1000, 3000))
    world = FlipsWorld(seed, loss)
    source, middle = world.place(), world.place()
    world.link(middle, source)
    publisher = world.member(source, skew=draw.choice((0, 0, 3, -20)) * SECOND)
    assert publisher.machine is not None
    if seed % 2:  # the wrap is crossed in between
        publisher.machine.flips.store.shelf(TOPIC).counter = ring.SIZE - CONTENTS // 2
    readers: list[Member] = []
    for number in range(4):
        place = world.place()
        world.link(place, middle)
        skew = draw.choice((0, 0, 1, -1)) * draw.randrange(10 * SECOND)
        readers += [world.member(place, skew) for _ in range(1 + number % 2)]
    world.register(publisher, TOPIC, interval_ms)
    world.run(8)
    world.publish(publisher, TOPIC, content(0))
    for number, reader in enumerate(readers):
        world.subscribe(reader, TOPIC, Following(patient=True, pipeline=1 + number % 4, adaptive=number % 2 == 0))
    world.run(12)
    published(world, publisher, 1, 20, interval_ms)
    world.crash(publisher)
    world.run(draw.randrange(30))
    world.restart(publisher)
    gone = readers[0]
    world.crash(gone)
    world.register(publisher, TOPIC, interval_ms)
    world.run(8)
    last = [each.high for each in gone.told if isinstance(each, Deliver)][-1]
    world.restart(gone)
    world.subscribe(gone, TOPIC, Following(patient=True, after=last))
    published(world, publisher, 20, CONTENTS, interval_ms)
    world.run(400)
    for reader in readers:
        got = reader.contents()
        assert got
        assert whole(got, CONTENTS), (seed, [each[:8] for each in got])


@pytest.mark.parametrize(
    ("interval_ms", "loss"), [(500, 0.0), (5000, 0.0), (30_000, 0.0), (5000, 0.05), (30_000, 0.05)]
)
@pytest.mark.parametrize("skew_h", [-30, -1, 1, 30])
def test_clocks_that_are_hours_apart_delay_nothing(skew_h: int, interval_ms: int, loss: float) -> None:
    world = FlipsWorld(abs(skew_h), loss)
    source, middle, place = world.place(), world.place(), world.place()
    world.link(middle, source)
    world.link(place, middle)
    publisher, reader = world.member(source), world.member(place, skew=skew_h * 3600 * SECOND)
    world.register(publisher, TOPIC, interval_ms)
    world.run(8)
    world.publish(publisher, TOPIC, content(0))
    world.subscribe(reader, TOPIC, Following(patient=True, adaptive=True))
    world.run(12)
    late = 0
    for number in range(1, CONTENTS):
        world.publish(publisher, TOPIC, content(number))
        world.run(0.4 * interval_ms / 1000)
        late += len(reader.contents()) <= number
        world.run(0.6 * interval_ms / 1000)
    world.run(60)
    assert reader.contents() == [content(number) for number in range(CONTENTS)]
    assert late <= (2 if not loss else CONTENTS // 3)


@pytest.mark.parametrize("seed", range(20))
def test_colliding_topics_are_never_both_registered(seed: int) -> None:  # E9, E10
    draw = Random(seed)
    world = FlipsWorld(seed, settings=FlipsSettings(hash_bits=0))
    here, there = world.place(), world.place()
    world.link(here, there, both=True)
    members = [world.member(here), world.member(there), world.member(draw.choice((here, there)))]
    for number, member in enumerate(members):
        world.register(member, f"topic {number}", 0)
        world.run(draw.choice((0, 0.001, 0.3, 1.5)))
    world.run(20)
    told = [each for member in members for each in member.told]
    assert len([each for each in told if isinstance(each, Registered)]) <= 1
    assert len([each for each in told if isinstance(each, (Registered, Collided))]) == len(members)


# -- over NDN names


def flips(boot: Boot) -> Resident[NdnFlips]:
    machine = Flips(FlipsSettings(), boot.randomness, boot.disk.get(FILE, b""))
    return Resident(NdnFlips(machine, DIGEST, ACCEPT_ANY), Endpoint(DIGEST, boot.randomness))


def tell(world: World, who: str, verb: str, *arguments: object) -> None:
    def command(resident: Resident[NdnFlips], now: int) -> list[object]:
        part = resident.part
        given = (*arguments, now) if verb != "subscribe" else (arguments[0], now, *arguments[1:])
        return list(resident.settle(part.act(getattr(part.flips, verb)(*given), now), now))

    world.tell(who, command)  # type: ignore[arg-type]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(6))
def test_all_get_all_over_ndn(seed: int, loss: float) -> None:
    draw = Random(seed)
    interval_ms = draw.choice((0, 200, 1000, 3000))
    world = World(seed)
    readers = ["a", "b", "c"]
    world.add("p", flips, skew_ms=draw.choice((0, 3000, -2000)))
    for name in readers:
        world.add(name, flips, skew_ms=draw.choice((0, 500, -2000)))
    world.bus(["p", *readers], Wire(delay_ms=2, loss=loss))
    tell(world, "p", "register", TOPIC, interval_ms)
    world.run(for_=8 * SECOND)
    tell(world, "p", "publish", TOPIC, content(0))
    for number, name in enumerate(readers):
        tell(world, name, "subscribe", TOPIC, Following(patient=True, adaptive=bool(number)))
    world.run(for_=12 * SECOND)
    for number in range(1, CONTENTS):
        if number == CONTENTS // 2:
            world.crash("p", Crash.LOSE_UNSYNCED)
            world.run(for_=draw.randrange(30) * SECOND)
            world.restart("p")
            tell(world, "p", "register", TOPIC, interval_ms)
            world.run(for_=8 * SECOND)
        tell(world, "p", "publish", TOPIC, content(number))
        world.run(for_=(interval_ms or 400) * MS)
    world.run(for_=400 * SECOND)
    for name in readers:
        got = [each.what.content for each in world.history if isinstance(each.what, Deliver) and each.station == name]
        assert got
        assert whole(got, CONTENTS), (name, [each[:8] for each in got])
