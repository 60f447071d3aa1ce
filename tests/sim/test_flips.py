"""FLIPS under faults, over hICN forwarders and over NDN names: loss, restarts, other clocks, the wrap, collisions.

Everyone who follows a topic gets all of it, each content once and in order, from the first one they got.
"""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from tests.flips_world import FlipsWorld, Member

from roost.forwarding.endpoint import Endpoint
from roost.hicn import HicnName, Interest
from roost.machine import MS, SECOND
from roost.pubsub.flips import ring
from roost.pubsub.flips.flips import FILE, Flips
from roost.pubsub.flips.identifiers import is_content
from roost.pubsub.flips.ndn_binding import NdnFlips
from roost.pubsub.flips.port import Collided, Deliver, Missed, Registered
from roost.pubsub.flips.settings import FlipsSettings, Following, Sharing
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
FEW = FlipsSettings(store_items=50, max_content_bytes=50_000)
DIGEST = DigestSigner()


def content(number: int) -> bytes:
    """Every tenth has more than one packet."""
    return b"%d " % number * (600 if number % 10 == 9 else 1)


def whole(got: list[bytes], count: int, first: int = 0) -> bool:
    """Whether these are all contents from the first one on."""
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
        assert whole(got, CONTENTS), (seed, [each[:8] for each in got])


def told_of(reader: Member) -> list[int]:
    """The number of every packet that was delivered or is told to be missed, in that order."""
    runs = [each for each in reader.told if isinstance(each, (Deliver, Missed))]
    return [number for each in runs for number in ring.run(each.low, each.high)]


def seconds_until(world: FlipsWorld, reader: Member, count: int) -> float:
    begun = world.now
    while len(reader.contents()) < count:
        world.run(0.1)
        assert world.now < begun + 120 * SECOND, (len(reader.contents()), count)
    return (world.now - begun) / SECOND


def asked_upstream(world: FlipsWorld) -> dict[HicnName, list[tuple[int, int]]]:
    """Of each content, when it was asked for over a link, and until when that Interest waited."""
    found: dict[HicnName, list[tuple[int, int]]] = {}
    for packet, at in zip(world.crossings, world.crossed, strict=True):
        if isinstance(packet, Interest) and is_content(packet.name.suffix):
            found.setdefault(packet.name, []).append((at, at + packet.lifetime_ms * MS))
    return found


def check_one_at_a_time(world: FlipsWorld) -> None:
    for name, asked in asked_upstream(world).items():
        for (_, until), (again, _) in pairwise(asked):
            assert until <= again, (name, asked)


@pytest.mark.parametrize("pipeline", [1, 4])
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_twenty_behind_one_forwarder_ask_as_one(seed: int, adaptive: bool, pipeline: int) -> None:
    world = FlipsWorld(seed)
    draw = Random(seed)
    source, place = world.place(), world.place()
    world.link(place, source)
    publisher = world.member(source)
    readers = [world.member(place, skew=draw.randrange(-40, 40) * MS) for _ in range(20)]
    following = Following(patient=True, adaptive=adaptive, pipeline=pipeline)
    intervals_ms = {"on time": 1000, "late": 1000, "idle": 0}
    for topic, interval_ms in intervals_ms.items():
        world.register(publisher, topic, interval_ms)
    world.run(8)
    for topic in intervals_ms:
        world.publish(publisher, topic, b"0")
    for reader in readers:
        for topic in intervals_ms:
            world.subscribe(reader, topic, following)
        world.run(draw.random() / 100)
    for number in range(1, CONTENTS):
        world.run(1)
        world.publish(publisher, "on time", b"%d" % number)
        if number % 9 not in {3, 4, 7}:  # so it is up to two intervals late
            world.publish(publisher, "late", b"%d" % number)
        if number % 30 == 29:
            world.publish(publisher, "idle", b"%d" % number)
    world.run(1)
    assert all(len([each for each in reader.contents() if each == b"59"]) == 3 for reader in readers)
    check_one_at_a_time(world)
    counts = [len(asked) for asked in asked_upstream(world).values()]
    assert sum(counts) <= 2 * CONTENTS + 3 * 30  # what is late and what is idle is asked for again, for all at once


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("interval_ms", [1000, 5000])
@pytest.mark.parametrize("subscribers", [2, 10, 20])
@pytest.mark.parametrize("placement", ["separate hosts", "one host"])
def test_control_packets_are_those_of_the_formula(
    placement: str, subscribers: int, interval_ms: int, adaptive: bool
) -> None:
    world = FlipsWorld(subscribers)
    source = world.place()
    places = [world.place() for _ in range(subscribers if placement == "separate hosts" else 1)]
    for place in places:
        world.link(place, source)
    publisher = world.member(source)
    readers = [world.member(places[number % len(places)]) for number in range(subscribers)]
    world.register(publisher, TOPIC, interval_ms)
    world.run(8)
    before = len(world.crossings)
    for reader in readers:  # all of them in one second, as in the paper
        world.subscribe(reader, TOPIC, Following(adaptive=adaptive))
    for number in range(100):
        world.run(interval_ms / 1000)
        world.publish(publisher, TOPIC, b"%d" % number)
    world.run(0.1)
    assert all(len(reader.contents()) == 100 for reader in readers)
    asked = sum(isinstance(each, Interest) for each in world.crossings[before:])
    formula = 101 / 100 / (subscribers if placement == "one host" else 1)
    assert asked / (100 * subscribers) == pytest.approx(formula, rel=0.02)


