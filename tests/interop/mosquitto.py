"""mosquitto as the tests start it, and its clients beside our verbs: the same arguments for both.

It has a listener for everybody, one for users, one with TLS and one for WebSocket, all on free ports of the loopback.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import ipaddress
import itertools
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from unittest import mock

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.verbs import environment_of

from roost.cli import main

RUN_S: Final = 60

_LOOPBACK: Final = ipaddress.ip_address("127.0.0.1")
_clients: Final = itertools.count(1)

Ended = subprocess.CompletedProcess[bytes]


class Mosquitto:
    """The server: its ports, and the two families of clients, each at any of them."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self.plain, self.users, self.tls, self.ws = free_ports(4)

    def mosquitto(self, verb: str, *words: str, stdin: bytes = b"", port: int = 0) -> Ended:
        return _end(self._start([f"mosquitto_{verb}"], words, port), stdin)

    def roost(self, verb: str, *words: str, stdin: bytes = b"", port: int = 0) -> Ended:
        """Run our verb, in this process: that is quicker."""
        output, errors = io.TextIOWrapper(io.BytesIO(), write_through=True), io.StringIO()
        (self.folder / "stdin").write_bytes(stdin)
        command = [verb, "-h", "127.0.0.1", "-p", str(port or self.plain), *words]
        with (
            (self.folder / "stdin").open() as source,
            mock.patch.object(sys, "stdin", source),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(errors),
        ):
            code = main(command)
        output.seek(0)
        return Ended(command, code, output.buffer.read(), errors.getvalue().encode())

    def _start(self, program: list[str], words: Sequence[str], port: int) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        command = [*program, "-h", "127.0.0.1", "-p", str(port or self.plain), *words]
        return subprocess.Popen(command, env=environment_of(self.folder), stdin=pipe, stdout=pipe, stderr=pipe)

    def sessions(self, topic: str, *, version: str = "311", qos: str = "2") -> tuple[list[str], list[str]]:
        """One session for each family, which subscribes and leaves; how each comes back to it."""
        back = []
        for run in (self.mosquitto, self.roost):
            words = ["-i", f"client{next(_clients)}", "-c", "-q", qos, "-t", topic, "-V", version]
            left = run("sub", *words, "-E")
            assert (left.returncode, left.stdout, left.stderr) == (0, b"", b"")
            back.append(words)
        return back[0], back[1]

    def both_show(self, sessions: tuple[list[str], list[str]], *words: str) -> bytes:
        """What mosquitto_sub shows; `roost sub` has to show the same."""
        started = self._start(["mosquitto_sub"], [*sessions[0], *words], 0)
        ours = self.roost("sub", *sessions[1], *words)
        theirs = _end(started)
        assert ours.stdout == theirs.stdout
        assert ours.returncode == theirs.returncode
        return ours.stdout


def require_mosquitto() -> str:
    """Where the server is; for `make test`, which installs it and its clients, they have to be there."""
    program = shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if program is None or shutil.which("mosquitto_sub") is None:
        missing = "mosquitto and mosquitto-clients are not installed: run `make test`, which installs them"
        if os.environ.get("ROOST_RUN"):
            pytest.fail(missing)
        pytest.skip(missing)
    return program


@contextlib.contextmanager
def running_mosquitto(folder: Path) -> Iterator[Mosquitto]:
    """Start it, and end it with the block."""
    program = require_mosquitto()
    started = Mosquitto(folder)
    command = [program, "-c", str(_configure(started))]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if line.endswith("running\n"):
                break
        else:
            pytest.fail(f"mosquitto does not start: {''.join(said)}")
        try:
            yield started
        finally:
            process.terminate()


def _end(process: subprocess.Popen[bytes], stdin: bytes = b"") -> Ended:
    with process:
        try:
            output, errors = process.communicate(stdin, timeout=RUN_S)
        finally:
            process.kill()
    return Ended(process.args, process.returncode, output, errors)


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for opened in sockets:
        opened.bind(("127.0.0.1", 0))
    ports = [opened.getsockname()[1] for opened in sockets]
    for opened in sockets:
        opened.close()
    return ports


def _configure(server: Mosquitto) -> Path:
    folder = server.folder
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mosquitto")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(_LOOPBACK)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "server.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "server.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    subprocess.run(["mosquitto_passwd", "-c", "-b", str(folder / "users"), "anna", "secret"], check=True)
    (folder / "permissions").write_text("user anna\ntopic readwrite ours/#\n")
    configuration = folder / "mosquitto.conf"
    configuration.write_text(
        f"""per_listener_settings true
user {"root" if os.geteuid() == 0 else "mosquitto"}
persistence false
log_dest stderr
listener {server.plain} 127.0.0.1
allow_anonymous true
listener {server.users} 127.0.0.1
password_file {folder / "users"}
acl_file {folder / "permissions"}
listener {server.tls} 127.0.0.1
allow_anonymous true
certfile {folder / "server.pem"}
keyfile {folder / "server.key"}
listener {server.ws} 127.0.0.1
protocol websockets
allow_anonymous true
"""
    )
    return configuration
