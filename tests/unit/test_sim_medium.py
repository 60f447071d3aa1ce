"""Wires and buses: delay, rate, loss, duplicates, overtaking, sizes, and who hears whom."""

from __future__ import annotations

from math import sqrt

import pytest
from tests.sim.toys import Probe, say

from roost.errors import BadConfig
from roost.forwarding.face import MULTI_ACCESS, POINT_TO_POINT, RELIABILITY
from roost.sim import MS, SECOND, START, Wire, World

MANY = 4000


def pair(wire: Wire, seed: int = 1) -> World:
    world = World(seed)
    world.add("a", Probe)
    world.add("b", Probe)
    world.wire("a", "b", wire)
    return world


def numbered(count: int) -> list[bytes]:
    return [number.to_bytes(4, "big") for number in range(count)]


def within(count: int, share: float, of: int) -> bool:
    """Whether a count is what chance allows: five standard deviations of the binomial."""
    return abs(count - of * share) <= 5 * sqrt(of * share * (1 - share))


def test_a_packet_takes_the_delay() -> None:
    world = pair(Wire(delay_ms=7.5))
    say(world, "a", b"hello")
    world.run(for_=SECOND)
    assert world.machine("b").batches == [(START + 7_500_000, 256, [b"hello"])]
    assert world.machine("a").batches == []


def test_packets_of_one_instant_come_as_one_batch_in_order() -> None:
    world = pair(Wire())
    say(world, "a", b"1", b"2")
    say(world, "a", b"3")
    world.run(for_=SECOND)
    assert [packets for _, _, packets in world.machine("b").batches] == [[b"1", b"2", b"3"]]


def test_a_rate_sends_one_packet_after_the_other_and_each_direction_for_itself() -> None:
    world = pair(Wire(delay_ms=1, rate_bps=8000))
    say(world, "a", bytes(10), bytes(20))
    say(world, "b", bytes(5))
    world.run(for_=SECOND)
    assert [time - START for time, _, _ in world.machine("b").batches] == [11 * MS, 31 * MS]
    assert [time - START for time, _, _ in world.machine("a").batches] == [6 * MS]


def test_on_a_bus_with_a_rate_all_wait_for_each_other() -> None:
    world = World(1)
    for name in "abc":
        world.add(name, Probe)
    world.bus("abc", Wire(delay_ms=0, rate_bps=8000))
    say(world, "a", bytes(10))
    say(world, "b", bytes(10))
    world.run(for_=SECOND)
    assert [time - START for time, _, _ in world.machine("c").batches] == [10 * MS, 20 * MS]


def test_a_full_queue_drops_and_counts() -> None:
    world = pair(Wire(rate_bps=8000, queue_bytes=100))
    say(world, "a", *[bytes(50)] * 10)
    world.run(for_=10 * SECOND)
    assert len(world.machine("b").heard) == 3  # one is being sent, and two wait
    assert world.media["a–b"].tally.overflowed == 7


def test_what_is_larger_than_the_mtu_is_dropped_and_the_machine_knows_the_mtu() -> None:
    world = pair(Wire(mtu=100))
    say(world, "a", bytes(101), bytes(100))
    world.run(for_=SECOND)
    assert world.machine("b").heard == [bytes(100)]
    assert world.media["a–b"].tally.oversized == 1
    assert world.machine("a").specs[256].mtu == 100


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("loss", [0.02, 0.3, 0.5])
def test_loss_is_as_drawn(loss: float, seed: int) -> None:
    world = pair(Wire(loss=loss), seed)
    say(world, "a", *numbered(MANY))
    world.run(for_=SECOND)
    tally = world.media["a–b"].tally
    assert within(tally.lost, loss, MANY)
    assert tally.lost + tally.delivered == MANY
    assert len(world.machine("b").heard) == tally.delivered


def test_on_a_bus_everyone_loses_for_themselves() -> None:
    world = World(1)
    names = [f"s{number}" for number in range(5)]
    for name in names:
        world.add(name, Probe)
    world.bus(names, Wire(loss=0.3))
    say(world, "s0", *numbered(MANY))
    world.run(for_=SECOND)
    heard = [set(world.machine(name).heard) for name in names[1:]]
    assert all(within(len(each), 0.7, MANY) for each in heard)
    assert within(len(set.intersection(*heard)), 0.7**4, MANY)
    assert world.machine("s0").heard == []


