"""A company with a raw group, groups for results, and repos in processes of their own, for tests of the pipeline.

world = World(folder)                  keys: one home for the repos, one for panels, one for the job
with world.repo() as repo:             `roost repo`, on a Unix socket and with a bulk door; `repo.kill()`
    world.publish(repo, {...})         readings with the event times that are given
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.verbs import RUN, environment_of

from roost.errors import Unreachable
from roost.host.blocking import connect_sync
from roost.host.joining import group_file
from roost.host.keystore import KeyStore
from roost.host.rocks import RocksStore
from roost.naming import Name
from roost.naming.building import Company, Group
from roost.naming.building import numbered as reading_name
from roost.pubsub.consumers.arrival import Arrival
from roost.repo.cause import REPLICATION
from roost.repo.shelf import Shelf
from roost.repo.store import Write, Written
from roost.trust import Identity, KeyChain, Verifier, building_rules, certify, generate, self_sign
from roost.wire import Data, make_data
from roost.wire.reading import SENML_CBOR, Reading
from roost.wire.senml import Value, encode_values

COMPANY = Company(Name.parse("/Big"), frozenset({"B1"}))
RAW, ROOMS, FLOORS = (COMPANY.group("B1", system) for system in ("Raw", "Rooms", "Floors"))
GROUPS = (RAW, ROOMS, FLOORS)
JOB = "job"  # the panel that pipelines publish as
SECOND = 1_000_000_000


class World:
    """Everybody's keys; `home("job")` has those of the job, which may publish results and nothing raw."""

    def __init__(self, folder: Path, repos: tuple[str, ...] = ("Repo1", "Repo2")) -> None:
        self.folder = folder
        now = time.time_ns()
        self.root = self_sign(generate(COMPANY.root.name, secrets.token_bytes), now)
        building = self._under(self.root, COMPANY.building("B1").name)
        self.identities: dict[Name, Identity] = {building.name: building}
        for group in GROUPS:
            held = self.identities[group.name] = self._under(building, group.name)
            for repo in repos:
                self.identities[group.repo(repo).name] = self._under(held, group.repo(repo).name)
        for group, names in ((RAW, ("P1", "P2")), (ROOMS, (JOB,)), (FLOORS, (JOB,))):
            for name in names:
                self.identities[group.panel(name).name] = self._under(building, group.panel(name).name)
        for repo in repos:
            self._settle_in(repo, [group.repo(repo).name for group in GROUPS])
        self._settle_in("panels", [RAW.panel(name).name for name in ("P1", "P2")])
        self._settle_in(JOB, [group.panel(JOB).name for group in (ROOMS, FLOORS)])

    def enrol(self, who: str, panel: Name) -> None:
        """A home for one more panel, with nobody else's key in it."""
        self.identities[panel] = self._under(self.identities[COMPANY.building("B1").name], panel)
        self._settle_in(who, [panel])

    def home(self, who: str) -> Path:
        return self.folder / who / "roost"

    def keychain(self, who: str) -> KeyChain:
        return KeyStore(self.home(who)).keychain()

    @contextlib.contextmanager
    def repo(self, name: str = "Repo1", uplinks: Iterable[str] = (), *options: str) -> Iterator[RepoProcess]:
        process = RepoProcess(self, name, tuple(uplinks), options)
        process.start()
        try:
            yield process
        finally:
            process.stop()

    def reading(self, stream: str, number: int, value: float | str, time_ns: int, unit: str = "W") -> Data:
        """A raw reading, signed by its panel."""
        content = Reading(time_ns, SENML_CBOR, encode_values([Value(value, unit)])).encode()
        return self.packet(stream, number, content)

    def packet(self, stream: str, number: int, content: bytes, panel: str = "") -> Data:
        """What stands under a reading's name, whatever it is, signed by its panel or by another one."""
        name = RAW.name + Name.parse(f"/{stream}")
        signer = self.identities[RAW.panel(panel or stream.split("/", 1)[0]).name].signer
        return make_data(reading_name(name, number), content, signer, freshness_ms=1000)

    def insert(self, repo: RepoProcess, packets: Iterable[Data], copies: int = 1) -> None:
        """Have a repo keep readings, each under the name it has: numbers may be left out, and come later."""
        by_panel: dict[str, list[Data]] = {}
        for data in packets:
            by_panel.setdefault(str(data.name.at(len(RAW.name))), []).append(data)
        with connect_sync(repo.uri, verifier=self.verifier(), signer=self.keychain("panels")) as face:
            for panel, some in by_panel.items():
                with face.group(RAW.name).inserter(panel, copies=copies) as inserter:
                    outcome = inserter.insert(some)
                    assert not outcome.refused, outcome.refused
                    assert not outcome.conflicts, outcome.conflicts

    def fill(self, repo: str, packets: Iterable[Data]) -> None:
        """Put raw packets into the store of a repo that does not run, whoever signed them."""
        place = RAW.repo(repo).name
        store = RocksStore(group_file(self.folder / f"{repo}.store", place, "rocks"))
        shelf = Shelf(repo, store)
        certificates = [self.identities[RAW.panel(name).name].certificate.data for name in ("P1", "P2")]
        effects = shelf.put([*certificates, *packets], REPLICATION, lambda _, __: [], 0)
        while writes := [effect for effect in effects if isinstance(effect, Write)]:
            store.write([effect.batch for effect in writes])
            effects = [told for effect in writes for told in shelf.receive(Written(repo, effect.ticket), 0)]
        store.close()

    def read(self, repo: RepoProcess, group: Group, stream: str) -> list[Arrival]:
        """All readings of a stream."""
        with connect_sync(repo.uri, verifier=self.verifier(), signer=self.keychain(JOB)) as face:
            return face.group(group.name).read(group.name + Name.parse(f"/{stream}"))

    def streams(self, repo: RepoProcess, group: Group) -> dict[Name, int]:
        """All streams of a group with their highest numbers."""
        with connect_sync(repo.uri, verifier=self.verifier(), signer=self.keychain(JOB)) as face:
            return face.group(group.name).streams()

    def published(self, repo: RepoProcess, *groups: Group) -> dict[str, bytes]:
        """Every result that a repo has, whole, by name; what it lacks and still has to fetch is left out."""
        found: dict[str, bytes] = {}
        with connect_sync(repo.uri, verifier=self.verifier(), signer=self.keychain(JOB)) as face:
            for group in groups or (ROOMS, FLOORS):
                streams = face.group(group.name).streams()
                for stream in [each for each in streams if each.starts_with(group.panel(JOB).name)]:
                    for number in range(1, streams[stream] + 1):
                        with contextlib.suppress(Unreachable):
                            for reading in face.group(group.name).read(stream, number, number):
                                found[str(reading.data.name)] = bytes(reading.data.wire)
        return found

    def verifier(self) -> Verifier:
        return KeyStore(self.home(JOB)).verifier(time.time_ns())

    def _under(self, issuer: Identity, name: Name) -> Identity:
        key = generate(name, secrets.token_bytes)
        return Identity(key, certify(issuer, key.name, key.public.spki, time.time_ns()))

    def _settle_in(self, who: str, names: Iterable[Name]) -> None:
        keys = KeyStore(self.home(who))
        keys.create()
        keys.save_anchor(self.root.certificate)
        keys.save_schema(building_rules(COMPANY))
        for name in names:
            keys.save_identity(self.identities[name])
        for name in (COMPANY.building("B1").name, *(group.name for group in GROUPS)):
            keys.save_certificate(self.identities[name].certificate)


