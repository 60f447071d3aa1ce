"""The campus, running: who is started in which order, who publishes when, and who keeps count.

    climate ──▶ panels ──▶ repos ◀──▶ centre ──▶ page, dashboard
       └──▶ modules ──▶ gates ──line──┘   └ macros, roles
                        repos ◀──▶ pipeline on Spark

Time runs faster in the climate than on the clock (`SPEED`), so that a day at the campus passes while somebody looks on;
readings carry the time of the clock.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roost.cli.demo.annex import Annex
from roost.cli.demo.breaks import Breaks
from roost.cli.demo.centre import MANAGER, Centre
from roost.cli.demo.damage import damaged
from roost.cli.demo.forgeries import Forgeries
from roost.cli.demo.guide import advice, guide
from roost.cli.demo.hall import CATCH_UP_S, Copies, Hall
from roost.cli.demo.harm import LASTS_S, CorruptBlock, CutBuilding, Forge, KillRepo, store_of
from roost.cli.demo.journal import Journal
from roost.cli.demo.keys import Keys
from roost.cli.demo.levels import START_S, Levels, PipelineProcess, hindrance, open_levels, traced
from roost.cli.demo.line import Line
from roost.cli.demo.processes import GateProcess, RepoProcess, all_started, free_ports, given_up, port_from
from roost.cli.demo.promises import Measured, Promise
from roost.cli.demo.wing import DemoDesk
from roost.errors import RoostError
from roost.sim import deployment
from roost.sim.physics import Badge, Climate

SPEED: Final = 60.0  # seconds of the climate per second
LOOK_S: Final = 2.0
SEED: Final = 2026


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is asked for."""

    http_port: int = 8080
    mqtt_port: int = 1883
    every_s: float = 2.0  # between two readings of a stream
    lasts_s: float = LASTS_S  # how long something stays broken by itself
    seed: int = SEED
    with_pipeline: bool = True


