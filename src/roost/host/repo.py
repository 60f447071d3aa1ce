"""A repo in a process: a node, and inside it the repo's machine for each group it keeps (`roost.pubsub.repos.repo`).

    panels, consumers ──▶ node ──▶ machine ──▶ RocksDB in a folder of its own
                           └─ links to the other repos: replication, and what is for one of them

A repo has one key per group, and no other: who takes this machine can speak for these repos and nobody else. Each link
routes what is for other repos, and what only they may have (a panel's certificate, those of the building above the
group), and has the far end route to us what is for us, and the keys above ours whose certificates are here. So it is
enough that of two repos one knows the other's address.
"""

from __future__ import annotations

import contextlib
import random
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from roost.errors import NoKey
from roost.forwarding.endpoint import Endpoint
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.host.bulk import BulkDoor
from roost.host.bulk_frames import Door
from roost.host.bulk_reading import ReadingDoor
from roost.host.disk import Disk
from roost.host.keystore import KeyStore
from roost.host.listening import HostPort, Listen, ListeningNode, running
from roost.host.rocks import RocksStore
from roost.host.server import Server
from roost.host.stores import StoreDriver
from roost.host.uplink import Uplink
from roost.machine import Effect
from roost.naming import Name, building
from roost.naming.building import REPO
from roost.naming.conventions import KEY
from roost.node import Node, NodeSettings
from roost.node.introduction import INSIDE, Introduction
from roost.pubsub.credentials import Credentials
from roost.pubsub.repos.repo import Repo, RepoSettings
from roost.pubsub.resident import Resident
from roost.repo.memory import MemoryStore
from roost.trust.acceptance import Checker
from roost.wire import Data, Signer

FAR_COST: Final = 10  # of what other repos may have too: first ourselves
_FAIL_OVER: Final = STRATEGY_PREFIX / "fail-over"
_MULTICAST: Final = STRATEGY_PREFIX / "multicast"

Heard: TypeAlias = Callable[[Repo, Effect, int], None]


@dataclass(frozen=True, slots=True)
class Duty:
    """One group that a repo keeps: who it is there, its key and certificates, where (None: in memory), how."""

    place: building.Repo
    signer: Signer
    certificates: tuple[Data, ...] = ()
    folder: Path | None = None
    settings: RepoSettings = field(default_factory=RepoSettings)


class RunningRepo:
    """A repo that runs; `repos` are its machines, in the order of the duties."""

    def __init__(self, listening: ListeningNode, told: Heard, verifier: Checker) -> None:
        self.listening: Final = listening
        self.verifier: Final = verifier
        self.repos: Final[list[Repo]] = []
        self.uplinks: Final[list[Uplink]] = []
        self.bulk_port = 0
        self.reading_door: ReadingDoor | None = None
        self._residents: Final[dict[Name, Resident[Repo]]] = {}  # by repo; bound: the duties
        self.watchers: Final[list[Heard]] = []  # who else hears what the machines tell; bound: who makes it
        self._told: Final = told

    @property
    def server(self) -> Server:
        """The driver of its node."""
        return self.listening.server

    def add(self, repo: Repo, signer: Signer, randomness: random.Random) -> None:
        """Give a machine a face of the node, and have it sent what it serves."""
        resident = Resident(repo, Endpoint(signer, randomness))
        self.server.attach_application(resident, partial(self._tell, repo))
        self._residents[repo.name] = resident
        self.repos.append(repo)
        for route in repo.routes:
            # What is another repo's or a panel's is not for us, so these do not inherit our part in the whole group.
            self.server.add_route(route, resident.endpoint.face or 0, 0, inherited=False)

    def _tell(self, repo: Repo, effect: Effect, now: int) -> None:
        self._told(repo, effect, now)
        for watcher in self.watchers:
            watcher(repo, effect, now)

    def act(self, repo: Repo, effects: list[Effect]) -> None:
        """Carry out what a command to one of the machines returned."""
        resident = self._residents[repo.name]
        self.server.act(resident, resident.settle(effects, self.server.clock()))


