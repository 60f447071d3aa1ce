"""FLIPS in a node: a forwarder of hybrid ICN, and topics that go into groups and come out of them.

Each bridge is `roost.host.topics.bridge`, kept up: one that ends with an error is told of, and begun again, later each
time. Nothing is lost by that, for where it is is kept in the group or on the disk.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from roost.errors import BadConfig, RoostError
from roost.hicn.forwarder import HicnForwarder, HicnSettings
from roost.hicn.strategy import StrategyKind
from roost.host.address import is_loopback
from roost.host.face import Face
from roost.host.hicn.server import HicnServer
from roost.host.home_trust import choose_trust, is_initialised
from roost.host.inprocess import in_process_pair
from roost.host.journal import Journal
from roost.host.mqtt.config import Config
from roost.host.mqtt.config_flips import FlipsSettings, IntoGroup, OutOfGroup
from roost.host.publishing import RunningPanel
from roost.host.server import Server
from roost.host.session import Session
from roost.host.topics.bridge import Skips, into_group, out_of_group
from roost.host.topics.opening import flips
from roost.host.topics.signing import home_judge, home_keys
from roost.host.topics.topics import Topics
from roost.host.transport import Owner, Transport
from roost.pubsub.flips.hicn_binding import FLIPS_PREFIX, Judge
from roost.pubsub.flips.identifiers import topic_hash

FIRST_PAUSE_S: Final = 1.0
LAST_PAUSE_S: Final = 60.0


class Bridges:
    """What runs: the forwarder, where it listens, and how often a bridge had to begin again."""

    def __init__(self, forwarder: HicnServer, uris: list[str], journal: Journal) -> None:
        self.forwarder: Final = forwarder
        self.uris: Final = uris
        self.begun_again = 0
        self.skips: Final = Skips()
        self._journal: Final = journal

    def counts(self) -> dict[str, int]:
        """What happened so far, by the ends of `$SYS` topics."""
        return {
            "flips/faces": len(self.forwarder.peers),
            "flips/refused": self.forwarder.journal.rejected,
            "flips/cache/hits": self.forwarder.forwarder.hits,
            "flips/bridges/begun_again": self.begun_again,
            "flips/bridges/skipped": self.skips.count,
        }

    async def keep_up(self, what: str, bridge: Callable[[], Awaitable[None]]) -> None:
        """Run a bridge until cancelled."""
        pause_s = FIRST_PAUSE_S
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                await bridge()
            except Exception as error:  # noqa: BLE001  a disk, a bug: no bridge ends without a word
                if loop.time() - began > LAST_PAUSE_S:  # it was well for long
                    pause_s = FIRST_PAUSE_S
                self.begun_again += 1
                why = error if isinstance(error, RoostError) else f"{type(error).__name__}: {error}"
                self._journal.warn("%s: %s; begun again in %g s", what, why, pause_s)
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LAST_PAUSE_S)


@asynccontextmanager
async def bridged(
    settings: FlipsSettings, config: Config, node: Server | None, journal: Journal
) -> AsyncIterator[Bridges]:
    """Run the forwarder and all bridges while the block runs; raises `BadConfig`."""
    check_reach(settings)
    randomness = random.Random(secrets.randbits(128))  # noqa: S311  it chooses next hops
    forwarder = HicnForwarder(HicnSettings(strategy=StrategyKind.REPLICATION), randomness)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(HicnServer(forwarder))
        running = Bridges(server, [server.listen(*address) for address in settings.listen], journal)
        reach = server.connect if settings.listen else server.dial  # who listens is known by that address
        for peer in settings.peers:
            server.add_route(FLIPS_PREFIX, reach(*peer))
        if node is not None and (settings.into or settings.out):
            await _open(settings, config, node, running, stack)
        yield running


def check_reach(settings: FlipsSettings) -> None:
    """Raise `BadConfig` if others could reach a node that has no keys yet."""
    outside = [host for host, _ in settings.listen if host != "localhost" and not is_loopback(host)]
    if outside and not is_initialised():
        raise BadConfig(
            f"flips.listen: {outside[0]} is reachable from other machines, and this node has no keys and no policy "
            "yet: run `roost init` first, or listen on 127.0.0.1 only"
        )


async def _open(settings: FlipsSettings, config: Config, node: Server, running: Bridges, stack: AsyncExitStack) -> None:
    began = datetime.now(UTC)
    folder = None if config.store is None else config.store / "flips"
    is_kept = folder is not None
    face = await stack.enter_async_context(_face(node))
    judge = home_judge(settings.root) if any(each.verify for each in settings.into) else None
    ours = {str(each.group.name): each.panel.panel for each in config.groups}
    panels: dict[tuple[str, str], RunningPanel] = {}
    for bridge in settings.into:
        key = bridge.group, bridge.panel or ours[bridge.group]
        if key not in panels:
            signing = face.group(key[0]).panel(key[1], folder=folder, durable=is_kept)
            panels[key] = await stack.enter_async_context(signing)
    opening = flips(running.forwarder, folder=folder, durable=is_kept, key=home_keys(settings.root))
    topics = await stack.enter_async_context(opening)  # all that come out of groups
    tasks = await stack.enter_async_context(_cancelled_in_the_end())
    for bridge in settings.into:
        panel = panels[bridge.group, bridge.panel or ours[bridge.group]]
        work = partial(_into, bridge, running, judge if bridge.verify else None, face, panel)
        tasks.append(asyncio.create_task(running.keep_up(f"{bridge.topic} into {bridge.group}", work)))
    for each in settings.out:
        leave = partial(_out, each, topics, face, folder, began, running.skips)
        tasks.append(asyncio.create_task(running.keep_up(f"{each.stream} of {each.group} out", leave)))


async def _into(bridge: IntoGroup, running: Bridges, judge: Judge | None, face: Face, panel: RunningPanel) -> None:
    group = face.group(bridge.group)
    async with flips(running.forwarder, durable=False, judge=judge) as topics:  # each bridge is at a place of its own
        await into_group(topics, bridge.topic, group, panel, bridge.stream, unit=bridge.unit, skips=running.skips)


async def _out(
    bridge: OutOfGroup, topics: Topics, face: Face, folder: Path | None, began: datetime, skips: Skips
) -> None:
    name = None if folder is None else f"flips-{topic_hash(bridge.topic).hex()}"
    opening = face.group(bridge.group).subscribe(bridge.stream, since=began, name=name, folder=folder)
    async with opening as readings:  # from where the last run stopped, the first one from its start on
        interval_ms = 1000 * bridge.interval_s
        await out_of_group(readings, topics, bridge.topic, interval_ms=interval_ms, whole=bridge.whole, skips=skips)


@asynccontextmanager
async def _face(node: Server) -> AsyncIterator[Face]:
    """A face of the node in this process, with this home's keys."""

    async def dial(owner: Owner) -> Transport:
        ours, theirs = in_process_pair(owner, node, "flips")
        node.attach(theirs)
        return ours

    trust = choose_trust(None, None, time.time_ns())
    session = Session(dial, trust.commands)
    await session.open()
    face = Face(session, trust)
    try:
        yield face
    finally:
        await face.close()


@asynccontextmanager
async def _cancelled_in_the_end() -> AsyncIterator[list[asyncio.Task[None]]]:
    tasks: list[asyncio.Task[None]] = []  # bound: the configuration
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
