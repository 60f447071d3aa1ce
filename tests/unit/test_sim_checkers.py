"""Every checker lets a good run pass and catches the violation it is for."""

from __future__ import annotations

import pytest
from tests.sim.toys import Probe, Rumour, announcing

from roost.machine import Effect
from roost.naming import Name
from roost.sim import LOSE_UNSYNCED, SECOND, Boot, Violation, Wire, World, checkers, topology, workload
from roost.sync.port import Announced, Learned, Ready, Stream

STREAM = Stream(Name.parse("/s"))


def good(seed: int = 1) -> World:
    world = World(seed)
    names = topology.names(6)
    for name in names:
        world.add(name, Rumour)
    world.bus(names, Wire(loss=0.3))
    checkers.watch_bounds(world)
    end = world.now + 10 * SECOND
    for name in names:
        workload.poisson(world, announcing(world, name), 500, until=end, name=name)
    workload.faults(world, names, until=end, mean_ms=1000, lasting_ms=(100, 2000))
    world.run(until=end + 60 * SECOND)
    return world


def told(*told: tuple[str, Effect]) -> World:
    """A world in which these effects were seen, one after the other."""
    world = World(1)
    for name in "abc":
        world.add(name, Probe)
    for name, effect in told:
        world.run(for_=SECOND)
        world.tell(name, lambda _machine, _now, effect=effect: [effect])  # type: ignore[misc]
    return world


def check_all(world: World) -> None:
    checkers.converged(world)
    checkers.nothing_lost(world)
    checkers.nothing_invented(world)
    checkers.in_order(world)
    checkers.none_reused(world)
    checkers.bounded(world)


@pytest.mark.parametrize("seed", range(5))
def test_a_protocol_that_keeps_its_promises_passes(seed: int) -> None:
    world = good(seed)
    check_all(world)
    assert sum(isinstance(each.what, Learned) for each in world.history) > 100


def test_a_careless_protocol_is_caught_giving_numbers_twice() -> None:
    world = World(1)
    world.add("a", lambda boot: Rumour(boot, careless=True), sync_ms=50)
    announcing(world, "a")()
    while world.stations["a"].disk.lost == 0:
        world.crash("a", LOSE_UNSYNCED)
        world.restart("a")
        announcing(world, "a")()
    with pytest.raises(Violation, match=r"a \(incarnation \d+\) announced /a up to .*, but a \(incarnation \d+\) had"):
        checkers.none_reused(world)


def test_disagreement_is_caught() -> None:
    world = good()
    world.machine("s2").known[Stream(Name.parse("/s1"))] += 1
    with pytest.raises(Violation, match=r"s1 and s2 disagree on 1 of 6 streams: /s1 has come to \d+ for s1, to"):
        checkers.converged(world)
    checkers.converged(world, ["s1", "s3"])


def test_a_stream_at_zero_is_as_good_as_none() -> None:
    world = good()
    world.machine("s2").known[STREAM] = 0
    checkers.converged(world)


def test_who_is_down_is_not_asked_and_somebody_has_to_be_up() -> None:
    world = good()
    world.machine("s2").known.clear()
    world.crash("s2")
    check_all(world)
    with pytest.raises(Violation, match="nobody is up"):
        checkers.converged(world, ["s2"])


def test_a_lost_number_is_caught() -> None:
    world = good()
    stream = Stream(Name.parse("/s1"))
    last = world.machine("s3").known[stream]
    for name in world.stations:
        world.machine(name).known[stream] = last - 1
    checkers.converged(world)
    with pytest.raises(Violation, match=f"/s1 was announced up to {last}, but s1 knows {last - 1}"):
        checkers.nothing_lost(world)
    checkers.nothing_lost(world, exempt={"s1"})


def test_what_machines_know_can_be_read_another_way() -> None:
    def first_only(machine: Rumour) -> dict[Stream, int]:
        return {STREAM: machine.known.get(Stream(Name.parse("/s1")), 0)}

    world = good()
    world.machine("s2").known[Stream(Name.parse("/s5"))] += 1
    checkers.converged(world, latest=first_only)


