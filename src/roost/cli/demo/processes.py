"""Repos and gates as processes of their own, each with a home and a store, to be killed and started again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Final

from roost.cli.demo.keys import GROUPS, Keys
from roost.errors import RoostError
from roost.sim import deployment

START_S: Final = 120.0  # of a machine that has much else to do
LAST_LINES: Final = 10  # of what a process said, for who wonders why it ended
NEXT: Final = 20  # ports that are tried, one after the other
VERB: Final = "import sys; from roost.cli import main; sys.exit(main())"


class NodeProcess:
    """A verb of `roost` that runs until it is told to stop, and says when it is ready."""

    def __init__(self, name: str, folder: Path, port: int) -> None:
        self.name: Final = name
        self.home: Final = folder / name
        self.uri: Final = f"tcp4://127.0.0.1:{port}"
        self._log: Final = folder / f"{name}.log"
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """Its process id, 0 while it does not run."""
        return self._process.pid if self._process is not None else 0

    async def kill(self) -> None:
        """Kill it as a power cut does: no goodbye, nothing flushed."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """Ask it to stop, and wait."""
        await self._end(signal.SIGTERM)

    async def _run(self, *words: str) -> None:
        """Start it, and wait until it is ready."""
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", VERB, *words),
                env={**os.environ, "ROOST_HOME": str(self.home)},
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        try:
            async with asyncio.timeout(START_S):
                await self._ready(self._process)
        except TimeoutError:
            raise RoostError(f"{self.name} was not ready within {START_S:g} s: {self._said()}") from None

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
        return "\n".join(self._log.read_text(errors="replace").strip().splitlines()[-LAST_LINES:]) or "it said nothing"


class RepoProcess(NodeProcess):
    """`roost repo`, which keeps every group of the campus."""

    def __init__(self, name: str, folder: Path, port: int, keys: Keys) -> None:
        super().__init__(name, folder, port)
        self._listen: Final = f"127.0.0.1:{port}"
        keys.save([group.repo(name).name for group in GROUPS], self.home)

    async def start(self, others: Sequence[NodeProcess]) -> None:
        """Start it, linked to the others, and wait until it is ready."""
        uplinks = [word for other in others for word in ("--uplink", other.uri)]
        doors = ("--tcp", self._listen, "--no-unix", "--no-udp", "--no-ws")
        await self._run("repo", self.name, "--verbose", "--store", str(self.home / "store"), *doors, *uplinks)


class GateProcess(NodeProcess):
    """`roost mqtt` in the annex: a broker for its modules, and a repo of the annex's group beside it.

    Over the line it reaches the repos, and the gate next to it without the line. Nobody reads here, modules write.
    """

    def __init__(self, name: str, folder: Path, port: int, mqtt_port: int, keys: Keys) -> None:
        super().__init__(name, folder, port)
        self.port: Final = mqtt_port
        self._listen: Final = f"127.0.0.1:{port}"
        annex = deployment.ANNEX
        keys.save([annex.panel(name).name, annex.repo(name).name], self.home)

    async def start(self, uplinks: Sequence[str]) -> None:
        """Start it, linked to others, and wait until it is ready."""
        annex = str(deployment.ANNEX.name)
        (self.home / "permissions").write_text("anonymous\n  write annex/#\n", encoding="utf-8")
        said = {
            "name": self.name,
            "listeners": [{"tcp": f"127.0.0.1:{self.port}"}],
            "store": "mqtt",
            "permissions": "permissions",
            "trees": [{"filter": "annex/#", "group": annex, "durability": {"replicated": 2}}],
            "groups": [{"name": annex, "panel": self.name, "repo": self.name}],
            "node": {"tcp": [self._listen], "uplinks": list(uplinks)},
        }
        file = self.home / "mqtt.yaml"
        file.write_text(json.dumps(said, indent=2), encoding="utf-8")  # JSON is YAML too
        await self._run("mqtt", "-c", str(file))


async def all_started(starts: Sequence[Coroutine[None, None, None]]) -> None:
    """Start some at a time; if one dies, raise why, once nobody waits for the others any more: they can be stopped."""
    ends = await asyncio.gather(*starts, return_exceptions=True)
    for error in filter(None, ends):
        raise error


async def given_up(start: asyncio.Task[None]) -> None:
    """Wait for it no longer: who is stopped while it starts is read from by nobody else."""
    start.cancel()
    await asyncio.gather(start, return_exceptions=True)


def free_ports(count: int) -> list[int]:
    """Find ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


def port_from(wanted: int) -> int:
    """A port that nobody listens on: the wanted one, or the next that is free; of 0, any."""
    for port in range(wanted, min(wanted + NEXT, 1 << 16)) if wanted else ():
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    return free_ports(1)[0]
