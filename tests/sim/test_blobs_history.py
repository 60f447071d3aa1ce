"""Who joins late gets history: since a time, or the latest of each name, from whoever has it; and who is slow."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.sim.blob_stations import delivered, member, publish, take

from roost.machine import MS, SECOND
from roost.naming import Component, Name
from roost.pubsub.blobs.line import WINDOW
from roost.pubsub.blobs.mapping import Entry
from roost.pubsub.blobs.wanted import Wanted
from roost.sim.medium import Medium
from roost.sim.wire import Wire
from roost.sim.world import World
from roost.trust.acceptance import ACCEPT_ANY, AcceptAny
from roost.trust.verdict import Rejection, Verdict
from roost.wire import Data, Interest

POSITION = Name.parse("/position")
ALL = Wanted(topic=Name())


def published(world: World, count: int, names: int = 5) -> list[int]:
    """Publish once a second; returns when each was."""
    times: list[int] = []
    for number in range(count):
        times.append(world.now)
        publish(world, "p", f"/position/{number % names}", b"%d" % number)
        publish(world, "p", f"/image/{number}", bytes(20_000))
        world.run(for_=SECOND)
    return times


def producing(seed: int, loss: float = 0.0, max_kept_bytes: int = 1 << 28) -> tuple[World, Medium]:
    world = World(seed)
    world.add("p", member("/p", max_kept_bytes=max_kept_bytes), sync_ms=0)
    return world, world.bus(["p"], Wire(delay_ms=5, loss=loss))


def later(world: World, bus: Medium, wanted: Wanted) -> list[bytes]:
    """What somebody gets who joins now."""
    world.add("s", member("/s", wanted), sync_ms=0)
    world.attach(bus, "s")
    world.run(for_=60 * SECOND)
    return [item.blob for item in delivered(world, "s")]


@pytest.mark.parametrize("seed", range(6))
def test_who_joins_late_gets_the_latest_of_each_name_and_what_comes_then(seed: int) -> None:
    world, bus = producing(seed, (0, 0.1, 0.3)[seed % 3])
    published(world, 40)
    assert later(world, bus, Wanted(topic=POSITION, latest=True)) == [b"%d" % number for number in range(35, 40)]
    before = world.media[bus.name].tally.sent_bytes
    published(world, 10)
    world.run(for_=300 * SECOND)
    assert [item.blob for item in delivered(world, "s")][5:] == [b"%d" % number for number in range(10)]
    assert before < 10 * 20_000  # no image was fetched to find that out


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("latest", [False, True])
def test_who_joins_late_gets_what_is_not_older_than_it_wants(seed: int, latest: bool) -> None:
    world, bus = producing(seed, (0, 0.1, 0.3)[seed % 3])
    times = published(world, 40)
    wanted = Wanted(topic=POSITION, since_us=times[23] // 1000, latest=latest)
    assert later(world, bus, wanted) == [b"%d" % number for number in range(35 if latest else 23, 40)]
    if not latest and not seed % 3:
        assert world.machine("s").part.subscriber.queries < 16  # not one for each number of the past


def test_what_does_not_say_its_time_is_not_older_than_anything() -> None:
    world, bus = producing(1)
    machine = world.machine("p").part.publisher
    publication = machine.kept.entry

    def timeless(number: int) -> Entry | None:
        entry = publication(number)
        return None if entry is None else replace(entry, time_us=0)

    machine.kept.entry = timeless
    published(world, 10)
    assert later(world, bus, Wanted(topic=POSITION, since_us=world.now // 1000)) == [b"%d" % n for n in range(10)]


def test_since_a_time_that_is_not_yet_gets_only_what_comes() -> None:
    world, bus = producing(1)
    published(world, 5)
    assert later(world, bus, Wanted(topic=POSITION, since_us=(world.now + 3600 * SECOND) // 1000)) == []
    published(world, 1)
    assert [item.blob for item in delivered(world, "s")] == [b"0"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("latest", [False, True])
def test_a_member_that_carries_gives_history_when_the_producer_is_gone(seed: int, latest: bool) -> None:
    world, bus = producing(seed, (0, 0.1, 0.3)[seed % 3])
    world.add("c", member("/c", Wanted(topic=POSITION), carries=True), sync_ms=0)
    world.attach(bus, "c")
    published(world, 20)
    world.run(for_=30 * SECOND)
    world.crash("p")
    expected = [b"%d" % number for number in range(15 if latest else 0, 20)]
    assert later(world, bus, Wanted(topic=POSITION, latest=latest)) == expected


@pytest.mark.parametrize("wanted", [ALL, Wanted(producer=Name.parse("/p")), Wanted(topic=Name(), latest=True)])
def test_what_nobody_has_any_more_is_passed_over(wanted: Wanted) -> None:
    world, bus = producing(1, max_kept_bytes=50_000)
    published(world, 10, names=10)
    came = later(world, bus, wanted)
    assert came == [b"8", bytes(20_000), b"9", bytes(20_000)]
    assert world.machine("s").part.subscriber.gone > 0 or wanted.latest


def test_what_the_producer_forgot_is_had_from_who_carries_it() -> None:
    world, bus = producing(1, max_kept_bytes=50_000)
    world.add("c", member("/c", Wanted(topic=POSITION), carries=True), sync_ms=0)
    world.attach(bus, "c")
    published(world, 10, names=10)
    assert later(world, bus, Wanted(topic=POSITION)) == [b"%d" % number for number in range(10)]


# -- order, and who is slow


def test_who_is_slow_holds_up_nobody_else_of_the_same_member() -> None:
    world, bus = producing(1)
    world.add(
        "s", member("/s", Wanted(topic=POSITION), Wanted(topic=Name.parse("/position")), max_untaken=4), sync_ms=0
    )
    world.attach(bus, "s")
    got = 0
    for number in range(3 * WINDOW):
        publish(world, "p", f"/position/{number}", b"%d" % number)
        world.run(for_=200 * MS)
        for item in delivered(world, "s", 2)[got:]:  # the second takes, the first does not
            take(world, "s", item, 2)
            got += 1
    world.run(for_=SECOND)
    assert [item.number for item in delivered(world, "s", 2)] == list(range(1, 3 * WINDOW + 1))
    slow = [item.number for item in delivered(world, "s", 1)]
    assert slow == list(range(1, len(slow) + 1))
    assert 4 <= len(slow) < 4 + WINDOW
    taken = 0
    while taken < 3 * WINDOW:  # and when it takes, it gets the rest
        for item in delivered(world, "s", 1)[taken:]:
            take(world, "s", item, 1)
            taken += 1
        world.run(for_=100 * MS)
    assert [item.number for item in delivered(world, "s", 1)] == list(range(1, 3 * WINDOW + 1))


@pytest.mark.parametrize("in_order", [True, False])
def test_who_takes_nothing_has_only_so_many_bytes_waiting(*, in_order: bool) -> None:
    size, limit = 40_000, 200_000
    world, bus = producing(1)
    world.add("s", member("/s", Wanted(topic=Name(), in_order=in_order), max_untaken_bytes=limit), sync_ms=0)
    world.attach(bus, "s")
    world.run(for_=SECOND)
    for number in range(30):
        publish(world, "p", f"/image/{number}", bytes([number]) * size)
    world.run(for_=60 * SECOND)
    subscriber = world.machine("s").part.subscriber
    assert limit <= subscriber.sizes()["waiting bytes"][0] <= limit + size
    assert subscriber.allowance.held_up > 0
    taken = 0
    while taken < 30:
        for item in delivered(world, "s")[taken:]:
            take(world, "s", item)
            taken += 1
        assert subscriber.sizes()["waiting bytes"][0] <= limit + size
        world.run(for_=100 * MS)
    assert sorted(item.number for item in delivered(world, "s")) == list(range(1, 31))
    assert subscriber.sizes()["waiting bytes"] == (0, limit)


def test_what_waits_behind_one_that_is_not_to_be_had_has_its_bound_too() -> None:
    size, limit = 40_000, 200_000
    verifier = NotNow()
    world, bus = producing(1)
    world.add("s", member("/s", ALL, max_untaken_bytes=limit, verifier=verifier), sync_ms=0)
    world.attach(bus, "s")
    world.run(for_=SECOND)
    for number in range(30):
        publish(world, "p", "/stuck" if number == 1 else f"/image/{number}", bytes([number]) * size)
    world.run(for_=20 * SECOND)
    subscriber = world.machine("s").part.subscriber
    for item in delivered(world, "s"):
        take(world, "s", item)
    world.run(for_=60 * SECOND)
    assert [item.number for item in delivered(world, "s")] == [1]
    assert limit <= subscriber.sizes()["waiting bytes"][0] <= limit + 2 * size  # the head and one more
    verifier.refuses = False
    taken = 1
    while taken < 30:
        for item in delivered(world, "s")[taken:]:
            take(world, "s", item)
            taken += 1
        world.run(for_=SECOND)
    assert [item.number for item in delivered(world, "s")] == list(range(1, 31))


class NotNow(AcceptAny):
    """Cannot judge what is called `/stuck` yet."""

    refuses = True

    def check(self, packet: Data | Interest, now: int, *, repeatable: bool = False) -> Verdict:
        """Accept or wait."""
        if self.refuses and packet.name.at(0) == Component(b"stuck"):
            return Rejection("its certificate is not to be had", for_now=True)
        return ACCEPT_ANY.check(packet, now, repeatable=repeatable)


def test_as_they_come_what_is_late_holds_up_nothing() -> None:
    world, bus = producing(1)
    world.add("s", member("/s", Wanted(topic=Name(), in_order=False), ALL), sync_ms=0)
    world.attach(bus, "s")
    world.run(for_=SECOND)
    publish(world, "p", "/large", bytes(2_000_000))
    publish(world, "p", "/small", b"x")
    world.run(for_=60 * SECOND)
    assert [str(item.name) for item in delivered(world, "s", 1)] == ["/small", "/large"]
    assert [str(item.name) for item in delivered(world, "s", 2)] == ["/large", "/small"]


@pytest.mark.parametrize("seed", range(6))
def test_as_they_come_all_come_once_over_restarts(seed: int) -> None:
    world, bus = producing(seed, (0, 0.1, 0.3)[seed % 3])
    wanted = Wanted(topic=POSITION, in_order=False)
    world.add("s", member("/s", wanted, durable=True), sync_ms=0)
    world.attach(bus, "s")
    got = 0
    for number in range(30):
        publish(world, "p", f"/position/{number}", b"%d" % number)
        publish(world, "p", f"/image/{number}", bytes(20_000))
        world.run(for_=500 * MS)
        for item in delivered(world, "s")[got:]:
            take(world, "s", item)
            got += 1
        if number in {10, 20}:
            world.run(for_=2 * SECOND)
            for item in delivered(world, "s")[got:]:
                take(world, "s", item)
                got += 1
            world.run(for_=MS)  # that is on the disk now, and nothing else came
            world.crash("s")
            world.run(for_=SECOND)
            world.restart("s")
    world.run(for_=120 * SECOND)
    assert sorted(int(item.blob) for item in delivered(world, "s")) == list(range(30))


def test_of_what_came_without_its_mapping_the_time_is_not_known() -> None:
    world = World(1)
    world.add("p", member("/p", riding=0), sync_ms=0)
    world.add("s", member("/s", Wanted(producer=Name.parse("/p"))), sync_ms=0)
    world.bus(["p", "s"], Wire(delay_ms=5))
    world.run(for_=SECOND)
    publish(world, "p", "/image/1", b"x")
    world.run(for_=SECOND)
    (item,) = delivered(world, "s")
    assert (item.blob, item.published_us) == (b"x", None)


# -- many at once


def test_many_large_blobs_at_once_cost_no_more_than_one_after_the_other() -> None:
    sent: list[int] = []
    for pause in (10 * SECOND, 0):
        world, bus = producing(1)
        world.add("s", member("/s", ALL), sync_ms=0)
        world.attach(bus, "s")
        world.run(for_=SECOND)
        for number in range(WINDOW):
            publish(world, "p", f"/image/{number}", bytes(60_000))
            world.run(for_=pause)
        world.run(for_=60 * SECOND)
        assert len(delivered(world, "s")) == WINDOW
        sent.append(world.media[bus.name].tally.sent_bytes)
    assert sent[1] < sent[0]


# -- who wants it no longer


@pytest.mark.parametrize("wanted", [Wanted(topic=POSITION, latest=True), Wanted(topic=POSITION, since_us=1), ALL])
def test_who_unsubscribes_while_nobody_answers_asks_nothing_more(wanted: Wanted) -> None:
    world, bus = producing(1)
    world.add("c", member("/c"), sync_ms=0)  # knows the numbers, and neither names nor blobs
    world.attach(bus, "c")
    published(world, 3)
    world.crash("p")
    world.add("s", member("/s", wanted), sync_ms=0)
    world.attach(bus, "s")
    world.run(for_=10 * SECOND)
    subscriber = world.machine("s").part.subscriber
    assert subscriber.sizes()["open"][0] > 0
    subscriber.unsubscribe(1)
    world.run(for_=60 * SECOND)
    assert {name: subscriber.sizes()[name][0] for name in ("questions", "under way", "open")} == {
        "questions": 0,
        "under way": 0,
        "open": 0,
    }


def test_of_a_large_blob_that_nobody_wants_any_more_the_rest_is_not_fetched() -> None:
    world, bus = producing(1)
    world.add("s", member("/s", ALL), sync_ms=0)
    world.attach(bus, "s")
    world.run(for_=SECOND)
    publish(world, "p", "/large", bytes(20_000_000))
    world.run(for_=100 * MS)
    subscriber = world.machine("s").part.subscriber
    assert subscriber.sizes()["under way"][0] == 1
    subscriber.unsubscribe(1)
    world.run(for_=60 * SECOND)
    assert world.media[bus.name].tally.sent_bytes < 10_000_000
