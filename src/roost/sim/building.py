"""A building put together: a plan of repos, panels and consumers, built as stations, with readings, checks and an end.

    building = Building(World(1), Plan(panels={"pi1": REPOS}, consumers={"c1": Wanting(order=REPOS)}))
    building.publish(until=building.world.now + 30 * SECOND)
    building.world.run(for_=30 * SECOND)
    building.calm(60 * SECOND)       until every promise is kept (`roost.sim.promises`), a `Violation` if that is later

For stories, and for the family `building`, which draws its plans from seeds.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final

from roost.errors import Backpressure
from roost.machine import SECOND, Effect
from roost.naming.topic import TopicFilter
from roost.pubsub.consumers.consumer import ConsumerSettings
from roost.pubsub.consumers.policy import Policy, sequential
from roost.pubsub.consumers.wishes import Wish, Wishes
from roost.pubsub.panels.panel import PanelSettings
from roost.pubsub.repos.repo import RepoSettings
from roost.sim import topology, workload
from roost.sim.deployment import GROUP, REPOS, rooms, streams
from roost.sim.happened import Crash, Violation
from roost.sim.houses import consumer_house, panel_house, repo_house
from roost.sim.modules import collected, module_house
from roost.sim.promises import Promises, Subscriber
from roost.sim.wire import Wire
from roost.sim.world import World
from roost.wire.reading import SENML_CBOR, Reading
from roost.wire.senml import Value, encode_values

_STEP: Final = 5 * SECOND
_SYNC_MS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanting:
    """A consumer."""

    wishes: tuple[Wish, ...] = ()
    policy: Policy = field(default_factory=lambda: sequential().since(number=1))
    order: tuple[str, ...]  # of repos, the nearest first
    credit: int = 256

    def __str__(self) -> str:
        wished = ", ".join([wish.text if isinstance(wish, TopicFilter) else str(wish) for wish in self.wishes])
        since = " from the start" if self.policy.from_time else f" from {self.policy.from_number or 'now'}"
        return f"{self.policy.kind} of {wished or 'all'}{since}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A building, and what is to happen in it."""

    repos: tuple[str, ...] = REPOS
    line: bool = False  # repos stand in a line, not each beside each
    panels: dict[str, tuple[str, ...]]  # with the repos they reach, the nearest first
    streams: int = 3  # of each panel
    collects: bool = False  # the first panel asks modules
    consumers: dict[str, Wanting] = field(default_factory=dict)
    wire: Wire = field(default_factory=Wire)
    repo: RepoSettings = field(default_factory=RepoSettings)
    panel: PanelSettings = field(default_factory=PanelSettings)
    busy_s: int = 30
    reading_ms: int = 1000  # between the readings of a panel
    burst: int = 1  # readings of each stream at a time
    fault_ms: int = 0  # on average between two; 0 for none
    breaks: int = 0  # disks, at most
    sync_ms: float = _SYNC_MS  # that the disks of repos and panels take
    skews_ms: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        shape = "in a line" if self.line else "side by side"
        consumers = "; ".join([f"{name} {wanting}" for name, wanting in self.consumers.items()])
        return (
            f"{len(self.repos)} repos {shape}, {len(self.panels)} panels with {self.streams} streams each"
            f"{' (collecting)' if self.collects else ''}, {self.panel.copies} copies, loss {self.wire.loss:.2f}, "
            f"{self.breaks} disks to break; {consumers}"
        )


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
            build = repo_house(name, drawn.repo, self._beyond(name))
            world.add(name, build, sync_ms=drawn.sync_ms, skew_ms=self._skew(name))
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
        world.add(name, build, sync_ms=self.drawn.sync_ms, skew_ms=self._skew(name))
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

    def silence_modules(self) -> None:
        """Take the modules away, which otherwise never stop measuring."""
        for room in self._modules:
            self.world.crash(room)

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
            self.promises.follow()
            try:
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
