"""The keys of the hall on the disk, and its repos as processes of their own, to be killed and started again."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from roost.errors import RoostError
from roost.host.making import new_store
from roost.naming import Name
from roost.sim import deployment
from roost.trust import Identity, KeyChain, Verifier

START_S: Final = 30.0
VERB: Final = "import sys; from roost.cli import main; sys.exit(main())"


class Keys:
    """Every key there is; each process gets its own one only."""

    def __init__(self) -> None:
        self.identities: Final = deployment.identities(secrets.token_bytes, time.time_ns(), results=True)
        self.schema: Final = deployment.schema()

    @property
    def anchor(self) -> Identity:
        """The root of trust."""
        return self.identities[deployment.COMPANY.root.name]

    def verifier(self) -> Verifier:
        """Believes whom the anchor vouches for."""
        return Verifier(self.schema, [self.anchor.certificate])

    def of(self, name: Name) -> KeyChain:
        """The key chain of one panel."""
        return KeyChain(self.schema, [self.identities[name]])

    def save(self, names: Iterable[Name], home: Path) -> None:
        """Make a key store with some identities in it, and the certificates above them."""
        groups = [group.name for group in (deployment.GROUP, *deployment.RESULTS)]
        with new_store(home) as store:
            store.save_anchor(self.anchor.certificate)
            for name in names:
                store.save_identity(self.identities[name])
            for above in (deployment.COMPANY.building("Hall").name, *groups):
                store.save_certificate(self.identities[above].certificate)
            store.save_schema(deployment.rules())


class RepoProcess:
    """`roost repo` in a process of its own, with a home and a store of its own."""

    def __init__(self, name: str, folder: Path, port: int) -> None:
        self.name: Final = name
        self.home: Final = folder / name
        self.uri: Final = f"tcp4://127.0.0.1:{port}"
        self._port: Final = port
        self._log: Final = folder / f"{name}.log"
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """Its process id, 0 while it does not run."""
        return self._process.pid if self._process is not None else 0

    async def start(self, others: Sequence[RepoProcess]) -> None:
        """Start it, linked to the others, and wait until it is ready."""
        uplinks = [word for other in others for word in ("--uplink", other.uri)]
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", VERB, "repo", self.name),
                *("--store", str(self.home / "store"), "--tcp", f"127.0.0.1:{self._port}"),
                *("--no-unix", "--no-udp", "--no-ws", *uplinks),
                env={**os.environ, "ROOST_HOME": str(self.home)},
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        try:
            async with asyncio.timeout(START_S):
                await self._ready(self._process)
        except TimeoutError:
            raise RoostError(f"{self.name} was not ready within {START_S:g} s: {self._said()}") from None

    async def kill(self) -> None:
        """Kill it as a power cut does: no goodbye, nothing flushed."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """Ask it to stop, and wait."""
        await self._end(signal.SIGTERM)

    async def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.send_signal(how)
            await process.communicate()

    async def _ready(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None  # noqa: S101  it was asked for
        while line := await process.stdout.readline():
            if line.startswith(b"ready"):
                return
        raise RoostError(f"{self.name} ended with status {await process.wait()}: {self._said()}")

    def _said(self) -> str:
        return self._log.read_text(errors="replace").strip() or "it printed nothing"


def free_ports(count: int) -> list[int]:
    """Find ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports
