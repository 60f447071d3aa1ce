"""A whole MQTT broker in this process, from its configuration until the block ends."""

from __future__ import annotations

import random
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from roost.broker.broker import Broker
from roost.host.clock import Clock
from roost.host.keystore import KeyStore
from roost.host.mqtt.authenticating import Hook
from roost.host.mqtt.config import Config
from roost.host.mqtt.groups import joined, trees_of
from roost.host.mqtt.listener import contexts_of
from roost.host.mqtt.reload import Reloader, Sources
from roost.host.mqtt.rows import Rows
from roost.host.mqtt.server import Server
from roost.host.paths import home
from roost.host.repo import RunningRepo

_FRAME_SLACK_BYTES: Final = 64 * 1024  # a WebSocket frame may hold several packets, or a part of one


@dataclass(frozen=True, slots=True)
class Running:
    """The broker, what drives it, and where it listens."""

    config: Config
    server: Server
    broker: Broker
    uris: list[str]
    repo: RunningRepo | None = None  # where groups are served

    async def reload(self) -> None:
        """Read users, permissions and certificates again; `BadConfig` says what is wrong, and all stays as it was."""
        await self.server.reload(self.config.broker)


@asynccontextmanager
async def running_broker(config: Config, hook: Hook | None = None, version: str = "roost") -> AsyncIterator[Running]:
    """Run a broker; raises `BadConfig` if a file, a folder or an address cannot be used, `NoKey` for a group's keys."""
    security = Reloader(Sources(config.users, config.permissions, lambda: contexts_of(config.listeners)))
    clock = Clock()
    rows = None if config.store is None else Rows(config.store)
    trees = trees_of(config)
    try:
        broker = Broker(
            config.broker,
            security.current.access,
            random.Random(secrets.randbits(128)),  # noqa: S311  client ids and choices are no secrets
            () if rows is None else rows.load(),
            clock(),
            trees if config.groups else None,
            limits=config.limits,
        )
    except BaseException:
        if rows is not None:
            await rows.close()
        raise
    server = Server(broker, security, config.bounds, rows, clock=clock, hook=hook)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.close)
        for warning in security.current.warnings:
            server.journal.warn("%s", warning)
        repo: RunningRepo | None = None
        if config.groups:
            keys = KeyStore(home())
            repo = await stack.enter_async_context(joined(config, keys, trees, broker, server, version))
        stack.push_async_callback(server.stop)  # while the groups are there: wills go into them
        server.start()
        frame_bytes = config.broker.max_packet_bytes + _FRAME_SLACK_BYTES
        uris = [server.listen(listener, frame_bytes) for listener in config.listeners]
        yield Running(config, server, broker, uris, repo)