@contextlib.asynccontextmanager
async def running_repo(
    duties: Sequence[Duty],
    listen: Listen,
    verifier: Checker,
    *,
    uplinks: Sequence[str] = (),
    bulk: HostPort | None = None,
    bulk_read: Door | None = None,
    told: Heard | None = None,
    version: str = "roost",
) -> AsyncIterator[RunningRepo]:
    """Run a repo while the block runs; `uplinks` are other repos, as URIs. Raises `BadConfig`.

    `told` hears what its machines tell their driver, if their settings say so (`RepoSettings.tells`).
    """
    randomness = random.Random(secrets.randbits(128))  # noqa: S311  nonces are no secrets
    introduction = Introduction(verifier, randomness)
    node = Node(NodeSettings(version=version, policy=introduction), randomness)
    for duty in duties:
        group = duty.place.group
        node.forwarder.strategies.set(group.replication, _MULTICAST)
        for prefix in (group.name / REPO, *_keys_above(group.name)):
            node.forwarder.strategies.set(prefix, _FAIL_OVER)
    disk = Disk()
    async with running(node, listen, disk) as listening, contextlib.AsyncExitStack() as stack:
        listening.server.attach_application(introduction, _unheard, INSIDE)
        repo = RunningRepo(listening, told or _unheard_of, verifier)
        now = listening.server.clock()
        for duty in duties:
            name = str(duty.place.name)
            store = MemoryStore() if duty.folder is None else RocksStore(duty.folder)
            disk.add(name, StoreDriver(name, store, disk.said))
            machine = Repo(
                duty.place,
                store,
                verifier,
                duty.signer,
                randomness,
                now,
                settings=duty.settings,
                certificates=duty.certificates,
            )
            repo.add(machine, duty.signer, randomness)
        for cost, uri in enumerate(uplinks, FAR_COST):
            uplink = _uplink(listening.server, uri, duties, cost)
            uplink.start()
            repo.uplinks.append(uplink)
        if bulk is not None:
            door = await stack.enter_async_context(BulkDoor(repo.repos, repo.act, listening.server).opened(*bulk))
            repo.bulk_port = door.port
        if bulk_read is not None:
            repo.reading_door = await stack.enter_async_context(ReadingDoor(repo.repos).opened(bulk_read))
        yield repo


def duty_of(keys: KeyStore, place: building.Repo, folder: Path | None, settings: RepoSettings, now: int) -> Duty:
    """What a repo needs for one group, from this home: the key of exactly that name; raises `NoKey`."""
    held = [identity for identity in keys.keychain().identities if identity.name == place.name]
    valid = [identity for identity in held if identity.certificate.valid_at(now)]
    if not valid:
        trouble = "its certificate is not valid now" if held else "its key is not here"
        raise NoKey(f"{place.name} cannot run from {keys.home}: {trouble}; make one with: roost key make {place.name}")
    chain = keys.chain_of(valid[0].certificate)
    return Duty(place, valid[0].signer, tuple(each.data for each in chain), folder, settings)


def _uplink(server: Server, uri: str, duties: Sequence[Duty], cost: int) -> Uplink:
    groups = [duty.place.group for duty in duties]
    routes = [prefix for group in groups for prefix in (group.replication, group.name / REPO, group.name)]
    routes += dict.fromkeys(prefix for group in groups for prefix in _keys_above(group.name))
    registers: dict[Name, Signer] = {}  # each with the key of its own repo: no other may
    for duty in duties:
        ours = duty.place.name
        keys = [key for key in Credentials(duty.certificates).prefixes() if key.prefix(-2) != ours]
        above = [key for key in keys if ours.starts_with(key.prefix(-2))]
        registers |= dict.fromkeys([ours, duty.place.group.replication, *above], duty.signer)
    return Uplink(server, uri, routes=routes, cost=cost, registers=registers, signer=duties[0].signer)


def _keys_above(group: Name) -> list[Name]:
    """Under which the keys are named that a group's depend on: its site's and its company's, outside of the group."""
    return [group.prefix(length) / KEY for length in range(1, len(group))]


def _unheard(effect: Effect, now: int) -> None:
    """Nobody waits for what a repo tells: it is in its streams."""


def _unheard_of(repo: Repo, effect: Effect, now: int) -> None:
    """The same, for a repo that is known."""
