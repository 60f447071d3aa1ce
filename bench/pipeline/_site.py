"""The hall of `roost.sim.deployment` with its groups of results: keys of everybody, and a repo in a process of its own.

    site = Site(folder)
    fill(site.store, …)                  what the repo has when it starts (`_filled.py`)
    with site.repo() as repo:            `roost repo` on a Unix socket, with a door for bulk reading
        site.options(…)                  what source and sink are given

The repo is a program that was started, not a fork: this process has threads, and a JVM.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Final

from roost.host.blocking import SyncFace, connect_sync
from roost.host.joining import group_file
from roost.host.keystore import KeyStore
from roost.naming import Name
from roost.sim import deployment
from roost.sim.deployment import GROUP, JOB, PANELS, RESULTS
from roost.trust import Identity

REPO: Final = "repo1"
ROOMS: Final = RESULTS[0]
PANELS_HOME: Final = "panels"
_MAIN: Final = "import sys; from roost.cli import main; sys.exit(main())"


class Site:
    """A folder with a home for the repo, one for the panels and one for the job."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder: Final = folder
        self.identities: Final = deployment.identities(os.urandom, time.time_ns(), (REPO,), results=True)
        groups = (GROUP, *RESULTS)
        self._settle_in(REPO, [group.repo(REPO).name for group in groups])
        self._settle_in(PANELS_HOME, [GROUP.panel(name).name for name in PANELS])
        self._settle_in(JOB, [group.panel(JOB).name for group in RESULTS])

    @property
    def store(self) -> Path:
        """Where the repo keeps what panels publish."""
        return group_file(self.folder / "store", GROUP.repo(REPO).name, "rocks")

    @property
    def uri(self) -> str:
        """Where the repo listens."""
        return f"unix://{self.folder}/repo.sock"

    @property
    def door(self) -> str:
        """Where it gives readings in bulk."""
        return f"{self.folder}/repo.bulk"

    def home(self, who: str) -> Path:
        return self.folder / who / "roost"

    def options(self, **more: str) -> dict[str, str]:
        """What source and sink are given to act as the job."""
        return {"repos": self.uri, "home": str(self.home(JOB)), **more}

    def bulk(self, verify: str, **more: str) -> dict[str, str]:
        """The same for reading through the door, verified or not."""
        return self.options(bulk=self.door, verify=verify, **more)

    def face(self, who: str) -> SyncFace:
        """A face to the repo, with somebody's keys."""
        keys = KeyStore(self.home(who))
        return connect_sync(self.uri, verifier=keys.verifier(time.time_ns()), signer=keys.keychain())

    @contextmanager
    def repo(self) -> Iterator[subprocess.Popen[str]]:
        """Run the repo while the block runs."""
        where = ("--store", f"{self.folder}/store", "--unix", f"{self.folder}/repo.sock", "--bulk-read", self.door)
        home = self.home(REPO)
        process = subprocess.Popen(
            [sys.executable, "-c", _MAIN, "repo", REPO, *where, "--no-tcp", "--no-udp", "--no-ws"],
            env=os.environ | {"HOME": str(home.parent), "ROOST_HOME": str(home)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            said = next((line for line in process.stdout if line.startswith("ready")), None)
            if said is None:
                raise RuntimeError("the repo ended before it was ready; what it said is above")
            yield process
        finally:
            process.terminate()
            process.communicate()

    def _settle_in(self, who: str, names: list[Name]) -> None:
        keys = KeyStore(self.home(who))
        keys.create()
        keys.save_anchor(self._root.certificate)
        keys.save_schema(deployment.rules())
        for name in names:
            keys.save_identity(self.identities[name])
        for identity in self.identities.values():
            keys.save_certificate(identity.certificate)

    @cached_property
    def _root(self) -> Identity:
        return self.identities[deployment.COMPANY.root.name]
