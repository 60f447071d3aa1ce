"""A whole MQTT broker in this process, from its configuration until the block ends."""

from __future__ import annotations

import random
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from roost import __version__
from roost.broker.broker import Broker
from roost.broker.buffers import FRAME_SLACK_BYTES
from roost.host.clock import Clock
from roost.host.keystore import KeyStore
from roost.host.mqtt.config import Config, sources_of
from roost.host.mqtt.config_keys import values_of
from roost.host.mqtt.groups import joined, trees_of
from roost.host.mqtt.hook import Hook
from roost.host.mqtt.reload import Reloader, Sources
from roost.host.mqtt.rows import Rows
from roost.host.mqtt.server import Server
from roost.host.paths import home
from roost.host.repo import RunningRepo

_RELEASE: Final = f"roost {__version__}"


@dataclass(slots=True)
class Running:
    """The broker, what drives it, and where it listens."""

    config: Config
    server: Server
    broker: Broker
    uris: list[str]
    repo: RunningRepo | None = None  # where groups are served
    hook: Hook | None = None  # of the program that embeds the broker

    async def reload(self, fresh: Config | None = None) -> None:
        """Read who may come in again; `BadConfig` says what is wrong, and all stays as it was.

        Of a configuration that was itself read again, only that and the limits count: the rest needs a start.
        """
        config = self.config
        if fresh is not None:
            config = replace(
                config, users=fresh.users, permissions=fresh.permissions, hook=fresh.hook, limits=fresh.limits
            )
        is_limited_anew = values_of(config.limits) != values_of(self.config.limits)  # else rates go on as they are
        limits = config.limits if is_limited_anew else None
        await self.server.reload(_sources(config, self.hook), config.broker, limits)
        self.config = config


@asynccontextmanager
async def running_broker(config: Config, hook: Hook | None = None) -> AsyncIterator[Running]:
    """Run a broker; raises `BadConfig` if a file, a folder or an address cannot be used, `NoKey` for a group's keys.

    A program that embeds it can hand in a hook for enhanced authentication, in place of the configuration's.
    """
    config = replace(config, broker=replace(config.broker, release=_RELEASE))
    security = Reloader(_sources(config, hook))
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
    server = Server(broker, security, config.bounds, rows, clock=clock)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.close)
        for warning in security.current.warnings:
            server.journal.warn("%s", warning)
        repo: RunningRepo | None = None
        if config.groups:
            keys = KeyStore(home())
            repo = await stack.enter_async_context(joined(config, keys, trees, broker, server, _RELEASE))
        stack.push_async_callback(server.stop)  # while the groups are there: wills go into them
        server.start()
        frame_bytes = config.broker.max_packet_bytes + FRAME_SLACK_BYTES
        uris = [server.listen(listener, frame_bytes) for listener in config.listeners]
        yield Running(config, server, broker, uris, repo, hook)


def _sources(config: Config, hook: Hook | None) -> Sources:
    sources = sources_of(config)
    return sources if hook is None else replace(sources, hook=lambda: hook)
