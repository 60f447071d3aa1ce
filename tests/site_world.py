"""A node with its page and API on a real socket, and a peer that asks it."""

from __future__ import annotations

import asyncio
import http.client
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiomqtt
import pytest

from roost.cli import main
from roost.host.mqtt.config import read_config
from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.host.mqtt.running import Running, running_broker
from roost.web.site import site

GROUP = "/BigCompany/Building1/Electricity"
GROUPED: dict[str, Any] = {  # a node that keeps a group, where `make_home` was
    "trees": [{"filter": "plain/#"}, {"filter": "#", "group": GROUP}],
    "groups": [{"name": GROUP, "panel": "Gate1", "repo": "Repo1"}],
    "node": {"tcp": ["127.0.0.1:0"]},
}
PERMISSIONS = "user alice\nreadwrite #\nreadwrite $SYS/#\nreadwrite $roles/#\nuser bob\nread hall/#\n"


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401  whatever came
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Node:
    """A node with its page, and a peer that asks it."""

    running: Running
    folder: Path

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            given.setdefault("Content-Type", "application/json")

        def wait() -> Answer:
            place = urlsplit(self.running.uris[-1])
            connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=60)
            try:
                connection.request(method, path, content, given)
                answer = connection.getresponse()
                return Answer(answer.status, dict(answer.getheaders()), answer.read())
            finally:
                connection.close()

        return await asyncio.to_thread(wait)

    async def log_in(self, user: str, password: str) -> str:
        """The cookie."""
        answer = await self.ask("POST", "/session", {"user": user, "password": password})
        assert answer.status == 200, answer.json
        return answer.headers["Set-Cookie"].partition(";")[0]

    def client(self, **more: Any) -> aiomqtt.Client:  # noqa: ANN401  as aiomqtt has it
        """A device."""
        port = int(self.running.uris[0].rpartition(":")[2])
        return aiomqtt.Client("127.0.0.1", port, **({"protocol": aiomqtt.ProtocolVersion.V5} | more))


def make_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys for the group: of two repos, and of a panel at each of two nodes."""
    monkeypatch.setenv("ROOST_HOME", str(folder / "home"))
    monkeypatch.delenv("ROOST_PASSPHRASE", raising=False)
    repos = ("--repo", "Repo1", "--repo", "Repo2")
    assert main(["init", "--company", "BigCompany", "--building", "Building1", *repos]) == 0
    for panel in ("Gate1", "Gate2"):
        assert main(["key", "make", f"{GROUP}/{panel}"]) == 0


def write_users(folder: Path, **passwords: str) -> None:
    users = folder / "users"
    users.write_text("".join(f"{name}:{PasswordHash.make(word.encode(), LIGHT)}\n" for name, word in passwords.items()))
    users.chmod(0o600)


@asynccontextmanager
async def node(
    folder: Path,
    *,
    users: bool = True,
    wings: Sequence[Any] = (),
    **more: Any,  # noqa: ANN401  as YAML has it
) -> AsyncIterator[Node]:
    said: dict[str, object] = {
        "listeners": [{"tcp": "127.0.0.1:0"}],
        "store": "memory",
        "http": "127.0.0.1:0",
        "tokens": str(folder / "tokens"),
    }
    if users:
        write_users(folder, alice="secret", bob="word")
        (folder / "permissions").write_text(PERMISSIONS)
        said |= {"users": "users", "permissions": "permissions"}
    async with running_broker(read_config(said | more, folder, folder), builders=[site, *wings]) as running:
        yield Node(running, folder)


def basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()
