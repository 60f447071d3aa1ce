"""SVS-PS from publisher to subscriber in the simulator: latencies in round trips, large blobs, loss, selection [§8]."""

from __future__ import annotations

import pytest
from bench.svsps._slopes import slope

from roost.forwarding.endpoint import Endpoint
from roost.machine import MS, SECOND
from roost.naming import Name
from roost.pubsub.blobs.items import Deliver
from roost.pubsub.blobs.mapped_sync import MappedSvs
from roost.pubsub.blobs.member import BlobMember
from roost.pubsub.blobs.publisher import Layers, Publisher
from roost.pubsub.blobs.seat import Seat
from roost.pubsub.blobs.subscriber import Subscriber
from roost.pubsub.blobs.wanted import Wanted
from roost.pubsub.resident import Resident
from roost.sim.station import Boot, Build
from roost.sim.wire import Wire
from roost.sim.world import World
from roost.sync.ledger import Ledger
from roost.sync.svs_settings import SvsSettings
from roost.trust.acceptance import ACCEPT_ANY
from roost.wire import DigestSigner

GROUP = Name.parse("/campus/ops")
NODE = Name.parse("/radar")
DIGEST = DigestSigner()
POSITION = Wanted(topic=Name.parse("/position"))


def publisher(version: int = 3, riding: int = 6000) -> Build:
    def build(boot: Boot) -> Resident[Publisher]:
        ledger = Ledger("ledger", boot.disk.get("ledger", b""))
        sync = MappedSvs(GROUP, SvsSettings(version=version), DIGEST, boot.randomness, ledger, max_riding_bytes=riding)
        part = Publisher(Seat(sync, ACCEPT_ANY), NODE, Layers.by(DIGEST))
        return Resident(part, Endpoint(DIGEST, boot.randomness))

    return build


def subscriber(*wishes: Wanted, version: int = 3) -> Build:
    def build(boot: Boot) -> Resident[Subscriber]:
        sync = MappedSvs(GROUP, SvsSettings(version=version), DIGEST, boot.randomness, Ledger("none", b""))
        part = Subscriber(Seat(sync, ACCEPT_ANY), boot.randomness)
        for wanted in wishes:
            part.subscribe(wanted)
        return Resident(part, Endpoint(DIGEST, boot.randomness))

    return build


def world_of(seed: int, wire: Wire, publishing: Build, subscribing: Build) -> World:
    world = World(seed)
    world.add("p", publishing, sync_ms=0)
    world.add("s", subscribing, sync_ms=0)
    world.wire("p", "s", wire)
    world.run(for_=2 * SECOND)
    return world


def publish(world: World, name: str, blob: bytes, node: str = "p") -> None:
    world.tell(node, lambda machine, now: machine.settle(machine.part.publish(Name.parse(name), blob, now), now))


def delivered(world: World) -> list[tuple[int, Deliver]]:
    return [(each.time, each.what) for each in world.history if isinstance(each.what, Deliver)]


@pytest.mark.parametrize("delay_ms", [5, 40, 100])
@pytest.mark.parametrize(("riding", "half_trips"), [(6000, 3), (0, 5)])
def test_a_publication_takes_one_and_a_half_round_trips_or_two_and_a_half_with_a_query(
    delay_ms: int, riding: int, half_trips: int
) -> None:
    world = world_of(1, Wire(delay_ms=delay_ms), publisher(riding=riding), subscriber(POSITION))
    began = world.now
    publish(world, "/position/radar/1", b"here")
    world.run(for_=SECOND)
    ((time, deliver),) = delivered(world)
    assert time - began == half_trips * delay_ms * MS
    assert deliver.item.blob == b"here"
    assert deliver.item.name == Name.parse("/position/radar/1")


@pytest.mark.parametrize(("way", "round_trips"), [("published", 1.5), ("queried", 2.5), ("prefetched", 0.5)])
def test_latency_over_round_trip_time_has_the_slope_of_the_poster(way: str, round_trips: float) -> None:
    assert slope(way) == pytest.approx(round_trips, rel=1e-9)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_all_that_is_wanted_comes_once_and_in_order_and_nothing_else(version: int, seed: int) -> None:
    loss = (0, 0.1, 0.3)[seed % 3]
    world = world_of(seed, Wire(delay_ms=10, loss=loss), publisher(version), subscriber(POSITION, version=version))
    for number in range(60):
        publish(world, f"/position/radar/{number}", bytes([number]))
        publish(world, f"/image/radar/{number}", bytes(30_000))
        world.run(for_=200 * MS)
    world.run(for_=300 * SECOND)
    assert [deliver.item.blob for _, deliver in delivered(world)] == [bytes([number]) for number in range(60)]
    assert world.media["p–s"].tally.sent_bytes < 60 * 30_000