@pytest.mark.parametrize("adaptive", [False, True])
def test_contents_that_are_late_by_any_time_are_asked_for_once_a_lifetime_for_all(adaptive: bool) -> None:
    world = FlipsWorld(3)
    source, place = world.place(), world.place()
    world.link(place, source)
    publisher = world.member(source)
    readers = [world.member(place) for _ in range(20)]
    world.register(publisher, TOPIC, 1000)
    world.run(8)
    world.publish(publisher, TOPIC, content(0))
    for reader in readers:
        world.subscribe(reader, TOPIC, Following(patient=True, adaptive=adaptive))
        world.run(0.01)
    for number in range(1, CONTENTS):
        world.run(1 + (number % 6 == 5) * number / 5)
        world.publish(publisher, TOPIC, content(number))
    world.run(1)
    assert all(whole(reader.contents(), CONTENTS) for reader in readers)
    check_one_at_a_time(world)
    asked = asked_upstream(world)
    assert max(len(each) for each in asked.values()) in {6, 7}  # 11.8 s late
    assert sum(len(each) == 1 for each in asked.values()) >= CONTENTS * 5 // 6


@pytest.mark.parametrize("interval_ms", [0, 1000])
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_who_was_away_for_longer_than_contents_are_kept_gets_those_there_are(
    loss: float, adaptive: bool, interval_ms: int
) -> None:
    world = FlipsWorld(5, loss, FEW)
    source, place = world.place(), world.place()
    world.link(place, source)
    publisher, reader = world.member(source), world.member(place)
    world.register(publisher, TOPIC, interval_ms)
    world.run(8)
    for number in range(200):
        world.publish(publisher, TOPIC, b"%d" % number)
        world.run(0.01)
    world.run(60)  # what is cached is stale
    world.subscribe(reader, TOPIC, Following(patient=True, adaptive=adaptive, after=110))
    took_s = seconds_until(world, reader, FEW.store_items)
    assert took_s < (1 if not loss else 60)
    assert reader.contents() == [b"%d" % number for number in range(150, 200)]
    assert [each for each in reader.told if isinstance(each, Missed)] == [Missed(TOPIC, 111, 249)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("interval_ms", [0, 500])
def test_what_leaves_the_store_under_a_subscriber_is_told_exactly(interval_ms: int, seed: int) -> None:
    world = FlipsWorld(seed, 0.02 * seed, FEW)
    source, place = world.place(), world.place()
    world.link(place, source)
    publisher, reader = world.member(source), world.member(place)
    world.register(publisher, TOPIC, interval_ms)
    world.run(8)
    world.publish(publisher, TOPIC, content(0))
    world.subscribe(reader, TOPIC, Following(patient=True, pipeline=4, adaptive=seed % 2 == 0))
    world.run(12)
    published(world, publisher, 1, 20, interval_ms)
    world.cut(place)
    published(world, publisher, 20, 250, interval_ms)
    world.mend(place)
    published(world, publisher, 250, 300, interval_ms)
    world.run(300)
    assert publisher.machine is not None
    end = ring.at(publisher.machine.flips.store.shelf(TOPIC).counter)
    assert told_of(reader) == list(ring.run(100, ring.step(end, -1)))
    missed = sum(each.high - each.low + 1 for each in reader.told if isinstance(each, Missed))
    assert 100 < missed < 300
    assert whole(reader.contents()[-40:], 300, 260)


def test_numbers_that_were_passed_over_are_not_told_as_missed_though_they_left_the_store() -> None:
    world = FlipsWorld(1, settings=FEW)
    source, place = world.place(), world.place()
    world.link(place, source)
    publisher, reader = world.member(source), world.member(place)
    for life in range(3):  # each ends without goodbye, so 1000 numbers are passed over
        world.register(publisher, TOPIC, 0)
        world.run(8)
        for number in range(40):
            world.publish(publisher, TOPIC, b"%d" % (40 * life + number))
            world.run(0.01)
        world.crash(publisher)
        world.restart(publisher)
    world.register(publisher, TOPIC, 0)
    world.run(60)
    world.subscribe(reader, TOPIC, Following(patient=True, after=99))
    seconds_until(world, reader, FEW.store_items)
    assert reader.contents() == [b"%d" % number for number in range(70, 120)]
    assert [each for each in reader.told if isinstance(each, Missed)] == [
        Missed(TOPIC, 100, 139),
        Missed(TOPIC, 1140, 1169),
    ]


@pytest.mark.parametrize("after", [0, 1, 99])
def test_all_there_is_can_be_asked_for_by_any_number_before_the_first(after: int) -> None:
    world = FlipsWorld(1)
    place = world.place()
    publisher, reader = world.member(place), world.member(place)
    world.register(publisher, TOPIC, 0)
    world.run(8)
    for number in range(30):
        world.publish(publisher, TOPIC, content(number))
        world.run(0.01)
    world.subscribe(reader, TOPIC, Following(after=after))
    world.run(1)
    assert whole(reader.contents(), 30)


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
    for number, member in enumerate(members):  # one after the other: if none was, now the first one is
        if not any(isinstance(each, Registered) for each in member.told):
            world.register(member, f"topic {number}", 0)
            world.run(20)
    told = [each for member in members for each in member.told]
    assert len([each for each in told if isinstance(each, Registered)]) == 1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(10))
