"""The story: readings flow, the repo in use is killed, readings flow on, it comes back and catches up.

Then a gate of the annex next door, whose devices speak MQTT (`annex`), is killed and stays away. Meanwhile Spark
starts, and turns the readings of the hall into results for rooms, floors, the building and the campus (`levels`).
"""

from __future__ import annotations

import asyncio
import math
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.demo.annex import Annex
from roost.cli.demo.keys import Keys
from roost.cli.demo.levels import PipelineProcess, is_possible, show
from roost.cli.demo.processes import GateProcess, RepoProcess, all_started, free_ports
from roost.errors import RoostError
from roost.host.client import connect
from roost.naming import Name
from roost.repo.catalogue import catalogue_of
from roost.sim import deployment

if TYPE_CHECKING:
    from roost.host.publishing import RunningPanel
    from roost.host.streams import StreamGroup
    from roost.pubsub.consumers.arrival import Arrival

ROUND_S: Final = 0.5  # the hall samples every 10 s; nobody wants to watch that
CATCH_UP_S: Final = 60.0
ANNEX_EVERY: Final = 4  # rounds, while Spark wants the processors
WISH: Final = "+/+/temp"


class Seen:
    """What the consumer got: every reading has to be the next of its stream."""

    def __init__(self) -> None:
        self.last: Final[dict[Name, int]] = {}
        self.lateness_ms: list[float] = []
        self.wrong = 0

    def take(self, reading: Arrival) -> None:
        """Check one."""
        if reading.number != self.last.get(reading.stream, 0) + 1:
            self.wrong += 1
        self.last[reading.stream] = reading.number
        self.lateness_ms.append(reading.lateness_ns / 1e6)

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self.last.values())


async def tell(rounds: int, *, with_pipeline: bool) -> int:
    """Tell it; returns the status to exit with."""
    with tempfile.TemporaryDirectory(prefix="roost-demo-") as folder:
        async with AsyncExitStack() as stack:
            return await _tell(rounds, Path(folder), stack, with_pipeline=with_pipeline)


