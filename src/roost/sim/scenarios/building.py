"""A building under faults: repos, panels and consumers that crash and are cut off, and disks that break [NDN-PS §III].

Drawn from the seed: how many of each there are and how they are wired, what the wires do to packets, what consumers
want and by which policy, whether records carry readings, how small queues are, what is dropped when, whether panels
publish themselves or collect from modules that sleep, and which faults befall whom. Then all is healed, and within a
bound that the timers imply every promise is kept (`roost.sim.promises`).

A disk may flip bits or be replaced by an empty one. Where panels ask for two copies that happens once, and nothing may
be lost by it; where they ask for one, what was on that disk alone may.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from typing import Any, Final

from roost.errors import Backpressure
from roost.machine import MS, SECOND, Effect
from roost.naming.topic import TopicFilter
from roost.pubsub.consumer import ConsumerSettings
from roost.pubsub.panel import PanelSettings
from roost.pubsub.policy import Policy, latest, sample, sequential
from roost.pubsub.repo import RepoSettings
from roost.pubsub.wishes import Wish, Wishes
from roost.repo.record import CARRY_BYTES
from roost.repo.retention import Rule
from roost.sim import checkers, topology, workload
from roost.sim.deployment import GROUP, PANELS, rooms, streams
from roost.sim.draws import draws
from roost.sim.driver import START
from roost.sim.happened import Crash, Violation
from roost.sim.houses import consumer_house, panel_house, repo_house
from roost.sim.modules import collected, module_house
from roost.sim.promises import Promises, Subscriber
from roost.sim.wire import Wire
from roost.sim.world import World
from roost.sync.subscriptions import NameRange
from roost.wire.reading import SENML_CBOR, Reading
from roost.wire.senml import Value, encode_values

SUMMARY = "repos, panels, consumers with loss, crashes, partitions, broken disks: all kept, delivered once and in order"

MAX_LOSS: Final = 0.2
_MILD: Final = (Crash.KEEP, Crash.LOSE_UNSYNCED)
_BREAKING: Final = (Crash.LOSE_UNSYNCED | Crash.FLIP_BITS, Crash.LOSE_ALL)
_STEP: Final = 5 * SECOND
_SYNC_MS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Wanting:
    """A consumer."""

    wishes: tuple[Wish, ...]
    policy: Policy
    order: tuple[str, ...]  # of repos, the nearest first
    credit: int

    def __str__(self) -> str:
        wished = ", ".join([wish.text if isinstance(wish, TopicFilter) else str(wish) for wish in self.wishes])
        return f"{self.policy.kind} of {wished or 'all'}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a seed comes to."""

    repos: tuple[str, ...]
    line: bool  # repos stand in a line, not each beside each
    panels: dict[str, tuple[str, ...]]  # with the repos they reach
    streams: int  # of each panel
    collects: bool  # the first panel asks modules
    consumers: dict[str, Wanting]
    wire: Wire
    repo: RepoSettings
    panel: PanelSettings
    busy_s: int
    reading_ms: int  # between the readings of a panel
    burst: int  # readings of each stream at a time
    fault_ms: int  # on average between two; 0 for none
    breaks: int  # disks, at most
    skews_ms: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        shape = "in a line" if self.line else "side by side"
        consumers = "; ".join([f"{name} {wanting}" for name, wanting in self.consumers.items()])
        return (
            f"{len(self.repos)} repos {shape}, {len(self.panels)} panels with {self.streams} streams each"
            f"{' (collecting)' if self.collects else ''}, {self.panel.copies} copies, loss {self.wire.loss:.2f}, "
            f"{self.breaks} disks to break, {consumers}"
        )


