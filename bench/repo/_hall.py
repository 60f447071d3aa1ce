"""The hall of `roost.sim.deployment` for benchmarks: real keys, repos and panels in processes of their own.

Everything is as a deployment has it: ECDSA keys, the schema of the building, RocksDB, a node around each repo, Unix and
TCP sockets in between. Only the certificates are known to everybody beforehand.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.repo._child import END, Boss
from roost.forwarding.endpoint import Endpoint
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.host.client import connect
from roost.host.disk import Disk
from roost.host.listening import Listen, running
from roost.host.residence import Residence
from roost.host.rocks import RocksStore
from roost.host.stores import StoreDriver
from roost.host.uplink import Uplink
from roost.machine import Effect, Note
from roost.naming import Name
from roost.node import Node, NodeSettings
from roost.pubsub.panels.panel import Acknowledged, Panel, make_panel
from roost.pubsub.repos.repo import Repo
from roost.pubsub.resident import DiskEvent, Resident
from roost.repo.store import Batch, Write, Written
from roost.sim import deployment
from roost.sim.deployment import GROUP
from roost.trust import Identity, Verifier
from roost.wire.reading import SENML_CBOR, Reading

CHUNK = 64  # readings that are published at once
AHEAD = 2048  # those that are not confirmed, at most
PAYLOAD = bytes(range(40))  # as much as a SenML record in CBOR


@dataclass(frozen=True, slots=True)
class Hall:
    """Keys, and a folder for everything."""

    folder: Path
    identities: dict[Name, Identity]

    def verifier(self) -> Verifier:
        """One that knows all certificates."""
        now = time.time_ns()
        verifier = Verifier(deployment.schema(), [self.identities[deployment.COMPANY.root.name].certificate])
        for identity in self.identities.values():
            verifier.learn(identity.certificate.data, now)
        return verifier

    def socket(self, repo: str) -> str:
        """Where a repo listens."""
        return f"unix://{self.folder / repo}.sock"


def make_hall(folder: Path) -> Hall:
    """A hall with new keys, in a folder that is made where it is not there."""
    folder.mkdir(exist_ok=True)
    return Hall(folder, deployment.identities(os.urandom, time.time_ns()))


class WatchedDriver(StoreDriver):
    """A store's driver that notes when which packet was on the disk."""

    def __init__(self, name: str, store: RocksStore, disk: Disk) -> None:
        super().__init__(name, store, self._heard)
        self.kept: dict[bytes, int] = {}  # name → when
        self.batches: list[int] = []  # how many readings each has
        self._disk = disk
        self._unwritten: dict[int, Batch] = {}

    def write(self, effect: Write) -> None:
        self._unwritten[effect.ticket] = effect.batch
        super().write(effect)

    def _heard(self, event: DiskEvent) -> None:
        if isinstance(event, Written):
            now = time.time_ns()
            names = [entry.name.value for entry in self._unwritten.pop(event.ticket).puts if entry.time]
            self.kept.update((name, now) for name in names)
            self.batches.append(len(names))
        self._disk.said(event)


@asynccontextmanager
async def running_repo(hall: Hall, name: str, peers: Sequence[str] = ()) -> AsyncIterator[tuple[Repo, WatchedDriver]]:
    """Run a repo that listens on its socket and is linked to its peers, while the block runs."""
    place = GROUP.repo(name)
    signer = hall.identities[place.name].signer
    disk = Disk()
    store = RocksStore(hall.folder / name)
    driver = WatchedDriver(str(place.name), store, disk)
    disk.add(str(place.name), driver)
    part = Repo(place, store, hall.verifier(), signer, random.Random(), time.time_ns())
    node = Node(NodeSettings(), random.Random())
    strategies = node.forwarder.strategies
    strategies.set(GROUP.name, STRATEGY_PREFIX / "fail-over")
    strategies.set(GROUP.replication, STRATEGY_PREFIX / "multicast")
    async with running(node, Listen(unix=hall.folder / f"{name}.sock"), disk) as listening:
        resident = Resident(part, Endpoint(signer, random.Random()), register=True)
        listening.server.attach_application(resident, lambda effect, now: None)  # noqa: ARG005  nobody listens
        for peer in peers:
            routes = (GROUP.replication, GROUP.repo(peer).name)
            Uplink(listening.server, hall.socket(peer), routes=routes, cost=1).start()
        yield part, driver


async def repo(boss: Boss, hall: Hall, name: str, peers: Sequence[str] = ()) -> None:
    """Run a repo as a child that says when which reading was on its disk, how large batches were, and its CPU time."""
    async with running_repo(hall, name, peers) as (_, driver):
        boss.say("ready")
        while (word := await boss.hear()) != END:
            if word == "kept":
                boss.say((driver.kept, driver.batches))
                driver.kept, driver.batches = {}, []
            elif word == "count":
                boss.say(len(driver.kept))
            elif word == "cpu":
                boss.say(time.process_time())


class PanelResidence(Residence[Panel]):
    """A panel on a face; `acknowledged` counts."""

    acknowledged = 0

    async def publish(self, count: int, pace: int) -> float:
        """Publish so many readings, so many a second, and wait until all are confirmed: the seconds it took.

        Without a pace they go as fast as they are confirmed.
        """
        last = self.acknowledged + count
        began = time.perf_counter()
        size = max(1, pace // 100) if pace else CHUNK
        for at in range(0, count, size):
            if pace:
                await asyncio.sleep(max(0.0, began + at / pace - time.perf_counter()))
            chunk = readings(self.name.at(-1).value.decode(), min(size, count - at), time.time_ns())
            self.act(partial(self.part.publish_many, chunk))
            await self._confirmed(last - count + at - AHEAD)
        await self._confirmed(last)
        return time.perf_counter() - began

    async def _confirmed(self, number: int) -> None:
        await self.until(lambda: self.acknowledged >= number)

    @property
    def name(self) -> Name:
        return self.part.name

    def note(self, effect: Effect) -> bool:
        if isinstance(effect, Acknowledged):
            self.acknowledged += effect.high - effect.low + 1
        return isinstance(effect, (Acknowledged, Note))


@asynccontextmanager
async def running_panel(hall: Hall, name: str, repo: str) -> AsyncIterator[PanelResidence]:
    """Run a panel on the face of an application at a repo's node, with its outbox on the disk."""
    place = GROUP.panel(name)
    signer = hall.identities[place.name].signer
    verifier = hall.verifier()

    def make(found: bytes) -> Panel:
        return make_panel(place, verifier, lambda _, __: signer, signer, random.Random(), found=found)

    async with connect(hall.socket(repo), verifier=verifier, signer=signer) as face:
        panel = PanelResidence(face._way(), make, hall.folder / f"{name}.outbox")  # as `Face.join` does
        await panel.open()
        await panel.until(lambda: panel.part.outbox.settled)
        yield panel
        await panel.close()


def readings(name: str, count: int, now: int) -> list[tuple[Name, Reading]]:
    """The next readings of a panel, of all its streams in turn."""
    streams = deployment.streams(name)
    return [(streams[index % len(streams)], Reading(now + index, SENML_CBOR, PAYLOAD)) for index in range(count)]


async def panel(boss: Boss, hall: Hall, name: str, repo: str) -> None:
    """Run a panel as a child: for (count, per second) it publishes, and says how many a second were confirmed."""
    async with running_panel(hall, name, repo) as residence:
        boss.say("ready")
        while (word := await boss.hear()) != END:
            if word == "cpu":
                boss.say(time.process_time())
                continue
            count, pace = word
            boss.say(count / await residence.publish(count, pace))