def test_an_invented_number_is_caught() -> None:
    world = told(("a", Announced(STREAM, 2)), ("b", Learned(STREAM, 1, 3)), ("a", Announced(STREAM, 3)))
    with pytest.raises(Violation, match="b learned /s up to 3, but 2 was the last") as raised:
        checkers.nothing_invented(world)
    assert raised.value.time == world.now - SECOND


def test_what_got_to_the_disk_before_a_crash_is_no_invention() -> None:
    checkers.nothing_invented(told(("a", Ready(STREAM, 4)), ("b", Learned(STREAM, 1, 3))))
    with pytest.raises(Violation, match="b learned /s up to 4, but 3 was the last"):
        checkers.nothing_invented(told(("a", Ready(STREAM, 4)), ("b", Learned(STREAM, 1, 4))))


def test_a_stream_that_nobody_has_is_caught() -> None:
    with pytest.raises(Violation, match="b learned /s up to 1, but nobody has that stream"):
        checkers.nothing_invented(told(("b", Learned(STREAM, 1, 1))))


@pytest.mark.parametrize(("low", "high"), [(4, 5), (2, 3), (3, 2)])
def test_gaps_repeats_and_empty_ranges_are_caught(low: int, high: int) -> None:
    world = told(("b", Learned(STREAM, 1, 2)), ("c", Learned(STREAM, 1, 1)), ("b", Learned(STREAM, low, high)))
    with pytest.raises(Violation, match=f"b learned {low} to {high} of /s, but 3 was next"):
        checkers.in_order(world)


def test_a_stream_that_is_not_learned_from_its_beginning_is_caught() -> None:
    with pytest.raises(Violation, match="b learned 2 to 3 of /s, but 1 was next"):
        checkers.in_order(told(("b", Learned(STREAM, 2, 3))))


def restarted(*learned: Learned) -> World:
    """A station that had learned 1 and 2 before it crashed."""
    world = told(("b", Learned(STREAM, 1, 2)))
    world.crash("b")
    world.restart("b")
    world.tell("b", lambda _machine, _now: list(learned))
    return world


@pytest.mark.parametrize("low", [1, 2, 3])
def test_who_restarts_may_learn_again_what_it_had_learned(low: int) -> None:
    checkers.in_order(restarted(Learned(STREAM, low, 3), Learned(STREAM, 4, 4)))


def test_but_nothing_is_left_out_by_a_crash_nor_repeated_after_it() -> None:
    with pytest.raises(Violation, match="b learned 4 to 4 of /s, but 3 was next"):
        checkers.in_order(restarted(Learned(STREAM, 4, 4)))
    with pytest.raises(Violation, match="b learned 1 to 3 of /s, but 2 was next"):
        checkers.in_order(restarted(Learned(STREAM, 1, 1), Learned(STREAM, 1, 3)))


def test_a_number_announced_by_two_is_caught_unless_exempt() -> None:
    world = told(("a", Announced(STREAM, 2)), ("b", Announced(STREAM, 2)))
    with pytest.raises(Violation, match=r"b .* announced /s up to 2, but a .* had announced 2"):
        checkers.none_reused(world)
    checkers.none_reused(world, exempt={"b"})


def test_a_table_beyond_its_bound_is_caught_while_the_world_runs() -> None:
    class Growing(Rumour):
        def sizes(self) -> dict[str, tuple[int, int]]:
            return {"known": (len(self.known), 3), "empty": (0, 0)}

    def build(boot: Boot) -> Growing:
        return Growing(boot)

    world = World(1)
    names = topology.names(5)
    for name in names:
        world.add(name, build)
    world.add("without sizes", Probe)
    world.bus(names)
    checkers.watch_bounds(world, 100)
    for name in names[:3]:
        announcing(world, name)()
    world.run(for_=10 * SECOND)
    announcing(world, names[3])()
    with pytest.raises(Violation, match=r"known of s\d holds 4, its bound is 3") as raised:
        world.run(for_=10 * SECOND)
    assert raised.value.time == world.now < world.stations[names[0]].machine._due + SECOND
