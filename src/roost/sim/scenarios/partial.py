"""Partial sync under faults: one producer with many streams, consumers that want some of them, on a star of nodes.

Drawn from the seed: streams, consumers and what they want (names or ranges), loss, and when consumers, or the producer,
crash. At the end every consumer has all numbers of what it wants and nothing else, without gaps in any of its
lives, and no number was given twice.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from roost.machine import MS, SECOND, Effect
from roost.naming import Name
from roost.sim import checkers, workload
from roost.sim.draws import draws
from roost.sim.happened import Crash, Violation
from roost.sim.members import behind_node, following
from roost.sim.scenarios.sync import CHANCE, rounds
from roost.sim.topology import names, star
from roost.sim.wire import Wire
from roost.sim.world import World
from roost.sync.choice import PSYNC_PARTIAL
from roost.sync.port import Ready, Stream
from roost.sync.subscriptions import NameList, RangeList, Subscriptions

SUMMARY = "partial sync: consumers that lose packets and crash have all of what they subscribed to, and only that"

GROUP: Final = Name.parse("/p")
MAX_STREAMS: Final = 120  # more than half of which may differ, so that tables fail to decode and hello is said again
_HUB: Final = "hub"
_PRODUCER: Final = "producer"
_ROUND_MS: Final = 3000  # a pause, an exchange, and its time-out; silence that needs a hello comes on top
_SILENCE_MS: Final = 61_000


def run(seed: int) -> World:
    """Play a seed and check the promises."""
    draw = draws(seed, "plan")
    world = World(seed)
    streams = [GROUP / f"{letter}{number}" for number in range(draw.randint(1, MAX_STREAMS // 3)) for letter in "abc"]
    consumers = names(draw.randint(1, 8), "c")
    wanted = {name: _draw_wanted(streams, draw) for name in consumers}
    wire = Wire(delay_ms=draw.uniform(0.5, 30), loss=draw.choice([0.0, draw.uniform(0, 0.3)]))
    world.add(_HUB, following(GROUP, NameList))
    world.add(_PRODUCER, behind_node(GROUP, PSYNC_PARTIAL, streams))
    for name in consumers:
        world.add(name, following(GROUP, _list_of(wanted[name], ranges=draw.random() < 0.5)))
    world.wires(star([_HUB, _PRODUCER, *consumers]), wire)
    end = world.now + draw.randint(20, 60) * SECOND
    publish = world.draws("publications", "what")
    workload.poisson(world, lambda: _publish(world, streams, publish), draw.choice([50, 400]), until=end, name="all")
    if draw.random() < 0.7:
        workload.faults(
            world,
            [_PRODUCER, *consumers],
            until=end,
            mean_ms=4000,
            lasting_ms=(100, 8000),
            crashes=[Crash.KEEP, Crash.LOSE_UNSYNCED],
        )
    checkers.watch_bounds(world, 5000)
    world.run(until=end)
    world.heal()
    _await_all(world, wanted, _SILENCE_MS + rounds(2, (1 - wire.loss) ** 4, CHANCE) * _ROUND_MS)
    checkers.nothing_invented(world)
    checkers.in_order(world)
    checkers.none_reused(world)
    checkers.bounded(world)
    return world


def _draw_wanted(streams: list[Name], draw: Random) -> list[Name]:
    return draw.sample(streams, min(len(streams), draw.choice([1, 3, 10, len(streams)])))


def _list_of(wanted: list[Name], *, ranges: bool) -> Callable[[], Subscriptions]:
    few = len(wanted) <= 10

    def make() -> Subscriptions:
        return RangeList(wanted) if ranges and few else NameList(wanted)

    return make


def _publish(world: World, streams: list[Name], draw: Random) -> None:
    stream = draw.choice(streams)

    def announce(machine: Any, now: int) -> list[Effect]:  # noqa: ANN401  the producer
        effects: list[Effect] = machine.act(machine.member.produce(stream, now), now)
        number = next(effect.number for effect in effects if isinstance(effect, Ready))
        return effects + list(machine.act(machine.member.announce(stream, number, now), now))

    world.tell(_PRODUCER, announce, f"announce {stream}")


def _await_all(world: World, wanted: dict[str, list[Name]], within_ms: int) -> None:
    """Let time pass until every consumer has what the producer has, of what it wants."""
    until = world.now + within_ms * MS
    while lacking := _lacking(world, wanted):
        if world.now >= until:
            raise Violation(f"not within {within_ms // 1000} s of healing: {lacking}", world.now)
        world.run(for_=SECOND)


def _lacking(world: World, wanted: dict[str, list[Name]]) -> str:
    """Say who lacks what, or has what it did not want; nothing if all is well."""
    machines = world.machines()
    told = machines[_PRODUCER].latest()
    for name, streams in wanted.items():
        due = {Stream(stream): told[Stream(stream)] for stream in streams if told.get(Stream(stream))}
        has = {stream: number for stream, number in machines[name].latest().items() if number}
        if has != due:
            stream = next(stream for stream in {**has, **due} if has.get(stream) != due.get(stream))
            return f"{name} has {stream} up to {has.get(stream, 0)}, {due.get(stream, 0)} is due"
    return ""