def test_packets_that_are_lost_while_registering_make_no_second_publisher(seed: int, loss: float) -> None:
    settings = FlipsSettings(probe_tries=6)
    world = FlipsWorld(seed, loss, settings)
    source, middle, place = world.place(), world.place(), world.place()
    world.link(middle, source, both=True)
    world.link(place, middle, both=True)
    first, second = world.member(source), world.member(place)
    world.register(first, TOPIC, 0)
    world.run(20)
    world.register(second, TOPIC, 0)
    world.run(20)
    assert [type(each) for each in first.told] == [Registered]
    assert [type(each) for each in second.told] == [Collided]


@pytest.mark.parametrize("lifetime_ms", [500, 1500])
def test_an_answer_that_takes_longer_than_a_probe_lives_is_not_heard(lifetime_ms: int) -> None:
    world = FlipsWorld(1, settings=FlipsSettings(probe_lifetime_ms=lifetime_ms))
    world.delay = 300 * MS
    here, there = world.place(), world.place()
    world.link(here, there, both=True)
    first, second = world.member(here), world.member(there)
    for member in (first, second):
        world.register(member, TOPIC, 0)
        world.run(20)
    assert [type(each) for each in second.told] == [Registered if lifetime_ms == 500 else Collided]


@pytest.mark.parametrize("sharing", list(Sharing))
def test_a_second_publisher_of_a_topic_is_refused_unless_it_is_to_be_as_in_the_paper(sharing: Sharing) -> None:
    world = FlipsWorld(1, settings=FlipsSettings(sharing=sharing))
    here, there = world.place(), world.place()
    world.link(here, there, both=True)
    first, second = world.member(here), world.member(there)
    for member in (first, second):
        world.register(member, TOPIC, 0)
        world.run(20)
    assert [type(each) for each in first.told] == [Registered]
    assert [type(each) for each in second.told] == [Registered if sharing is Sharing.PAPER else Collided]


