"""The hall of `roost.sim.deployment` with real keys, real processes and real disks, for tests."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.verbs import RUN, environment_of

from roost.host.keystore import KeyStore
from roost.naming import Name
from roost.sim import deployment
from roost.trust import Identity, building_rules

GROUP = deployment.GROUP
PANELS = ("pi1", "pi2")


class Hall:
    """Everybody's home: each repo and each panel has its own key and no other, a reader has none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.identities = deployment.identities(os.urandom, time.time_ns())
        for repo in deployment.REPOS:
            self._settle_in(repo, [deployment.repo(repo).name])
        for panel in PANELS:
            self._settle_in(panel, [deployment.panel(panel).name])
        self._settle_in("reader", [])

    def home(self, name: str) -> Path:
        return self.folder / name / "roost"

    def store(self, repo: str) -> Path:
        return self.folder / repo / "store"

    def _settle_in(self, who: str, names: Sequence[Name]) -> None:
        keys = KeyStore(self.home(who))
        keys.create()
        root = self.identities[deployment.COMPANY.root.name]
        keys.save_anchor(root.certificate)
        keys.save_schema(building_rules(deployment.COMPANY))
        for name in names:
            held = self.identities[name]
            keys.save_identity(held)
            for above in self._above(held):
                keys.save_certificate(above.certificate)

    def _above(self, held: Identity) -> Iterator[Identity]:
        """Who certified somebody, and those above, without the anchor."""
        for name in (GROUP.name, deployment.COMPANY.building("Hall").name):
            if len(name) < len(held.name):
                yield self.identities[name]


class RepoProcess:
    """A `roost repo` that can be killed, stopped and started again at the same address."""

    def __init__(self, hall: Hall, name: str, uplinks: Sequence[str] = (), *options: str) -> None:
        self.hall = hall
        self.name = name
        self.port = 0
        self._uplinks = uplinks
        self._options = options
        self._process: subprocess.Popen[str] | None = None
        self.lines: list[str] = []

    @property
    def uri(self) -> str:
        return f"tcp4://127.0.0.1:{self.port}"

    def start(self, *options: str, limit_bytes: int = 0) -> None:
        """Start it; returns when it is ready. With a limit no file of it gets larger than that."""
        listen = ["--no-unix", "--no-udp", "--no-ws", "--tcp", f"127.0.0.1:{self.port}"]
        links = [word for uri in self._uplinks for word in ("--uplink", uri)]
        command = [*RUN, "repo", self.name, "--store", str(self.hall.store(self.name)), *listen, *links]
        if limit_bytes:
            command = ["prlimit", f"--fsize={limit_bytes}", *command]
        environment = environment_of(self.hall.folder / self.name)
        self._process = subprocess.Popen(
            [*command, *self._options, *options], env=environment, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.lines = []
        for line in self._process.stdout:
            self.lines.append(line.rstrip())
            if line.startswith("listening on tcp4://"):
                self.port = int(line.strip().rpartition(":")[2])
            if line.startswith("ready"):
                return
        raise AssertionError(f"{self.name} ended with {self._process.wait()}: {self.lines}")

    def kill(self) -> None:
        """As a power cut does, but for the disk's cache."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        assert self._end(signal.SIGTERM) == 0

    def _end(self, number: int) -> int:
        process, self._process = self._process, None
        assert process is not None
        process.send_signal(number)
        process.communicate(timeout=30)
        return process.returncode

    def close(self) -> None:
        if self._process is not None:
            self._end(signal.SIGKILL)


@contextlib.contextmanager
def three_repos(hall: Hall) -> Iterator[list[RepoProcess]]:
    """The three repos of the hall, each linked to those before it."""
    repos: list[RepoProcess] = []
    try:
        for name in deployment.REPOS:
            repo = RepoProcess(hall, name, [before.uri for before in repos])
            repo.start()
            repos.append(repo)
        yield repos
    finally:
        for repo in repos:
            repo.close()