def test_duplicates_come_twice_as_often_as_drawn() -> None:
    world = pair(Wire(duplicate=0.2))
    say(world, "a", *numbered(MANY))
    world.run(for_=SECOND)
    heard = world.machine("b").heard
    assert set(heard) == set(numbered(MANY))
    assert within(len(heard) - MANY, 0.2, MANY)


def test_reordering_reorders_and_jitter_does_not() -> None:
    for wire, ordered in ((Wire(jitter_ms=50), True), (Wire(reorder=0.1, held_ms=50), False)):
        world = pair(wire)
        for packet in numbered(500):
            say(world, "a", packet)
            world.run(for_=MS)
        world.run(for_=SECOND)
        heard = world.machine("b").heard
        assert sorted(heard) == numbered(500)
        assert (heard == numbered(500)) is ordered
        assert len(world.machine("b").batches) > 1


def test_jitter_stays_within_its_bound() -> None:
    world = pair(Wire(delay_ms=10, jitter_ms=5))
    for _ in range(200):
        say(world, "a", b"x")
        world.run(for_=SECOND)
    delays = [(time - START) % SECOND for time, _, _ in world.machine("b").batches]
    assert len(delays) == 200
    assert all(10 * MS <= delay < 15 * MS for delay in delays)
    assert max(delays) - min(delays) > 4 * MS


def test_another_link_shifts_nobodys_draws() -> None:
    def heard(*, more: bool) -> list[list[bytes]]:
        world = World(7)
        for name in "abcd":
            world.add(name, Probe)
        if more:
            world.wire("c", "d", Wire(loss=0.5))
        world.wire("a", "b", Wire(loss=0.5))
        bus = world.bus("ac", Wire(loss=0.5))
        if more:
            world.attach(bus, "d")
        say(world, "a", *numbered(100))
        world.run(for_=SECOND)
        return [world.machine("b").heard, world.machine("c").heard]

    assert heard(more=False) == heard(more=True)


def test_a_face_says_what_it_is() -> None:
    world = World(1)
    for name in "ab":
        world.add(name, Probe)
    wire = world.wire("a", "b", Wire(local=True, flags=RELIABILITY))
    bus = world.bus("ab")
    specs = world.machine("a").specs
    assert specs[wire.face("a")].remote_uri == "sim://b"
    assert (specs[wire.face("a")].local, specs[wire.face("a")].flags) == (True, RELIABILITY)
    assert specs[wire.face("a")].link_type == POINT_TO_POINT
    assert specs[bus.face("a")].link_type == MULTI_ACCESS
    assert not specs[bus.face("a")].local


def test_two_wires_between_the_same_two_are_two() -> None:
    world = pair(Wire(delay_ms=1))
    other = world.wire("a", "b", Wire(delay_ms=2))
    assert other.name == "a–b#2"
    say(world, "a", b"x")
    world.run(for_=SECOND)
    assert [(time - START, face) for time, face, _ in world.machine("b").batches] == [(MS, 256), (2 * MS, 257)]


def test_who_is_attached_later_hears_what_is_sent_later() -> None:
    world = World(1)
    for name in "abc":
        world.add(name, Probe)
    bus = world.bus("ab")
    say(world, "a", b"early")
    world.attach(bus, "c")
    world.run(for_=SECOND)
    say(world, "a", b"late")
    world.run(for_=SECOND)
    assert world.machine("b").heard == [b"early", b"late"]
    assert world.machine("c").heard == [b"late"]


def test_who_is_detached_neither_hears_nor_is_heard() -> None:
    world = World(1)
    for name in "abc":
        world.add(name, Probe)
    bus = world.bus("abc")
    say(world, "a", b"under way")
    world.detach(bus, "c")
    say(world, "a", b"after")
    world.run(for_=SECOND)
    assert world.machine("b").heard == [b"under way", b"after"]
    assert world.machine("c").heard == []
    assert world.machine("c").specs == {}


@pytest.mark.parametrize("wrong", [{"loss": 1.5}, {"duplicate": -0.1}, {"delay_ms": -1}, {"mtu": -1}])
def test_a_wire_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadConfig, match=next(iter(wrong))):
        Wire(**wrong)  # type: ignore[arg-type]


def test_ends_that_cannot_be_are_refused() -> None:
    world = pair(Wire())
    with pytest.raises(BadConfig, match="a wire has two ends"):
        world.attach(world.media["a–b"], "a")
    with pytest.raises(BadConfig, match="on bus already"):
        world.bus("aa")
    with pytest.raises(BadConfig, match="no station 'z'"):
        world.wire("a", "z")
    with pytest.raises(BadConfig, match="not on"):
        world.detach(world.bus("a"), "b")