@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_a_large_blob_comes_whole(loss: float) -> None:
    blob = bytes(range(250)) * 800
    world = world_of(3, Wire(delay_ms=10, loss=loss), publisher(), subscriber(Wanted(producer=NODE)))
    publish(world, "/image/radar/1", blob)
    world.run(for_=60 * SECOND)
    assert [deliver.item.blob for _, deliver in delivered(world)] == [blob]


def test_what_was_published_before_is_had_by_who_comes_later() -> None:
    world = World(4)
    world.add("p", publisher(), sync_ms=0)
    bus = world.bus(["p"], Wire(delay_ms=5))
    for number in range(30):
        publish(world, f"/position/radar/{number}", bytes([number]))
        world.run(for_=100 * MS)
    world.run(for_=SECOND)  # what is younger than a suppression period counts as being in flight, and is not told
    world.add("s", subscriber(POSITION), sync_ms=0)
    world.attach(bus, "s")
    world.run(for_=10 * SECOND)
    assert [deliver.item.number for _, deliver in delivered(world)] == list(range(1, 31))
    assert world.machine("s").part.queries > 0


def member(node: str, *wishes: Wanted) -> Build:
    def build(boot: Boot) -> Resident[BlobMember]:
        ledger = Ledger("ledger", boot.disk.get("ledger", b""))
        seat = Seat(MappedSvs(GROUP, SvsSettings(), DIGEST, boot.randomness, ledger), ACCEPT_ANY)
        part = BlobMember(seat, Name.parse(node), Layers.by(DIGEST), boot.randomness)
        for wanted in wishes:
            part.subscriber.subscribe(wanted)
        return Resident(part, Endpoint(DIGEST, boot.randomness))

    return build


@pytest.mark.parametrize("prefetch_ms", [500, 4000, 8000])
def test_interests_that_wait_are_asked_again_before_their_lifetime_is_over(prefetch_ms: int) -> None:
    wanted = Wanted(producer=NODE, prefetch=1, prefetch_ms=prefetch_ms)
    world = world_of(1, Wire(delay_ms=5), publisher(), subscriber(wanted))
    publish(world, "/position/radar/0", b"first")
    world.run(for_=3 * SECOND)
    before = world.media["p–s"].tally.sent
    world.run(for_=28 * SECOND)  # less than the time after which sync speaks again
    assert world.media["p–s"].tally.sent - before == pytest.approx(28_000 / (prefetch_ms * 7 / 8), abs=1)
    began = world.now
    publish(world, "/position/radar/1", b"a")
    world.run(for_=SECOND)
    assert delivered(world)[1][0] - began == 5 * MS


@pytest.mark.parametrize("delay_ms", [5, 40, 100])
def test_with_prefetch_a_publication_takes_half_a_round_trip(delay_ms: int) -> None:
    world = world_of(1, Wire(delay_ms=delay_ms), publisher(), subscriber(Wanted(producer=NODE, prefetch=2)))
    publish(world, "/position/radar/0", b"first")  # by which the stream is heard of
    world.run(for_=20 * SECOND)  # longer than the Interests last that wait
    began = world.now
    publish(world, "/position/radar/1", b"a")
    publish(world, "/position/radar/2", b"b")
    world.run(for_=SECOND)
    assert [(time - began, deliver.item.blob) for time, deliver in delivered(world)[1:]] == [
        (delay_ms * MS, b"a"),
        (delay_ms * MS, b"b"),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_prefetched_publications_come_once_and_in_order_whatever_is_lost(seed: int) -> None:
    wire = Wire(delay_ms=10, loss=(0, 0.1, 0.3)[seed % 3])
    world = world_of(seed, wire, publisher(), subscriber(Wanted(producer=NODE, prefetch=4)))
    for number in range(40):
        publish(world, f"/position/radar/{number}", bytes([number]))
        world.run(for_=300 * MS)
    world.run(for_=300 * SECOND)
    assert [deliver.item.blob for _, deliver in delivered(world)] == [bytes([number]) for number in range(40)]


@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_two_members_publish_and_subscribe_at_once(loss: float) -> None:
    everything = Wanted(topic=Name())
    world = world_of(5, Wire(delay_ms=10, loss=loss), member("/p", everything), member("/s", everything))
    for number in range(20):
        for node in "ps":
            publish(world, f"/from/{node}/{number}", b"x", node)
        world.run(for_=100 * MS)
    world.run(for_=120 * SECOND)
    items = [deliver.item for _, deliver in delivered(world)]
    for node in "ps":
        theirs = [item for item in items if item.stream.name == Name.parse(f"/{node}")]
        assert [item.name for item in theirs] == [Name.parse(f"/from/{node}/{number}") for number in range(20)]
        assert all(0 < (item.published_us or 0) * 1000 <= item.arrived for item in theirs)
