"""A world: commands, timers, turns, crashes and restarts, partitions, clocks, and what ends a run."""

# ruff: noqa: ARG002  the contract hands in more than these machines need

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.sim.toys import Probe, happened, save, say

from roost import sim
from roost.errors import Backpressure, BadConfig
from roost.forwarding.face import Arrived, CloseFace, Send
from roost.forwarding.forwarder import Forwarder
from roost.forwarding.settings import ForwarderSettings
from roost.machine import Effect, Note
from roost.machine.disk import Saved
from roost.naming import Name
from roost.sim import (
    KEEP,
    LOSE_UNSYNCED,
    MS,
    SECOND,
    START,
    Boot,
    Crashed,
    Happened,
    Healed,
    Parted,
    Started,
    Violation,
    Wire,
    World,
)
from roost.wire import encode_interest


def of(*names: str, seed: int = 1) -> World:
    world = World(seed)
    for name in names:
        world.add(name, Probe)
    return world


def wake(world: World, name: str, due: int) -> None:
    def set_due(machine: Probe, _: int) -> list[Effect]:
        machine.due = due
        return []

    world.tell(name, set_due)


def test_every_public_name_can_be_had() -> None:
    assert [name for name in sim.__all__ if getattr(sim, name, None) is None] == []


# -- time and turns


def test_a_machine_ticks_at_its_deadline_and_only_then() -> None:
    world = of("a")
    wake(world, "a", START + 3 * MS)
    world.run(for_=SECOND)
    assert world.machine("a").ticks == [START + 3 * MS]
    assert world.now == START + SECOND == START + world.elapsed


def test_a_deadline_may_move_both_ways() -> None:
    world = of("a")
    wake(world, "a", START + 5 * MS)
    wake(world, "a", START + 50 * MS)
    world.run(for_=20 * MS)
    assert world.machine("a").ticks == []
    wake(world, "a", START + 30 * MS)
    world.run(for_=SECOND)
    assert world.machine("a").ticks == [START + 30 * MS]


def test_a_deadline_in_the_past_is_due_now() -> None:
    world = of("a")
    world.run(for_=SECOND)
    wake(world, "a", START)
    world.run(for_=SECOND)
    assert world.machine("a").ticks == [START + SECOND]


def test_deadlines_that_move_on_leave_the_heap_small() -> None:
    world = of("a")
    for number in range(1000):
        wake(world, "a", START + SECOND + number)
    assert len(world._heap) == 1
    world.run(for_=2 * SECOND)
    assert world.machine("a").ticks == [START + SECOND + 999]


def test_at_one_instant_actions_come_first_then_arrivals_then_the_timer() -> None:
    order: list[str] = []

    class Ordered(Probe):
        def receive(self, event: Arrived | Saved, now: int) -> list[Effect]:
            order.append(type(event).__name__)
            return []

        def tick(self, now: int) -> list[Effect]:
            order.append("tick")
            return super().tick(now)

    world = World(1)
    world.add("a", Ordered, sync_ms=5)
    world.add("b", Probe)
    world.wire("a", "b", Wire(delay_ms=5))
    wake(world, "a", START + 5 * MS)
    say(world, "b", b"x")
    save(world, "a", 1, b"x")
    world.at(START + 5 * MS, lambda: order.append("action"))
    world.run(for_=SECOND)
    assert order == ["action", "Saved", "Arrived", "tick"]


def test_actions_are_done_at_their_times_in_the_order_they_were_scheduled() -> None:
    world = of()
    done: list[tuple[str, int]] = []
    for name, time in (("late", 9), ("first", 3), ("second", 3)):
        world.after(time, lambda name=name: done.append((name, world.elapsed)))  # type: ignore[misc]
    world.every(4, lambda: done.append(("every", world.elapsed)), until=START + 10)
    world.run(for_=20)
    assert done == [("first", 3), ("second", 3), ("every", 4), ("every", 8), ("late", 9)]


def test_time_does_not_go_back() -> None:
    world = of()
    world.run(for_=5)
    with pytest.raises(BadConfig, match="does not go back"):
        world.run(until=START)
    with pytest.raises(BadConfig, match="cannot be scheduled"):
        world.at(START, lambda: None)
    with pytest.raises(BadConfig, match="either"):
        world.run()
    world.after(1, lambda: world.run(for_=1))
    with pytest.raises(BadConfig, match="an action cannot"):
        world.run(for_=5)


def test_a_station_with_a_clock_ahead_lives_ahead() -> None:
    world = World(1)
    world.add("a", Probe, skew_ms=1000)
    world.add("b", Probe)
    world.wire("a", "b", Wire(delay_ms=0))
    wake(world, "a", START + SECOND + 7 * MS)
    say(world, "b", b"x")
    world.run(for_=SECOND)
    machine = world.machine("a")
    assert machine.boot.now == START + SECOND
    assert machine.batches == [(START + SECOND, 256, [b"x"])]
    assert machine.ticks == [START + SECOND + 7 * MS]
    world.crash("a")
    world.restart("a", skew_ms=-1000)
    assert world.machine("a").boot.now == START