async def _tell(rounds: int, folder: Path, stack: AsyncExitStack, *, with_pipeline: bool) -> int:
    keys = Keys()
    _say("trust", f"anchor {keys.anchor.name}; a key for each repo and each panel, certified by hall and group")
    repos, gates = await _start_nodes(keys, folder, stack)
    annex = Annex(gates, _say)
    stack.callback(annex.close)
    await annex.open()
    panels = await _open_panels(keys, repos, folder, stack)
    pipeline = PipelineProcess(keys, folder, repos, _say) if with_pipeline and is_possible(_say) else None
    if pipeline is not None:
        stack.push_async_callback(pipeline.stop)
        _say("spark", "starts in the background: raw readings → rooms → floors → building → campus")
        await pipeline.start()
    seen = Seen()
    consumer = await stack.enter_async_context(connect([repo.uri for repo in repos], verifier=keys.verifier()))
    group = consumer.group(deployment.GROUP.name)
    await _describe(panels, group, repos)
    await annex.settle(consumer.group(deployment.ANNEX.name))
    subscription = await stack.enter_async_context(group.subscribe(WISH, since=1))
    _say("consume", f"{WISH}: 30 of the 90 streams, nearest repo {repos[0].name}, every reading once and in order")

    async def consume() -> None:
        async for reading in subscription:
            seen.take(reading)

    consuming = asyncio.create_task(consume())
    stack.callback(consuming.cancel)
    kill_at, back_at = max(1, rounds // 3), max(2, 2 * rounds // 3)
    for number in range(1, rounds + 1):
        if number == kill_at + 1:
            _say("KILL", f"kill -9 {repos[0].pid}: {repos[0].name}, which the consumer and two panels use, is gone")
            await repos[0].kill()
        if number == back_at + 1:
            await repos[0].start(repos[1:])
            _say("restart", f"{repos[0].name} is back as process {repos[0].pid}, catches up and is the nearest again")
        annex.publish(number)
        if number == back_at + 1:
            await annex.lose_gate()
        await _publish(panels, number)
        await asyncio.sleep(ROUND_S)
        late = f"the last ones up to {max(seen.lateness_ms[-30:], default=0.0):.0f} ms late"
        under_way = 30 * number - seen.count
        _say(f"round {number}", f"{90 * number} published, {seen.count} consumed, {under_way} on their way, {late}")
        annex.tell()
        if number == 1:
            annex.show()
    annex.invite()
    shown = True
    if pipeline is not None:

        async def go_on() -> None:
            nonlocal rounds
            rounds += 1
            if rounds % ANNEX_EVERY == 0:
                annex.publish(rounds)
            await _publish(panels, rounds)
            await asyncio.sleep(ROUND_S)

        shown = await show(keys, repos, pipeline, go_on, stack, _say)
    kept = await _ending(rounds, keys, repos, panels, seen, stack)
    kept = await annex.ending(90 * rounds) and kept and shown
    if kept:
        _say("done", "nothing that was acknowledged is lost, every repo has it all, and the forgery was refused")
        return 0
    _say("FAILED", "see above for what is missing, out of order or accepted and should not be")
    return 1


async def _start_nodes(keys: Keys, folder: Path, stack: AsyncExitStack) -> tuple[list[RepoProcess], list[GateProcess]]:
    ports = iter(free_ports(len(deployment.REPOS) + 2 * len(deployment.GATES)))
    repos = [RepoProcess(name, folder, next(ports), keys) for name in deployment.REPOS]
    gates = [GateProcess(name, folder, next(ports), next(ports), keys) for name in deployment.GATES]
    for node in (*repos, *gates):
        stack.push_async_callback(node.stop)
    await all_started([repo.start([other for other in repos if other is not repo]) for repo in repos])
    for repo in repos:
        _say("repo", f"{repo.name} runs as process {repo.pid} on {repo.uri}, its store in {repo.home.name}/store")
    await all_started([gate.start(repos) for gate in gates])
    for gate in gates:
        _say("gate", f"{gate.name} runs as process {gate.pid}: MQTT for the annex on port {gate.port}")
    return repos, gates


async def _open_panels(
    keys: Keys, repos: Sequence[RepoProcess], folder: Path, stack: AsyncExitStack
) -> dict[str, RunningPanel]:
    panels: dict[str, RunningPanel] = {}
    for index, name in enumerate(deployment.PANELS):
        nearest = [repos[(index // 2 + turn) % len(repos)].uri for turn in range(len(repos))]
        face = await stack.enter_async_context(
            connect(nearest, verifier=keys.verifier(), signer=keys.of(deployment.panel(name).name))
        )
        opening = face.group(deployment.GROUP.name).panel(name, folder=folder / name)
        panels[name] = await stack.enter_async_context(opening)
        floor, first = deployment.floor_of(name), repos[index // 2 % len(repos)].name
        _say("panel", f"{name} on floor {floor}: {len(deployment.rooms(name))} rooms, 15 streams, nearest repo {first}")
    return panels


async def _describe(panels: dict[str, RunningPanel], group: StreamGroup, repos: Sequence[RepoProcess]) -> None:
    """Have the panels say what they measure, and wait until every repo has heard it: then they know each other."""
    for name, panel in panels.items():
        for each in deployment.descriptions(name):
            await panel.describe(each.stream, unit=each.unit, brick=each.brick, interval_ms=each.interval_ms)
    wanted = {catalogue_of(panel.name): 15 for panel in panels.values()}
    for repo in repos:
        async with asyncio.timeout(CATCH_UP_S):
            while not wanted.items() <= (await group.streams(repo=repo.name)).items():  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    known = len(await group.catalogue())
    _say("describe", f"{known} streams with unit, Brick class and interval, which every repo has by now")


async def _publish(panels: dict[str, RunningPanel], number: int) -> None:
    """One reading of each of the ninety streams, as sensors might give them."""
    for name, panel in panels.items():
        readings = [
            (stream, panel.reading(_value(stream, number), unit=deployment.UNITS[stream.at(-1).value.decode()]))
            for stream in deployment.streams(name)
        ]
        await panel.publish_many(readings)


def _value(stream: Name, number: int) -> float:
    middle = {"temp": 21.0, "hum": 45.0, "light": 400.0}[stream.at(-1).value.decode()]
    return round(middle * (1 + 0.05 * math.sin(number / 5 + len(str(stream)))), 2)


async def _ending(
    rounds: int,
    keys: Keys,
    repos: Sequence[RepoProcess],
    panels: dict[str, RunningPanel],
    seen: Seen,
    stack: AsyncExitStack,
) -> bool:
    await asyncio.gather(*[panel.flush() for panel in panels.values()])
    _say("panels", f"every one of the {90 * rounds} readings has a receipt that a repo signed")
    reader = await stack.enter_async_context(connect([repo.uri for repo in repos], verifier=keys.verifier()))
    group = reader.group(deployment.GROUP.name)
    wanted = dict.fromkeys(deployment.all_streams(), rounds)
    began = time.monotonic()
    held: dict[str, dict[Name, int]] = {}
    while time.monotonic() - began < CATCH_UP_S:
        for repo in repos:
            found = await group.streams(repo=repo.name)
            held[repo.name] = {stream: number for stream, number in found.items() if stream in wanted}
        if seen.count == 30 * rounds and all(each == wanted for each in held.values()):
            break
        await asyncio.sleep(0.1)
    for name, streams in held.items():
        _say("repo", f"{name} holds {sum(streams.values())} readings of {len(streams)} streams")
    whole = all(each == wanted for each in held.values())
    once = seen.count == 30 * rounds and not seen.wrong
    _say("consumer", f"{seen.count} of {30 * rounds} readings, {seen.wrong} out of order or twice")
    refused = await _forge(keys, repos, stack)
    return whole and once and refused


async def _forge(keys: Keys, repos: Sequence[RepoProcess], stack: AsyncExitStack) -> bool:
    """Have pi2 publish in the name of pi1: its own key is good, but not for that."""
    mine, theirs = deployment.panel("pi2").name, deployment.panel("pi1").name
    face = await stack.enter_async_context(
        connect(repos[0].uri, verifier=keys.verifier(), signer=lambda _, __: keys.identities[mine].signer)
    )
    _say("forge", f"{mine} publishes a reading of {theirs}")
    try:
        panel = await stack.enter_async_context(face.group(deployment.GROUP.name).panel("pi1", durable=False))
        await panel.publish(deployment.streams("pi1")[0], 66.6, unit="Cel")
        await panel.flush()
    except RoostError as error:
        _say("refused", str(error))
        return True
    _say("accepted", "which must not be")
    return False


def _say(what: str, text: str) -> None:
    print(f"{what:<9}{text}", flush=True)
