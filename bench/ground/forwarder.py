"""Interest–Data exchanges per second through the node, beside a bare socket relay in Python and beside NFD.

Over UDP and over a Unix stream, with 1, 32 and 256 in flight, 100 and 1350 byte payloads, and for answers from the
cache. The load generator (`_load`) is a process of its own; the relay (`_relay`) copies the same bytes and parses
nothing, so it is the limit for this language. NFD takes part when `nfd` is on PATH.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.figure import Figure, alternate, progress

SECONDS = 0.5
ROUNDS = 5
WINDOWS = (1, 32, 256)
PAYLOADS = (100, 1350)
CACHED_NAMES = 1000


def run() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="roost-bench-") as folder, contextlib.ExitStack() as stack:
        ours = stack.enter_context(node(Path(folder)))
        nfd = stack.enter_context(nfd_node(Path(folder))) if shutil.which("nfd") else None
        if nfd is None:
            progress("forwarder: no nfd on PATH, its figures are left out")
        for kind in ("udp", "unix"):
            for payload in PAYLOADS:
                for window in WINDOWS:
                    yield from _case(Path(folder), kind, payload, window, 0, ours, nfd)
            yield from _case(Path(folder), kind, 100, 32, CACHED_NAMES, ours, nfd)
            yield from _case(Path(folder), kind, 100, 256, CACHED_NAMES, ours, nfd)


def _case(
    folder: Path,
    kind: str,
    payload: int,
    window: int,
    cached: int,
    ours: Mapping[str, str],
    nfd: Mapping[str, str] | None,
) -> Iterator[Figure]:
    label = f"{kind}_{payload}B_{window}{'_cached' if cached else ''}"

    def through(addresses: Mapping[str, str]) -> float:
        control = addresses["unix"] if kind == "udp" else ""
        return exchanges(addresses[kind], addresses[kind], window, payload, cached=cached, control=control)

    def relayed() -> float:
        with relay(folder, kind) as (consumer, producer):
            return exchanges(consumer, producer, window, payload, register=False)

    pair = alternate(lambda: through(ours), relayed, rounds=ROUNDS, label=f"forwarder {label}")
    yield Figure(f"forwarder.{label}", pair.ours, "exchanges/s", "socket_relay", pair.peer)
    if nfd is not None:
        pair = alternate(lambda: through(ours), lambda: through(nfd), rounds=ROUNDS, label=f"{label} nfd")
        yield Figure(f"forwarder.{label}_nfd", pair.ours, "exchanges/s", "nfd", pair.peer)


def exchanges(
    consumer: str,
    producer: str,
    window: int,
    payload: int,
    *,
    cached: int = 0,
    register: bool = True,
    control: str = "",
) -> float:
    """Run the load generator once; returns exchanges per second."""
    load = {
        "consumer": consumer,
        "producer": producer,
        "in_flight": window,
        "payload_bytes": payload,
        "seconds": SECONDS,
        "distinct": cached,
        "register": register,
        "control": control,
    }
    command = [sys.executable, "-m", "bench.ground._load", json.dumps(load)]
    measured = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
    return float(measured["exchanges"]) / float(measured["seconds"])


@contextlib.contextmanager
def process(command: list[str], ready: str) -> Iterator[None]:
    """Run a peer until the block ends; it is ready when it prints a line with `ready`."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        while True:
            line = child.stdout.readline()
            if not line:
                raise RuntimeError(f"{command[0]} ended before it was ready")
            if ready in line:
                break
        yield
    finally:
        child.terminate()
        child.wait(10)
        if child.stdout is not None:
            child.stdout.close()


@contextlib.contextmanager
def node(folder: Path) -> Iterator[dict[str, str]]:
    """Run our node on sockets of its own."""
    path, port = folder / "node.sock", free_port()
    command = [sys.executable, "-c", "import sys; from roost.cli import main; sys.exit(main())", "node"]
    command += ["--unix", str(path), "--udp", f"127.0.0.1:{port}", "--no-tcp", "--no-ws"]
    with process(command, "ready"):
        yield {"unix": f"unix:{path}", "udp": f"udp:{port}"}


@contextlib.contextmanager
def nfd_node(folder: Path) -> Iterator[dict[str, str]]:
    """Run an installed NFD on sockets of its own."""
    path, port = folder / "nfd.sock", free_port()
    settings = folder / "nfd.conf"
    settings.write_text(
        f"log {{ default_level WARN }}\ntables {{ cs_max_packets 65536 }}\nface_system {{ unix {{ path {path} }}\n"
        f"udp {{ listen yes port {port} enable_v6 no mcast no unicast_mtu 8800 }} }}\n"
        "authorizations { authorize { certfile any privileges { faces fib cs strategy-choice } } }\n"
        "rib { localhost_security { trust-anchor { type any } } }\n"
    )
    child = subprocess.Popen(["nfd", "--config", str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(1000):
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(0.1)
                probe.connect(str(path))
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                raise RuntimeError(f"nfd ended with status {child.wait(0.05)}")
        yield {"unix": f"unix:{path}", "udp": f"udp:{port}"}
    finally:
        child.terminate()
        child.wait(10)


@contextlib.contextmanager
def relay(folder: Path, kind: str) -> Iterator[tuple[str, str]]:
    """Run the relay that parses nothing."""
    ends = [str(free_port()) if kind == "udp" else str(folder / f"relay-{end}.sock") for end in "ab"]
    with process([sys.executable, "-m", "bench.ground._relay", kind, *ends], "ready"):
        yield f"{kind}:{ends[0]}", f"{kind}:{ends[1]}"


def free_port() -> int:
    """Find a UDP port nobody uses."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