class Campus:
    """Everything there is."""

    def __init__(self, settings: Settings, folder: Path, journal: Journal) -> None:
        self.journal: Final = journal
        self.promises: Final[list[Promise]] = []
        self.levels: Levels | None = None
        self._settings: Final = settings
        self._folder: Final = folder
        self._keys: Final = Keys()
        ports = iter(free_ports(len(deployment.REPOS) + 2 * len(deployment.GATES) + 1))
        http_port, mqtt_port = port_from(settings.http_port), port_from(settings.mqtt_port)
        keys = self._keys
        self._repo_ports: Final = [next(ports) for _ in deployment.REPOS]
        self.repos: Final = [
            RepoProcess(name, folder, port, keys) for name, port in zip(deployment.REPOS, self._repo_ports, strict=True)
        ]
        self.gates: Final = [GateProcess(name, folder, next(ports), next(ports), keys) for name in deployment.GATES]
        self.centre: Final = Centre(keys, folder, http_port, mqtt_port, next(ports))
        rooms = [room for panel in deployment.PANELS for room in deployment.rooms(panel)]
        self._climate: Final = Climate([*rooms, *deployment.annex_topics()], settings.seed)
        self._badge: Final = Badge(settings.seed)
        self.hall: Final = Hall(self._climate)
        self.annex: Final = Annex(self.gates, self._climate, self._badge)
        self.line: Final = Line(self._repo_ports)
        self.copies: Final = Copies(self.hall, self.repos)
        self.forgeries: Final = Forgeries(self.hall, self.repos)
        self.damaged = 0
        self.unchecked = ""  # why there is no pipeline whose results could be checked
        self._publishing: Final[list[asyncio.Task[None]]] = []
        self.failed: Final = asyncio.get_running_loop().create_future()  # an error that ends the demo
        lasts_s = settings.lasts_s
        self.breaks: Final = Breaks(
            [
                KillRepo(journal, lasts_s, self.repos, self.copies),
                CutBuilding(journal, lasts_s, self.line, self.annex),
                CorruptBlock(journal, lasts_s, self.repos, self.hall, self._count_damage),
                Forge(journal, keys, self.repos, self.forgeries.judge),
            ]
        )

    async def open(self, stack: AsyncExitStack) -> None:
        """Start all of it, the slowest last."""
        say, keys = self.journal.say, self._keys
        say("trust", f"anchor {keys.anchor.name}; a key for each repo, panel and gate, certified by building and group")
        for node in (*self.repos, *self.gates):
            stack.push_async_callback(node.stop)
        await self.line.open()
        stack.push_async_callback(self.line.close)
        gates = await self._start_nodes()
        stack.push_async_callback(given_up, gates)
        self._promise()
        desk = DemoDesk(self.breaks, self.promises, self.journal, guide(self.centre, SPEED))
        uplinks = [repo.uri for repo in self.repos]
        await stack.enter_async_context(self.centre.running(uplinks, desk.builder()))
        stack.push_async_callback(self.breaks.close)
        say("page", f"{self.centre.http}  (the whole campus; MQTT for everybody on port {self.centre.mqtt_port})")
        await self.hall.open(keys, self.repos, self._folder, stack)
        self._publishing.append(self._spawn(stack, self._live()))
        self._spawn(stack, self.hall.consume())
        self._spawn(stack, self._look())
        await gates
        for gate in self.gates:
            say("gate", f"{gate.name} runs as process {gate.pid}: MQTT for the annex on port {gate.port}")
        login = (MANAGER, self.centre.passwords[MANAGER])
        await self.annex.open(self.centre.mqtt_port, login, stack)
        say("annex", f"{len(deployment.annex_topics())} rooms publish over MQTT to two gates, across one line")
        self._publishing.append(self._spawn(stack, self._live_annex()))
        count = await self.hall.describe(self.repos, round(1000 * self._settings.every_s))
        say("hall", f"6 panels, 30 rooms, {count} streams with unit, Brick class and interval; every repo knows them")
        for line in advice(self.centre, list(self.breaks.all)):
            say("try", line)
        self.unchecked = hindrance() if self._settings.with_pipeline else "--no-pipeline leaves Spark out"
        if self._settings.with_pipeline and self.unchecked:
            say("spark", f"no pipeline this time: {self.unchecked}")
        if not self.unchecked:
            pipeline = PipelineProcess(keys, self._folder, self.centre.home, self.repos, say)
            stack.push_async_callback(pipeline.stop)
            say("spark", "starts in the background: raw readings → rooms → floors → building → campus")
            await pipeline.start()
            self.levels = await open_levels(keys, self.repos, stack, say, pipeline.check)
            text = "windows of the pipeline are complete, or are corrected when what was late is there"
            self.promises.append(Promise("windows", text, self.levels.measured))

    async def settle(self) -> None:
        """Publish no more; wait until nothing is broken and all that was acknowledged is everywhere, or long enough."""
        for task in self._publishing:
            task.cancel()
        try:
            async with asyncio.timeout(CATCH_UP_S):
                await self.breaks.calm()
                await self.hall.finish()
                while self.annex.unsafe or any(promise.measure().missing for promise in self.promises):
                    await self.copies.look()
                    await asyncio.sleep(0.1)
        except (TimeoutError, RoostError) as error:
            self.journal.say("late", f"not everything came within {CATCH_UP_S:g} s: {error}")

    async def results(self) -> tuple[bool, str]:
        """Wait for windows of the campus, one of them from after the last break; trace it back, if a run checks."""
        assert self.levels is not None  # noqa: S101  asked only with a pipeline
        async with asyncio.timeout(START_S):
            while not self.levels.is_whole_since(self.breaks.over_ns):
                self.levels.look()
                if self.levels.ended:
                    return False, self.levels.ended
                await asyncio.sleep(0.2)
        assert self.levels.newest is not None  # noqa: S101  it is whole
        return await traced(self._keys, self.levels.newest, self.repos)

    async def disks(self) -> tuple[bool, str]:
        """Stop the repos, and look for every acknowledged reading of the hall on each of their disks."""
        wanted = self.hall.safe
        lost: dict[str, int] = {}
        first = ""
        for repo in self.repos:
            await repo.stop()
            found = await asyncio.to_thread(damaged, store_of(repo), wanted)
            lost[repo.name] = len(found)
            first = f"{found[0][0]}/seq={found[0][1]}" if found else first
        told = ", ".join(f"{name} lacks {count}" for name, count in lost.items())
        told += f"; {first} first" if first else ""
        return not any(
            lost.values()
        ), f"of {sum(wanted.values())} readings, each of which was read from the disk: {told}"

    def status(self) -> str:
        """One line."""
        hall, annex = self.hall.measured(), self.annex.measured()
        late = max(self.hall.lateness_ms, default=0.0)
        return (
            f"{sum(self.hall.seen.values())} readings of the hall consumed ({hall.missing} on their way, up to "
            f"{late:.0f} ms late), {self.annex.dashboard.arrived.count} of the annex ({annex.missing} on their way)"
        )

    async def _start_nodes(self) -> asyncio.Task[None]:
        """All of them at a time: who is linked to somebody that is not there yet dials. Gates are not waited for."""
        say = self.journal.say
        lines = [f"tcp4://127.0.0.1:{port}" for port in self.line.ports]
        starts = [repo.start([other for other in self.repos if other is not repo]) for repo in self.repos]
        await all_started(starts)
        for repo in self.repos:
            say("repo", f"{repo.name} runs as process {repo.pid} on {repo.uri}")
        starts = [gate.start([*lines, *[each.uri for each in self.gates if each is not gate]]) for gate in self.gates]
        return asyncio.create_task(all_started(starts))

    def _promise(self) -> None:
        self.promises.extend(
            [
                Promise(
                    "once-in-order",
                    "every acknowledged reading reaches a consumer exactly once, in order and as it was measured",
                    self.hall.measured,
                ),
                Promise("nothing-forged", "nothing forged is stored or delivered", self.forgeries.measured),
                Promise("replicated", "every repo has every acknowledged reading", self.copies.measured),
                Promise("mqtt", "every acknowledged MQTT message reaches the dashboard", self.annex.measured),
                Promise("repaired", "what a disk damages is found and repaired", self._damage),
            ]
        )

    def _count_damage(self, count: int) -> None:
        self.damaged = count

    def _damage(self) -> Measured:
        it = self.breaks.all[CorruptBlock.id]
        detail = f"{it.done} times damaged and repaired, {self.damaged} readings damaged at the moment"
        return Measured(it.failed, self.damaged, 0.0, detail)

    async def _live(self) -> None:
        """Let time pass, and the hall publish."""
        begun = time.monotonic()
        for turn in range(1, 1 << 62):
            await self.hall.publish()
            wait = begun + turn * self._settings.every_s - time.monotonic()
            await asyncio.sleep(max(0.0, wait))
            self._climate.step(self._settings.every_s * SPEED)
            self._badge.step(self._settings.every_s)

    async def _live_annex(self) -> None:
        while True:
            self.annex.publish()
            await asyncio.sleep(self._settings.every_s)

    async def _look(self) -> None:
        while True:
            await self.copies.look()
            if self.levels is not None:
                self.levels.look()
            await asyncio.sleep(LOOK_S)

    def _spawn(self, stack: AsyncExitStack, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        def ended(task: asyncio.Task[None]) -> None:
            error = None if task.cancelled() else task.exception()
            if error is not None and not self.failed.done():
                self.failed.set_exception(error)

        task = asyncio.create_task(work)
        task.add_done_callback(ended)
        stack.callback(task.cancel)
        return task
