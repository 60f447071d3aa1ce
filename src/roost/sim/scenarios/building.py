"""A building under faults: repos, panels and consumers that crash and are cut off, and disks that break [NDN-PS §III].

Drawn from the seed: how many of each there are and how they are wired, what the wires do to packets, what consumers
want and by which policy, whether records carry readings, how small queues are, what is dropped when, whether panels
publish themselves or collect from modules that sleep, and which faults befall whom. Then all is healed, and within a
bound that the timers imply every promise is kept (`roost.sim.promises`).

A disk may flip bits or be replaced by an empty one. Where panels ask for two copies that happens once, and nothing may
be lost by it; where they ask for one, what was on that disk alone may.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Final

from roost.machine import MS, SECOND
from roost.naming.topic import TopicFilter
from roost.pubsub.commanding import LIFETIME_MS
from roost.pubsub.consumers.policy import latest, sample, sequential
from roost.pubsub.consumers.wishes import Wish
from roost.pubsub.panels.dispatch import MAX_PAUSE
from roost.pubsub.panels.panel import PanelSettings
from roost.pubsub.repos.anti_entropy import GRACE, PAUSE
from roost.pubsub.repos.comparison import EVERY
from roost.pubsub.repos.repo import RepoSettings
from roost.repo.record import CARRY_BYTES
from roost.repo.retention import Rule
from roost.sim import checkers, topology, workload
from roost.sim.building import Building, Plan, Wanting
from roost.sim.deployment import GROUP, PANELS, streams
from roost.sim.draws import draws
from roost.sim.driver import START
from roost.sim.happened import Crash
from roost.sim.scenarios.sync import CHANCE, rounds
from roost.sim.wire import Wire
from roost.sim.world import World
from roost.sync.subscriptions import NameRange

SUMMARY = "repos, panels, consumers with loss, crashes, partitions, broken disks: all kept, delivered once and in order"

MAX_LOSS: Final = 0.2
_MILD: Final = (Crash.KEEP, Crash.LOSE_UNSYNCED)
_BREAKING: Final = (Crash.LOSE_UNSYNCED | Crash.FLIP_BITS, Crash.LOSE_ALL)


def plan(seed: int) -> Plan:
    """Draw a plan."""
    draw = draws(seed, "plan")
    repos = tuple(topology.names(draw.randint(2, 4), "repo"))
    panels = PANELS[: draw.choice([1, 1, 2, 2, 3, 6])]
    consumers = topology.names(draw.randint(1, 4), "c")
    copies = draw.choice([1, 1, 2])
    streams_each = draw.choice([3, 3, 6, 15]) if len(panels) < 6 else 3
    rules = (Rule(TopicFilter("+/+/hum"), max_count=3),) if draw.random() < 0.15 else ()
    return Plan(
        repos=repos,
        line=draw.random() < 0.25,
        panels={name: _order(repos, draw) for name in panels},
        streams=streams_each,
        collects=draw.random() < 0.2,
        consumers={name: _wanting(repos, panels, draw) for name in consumers},
        wire=Wire(
            delay_ms=draw.uniform(0.5, 30),
            jitter_ms=draw.choice([0, 0, 20]),
            loss=draw.choice([0.0, draw.uniform(0, 0.05), draw.uniform(0, MAX_LOSS)]),
            duplicate=draw.choice([0, 0, 0.1]),
            reorder=draw.choice([0, 0, 0.1]),
        ),
        repo=RepoSettings(carry_bytes=draw.choice([CARRY_BYTES, CARRY_BYTES, 0]), retention=rules),
        panel=PanelSettings(copies=copies, max_entries=draw.choice([100_000, 100_000, 40]), window=draw.choice([8, 2])),
        busy_s=draw.randint(15, 60),
        reading_ms=draw.choice([2000, 5000, 10_000]),
        burst=draw.choice([1, 1, 1, 5]) if streams_each < 15 else 1,
        fault_ms=draw.choice([0, 3000, 8000]),
        breaks=0 if draw.random() < 0.5 else draw.randint(1, 3) if copies == 1 else 1,
        sync_ms=draw.choice([2, 2, 200]),
        skews_ms={name: draw.uniform(-2000, 2000) for name in (*repos, *panels, *consumers)},
    )


def _order(repos: tuple[str, ...], draw: Random) -> tuple[str, ...]:
    """The repos somebody is wired to, the nearest first: mostly all."""
    count = len(repos) if draw.random() < 0.8 else draw.randint(1, len(repos))
    return tuple(draw.sample(repos, count))


def _wanting(repos: tuple[str, ...], panels: tuple[str, ...], draw: Random) -> Wanting:
    kinds: list[tuple[Wish, ...]] = [
        (),
        (TopicFilter("+/+/temp"),),
        (TopicFilter("+/#"), GROUP.name / panels[0]),
        (GROUP.name / draw.choice(panels), TopicFilter("+/room1/+")),
        (NameRange(streams(panels[0])[1], streams(panels[-1])[2]),),
    ]
    policy = draw.choice([sequential()] * 5 + [latest(), sample(3)])
    beginning = draw.choice([0, 1, 1, 2, 2, 3])
    if beginning == 1 or (beginning == 2 and policy.kind != sequential().kind):
        policy = policy.since(number=1)
    elif beginning == 2:
        policy = policy.since(time_ns=START)
    elif beginning == 3:
        policy = policy.since(number=3)
    return Wanting(
        wishes=draw.choice(kinds), policy=policy, order=_order(repos, draw), credit=draw.choice([256, 256, 16])
    )


def run(seed: int) -> World:
    """Play the plan of a seed, heal, and check the promises."""
    drawn = plan(seed)
    building = Building(World(seed), drawn)
    world, promises = building.world, building.promises
    checkers.watch_bounds(world, 5000)
    end = world.now + drawn.busy_s * SECOND
    building.publish(until=end)
    if drawn.fault_ms:
        faults = _Faults(building, until=end)
        workload.poisson(world, faults.strike, drawn.fault_ms, until=end, name="faults")
    world.run(until=end)
    world.heal()
    building.silence_modules()
    building.calm(bound(drawn))
    checkers.bounded(world)
    promises.follow()
    return world


class _Faults:
    """Crashes and partitions, each mended after a while, and all by the end."""

    def __init__(self, building: Building, *, until: int) -> None:
        self._building: Final = building
        self._world: Final = building.world
        self._until: Final = until
        self._draw: Final = building.world.draws("faults", "which")
        self._left = building.drawn.breaks

    def strike(self) -> None:
        """Let one fault come."""
        self._draw.choice([self._crash_repo, self._crash_panel, self._crash_consumer, self._part])()

    def _mended(self) -> int:
        return min(self._until, self._world.now + round(self._draw.uniform(500, 20_000) * MS))

    def _crash(self, name: str, how: Crash) -> None:
        if how in _BREAKING:
            self._left -= 1
            self._building.break_disk(name, how)
        else:
            self._world.crash(name, how)
        self._world.at(self._mended(), lambda: self._world.restart(name))

    def _up(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if self._world.stations[name].up]

    def _crash_repo(self) -> None:
        up = self._up(self._building.drawn.repos)
        if up:
            kinds = _MILD + (_BREAKING * 2 if self._left else ())
            self._crash(self._draw.choice(up), self._draw.choice(kinds))

    def _crash_panel(self) -> None:
        up = self._up(self._building.drawn.panels)
        if up:
            self._crash(self._draw.choice(up), self._draw.choice(_MILD))

    def _crash_consumer(self) -> None:
        up = self._up(self._building.drawn.consumers)
        if up:
            name = self._draw.choice(up)
            if self._draw.random() < 0.3:
                self._building.turn_round(name)
            self._crash(name, self._draw.choice(_MILD))

    def _part(self) -> None:
        names = [*self._building.drawn.repos, *self._building.drawn.panels, *self._building.drawn.consumers]
        if any(station.group for station in self._world.stations.values()):
            return
        shuffled = self._draw.sample(names, len(names))
        cut = self._draw.randint(1, len(names) - 1)
        self._world.partition(shuffled[:cut], shuffled[cut:])
        self._world.at(self._mended(), self._world.heal)


def bound(drawn: Plan) -> int:
    """How long after healing everything is as it was promised, but for one run in a thousand million.

    A panel that found no repo pauses for half a minute at most. A pause that doubles, of who missed a record or a
    reading, has become as long as the faults lasted; a hole that is left is looked at and asked for a little later.
    From then on what is sent gets through sooner or later: a reading and its receipt, news, a record, the reading. What
    a repo took in while it was alone with an empty disk may be under record numbers that others know already; then it
    shows when holdings are compared, with one repo after the other.
    """
    exchanges = rounds(4, (1 - drawn.wire.loss) ** 2, CHANCE) * LIFETIME_MS * MS
    compared = (len(drawn.repos) - 1) * EVERY * 3 // 2 if drawn.breaks else 0
    return MAX_PAUSE + drawn.busy_s * SECOND + GRACE + PAUSE + exchanges + compared
