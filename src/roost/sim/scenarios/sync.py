"""Sync groups under faults: 2 to 60 members, up to half of all packets lost, partitions, crashes, late joiners.

Drawn from the seed: which protocol, how many members, whether they share a bus or stand behind forwarders on wires,
what the wires do to packets, who publishes when, and which faults befall whom. Then all is healed, and the promises are
checked: within the bound that the timers imply all agree; nothing is lost, invented, out of order, given twice or
beyond its bound.

A disk that flips bits may forget what nobody else has heard: such a station's own streams are only asked to be agreed
on. Without boot times (all but SVS v3) its numbers may then come again, which its protocol cannot prevent.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil, comb, log
from random import Random
from typing import Any, Final

from roost.errors import Backpressure
from roost.machine import MS, SECOND, Effect
from roost.naming import Name
from roost.sim import checkers, topology, workload
from roost.sim.draws import draws
from roost.sim.happened import Crash, Crashed, Violation
from roost.sim.members import behind_node, on_bus
from roost.sim.wire import Wire
from roost.sim.world import World
from roost.sync.choice import PROTOCOLS, Protocol
from roost.sync.port import Ready
from roost.sync.svs_settings import SvsSettings

SUMMARY = "sync groups (SVS v3, v2, PSync) with loss, partitions, crashes, late joiners: all agree after healing"

GROUP: Final = Name.parse("/g")
MAX_MEMBERS: Final = 60
MAX_LOSS: Final = 0.5
CHANCE: Final = 1e-9  # of a run that breaks the bound although all is well
_SPOKEN: Final = ("svs3", "svs2", "psync", "psync-adaptive")
_PSYNC_ROUND_MS: Final = 3000  # a wait for freshness and jitter, an exchange, and its time-out
_STEP: Final = 2 * SECOND


@dataclass(frozen=True, slots=True)
class Plan:
    """What a seed comes to."""

    protocol: str
    members: tuple[str, ...]
    late: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]  # empty for a bus
    wire: Wire
    busy_s: int  # how long there are publications and faults
    publication_ms: float
    fault_ms: float  # on average between two; 0 for none
    crashes: tuple[Crash, ...]
    hops: int  # from any member to any other, at most
    vector_bytes: int  # of SVS, at most: small ones make windows of all but the smallest groups

    @property
    def settings(self) -> Protocol:
        """The protocol, as these members speak it."""
        protocol = PROTOCOLS[self.protocol]
        if isinstance(protocol, SvsSettings):
            return replace(protocol, max_vector_bytes=self.vector_bytes)
        return protocol

    def __str__(self) -> str:
        where = f"{len(self.edges)} wires, at most {self.hops} hops" if self.edges else "a bus"
        who = f"{len(self.members)} members ({len(self.late)} late)"
        windows = f", vectors of {self.vector_bytes} bytes" if self.protocol.startswith("svs") else ""
        return f"{self.protocol}{windows}, {who} on {where}, loss {self.wire.loss:.2f}"


def plan(seed: int) -> Plan:
    """Draw a plan."""
    draw = draws(seed, "plan")
    protocol = draw.choice(_SPOKEN)
    count = min(MAX_MEMBERS, int(2 * (MAX_MEMBERS / 2) ** draw.random() + 0.5))
    if not protocol.startswith("svs"):
        count = max(2, count // 2)
    members = topology.names(count)
    edges = _edges(members, draw) if draw.random() < 0.5 else []
    late = draw.sample(members, draw.randint(0, count // 3))
    wire = Wire(
        delay_ms=draw.uniform(0.5, 40),
        jitter_ms=draw.choice([0, 0, 20]),
        loss=draw.choice([0.0, draw.uniform(0, 0.2), draw.uniform(0, MAX_LOSS)]),
        duplicate=draw.choice([0, 0, 0.1]),
        reorder=draw.choice([0, 0, 0.1]),
    )
    kinds = [Crash.KEEP, Crash.LOSE_UNSYNCED, Crash.LOSE_UNSYNCED | Crash.FLIP_BITS]
    return Plan(
        protocol=protocol,
        members=tuple(members),
        late=tuple(late),
        edges=tuple(edges),
        wire=wire,
        busy_s=draw.randint(20, 90),
        publication_ms=draw.choice([200, 1000, 5000]),
        fault_ms=draw.choice([0, 5000, 15000]),
        crashes=tuple(kinds[: draw.randint(1, 3)]),
        hops=_diameter(members, edges) if edges else 1,
        vector_bytes=draw.choice([8000, 8000, 300]),
    )


def run(seed: int) -> World:
    """Play the plan of a seed, heal, and check the promises."""
    drawn = plan(seed)
    world = World(seed)
    group = _Playing(world, drawn)
    end = world.now + drawn.busy_s * SECOND
    workload.poisson(world, group.publish, drawn.publication_ms, until=end, name="publications")
    if drawn.fault_ms:
        workload.faults(
            world,
            drawn.members,
            until=end,
            mean_ms=drawn.fault_ms,
            lasting_ms=(500, 20_000),
            crashes=drawn.crashes,
        )
    checkers.watch_bounds(world, 5000)
    world.run(until=end)
    world.heal()
    await_agreement(world, bound(drawn.settings, len(drawn.members), drawn.wire.loss, drawn.hops))
    flipped = {
        each.station for each in world.history if isinstance(each.what, Crashed) and each.what.how & Crash.FLIP_BITS
    }
    checkers.nothing_lost(world, exempt=flipped)
    checkers.nothing_invented(world)
    checkers.in_order(world)
    checkers.none_reused(world, exempt=set() if drawn.protocol == "svs3" else flipped)
    checkers.bounded(world)
    return world


class _Playing:
    """The group as the world sees it: who is there, and what they publish."""

    def __init__(self, world: World, drawn: Plan) -> None:
        self._world = world
        self._drawn = drawn
        self._draw: Random = world.draws("publications", "who")
        self._bus = None if drawn.edges else world.bus([], drawn.wire)
        for name in drawn.members:
            if name in drawn.late:
                when = world.now + int(world.draws("late", name).uniform(1, drawn.busy_s) * SECOND)
                world.at(when, lambda name=name: self._join(name))  # type: ignore[misc]
            else:
                self._join(name)

    def publish(self) -> None:
        """Have somebody announce the next number of their stream, or the next few."""
        name = self._draw.choice(self._drawn.members)
        few = self._draw.choice([1, 1, 1, 5])
        if name in self._world.stations:
            self._world.tell(name, lambda machine, now: _announce(machine, name, few, now), f"announce {few}")

    def _join(self, name: str) -> None:
        world, drawn = self._world, self._drawn
        protocol = drawn.settings
        streams = [Name.parse(f"/{name}")]
        build = on_bus(GROUP, protocol, streams) if self._bus else behind_node(GROUP, protocol, streams)
        world.add(name, build, skew_ms=world.draws("skew", name).uniform(-2000, 2000))
        if self._bus:
            world.attach(self._bus, name)
        for a, b in drawn.edges:
            if name in {a, b} and {a, b} <= world.stations.keys():
                world.wire(a, b, drawn.wire)


def _announce(machine: Any, name: str, few: int, now: int) -> list[Effect]:  # noqa: ANN401  a member on a bus or a wire
    """Announce the next numbers of a station's stream, as an application does that has just been told the last."""
    stream = Name.parse(f"/{name}")
    effects: list[Effect] = machine.act(machine.member.produce(stream, now), now)
    number = next((effect.number for effect in effects if isinstance(effect, Ready)), 0)
    if number:
        with suppress(Backpressure):  # it has to learn its own numbers first
            effects += machine.act(machine.member.announce(stream, number + few - 1, now), now)
    return effects