# -- commands and effects


def test_commands_are_given_and_their_effects_executed() -> None:
    world = of("a", "b")
    world.wire("a", "b")
    assert world.tell("a", lambda machine, now: [*machine.send(b"x"), Note("told", (("at", now),))])
    world.run(for_=SECOND)
    assert world.machine("b").heard == [b"x"]
    assert happened(world, Note) == [Happened(START, "a", 1, Note("told", (("at", START),)))]


def test_a_command_that_is_refused_is_the_callers_business() -> None:
    world = of("a")

    def refuse(_machine: Probe, _now: int) -> Sequence[Effect]:
        raise Backpressure("full", 5)

    with pytest.raises(Backpressure):
        world.tell("a", refuse)


def test_a_station_that_is_down_is_not_told() -> None:
    world = of("a")
    world.crash("a")
    assert not world.tell("a", lambda _machine, _now: [Note("never")])
    assert happened(world, Note) == []


def test_what_is_sent_to_no_face_goes_astray() -> None:
    world = of("a")
    world.tell("a", lambda _machine, _now: [Send(999, [b"x", b"y"])])
    assert world.stations["a"].astray == 2


def test_a_machine_can_close_its_face() -> None:
    world = of("a", "b")
    world.wire("a", "b")
    say(world, "b", b"under way")
    world.tell("a", lambda _machine, _now: [CloseFace(256), CloseFace(999)])
    world.run(for_=SECOND)
    assert world.machine("a").heard == []


def test_a_real_forwarder_counts_its_faces_itself() -> None:
    world = of("a", "b")
    world.add("hub", lambda boot: Forwarder(ForwarderSettings(), boot.randomness))
    to_a, to_b = world.wire("a", "hub"), world.wire("b", "hub")
    assert (to_a.face("hub"), to_b.face("hub"), world.machine("hub").free_face_id()) == (256, 257, 258)
    name = Name.parse("/x")
    world.machine("hub").fib.set(name, [(to_b.face("hub"), 0)], world.now)
    interest = encode_interest(name, nonce=b"1234")
    say(world, "a", interest)
    world.run(for_=SECOND)
    assert world.machine("b").heard == [interest]


# -- crashes


def test_a_crash_drops_the_machine_its_timer_and_what_is_under_way_to_it() -> None:
    world = of("a", "b")
    world.wire("a", "b")
    first = world.machine("a")
    wake(world, "a", START + 20 * MS)
    say(world, "b", b"under way")
    world.run(for_=MS)
    world.crash("a")
    world.restart("a")
    world.run(for_=SECOND)
    second = world.machine("a")
    assert second is not first
    assert (first.ticks, second.ticks, first.heard, second.heard) == ([], [], [], [])


def test_a_restarted_station_hears_and_is_heard_again() -> None:
    world = of("a", "b")
    world.wire("a", "b")
    world.crash("a")
    say(world, "b", b"nobody there")
    world.run(for_=SECOND)
    world.restart("a")
    say(world, "a", b"from a")
    say(world, "b", b"from b")
    world.run(for_=SECOND)
    assert world.machine("a").heard == [b"from b"]
    assert world.machine("b").heard == [b"from a"]


def test_what_it_has_sent_before_the_crash_still_arrives() -> None:
    world = of("a", "b")
    world.wire("a", "b")
    say(world, "a", b"last words")
    world.crash("a")
    world.run(for_=SECOND)
    assert world.machine("b").heard == [b"last words"]


def test_each_incarnation_is_built_with_its_number_and_draws_of_its_own() -> None:
    boots: list[Boot] = []

    def build(boot: Boot) -> Probe:
        boots.append(boot)
        return Probe(boot)

    world = World(1)
    world.add("a", build)
    world.crash("a")
    world.restart("a")
    assert [(boot.name, boot.incarnation) for boot in boots] == [("a", 1), ("a", 2)]
    assert boots[0].randomness.random() != boots[1].randomness.random()
    again = World(1)
    again.add("z", Probe)
    again.add("a", build)
    assert boots[2].randomness.getrandbits(64) == World(1).draws("station", "a", 1).getrandbits(64)


def test_a_face_is_not_given_to_who_is_down_until_it_is_up() -> None:
    world = of("a", "b")
    world.crash("a")
    bus = world.bus("ab")
    world.detach(bus, "a")
    world.attach(bus, "a")
    world.restart("a")
    say(world, "b", b"x")
    world.run(for_=SECOND)
    assert world.machine("a").heard == [b"x"]


