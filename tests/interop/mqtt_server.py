"""`roost mqtt` as the interop tests start it: TCP, TLS, WebSocket and both, on free ports that it keeps over restarts.

Whoever has no name may do everything but write to `locked/#`. Anna has the password `secret`, bert a certificate, and
each of them has no more than a home of their own, the news to read and a drop box to write to.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml
from tests.interop.processes import STOP_S, Process
from tests.mqtt_certificates import Authority

from roost.host.mqtt.passwords import LIGHT, PasswordHash

PASSWORD: Final = "secret"
KEEP_ALIVE_S: Final = 300  # the most that this server allows
MAX_PACKET_BYTES: Final = 2 << 20
RECEIVE_MAXIMUM: Final = 50
WAIT_S: Final = 30.0

_RUN: Final = "import sys; from roost.cli import main; sys.exit(main())"
_SCHEMES: Final = {"mqtt": "tcp", "mqtts": "tls", "ws": "ws", "wss": "wss"}
_PERMISSIONS: Final = """all
  readwrite home/%u/#
  read news/+
  write drop/#
anonymous
  readwrite #
  read $SYS/#
  deny write locked/#
"""


_numbers: Final = itertools.count(1)


def fresh() -> str:
    """A topic, and the name of a client, that no other test has."""
    return f"place{next(_numbers)}"


class MqttServer:
    """The server's ports by transport, and the files that its clients need."""

    def __init__(self, folder: Path, *, for_anyone: bool) -> None:
        self.folder: Final = folder
        self._for_anyone: Final = for_anyone
        self.ports: Final[dict[str, int]] = dict(zip(_SCHEMES.values(), _steady_ports(len(_SCHEMES)), strict=True))
        authority = Authority(folder)
        self.authority: Final = str(authority.path)
        authority.certify("server")
        self.bert: Final = [str(file) for file in authority.certify("bert")]
        users = folder / "users"
        users.write_text(f"anna:{PasswordHash.make(PASSWORD.encode(), LIGHT)}\n")
        users.chmod(0o600)
        (folder / "permissions").write_text(_PERMISSIONS)
        self._run = self._started()

    def kill_and_restart(self) -> None:
        """End it without a chance to tidy up, and start it again."""
        self._run.kill()
        self._run = self._started()

    def stop(self) -> None:
        self._run.stop()

    def _started(self) -> _Run:
        tls = {"certificate": "server.pem", "key": "server.key", "clients": "authority.pem"}
        configuration: dict[str, object] = {
            "listeners": [
                {transport: f"127.0.0.1:{port}", **(tls if transport in {"tls", "wss"} else {})}
                for transport, port in self.ports.items()
            ],
            "store": "store",
            "packets": {"max_bytes": MAX_PACKET_BYTES, "receive_maximum": RECEIVE_MAXIMUM},
            "sessions": {"max_keep_alive": KEEP_ALIVE_S},
            "features": {"sys_interval": 1, "response_prefix": "answers/"},
        }
        if not self._for_anyone:
            configuration |= {"users": "users", "permissions": "permissions"}
        file = self.folder / "mqtt.yaml"
        file.write_text(yaml.safe_dump(configuration))
        return _Run(file, self.ports)


class _Run(Process):
    """One life of the server."""

    def __init__(self, configuration: Path, ports: dict[str, int]) -> None:
        self._ports: Final = ports
        super().__init__(
            "roost mqtt", [sys.executable, "-c", _RUN, "mqtt", "-c", str(configuration)], configuration.parent
        )
        self.wait_ready()

    def line(self, line: bytes) -> None:
        text = line.decode().strip()
        if text.startswith("listening on "):
            scheme, _, address = text.removeprefix("listening on ").partition("://")
            self._ports[_SCHEMES[scheme]] = int(address.rpartition(":")[2])
        elif text.startswith("ready"):
            self._ready.set_result(None)

    def stop(self) -> None:
        """Stop it as an operator does; a server that cannot end itself in order has failed."""
        self._child.terminate()
        self._end()
        if self.ended.result(STOP_S) != 0:
            raise self.failed(f"it ended with code {self.ended.result()}")


@contextlib.contextmanager
def running_mqtt_server(folder: Path, *, for_anyone: bool = False) -> Iterator[MqttServer]:
    """Start it, with users and permissions or without, and stop it with the block."""
    server = MqttServer(folder, for_anyone=for_anyone)
    try:
        yield server
    finally:
        server.stop()


def _steady_ports(count: int) -> list[int]:
    """Free ports that the system gives to nobody else by itself, so that they are free after a restart."""
    first, found = 10_000 + os.getpid() * 16 % 20_000, []
    for port in range(first, 32_768):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise AssertionError(f"no {count} ports are free from {first} on")
