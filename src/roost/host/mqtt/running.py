"""A whole MQTT broker in this process, from its configuration until the block ends."""

from __future__ import annotations

import asyncio
import random
import secrets
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from roost import __version__
from roost.broker.broker import Broker
from roost.broker.buffers import FRAME_SLACK_BYTES
from roost.host.clock import Clock
from roost.host.desk import MacroDesk, RoleDesk, TopicDesk
from roost.host.http.door import Desks, HttpDoor
from roost.host.http.gate import UserGate
from roost.host.keystore import KeyStore
from roost.host.mqtt.config import Config, sources_of
from roost.host.mqtt.config_http import HttpSettings
from roost.host.mqtt.config_keys import values_of
from roost.host.mqtt.groups import joined, trees_of
from roost.host.mqtt.hook import Hook
from roost.host.mqtt.macro_desk import BrokerMacros
from roost.host.mqtt.macros import look_back, macros_of
from roost.host.mqtt.reload import Reloader, Sources
from roost.host.mqtt.role_desk import BrokerRoles
from roost.host.mqtt.role_finding import Guests, RoleJudge
from roost.host.mqtt.roles import asking, keeper_of
from roost.host.mqtt.rows import Rows
from roost.host.mqtt.server import Server
from roost.host.mqtt.topic_desk import BrokerTopics
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
    macros: MacroDesk | None = None  # where they are configured, as are the two below
    roles: RoleDesk | None = None
    topics: TopicDesk | None = None  # with HTTP
    http: HttpDoor | None = None

    async def reload(self, fresh: Config | None = None) -> None:
        """Read who may come in, roles and macros again; `BadConfig` says what is wrong, and all stays as it was.

        Of a configuration that was itself read again, only that and the limits count: the rest needs a start.
        """
        config = self.config
        if fresh is not None:
            roles = None if config.roles is None else fresh.roles or config.roles
            config = replace(config, users=fresh.users, permissions=fresh.permissions, hook=fresh.hook, roles=roles)
            macros = None if config.macros is None else fresh.macros or config.macros
            config = replace(config, limits=fresh.limits, macros=macros)
        is_limited_anew = values_of(config.limits) != values_of(self.config.limits)  # else rates go on as they are
        limits = config.limits if is_limited_anew else None
        definitions = [] if config.macros is None else await asyncio.to_thread(config.macros.load)
        await self.server.reload(_sources(config, self.hook), config.broker, limits)
        now = self.server.clock()
        self.server.execute(self.broker.macros_reloaded(definitions, now), now)
        said = self.server.security.current.roles
        if said is not None:
            self.server.execute(self.broker.roles_reloaded(said.documents, said.source, now), now)
            self.server.execute(self.broker.readers_changed(said.readers.users, said.readers.nodes, now), now)
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
        macros = macros_of(config, trees)
        said = security.current.roles
        roles = None if config.roles is None or said is None else keeper_of(config.roles, said)
        broker = Broker(
            config.broker,
            security.current.access,
            random.Random(secrets.randbits(128)),  # noqa: S311  client ids and choices are no secrets
            () if rows is None else rows.load(),
            clock(),
            trees if config.groups else None,
            limits=config.limits,
            macros=macros,
            roles=roles,
        )
    except BaseException:
        if rows is not None:
            await rows.close()
        raise
    server = Server(broker, security, config.bounds, rows, clock=clock)
    if macros is not None:
        look_back(macros, broker.core, clock)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.close)
        for warning in security.current.warnings:
            server.journal.warn("%s", warning)
        repo: RunningRepo | None = None
        if config.groups:
            keys = KeyStore(home())
            repo = await stack.enter_async_context(joined(config, keys, trees, broker, server, _RELEASE))
        endpoint = (
            None if config.roles is None else await stack.enter_async_context(asking(config.roles, broker, server))
        )
        if said is not None:
            now = clock()
            server.execute(broker.readers_changed(said.readers.users, said.readers.nodes, now), now)
        stack.push_async_callback(server.stop)  # while the groups are there: wills go into them
        server.start()
        frame_bytes = config.broker.max_packet_bytes + FRAME_SLACK_BYTES
        uris = [server.listen(listener, frame_bytes) for listener in config.listeners]
        running = Running(config, server, broker, uris, repo, hook)
        judge: RoleJudge | None = None
        if roles is not None:
            guests = Guests(roles, clock, endpoint)
            judge = RoleJudge(broker.core, roles, guests)
            running.roles = BrokerRoles(broker, roles, server, guests)
        if macros is not None:
            running.macros = BrokerMacros(broker, macros, server, judge)
        if config.http is not None:
            gate = UserGate(security, None if endpoint is None else endpoint.bearer)
            await stack.enter_async_context(_http(running, config.http, gate, judge))
        yield running


@asynccontextmanager
async def _http(
    running: Running, settings: HttpSettings, gate: UserGate, judge: RoleJudge | None
) -> AsyncIterator[None]:
    """Open the HTTP door for the desks that there are; it is closed before anything behind it is."""
    server, security = running.server, running.server.security
    topics = running.topics = BrokerTopics(running.broker.core, server.clock, judge)
    server.hear = topics.hear
    desks = Desks(running.macros, running.roles, running.topics)
    door = running.http = HttpDoor(desks, gate, server.clock, server.journal, running.config.limits)
    groups = server.count_groups
    server.count_groups = lambda: groups() | door.counts() | gate.counts()
    try:
        running.uris.append(await door.start(settings.host, settings.port, _renewable(security, str(settings))))
        yield
    finally:
        server.count_groups = groups
        await door.stop()
        gate.close()


def _renewable(security: Reloader, name: str) -> ssl.SSLContext | None:
    """The TLS context of a door of asyncio's, which keeps it: every handshake goes on with the one that counts then."""
    context = security.current.contexts.get(name)

    def renew(tls: ssl.SSLSocket | ssl.SSLObject, _host: str | None, _context: ssl.SSLContext) -> None:
        tls.context = security.current.contexts[name]

    if context is not None:
        context.sni_callback = renew  # which comes with or without a name
    return context


def _sources(config: Config, hook: Hook | None) -> Sources:
    sources = sources_of(config)
    return sources if hook is None else replace(sources, hook=lambda: hook)