def await_agreement(world: World, within: int) -> int:
    """Let time pass until all agree; returns how long it took, a `Violation` if longer than `within`."""
    began = world.now
    while True:
        try:
            checkers.converged(world)
        except Violation as disagreement:
            if world.now - began >= within:
                raise Violation(f"not within {within // SECOND} s of healing: {disagreement}", world.now) from None
            world.run(for_=_STEP)
        else:
            return world.now - began


def bound(protocol: Protocol, members: int, loss: float, hops: int) -> int:
    """How long after healing all agree, but for one run in a thousand million [svs.md §4, psync.md §3, §5].

    In every round news cross each hop if one packet and its answer get through; the rounds that `hops` such successes
    take are the smallest number for which fewer successes are unlikely enough, for each of the pairs of members. A
    vector tells all that its sender knows to all who hear it; a reply of PSync answers one asker, so that news of
    everybody reach everybody in doublings, as many more as the members have.
    """
    if isinstance(protocol, SvsSettings):
        round_ms = protocol.periodic_ms * (1 + protocol.jitter) + protocol.suppression_ms
        successes = hops
    else:
        round_ms = _PSYNC_ROUND_MS
        successes = hops + (members - 1).bit_length()
    return int((rounds(successes, (1 - loss) ** 2, CHANCE / members**2) + 1) * round_ms * MS)


def rounds(successes: int, share: float, chance: float) -> int:
    """How many tries until so many succeed, unless something happens that is less likely than `chance`."""
    if share >= 1:
        return successes
    tries = max(successes, ceil(log(chance) / log(1 - share)))
    while _fewer(tries, successes, share) > chance:
        tries += 1
    return tries


def _fewer(tries: int, successes: int, share: float) -> float:
    return sum(comb(tries, each) * share**each * (1 - share) ** (tries - each) for each in range(successes))


def _edges(members: list[str], draw: Random) -> list[tuple[str, str]]:
    shape = draw.randrange(5)
    if shape == 0:
        return topology.line(members)
    if shape == 1:
        return topology.ring(members)
    if shape == 2:
        return topology.star(members)
    if shape == 3:
        return topology.tree(members)
    return topology.connected(members, draw.randint(0, len(members)), draw)


def _diameter(members: list[str], edges: list[tuple[str, str]]) -> int:
    near: dict[str, list[str]] = {name: [] for name in members}
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    longest = 0
    for start in members:
        distance = {start: 0}
        queue = [start]
        for name in queue:
            for other in near[name]:
                if other not in distance:
                    distance[other] = distance[name] + 1
                    queue.append(other)
        longest = max(longest, *distance.values())
    return longest
