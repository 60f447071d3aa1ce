"""A node as it is, in a thread of its own, for a browser: a group, macros, roles, users, and readings that come."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from roost.broker.message import Message
from roost.cli import main
from roost.host.mqtt.config import read_config
from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.host.mqtt.running import Running, running_broker
from roost.machine import SECOND
from roost.web.site import site

GROUP: Final = "/BigCompany/Building1/Electricity"
PERMISSIONS: Final = "user alice\nreadwrite #\nreadwrite $roles/#\nreadwrite $SYS/#\nuser bob\nread hall/temp\n"
DOCUMENT: Final = {
    "topic": "hall/temp",
    "roles": {
        "developer": {"streams": ["raw", "{topic}/vague"], "default": "raw"},
        "customer": {"streams": ["{topic}/vague"]},
    },
}


class Real:
    """The node."""

    def __init__(self, folder: Path, *, users: bool) -> None:
        self.folder: Final = folder
        self.users: Final = users
        self.running: Running
        self.loop: Final = asyncio.new_event_loop()
        self._is_up: Final = threading.Event()
        self._end: asyncio.Event

    @property
    def url(self) -> str:
        return next(uri for uri in self.running.uris if uri.startswith("http"))

    def publish(self, topic: str, *values: object, ago_s: int = 0) -> None:
        """Have the broker publish readings a second apart, the first so long ago; returns when they are kept."""
        asyncio.run_coroutine_threadsafe(self._publish(topic, values, ago_s), self.loop).result(30)

    @contextmanager
    def up(self) -> Iterator[Real]:
        thread = threading.Thread(target=self.loop.run_until_complete, args=[self._run()])
        thread.start()
        assert self._is_up.wait(30)
        try:
            yield self
        finally:
            self.loop.call_soon_threadsafe(self._end.set)
            thread.join()
            self.loop.close()

    # -- inside

    async def _run(self) -> None:
        self._end = asyncio.Event()
        config = read_config(self._configuration(), self.folder, self.folder)
        async with running_broker(config, builders=[site]) as self.running:
            self._is_up.set()
            await self._end.wait()

    def _configuration(self) -> dict[str, Any]:
        (self.folder / "rbps.yaml").write_text(json.dumps([DOCUMENT]))
        (self.folder / "roles.yaml").write_text(json.dumps({"alice": ["developer"], "bob": ["customer"]}))
        said: dict[str, Any] = {
            "listeners": [{"tcp": "127.0.0.1:0"}], "store": "memory", "http": "127.0.0.1:0", "name": "node1",
            "trees": [{"filter": "#", "group": GROUP}], "node": {"tcp": ["127.0.0.1:0"]}, "macros": {"files": []},
            "groups": [{"name": GROUP, "panel": "Gate1", "repo": "Repo1"}],
            "roles": {"documents": "rbps.yaml", "users": "roles.yaml"},
        }  # fmt: skip
        if self.users:
            hashes = {name: PasswordHash.make(word, LIGHT) for name, word in (("alice", b"secret"), ("bob", b"word"))}
            (self.folder / "users").write_text("".join(f"{name}:{each}\n" for name, each in hashes.items()))
            (self.folder / "users").chmod(0o600)
            (self.folder / "permissions").write_text(PERMISSIONS)
            said |= {"users": "users", "permissions": "permissions"}
        return said

    async def _publish(self, topic: str, values: tuple[object, ...], ago_s: int) -> None:
        broker, server = self.running.broker, self.running.server
        start = server.clock() - ago_s * SECOND
        for at, value in enumerate(values):
            payload = json.dumps(value).encode() if isinstance(value, (dict, list)) else str(value).encode()
            message = Message(topic.encode(), payload, 0, False, b"", 0, b"test", start + at * SECOND)
            now = server.clock()
            server.execute(broker.publish(message, now), now)
        async with asyncio.timeout(60):
            while len(broker.core.inserting):  # noqa: ASYNC110  nobody tells
                await asyncio.sleep(0.005)


@contextmanager
def real_node(folder: Path, *, users: bool = False) -> Iterator[Real]:
    """Have one run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROOST_HOME", str(folder / "home"))
        patch.delenv("ROOST_PASSPHRASE", raising=False)
        made = main(
            ["init", "--company", "BigCompany", "--building", "Building1", "--repo", "Repo1", "--repo", "Repo2"]
        )
        assert made == 0
        assert main(["keys", "make", f"{GROUP}/Gate1"]) == 0
        with Real(folder, users=users).up() as real:
            yield real
