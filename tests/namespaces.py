"""Hosts on one switch, each a network namespace, and programs in them; needs no privileges where users may have such.

The switch is a bridge in a namespace of its own. `Lan` may be a shared medium: then all hosts share one transmitter of
802.11g's speed, each frame paying for what the radio does around it (`stab overhead`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

SBIN = "/usr/sbin:/sbin"
_FOREVER = ["sleep", "infinity"]
_RADIO = "stab overhead 1040 tbf rate 54mbit burst 2600 limit 200000"


def has_namespaces() -> bool:
    """Whether this machine lets us have hosts."""
    if not all(
        shutil.which(tool, path=f"{os.environ.get('PATH', '')}:{SBIN}") for tool in ("ip", "nsenter", "unshare")
    ):
        return False
    return subprocess.run([*_UNSHARE, "true"], capture_output=True, check=False).returncode == 0


_UNSHARE = ["unshare", "--user", "--map-root-user", "--net"]


class Host:
    """A namespace, and its address on the switch."""

    def __init__(self, lan: Lan, number: int) -> None:
        self.address = f"10.77.0.{number}"
        self.port = f"p{number}"  # of the switch
        self._holder = lan.started(["unshare", "--net", *_FOREVER], lan.pid)
        _until_apart(self._holder, lan.pid)
        lan.do(f"ip link add {self.port} type veth peer name eth0 netns {self.pid}")
        lan.do(f"ip link set {self.port} master br0 up")
        for command in (f"ip addr add {self.address}/24 dev eth0", "ip link set eth0 up", "ip link set lo up"):
            self.do(command)

    @property
    def pid(self) -> int:
        return self._holder.pid

    def do(self, command: str) -> str:
        """Run a command to its end."""
        return _run([*within(self.pid), *command.split()])

    def shell(self, line: str) -> str:
        """Run a line of shell."""
        return _run([*within(self.pid), "sh", "-c", line])

    def program(self, arguments: Sequence[str | Path]) -> list[str]:
        """The command line that runs a Python program here."""
        return [*within(self.pid), sys.executable, *map(str, arguments)]


class Lan:
    """Within its block there is a switch, to which `host` adds hosts."""

    def __init__(self, *, radio: bool = False) -> None:
        self._radio = radio
        self._stack = ExitStack()
        self.hosts: list[Host] = []

    def __enter__(self) -> Self:
        self._holder = self.started([*_UNSHARE, *_FOREVER], None)
        _until_apart(self._holder, os.getpid())
        self.do("ip link set lo up")
        self.do("ip link add br0 type bridge")
        self.do("ip link set br0 up")
        if self._radio:
            self.do("ip link add air type ifb")
            self.do("ip link set air up")
            self.do(f"tc qdisc add dev air root {_RADIO}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def pid(self) -> int:
        return self._holder.pid

    def host(self) -> Host:
        """One more."""
        host = Host(self, len(self.hosts) + 1)
        self.hosts.append(host)
        if self._radio:
            self.do(f"tc qdisc add dev {host.port} ingress")
            every = "u32 match u32 0 0 action mirred egress redirect dev air"
            self.do(f"tc filter add dev {host.port} parent ffff: {every}")
        return host

    def do(self, command: str) -> str:
        """Run a command in the switch's namespace."""
        return _run([*within(self.pid), *command.split()])

    def started(self, command: list[str], inside: int | None) -> subprocess.Popen[bytes]:
        """Run something until the block ends."""
        process = subprocess.Popen(command if inside is None else [*within(inside), *command])
        self._stack.callback(_end, process)
        return process


def within(pid: int) -> list[str]:
    """What stands before a command that is to run in the namespaces of a process."""
    return ["nsenter", "--target", str(pid), "--user", "--preserve-credentials", "--net"]


def _run(command: list[str]) -> str:
    path = f"{os.environ.get('PATH', '')}:{SBIN}"
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PATH": path}, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def _until_apart(process: subprocess.Popen[bytes], other: int) -> None:
    """Wait until a process has the namespace that it makes for itself, and runs what holds it."""
    there = Path(f"/proc/{other}/ns/net").readlink()
    proc = Path(f"/proc/{process.pid}")
    while (proc / "ns/net").readlink() == there or (proc / "comm").read_text() != "sleep\n":
        if process.poll() is not None:
            raise OSError(f"{process.args!r} ended with status {process.returncode}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