def test_faults_are_in_the_history() -> None:
    world = of("a", "b")
    world.crash("a", LOSE_UNSYNCED)
    world.partition("a", "b")
    world.heal()
    world.restart("a")
    assert [(each.station, each.incarnation, each.what) for each in world.history[2:]] == [
        ("a", 1, Crashed(LOSE_UNSYNCED)),
        ("", 0, Parted((("a",), ("b",)))),
        ("", 0, Healed()),
        ("a", 2, Started(0)),
    ]


def test_crashing_and_restarting_at_the_wrong_time_is_refused() -> None:
    world = of("a")
    with pytest.raises(BadConfig, match="a is up"):
        world.restart("a")
    world.crash("a", KEEP)
    with pytest.raises(BadConfig, match="a is down"):
        world.crash("a")
    with pytest.raises(BadConfig, match="a is down"):
        world.machine("a")
    with pytest.raises(BadConfig, match="name that no other has"):
        world.add("a", Probe)


# -- partitions


def test_a_partition_separates_groups_and_heals() -> None:
    world = of("a", "b", "c", "d")
    world.bus("abcd", Wire(loss=0.0))
    world.partition("ab", "c")
    for name in "abcd":
        say(world, name, name.encode())
    world.run(for_=SECOND)
    assert {name: b"".join(world.machine(name).heard) for name in "abcd"} == {
        "a": b"bd",
        "b": b"ad",
        "c": b"d",
        "d": b"abc",  # who is in no group hears everybody
    }
    world.heal()
    say(world, "a", b"!")
    world.run(for_=SECOND)
    assert world.machine("c").heard[-1] == b"!"
    assert world.media["bus"].tally.severed == 4


@pytest.mark.parametrize("jitter_ms", [0, 1])
def test_what_is_under_way_when_they_are_parted_is_lost(jitter_ms: float) -> None:
    world = of("a", "b")
    world.wire("a", "b", Wire(delay_ms=5, jitter_ms=jitter_ms))
    say(world, "a", b"under way")
    world.run(for_=MS)
    world.partition("a", "b")
    say(world, "a", b"apart")
    world.run(for_=SECOND)
    assert world.machine("b").heard == []
    assert world.media["a–b"].tally.severed == 2


@pytest.mark.parametrize(("parted_ms", "healed_ms", "heard"), [(5, 9, []), (1, 5, [b"x"])])
def test_what_arrives_at_the_instant_of_a_fault_comes_after_it(
    parted_ms: int, healed_ms: int, heard: list[bytes]
) -> None:
    world = of("a", "b")
    world.wire("a", "b", Wire(delay_ms=5))
    world.after(parted_ms * MS, lambda: world.partition("a", "b"))
    world.after(healed_ms * MS, world.heal)
    say(world, "a", b"x")
    world.run(for_=SECOND)
    assert world.machine("b").heard == heard


def test_a_partition_replaces_the_one_before() -> None:
    world = of("a", "b", "c")
    world.bus("abc")
    world.partition("a", "bc")
    world.partition("ab", "c")
    say(world, "a", b"x")
    world.run(for_=SECOND)
    assert world.machine("b").heard == [b"x"]
    assert world.machine("c").heard == []


# -- what ends a run


def test_an_exception_out_of_a_machine_is_a_violation_that_says_whose() -> None:
    class Broken(Probe):
        def tick(self, now: int) -> list[Effect]:
            raise KeyError("lost it")

    world = World(1)
    world.add("a", Broken)
    wake(world, "a", START + MS)
    with pytest.raises(Violation, match="a raised KeyError: 'lost it'") as raised:
        world.run(for_=SECOND)
    assert raised.value.time == START + MS
    assert isinstance(raised.value.__cause__, KeyError)


def test_a_deadline_that_stays_in_the_past_ends_the_run() -> None:
    class Stuck(Probe):
        def tick(self, now: int) -> list[Effect]:
            return []

    world = World(1)
    world.add("a", Stuck)
    wake(world, "a", START + MS)
    with pytest.raises(Violation, match="time stands still"):
        world.run(for_=SECOND)


def test_a_packet_storm_ends_the_run() -> None:
    class Echo(Probe):
        def receive(self, event: Arrived | Saved, now: int) -> list[Effect]:
            return [Send(event.face, event.packets * 2)] if isinstance(event, Arrived) else []

    world = World(1)
    for name in "ab":
        world.add(name, Echo)
    world.wire("a", "b", Wire(loss=0.01))
    world.max_events = 1000
    say(world, "a", b"x")
    with pytest.raises(Violation, match="a storm"):
        world.run(for_=SECOND)


def test_a_full_history_ends_the_run() -> None:
    world = of("a")
    world.max_history = 3
    world.tell("a", lambda _machine, _now: [Note("1"), Note("2")])
    with pytest.raises(Violation, match="the history is full"):
        world.tell("a", lambda _machine, _now: [Note("3")])