def plan(seed: int) -> Plan:
    """Draw a plan."""
    draw = draws(seed, "plan")
    repos = tuple(topology.names(draw.randint(2, 4), "repo"))
    panels = PANELS[: draw.choice([1, 1, 2, 2, 3, 6])]
    consumers = topology.names(draw.randint(1, 4), "c")
    copies = draw.choice([1, 1, 2])
    rules = (Rule(TopicFilter("+/+/hum"), max_count=3),) if draw.random() < 0.15 else ()
    return Plan(
        repos=repos,
        line=draw.random() < 0.25,
        panels={name: _order(repos, draw) for name in panels},
        streams=draw.choice([3, 3, 6, 15]) if len(panels) < 6 else 3,
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
        burst=draw.choice([1, 1, 1, 5]),
        fault_ms=draw.choice([0, 3000, 8000]),
        breaks=0 if draw.random() < 0.5 else draw.randint(1, 3) if copies == 1 else 1,
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
    return Wanting(draw.choice(kinds), policy, _order(repos, draw), draw.choice([256, 256, 4]))


def run(seed: int) -> World:
    """Play the plan of a seed, heal, and check the promises."""
    drawn = plan(seed)
    building = Building(World(seed), drawn)
    world, promises = building.world, building.promises
    checkers.watch_bounds(world, 5000)
    end = world.now + drawn.busy_s * SECOND
    building.publish(until=end)
    building.break_things(until=end)
    world.run(until=end)
    world.heal()
    building.calm(bound(drawn))
    checkers.bounded(world)
    promises.follow()
    return world


class Building:
    """A plan built: its stations and wires, its readings, its faults."""

    def __init__(self, world: World, drawn: Plan) -> None:
        self.world: Final = world
        self.drawn: Final = drawn
        self.published: Final[dict[bytes, bytes]] = {}
        self._orders: Final = {name: list(wanting.order) for name, wanting in drawn.consumers.items()}
        self._modules: Final = rooms("pi1")[: max(1, drawn.streams // 3)] if drawn.collects else ()
        self._broken = 0
        self._count = 0
        for name in drawn.repos:
            world.add(
                name, repo_house(name, drawn.repo, self._beyond(name)), sync_ms=_SYNC_MS, skew_ms=self._skew(name)
            )
        world.wires(topology.line(drawn.repos) if drawn.line else combinations(drawn.repos, 2), drawn.wire)
        for name, order in drawn.panels.items():
            self._add_panel(name, order)
        for name, wanting in drawn.consumers.items():
            settings = ConsumerSettings(credit=wanting.credit)
            build = consumer_house(wanting.wishes, self._orders[name], wanting.policy, settings)
            world.add(name, build, sync_ms=_SYNC_MS, skew_ms=self._skew(name))
            world.wires([(name, repo) for repo in wanting.order], drawn.wire)
        self.promises: Final = Promises(
            world,
            drawn.repos,
            self.published,
            {name: Subscriber(Wishes(GROUP.name, each.wishes), each.policy) for name, each in drawn.consumers.items()},
            sync_ms=_SYNC_MS,
            prunes=bool(drawn.repo.retention),
            may_lose=drawn.panel.copies == 1 and drawn.breaks > 0,
        )

    def _skew(self, name: str) -> float:
        return self.drawn.skews_ms.get(name, 0.0)

    def _beyond(self, name: str) -> dict[str, tuple[str, ...]]:
        if not self.drawn.line:
            return {}
        repos = self.drawn.repos
        at = repos.index(name)
        return {each: repos[:at] if each == repos[at - 1] else repos[at + 1 :] for each in repos if each != name}

    def _add_panel(self, name: str, order: tuple[str, ...]) -> None:
        world, drawn = self.world, self.drawn
        asked = [collected(name, room) for room in self._modules] if name == "pi1" else []
        build = panel_house(name, order, drawn.panel, published=self.published, modules=asked)
        world.add(name, build, sync_ms=_SYNC_MS, skew_ms=self._skew(name))
        world.wires([(name, repo) for repo in order], drawn.wire)
        if asked:
            for room in self._modules:
                world.add(room, module_house(room, awake_ms=12_000, period_ms=20_000))
                world.wire(name, room, drawn.wire)

    # -- readings

    def publish(self, *, until: int) -> None:
        """Have panels publish in their rhythm."""
        for name in self.drawn.panels:
            if not (name == "pi1" and self._modules):
                workload.periodic(self.world, lambda name=name: self._read(name), self.drawn.reading_ms, until=until)  # type: ignore[misc]

    def _read(self, name: str) -> None:
        """Read all sensors of a panel."""

        def publish(house: Any, now: int) -> list[Effect]:  # noqa: ANN401  a panel
            effects: list[Effect] = []
            for stream in streams(name)[: self.drawn.streams]:
                for _ in range(self.drawn.burst):
                    with suppress(Backpressure):
                        effects += house.act(house.part.publish(stream, self._reading(now), now), now)
            return effects

        self.world.tell(name, publish, "read")

    def _reading(self, now: int) -> Reading:
        self._count += 1
        return Reading(now, SENML_CBOR, encode_values([Value(float(self._count), "Cel")]))

    # -- faults

    def break_things(self, *, until: int) -> None:
        """Let faults come."""
        if self.drawn.fault_ms:
            faults = _Faults(self, until)
            workload.poisson(self.world, faults.strike, self.drawn.fault_ms, until=until, name="faults")

    def break_disk(self, repo: str, how: Crash) -> None:
        """Crash a repo whose disk does not survive it unharmed."""
        before = self.promises.on_disks([repo])
        self.world.crash(repo, how)
        self.promises.broke(before)

    def turn_round(self, consumer: str) -> None:
        """Have a consumer prefer another repo from its next start on."""
        order = self._orders[consumer]
        order.append(order.pop(0))

    # -- when all is healed

    def calm(self, within: int) -> int:
        """Let time pass until all that was promised is there; returns how long it took."""
        began = self.world.now
        while True:
            try:
                self.promises.follow()
                self._check()
            except Violation as disagreement:
                if self.world.now - began >= within:
                    text = f"not within {within // SECOND} s of healing: {disagreement}"
                    raise Violation(text, self.world.now) from None
                self.world.run(for_=_STEP)
            else:
                return self.world.now - began

    def _check(self) -> None:
        for name in self.drawn.panels:
            waiting = len(self.world.machine(name).part.outbox)
            if waiting:
                raise Violation(f"{waiting} readings of {name} are not acknowledged", self.world.now)
        lost = self.promises.lost()
        self.promises.kept(lost)
        self.promises.delivered(lost)


class _Faults:
    """Crashes and partitions, each mended after a while, and all by the end."""

    def __init__(self, building: Building, until: int) -> None:
        self._building: Final = building
        self._world: Final = building.world
        self._until: Final = until
        self._draw: Final = building.world.draws("faults", "which")
        self._left = building.drawn.breaks

    def strike(self) -> None:
        """Let one fault come."""
        self._draw.choice([self._crash_repo, self._crash_other, self._crash_consumer, self._part])()

    def _mended(self) -> int:
        return min(self._until, self._world.now + round(self._draw.uniform(500, 20_000) * MS))

    def _crash(self, name: str, how: Crash) -> None:
        if how in _BREAKING:
            self._left -= 1
            self._building.break_disk(name, how)
        else:
            self._world.crash(name, how)
        self._world.at(self._mended(), lambda: self._world.restart(name))

    def _up(self, names: Any) -> list[str]:  # noqa: ANN401  names of stations
        return [name for name in names if self._world.stations[name].up]

    def _crash_repo(self) -> None:
        up = self._up(self._building.drawn.repos)
        if up:
            kinds = _MILD + (_BREAKING * 2 if self._left else ())
            self._crash(self._draw.choice(up), self._draw.choice(kinds))

    def _crash_other(self) -> None:
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
    """How long after healing everything is as it was promised."""
    return (600 + drawn.busy_s) * SECOND
