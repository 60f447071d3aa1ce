"""Topologies, workloads and fault plans."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest
from tests.sim.toys import Probe, happened

from roost.sim import MS, SECOND, START, Crashed, Healed, Parted, Started, World, topology, workload
from roost.sim.happened import Crash


def reachable(names: Sequence[str], edges: topology.Edges) -> set[str]:
    found = {names[0]}
    for _ in names:
        found |= {name for edge in edges if found & set(edge) for name in edge}
    return found


def test_small_topologies() -> None:
    assert topology.names(3) == ["s1", "s2", "s3"]
    assert topology.line("abc") == [("a", "b"), ("b", "c")]
    assert topology.ring("abc") == [("a", "b"), ("b", "c"), ("c", "a")]
    assert topology.ring("ab") == [("a", "b")]
    assert topology.star("abc") == [("a", "b"), ("a", "c")]
    assert topology.tree("abcdef") == [("a", "b"), ("a", "c"), ("b", "d"), ("b", "e"), ("c", "f")]
    assert topology.tree("abcd", 3) == topology.star("abcd")
    assert topology.grid("abcde", 2) == [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("c", "e")]


@pytest.mark.parametrize("make", [topology.line, topology.ring, topology.star, topology.tree])
def test_one_station_needs_no_wire(make: topology.Edges) -> None:
    assert callable(make)
    assert make(["a"]) == []


def test_random_graphs_are_connected_without_repeats() -> None:
    for seed in range(50):
        randomness = Random(seed)
        names = topology.names(randomness.randint(1, 20))
        extra = randomness.randint(0, 20)
        edges = topology.connected(names, extra, randomness)
        assert reachable(names, edges) == set(names)
        assert len({frozenset(edge) for edge in edges}) == len(edges) <= len(names) - 1 + extra
        assert all(a != b for a, b in edges)


def times_of(world: World, until: int) -> list[int]:
    times: list[int] = []
    workload.poisson(world, lambda: times.append(world.elapsed), 100, until=until, name="x")
    world.run(until=until + SECOND)
    return times


def test_periodic_is_periodic_and_ends() -> None:
    world = World(1)
    times: list[int] = []
    workload.periodic(world, lambda: times.append(world.elapsed // MS), 250, until=world.now + SECOND)
    world.run(for_=5 * SECOND)
    assert times == [250, 500, 750, 1000]


def test_poisson_has_the_mean_and_its_own_draws() -> None:
    world = World(1)
    times = times_of(world, START + 100 * SECOND)
    assert 1000 - 160 < len(times) < 1000 + 160  # five standard deviations
    assert times[-1] <= 100 * SECOND
    gaps = {later - earlier for earlier, later in pairwise(times)}
    assert len(gaps) > 800
    again = World(1)
    workload.poisson(again, lambda: None, 10, until=START + SECOND, name="another")
    assert times_of(again, START + 100 * SECOND) == times


def test_bursts_are_bursts() -> None:
    world = World(1)
    times: list[int] = []
    workload.bursts(world, lambda: times.append(world.elapsed // MS), 3, 1000, gap_ms=10, until=START + 2010 * MS)
    world.run(for_=5 * SECOND)
    assert times == [1000, 1010, 1020, 2000, 2010], "the last one is cut short: nothing is left to do after its end"


@pytest.mark.parametrize("seed", range(20))
def test_faults_strike_and_all_is_mended_in_the_end(seed: int) -> None:
    world = World(seed)
    names = topology.names(5)
    for name in names[:4]:
        world.add(name, Probe)
    world.at(START + 5 * SECOND, lambda: world.add(names[4], Probe))
    end = START + 10 * SECOND
    workload.faults(
        world, names, until=end, mean_ms=200, lasting_ms=(10, 5000), crashes=[Crash.KEEP, Crash.LOSE_UNSYNCED]
    )
    world.run(until=end)
    assert all(station.up and not station.group for station in world.stations.values())
    crashes, parts = happened(world, Crashed), happened(world, Parted)
    assert len(crashes) > 5
    assert {each.what.how for each in crashes} == {Crash.KEEP, Crash.LOSE_UNSYNCED}  # type: ignore[attr-defined]
    assert len(happened(world, Started)) == len(names) + len(crashes)
    assert len(parts) == len(happened(world, Healed)) > 1
    assert all(all(groups) for groups in [each.what.groups for each in parts])  # type: ignore[attr-defined]


def test_faults_of_one_kind_only() -> None:
    world = World(1)
    for name in "ab":
        world.add(name, Probe)
    end = START + 10 * SECOND
    workload.faults(world, "ab", until=end, mean_ms=200, lasting_ms=(10, 50), crashes=[])
    world.run(until=end)
    assert happened(world, Parted)
    assert not happened(world, Crashed)
    alone = World(1)
    alone.add("a", Probe)
    workload.faults(alone, "a", until=end, mean_ms=200, lasting_ms=(10, 50), crashes=[], partitions=True)
    alone.run(until=end)
    assert len(alone.history) == 1
