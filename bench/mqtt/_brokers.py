"""The brokers, each in a process of its own, with a configuration of its own, on a free loopback port.

All are set so that none drops a message: no bound on what is queued or in flight. A peer that is not installed is left
out, with a sentence.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, NamedTuple

from bench.figure import progress

HERE: Final = Path(__file__).parent
PACKAGES: Final = HERE.parent.parent / "tests/interop/mqtt/node_modules"
STOP_S: Final = 10.0


class NotStarted(Exception):
    """A broker ended before it was ready."""


class Broker(NamedTuple):
    """One that runs."""

    port: int
    pid: int

    @property
    def memory_bytes(self) -> int:
        """Private to it, and resident."""
        lines = Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines()
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


_ROOST: Final = """\
limits: {connections_per_address: 20000, connects_per_s: 0}
packets: {receive_maximum: 65535}
queues: {in_flight: 65535, messages: 1000000, bytes: 256MiB, total_bytes: 1GiB}
"""
_MOSQUITTO: Final = """\
allow_anonymous true
max_queued_messages 0
max_inflight_messages 0
set_tcp_nodelay true
log_dest stderr
log_type error
user root
"""

Start = Callable[[Path], AbstractContextManager[Broker]]  # in a folder of its own


@contextlib.contextmanager
def roost(folder: Path, *, disk: bool = False, more: str = "", home: Path | None = None) -> Iterator[Broker]:
    """Ours, as people run it; on disk, a message is forced there before it is acknowledged."""
    port, file = free_port(), folder / "roost.yaml"
    kept = f"store: {folder / 'store'}\ndurability: disk" if disk else "store: memory\ndurability: received"
    file.write_text(f"listeners: [{{tcp: '127.0.0.1:{port}'}}]\n{kept}\n{_ROOST}{more}")
    command = [
        sys.executable,
        "-c",
        "import sys; from roost.cli import main; sys.exit(main())",
        "mqtt",
        "-c",
        str(file),
    ]
    with child_process(command, folder, home) as child:
        wait_for_line(child, "ready")
        yield Broker(port, child.pid)


@contextlib.contextmanager
def mosquitto(folder: Path, *, disk: bool = False, autosave: str = "") -> Iterator[Broker]:
    """The one peer in C, without the system's service; on disk, it saves itself as `autosave` says."""
    port, file = free_port(), folder / "mosquitto.conf"
    kept = f"persistence true\npersistence_location {folder}/\n{autosave}" if disk else "persistence false\n"
    file.write_text(f"listener {port} 127.0.0.1\n{_MOSQUITTO}{kept}")
    with child_process([found_mosquitto() or "mosquitto", "-c", str(file)], folder) as child:
        _wait_for_port(child, port)
        yield Broker(port, child.pid)


@contextlib.contextmanager
def aedes(folder: Path) -> Iterator[Broker]:
    """The broker that most people run in node."""
    with child_process(["node", str(HERE / "_aedes.mjs"), str(PACKAGES)], folder) as child:
        port = int(wait_for_line(child, "ready").split()[1])
        yield Broker(port, child.pid)


@contextlib.contextmanager
def relay(folder: Path) -> Iterator[Broker]:
    """Not a broker: hands the bytes of one connection to another, and shows what the load generator can do."""
    with child_process([sys.executable, "-m", "bench.mqtt._relay"], folder) as child:
        port = int(wait_for_line(child, "ready").split()[1])
        yield Broker(port, child.pid)


def found_mosquitto() -> str | None:
    """Its path; it is often in a folder that only root has on PATH."""
    return shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def has_mosquitto() -> bool:
    """Say so if it is not there."""
    return _is_there("mosquitto", there=found_mosquitto() is not None)


def has_aedes() -> bool:
    """Say so if it is not there."""
    return _is_there("aedes", there=shutil.which("node") is not None and (PACKAGES / "aedes").is_dir())


def peers() -> dict[str, Start]:
    """Those that are installed, in memory."""
    found: dict[str, Start] = {}
    if has_mosquitto():
        found["mosquitto"] = mosquitto
    if has_aedes():
        found["aedes"] = aedes
    return found


def _is_there(name: str, *, there: bool) -> bool:
    if not there:
        progress(f"{name} is not installed, its figures are left out; `scripts/prepare peers` installs it")
    return there


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def child_process(command: list[str], folder: Path, home: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run it until the block ends; what it complains about is shown only when something went wrong."""
    raise_file_limit()
    complaints = folder / "stderr"
    environment = os.environ if home is None else os.environ | {"ROOST_HOME": str(home)}
    with (
        complaints.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as child,
    ):
        try:
            yield child
        except Exception:
            progress(f"{' '.join(command[:3])} said: {complaints.read_text() or 'nothing'}")
            raise
        finally:
            child.terminate()
            try:
                child.wait(STOP_S)
            except subprocess.TimeoutExpired:
                child.kill()


def raise_file_limit() -> None:
    """Let this process and its children open as many files as they may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def wait_for_line(child: subprocess.Popen[str], word: str) -> str:
    assert child.stdout is not None
    for line in child.stdout:
        if word in line:
            return line
    raise NotStarted(f"{child.args!r} ended before it was ready")


def _wait_for_port(child: subprocess.Popen[str], port: int) -> None:
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.1):
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise NotStarted(f"{child.args!r} ended with status {child.wait(0.02)}")