class RepoProcess:
    """`roost repo` for all groups, which can be killed and started again at the same address."""

    def __init__(self, world: World, name: str, uplinks: tuple[str, ...], options: tuple[str, ...]) -> None:
        self.world = world
        self.name = name
        self._uplinks = uplinks
        self._options = options
        self._process: subprocess.Popen[str] | None = None

    @property
    def uri(self) -> str:
        return f"unix://{self.world.folder}/{self.name}.sock"

    @property
    def door(self) -> str:
        return f"{self.world.folder}/{self.name}.bulk"

    def start(self) -> None:
        """Start it; returns when it is ready."""
        socket = f"{self.world.folder}/{self.name}.sock"
        links = [word for uri in self._uplinks for word in ("--uplink", uri)]
        self._process = subprocess.Popen(
            [
                *(*RUN, "repo", self.name, "--store", str(self.world.folder / f"{self.name}.store")),
                *("--unix", socket, "--no-tcp", "--no-udp", "--no-ws", "--bulk-read", self.door, *links),
                *self._options,
            ],
            env=environment_of(self.world.home(self.name).parent),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        lines = []
        for line in self._process.stdout:
            lines.append(line)
            if line.startswith("ready"):
                return
        raise AssertionError("".join(lines))

    def kill(self) -> None:
        """As a power cut does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            if process.poll() is None:
                os.kill(process.pid, how)
            process.communicate()
