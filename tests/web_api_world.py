"""A node in this process with a group, an HTTP door and the API behind it, and who asks it.

async with node(folder) as world:                 one group, whose panel Gate1 publishes what comes by MQTT
    await world.publish("hall/temp", "21.5")
    answer = await world.ask("/streams")          status, JSON
"""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from roost.broker.message import Message
from roost.cli import main
from roost.host.mqtt.config import read_config
from roost.host.mqtt.running import Running, running_broker
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.topic import name_of_topic
from roost.pubsub.repos.repo import Repo
from roost.repo.cause import REPLICATION
from roost.repo.store import Entry
from roost.web.api import api
from roost.web.api.live import Live
from roost.web.api.lookout import Lookout
from roost.web.index import Index
from roost.wire import Data

GROUP = "/BigCompany/Building1/Electricity"
START = 1_790_000_000 * SECOND


def keys(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Have a company with two repos and two gates."""
    patch.setenv("ROOST_HOME", str(folder / "home"))
    patch.delenv("ROOST_PASSPHRASE", raising=False)
    assert (
        main(["init", "--company", "BigCompany", "--building", "Building1", "--repo", "Repo1", "--repo", "Repo2"]) == 0
    )
    for panel in ("Gate1", "Gate2"):
        assert main(["keys", "make", f"{GROUP}/{panel}"]) == 0


@dataclass
class Answered:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401  whatever came
        return json.loads(self.body)

    @property
    def items(self) -> list[Any]:
        assert self.status == 200, self.body
        return list(self.json["items"])


@dataclass
class World:
    """The node."""

    running: Running

    @property
    def uri(self) -> str:
        return next(uri for uri in self.running.uris if uri.startswith("http"))

    @property
    def repo(self) -> Repo:
        """The machine of the node's repo."""
        assert self.running.repo is not None
        return self.running.repo.repos[0]

    @property
    def lookout(self) -> Lookout:
        """What all of the API looks at."""
        assert self.running.repo is not None
        [hear] = self.running.repo.watchers
        return hear.__self__  # type: ignore[attr-defined,no-any-return]

    @property
    def index(self) -> Index:
        """The index behind the API."""
        return self.lookout.index

    @property
    def live(self) -> Live:
        """Who follows."""
        [hear] = self.index.watchers
        return hear.__self__  # type: ignore[attr-defined,no-any-return]

    @property
    def now(self) -> int:
        return self.running.server.clock()

    async def ask(
        self, path: str, user: str = "", method: str = "GET", body: object = None, **headers: str
    ) -> Answered:
        """Ask; `user` is name:password."""
        return await asyncio.to_thread(self._ask, path, user, method, body, headers)

    def _ask(self, path: str, user: str, method: str, body: object, headers: dict[str, str]) -> Answered:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            given["Content-Type"] = "application/json"
        if user:
            given["Authorization"] = "Basic " + b64encode(user.encode()).decode()
        request = urllib.request.Request(self.uri + path, content, given, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return Answered(answer.status, dict(answer.headers), answer.read())
        except urllib.error.HTTPError as error:
            return Answered(error.code, dict(error.headers), error.read())

    async def publish(self, topic: str, *values: object, time: int = 0, step: int = SECOND) -> None:
        """Have the broker publish values as readings of its panel, and wait until they are in the group."""
        broker, server = self.running.broker, self.running.server
        stream = self.repo.place.group.panel(self.running.config.groups[0].panel.panel).name + name_of_topic(topic)
        before = self.repo.shelf.holdings.highest(stream)
        for at, value in enumerate(values):
            measured = (time or self.now) + at * step
            payload = value if isinstance(value, bytes) else str(value).encode()
            message = Message(topic.encode(), payload, 0, False, b"", 0, b"test", measured)
            server.execute(broker.publish(message, self.now), self.now)
        if not topic.startswith("plain/"):
            await self.until(lambda: self.repo.shelf.holdings.highest(stream) >= before + len(values))

    async def bring(self, *packets: Data) -> None:
        """Have packets come to the repo as from another one."""
        assert self.running.repo is not None
        repo = self.repo
        self.running.repo.act(repo, repo.shelf.put(packets, REPLICATION, lambda _, __: [], self.now))
        await self.until(
            lambda: repo.shelf.holdings.is_held(packets[-1].name.prefix(-1), packets[-1].name.at(-1).number())
        )

    async def put(self, name: Name, wire: bytes) -> None:
        """Have a packet on the disk that nobody has looked at, as if somebody had been there."""
        assert self.running.repo is not None
        entry = Entry(name, wire, self.now)
        self.running.repo.act(self.repo, self.repo.shelf.keep([entry], REPLICATION, lambda _, __: [], self.now))
        await self.until(lambda: self.repo.shelf.holdings.is_held(name.prefix(-1), name.at(-1).number()))

    async def until(self, is_so: Any, limit_s: float = 20) -> None:  # noqa: ANN401  anything callable
        """Wait for something that nobody tells."""
        async with asyncio.timeout(limit_s):
            while not is_so():  # noqa: ASYNC110  nobody tells
                await asyncio.sleep(0.005)


@asynccontextmanager
async def node(folder: Path, number: int = 1, *uplinks: str, **more: Any) -> AsyncIterator[World]:  # noqa: ANN401
    """The node, without users unless `more` has them."""
    said: dict[str, Any] = {
        "listeners": [{"tcp": "127.0.0.1:0"}],
        "store": "memory",
        "http": "127.0.0.1:0",
        "name": f"node{number}",
        "trees": [{"filter": "plain/#"}, {"filter": "#", "group": GROUP}],
        "groups": [{"name": GROUP, "panel": f"Gate{number}", "repo": f"Repo{number}"}],
        "node": {"tcp": ["127.0.0.1:0"], "uplinks": list(uplinks)},
    }
    async with running_broker(read_config(said | more, folder, folder), builders=[api]) as running:
        yield World(running)
