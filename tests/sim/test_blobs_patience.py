"""What nobody has holds up nothing for good, is asked for ever more seldom, and had as soon as somebody brings it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.sim.blob_stations import delivered, member, publish

from roost.machine import SECOND, Note
from roost.naming import Name
from roost.pubsub.blobs.line import SPAN
from roost.pubsub.blobs.line_work import PASSED_OVER
from roost.pubsub.blobs.wanted import Wanted
from roost.sim.medium import Medium
from roost.sim.wire import Wire
from roost.sim.world import World

ALL = Wanted(topic=Name())
POSITION = Wanted(topic=Name.parse("/position"))
BYTES = 1000


def carried(count: int, held: int, *, images: bool = False) -> tuple[World, Medium]:
    """A producer that is gone, and a member that carries the last positions of it."""
    world = World(1)
    world.add("p", member("/p"), sync_ms=0)
    world.add(
        "m", member("/m", replace(POSITION, in_order=False), carries=True, max_carried_bytes=held * 1250), sync_ms=0
    )
    bus = world.bus(["p", "m"], Wire(delay_ms=5))
    world.run(for_=SECOND)
    for number in range(count):
        publish(world, "p", f"/position/{number}", b"%04d" % number + bytes(BYTES))
        if images and number < 20:
            publish(world, "p", f"/image/{number}", bytes(BYTES))
        world.run(for_=SECOND // 4)
    world.run(for_=20 * SECOND)
    world.detach(bus, "p")
    assert held <= world.machine("m").part.carried < 1.25 * held
    return world, bus


def later(world: World, bus: Medium, wanted: Wanted, seconds: int) -> list[int]:
    """The numbers in what somebody gets who joins now."""
    world.add("s", member("/s", wanted), sync_ms=0)
    world.attach(bus, "s")
    world.run(for_=seconds * SECOND)
    return numbers(world, wanted)


def numbers(world: World, wanted: Wanted) -> list[int]:
    """What it got, in order if it wanted that."""
    found = [int(item.blob[:4]) for item in delivered(world, "s")]
    return found if wanted.in_order else sorted(found)


@pytest.mark.parametrize(
    ("wanted", "seconds"),
    [
        (replace(POSITION, in_order=False), 30),
        (replace(POSITION, latest=True), 60),
        (POSITION, 120),
        (Wanted(producer=Name.parse("/p")), 120),
    ],
)
def test_who_joins_late_gets_what_is_still_held_when_the_producer_is_gone(wanted: Wanted, seconds: int) -> None:
    world, bus = carried(60, 30)
    came = later(world, bus, wanted, seconds)
    assert came == list(range(60 - len(came), 60))
    assert len(came) >= 30
    passed = [each.what for each in world.history if isinstance(each.what, Note) and each.what.event == PASSED_OVER]
    assert len(passed) == (60 - len(came) if wanted.in_order else 0)


@pytest.mark.parametrize("in_order", [False, True])
def test_who_wants_more_than_is_held_gets_what_is(*, in_order: bool) -> None:
    world, bus = carried(60, 60, images=True)
    assert later(world, bus, replace(ALL, in_order=in_order), 180) == list(range(60))


@pytest.mark.parametrize("in_order", [False, True])
def test_more_may_be_missing_than_is_looked_at_together(*, in_order: bool) -> None:
    world, bus = carried(SPAN + 150, 30)
    came = later(world, bus, replace(POSITION, in_order=in_order), 1200)
    assert len(came) >= 30
    assert came[-1] == SPAN + 149


@pytest.mark.parametrize("in_order", [False, True])
def test_of_version_2_who_joins_late_gets_what_the_producer_still_has_and_what_comes(*, in_order: bool) -> None:
    world = World(1)
    world.add("p", member("/p", max_kept_bytes=50_000, version=2), sync_ms=0)
    bus = world.bus(["p"], Wire(delay_ms=5))
    world.run(for_=SECOND)
    for number in range(100):
        publish(world, "p", f"/position/{number}", b"%04d" % number + bytes(BYTES))
        world.run(for_=SECOND // 4)
    world.run(for_=10 * SECOND)
    held = len(world.machine("p").part.publisher.kept)
    world.add("s", member("/s", replace(POSITION, in_order=in_order), version=2), sync_ms=0)
    world.attach(bus, "s")
    world.run(for_=120 * SECOND)
    assert numbers(world, replace(POSITION, in_order=in_order)) == list(range(100 - held, 100))
    publish(world, "p", "/position/100", b"0100")
    world.run(for_=SECOND)
    assert delivered(world, "s")[-1].blob == b"0100"


def test_who_has_patience_without_end_gets_all_in_order_once_the_producer_is_back() -> None:
    world, bus = carried(60, 30)
    assert later(world, bus, replace(POSITION, patience_ms=0), 900) == []
    world.attach(bus, "p")
    publish(world, "p", "/position/60", b"0060")
    world.run(for_=20 * SECOND)
    assert numbers(world, POSITION) == list(range(61))


@pytest.mark.parametrize("wanted", [POSITION, replace(POSITION, latest=True), Wanted(producer=Name.parse("/p"))])
def test_a_stream_that_nobody_answers_for_costs_ever_less_and_is_had_when_it_is_announced(wanted: Wanted) -> None:
    world = World(1)
    world.add("p", member("/p"), sync_ms=0)
    world.add("q", member("/q"), sync_ms=0)  # knows the numbers, and neither names nor blobs
    bus = world.bus(["p", "q"], Wire(delay_ms=5))
    world.run(for_=SECOND)
    for number in range(40):
        publish(world, "p", f"/position/{number}", b"%04d" % number)
    world.run(for_=10 * SECOND)
    world.detach(bus, "p")
    sent: list[int] = []
    came = later(world, bus, wanted, 60)
    for seconds in (0, 60, 3600, 60):
        world.run(for_=seconds * SECOND)
        sent.append(world.media[bus.name].tally.sent)
    assert came == []
    assert (sent[3] - sent[2]) * 3 < sent[1] - sent[0]
    world.attach(bus, "p")
    publish(world, "p", "/position/40", b"0040")
    world.run(for_=5 * SECOND)
    assert numbers(world, wanted) == list(range(41))
