"""Workloads: who is told what and when, and which faults befall whom. All become plain actions, drawn from the seed.

Every one ends at a time that it is given, so that a scenario can let things calm down and then check its promises. A
workload has one action in the world's heap at a time, however long it lasts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from roost.machine import MS
from roost.sim.driver import Action
from roost.sim.happened import Crash
from roost.sim.world import World


def periodic(world: World, action: Action, every_ms: float, *, until: int) -> None:
    """Do something every so many milliseconds, from now."""
    _follow(world, action, lambda: round(every_ms * MS), until)


def poisson(world: World, action: Action, mean_ms: float, *, until: int, name: str) -> None:
    """Do something at random times, `mean_ms` apart on average; `name` tells this workload's draws from others'."""
    randomness = world.draws("poisson", name)
    _follow(world, action, lambda: 1 + round(randomness.expovariate(1 / (mean_ms * MS))), until)


def bursts(world: World, action: Action, size: int, every_ms: float, *, gap_ms: float = 0.0, until: int) -> None:
    """Do something `size` times, `gap_ms` apart, and that every so many milliseconds, from now."""

    def burst() -> None:
        for number in range(size):
            delay = round(number * gap_ms * MS)
            if world.now + delay <= until:
                world.after(delay, action)

    periodic(world, burst, every_ms, until=until)


def faults(
    world: World,
    stations: Sequence[str],
    *,
    until: int,
    mean_ms: float,
    lasting_ms: tuple[float, float],
    crashes: Sequence[Crash] = (Crash.KEEP, Crash.LOSE_UNSYNCED),
    partitions: bool = True,
) -> None:
    """Let partitions and crashes come at random times until `until`, each mended after a time between two bounds.

    There is one partition at a time, and a station that is down, or not there yet, does not crash. By `until` all is
    mended. A station that is added during a partition hears everybody.
    """
    randomness = world.draws("faults")

    def mended() -> int:
        return min(until, world.now + round(randomness.uniform(*lasting_ms) * MS))

    def part() -> None:
        shuffled = randomness.sample(stations, len(stations))
        cut = randomness.randint(1, len(shuffled) - 1)
        groups = [[name for name in half if name in world.stations] for half in (shuffled[:cut], shuffled[cut:])]
        if all(groups) and not any(station.group for station in world.stations.values()):
            world.partition(*groups)
            world.at(mended(), world.heal)

    def crash() -> None:
        name = randomness.choice(stations)
        if name in world.stations and world.stations[name].up:
            world.crash(name, randomness.choice(crashes))
            world.at(mended(), lambda: world.restart(name))

    kinds = [crash] if crashes else []
    if partitions and len(stations) > 1:
        kinds.append(part)

    def strike() -> None:
        randomness.choice(kinds)()

    if kinds:
        poisson(world, strike, mean_ms, until=until, name="faults")


def _follow(world: World, action: Action, gap: Callable[[], int], until: int) -> None:
    def again() -> None:
        if world.now <= until:
            action()
            world.after(gap(), again)

    world.after(gap(), again)