@pytest.mark.parametrize("push", [False, True])
def test_what_is_pushed_is_answered_by_the_forwarder(push: bool) -> None:
    world = FlipsWorld(1, settings=FlipsSettings(push=push))
    place = world.place()
    publisher, reader = world.member(place), world.member(place)
    world.register(publisher, TOPIC, 0)
    world.run(8)
    for number in range(5):
        world.publish(publisher, TOPIC, content(number))
        world.run(0.01)
    world.subscribe(reader, TOPIC, Following(after=0))
    world.run(1)
    assert whole(reader.contents(), 5)
    assert place.forwarder.hits == (5 if push else 0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(6))
def test_forwarders_that_are_started_again_cost_no_content(seed: int, loss: float) -> None:
    draw = Random(seed)
    interval_ms = draw.choice((0, 200, 1000))
    world = FlipsWorld(seed, loss)
    source, middle, place = world.place(), world.place(), world.place()
    world.link(middle, source)
    world.link(place, middle)
    publisher, readers = world.member(source), [world.member(place) for _ in range(3)]
    world.register(publisher, TOPIC, interval_ms)
    world.run(8)
    world.publish(publisher, TOPIC, content(0))
    for number, reader in enumerate(readers):
        world.subscribe(reader, TOPIC, Following(patient=True, pipeline=1 + number, adaptive=bool(number)))
    world.run(12)
    for number in range(1, CONTENTS):
        if number % 10 == 5:
            world.restart_forwarder(draw.choice(world.places))
        world.publish(publisher, TOPIC, content(number))
        world.run((interval_ms or 400) / 1000)
    world.run(300)
    for reader in readers:
        assert whole(reader.contents(), CONTENTS), (seed, [each[:8] for each in reader.contents()])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(6))
def test_who_is_not_patient_gets_all_or_is_told_that_it_ends(seed: int, loss: float) -> None:
    draw = Random(seed)
    interval_ms = draw.choice((0, 200, 1000, 3000))
    world = FlipsWorld(seed, loss)
    source, middle, place = world.place(), world.place(), world.place()
    world.link(middle, source)
    world.link(place, middle)
    publisher, readers = world.member(source), [world.member(place) for _ in range(3)]
    world.register(publisher, TOPIC, interval_ms)
    world.run(8)
    world.publish(publisher, TOPIC, content(0))
    for reader in readers:
        world.subscribe(reader, TOPIC)  # as in the paper: one question at a time, and 5 to begin
    world.run(12)
    following = [reader for reader in readers if not reader.has_ended()]
    assert following
    published(world, publisher, 1, 20, interval_ms)
    world.run(60)
    for reader in following:
        assert not reader.has_ended()
        assert whole(reader.contents(), 20, 0), (seed, [each[:8] for each in reader.contents()])
    world.crash(publisher)
    world.run(200)
    assert all(reader.has_ended() for reader in readers)


# -- over NDN names


def flips(boot: Boot) -> Resident[NdnFlips]:
    machine = Flips(FlipsSettings(), boot.randomness, boot.disk.get(FILE, b""))
    return Resident(NdnFlips(machine, DIGEST, ACCEPT_ANY), Endpoint(DIGEST, boot.randomness))


def wrapping(boot: Boot) -> Resident[NdnFlips]:
    """One that crosses the wrap half-way."""
    resident = flips(boot)
    if FILE not in boot.disk:
        resident.part.flips.store.shelf(TOPIC).counter = ring.SIZE - CONTENTS // 2
    return resident


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
    world.add("p", wrapping if seed % 2 else flips, skew_ms=draw.choice((0, 3000, -2000)))
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
        assert whole(got, CONTENTS), (name, [each[:8] for each in got])
