"""A whole MQTT broker in this process, from its configuration until the block ends."""

from __future__ import annotations

import asyncio
import random
import secrets
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from roost import __version__
from roost.broker.broker import Broker
from roost.broker.buffers import FRAME_SLACK_BYTES
from roost.host.clock import Clock
from roost.host.desk import MacroDesk, RoleDesk, TopicDesk
from roost.host.http.door import Desks, HttpDoor
from roost.host.http.gate import UserGate
from roost.host.http.wing import Wing
from roost.host.http.wing import joined as joined_wings
from roost.host.keystore import KeyStore
from roost.host.listening import ListeningNode
from roost.host.mqtt.config import Config, sources_of
from roost.host.mqtt.config_flips import FlipsSettings
from roost.host.mqtt.config_http import HttpSettings
from roost.host.mqtt.config_keys import values_of
from roost.host.mqtt.groups import joined, trees_of
from roost.host.mqtt.hook import Hook
from roost.host.mqtt.lone_node import lone_node
from roost.host.mqtt.macro_checking import checked
from roost.host.mqtt.macro_desk import BrokerMacros
from roost.host.mqtt.macros import look_back, macros_of, references_of
from roost.host.mqtt.reload import Reloader, Sources
from roost.host.mqtt.role_desk import BrokerRoles
from roost.host.mqtt.role_finding import Guests, RoleJudge
from roost.host.mqtt.roles import asking, keeper_of
from roost.host.mqtt.rows import Rows
from roost.host.mqtt.server import Server
from roost.host.mqtt.topic_desk import BrokerTopics
from roost.host.mqtt.tracing import traced
from roost.host.paths import home
from roost.host.repo import RunningRepo

if TYPE_CHECKING:
    from roost.host.mqtt.bridges import Bridges

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
    node: ListeningNode | None = None  # the NDN side, with groups or without
    bridges: Bridges | None = None  # with FLIPS

    @property
    def everywhere(self) -> list[str]:
        """All that it listens on: MQTT and HTTP, NDN, FLIPS."""
        parts = (self.node, self.bridges)
        return self.uris + [uri for part in parts if part is not None for uri in part.uris]

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
        there = references_of(self.broker.core.macros)
        definitions = [] if config.macros is None else await asyncio.to_thread(checked, config.macros, there)
        await self.server.reload(_sources(config, self.hook), config.broker, limits)
        now = self.server.clock()
        self.server.execute(self.broker.macros_reloaded(definitions, now), now)
        said = self.server.security.current.roles
        if said is not None:
            self.server.execute(self.broker.roles_reloaded(said.documents, said.source, now), now)
            self.server.execute(self.broker.readers_changed(said.readers.users, said.readers.nodes, now), now)
        self.config = config


Builder: TypeAlias = Callable[[Running, UserGate], AbstractAsyncContextManager[Wing]]  # of more behind the HTTP door


def _quietly(line: str) -> None:
    """Tell nobody."""


@asynccontextmanager
async def running_broker(
    config: Config, hook: Hook | None = None, builders: Sequence[Builder] = (), tell: Callable[[str], None] = _quietly
) -> AsyncIterator[Running]:
    """Run a broker; raises `BadConfig` if a file, a folder or an address cannot be used, `NoKey` for a group's keys.

    A program that embeds it can hand in a hook for enhanced authentication, in place of the configuration's, and
    builders of what else its HTTP door serves. Each part is told of when it has started; in the end they are stopped
    the other way round, so that what is behind a part is there as long as it is.
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
        server.is_late = macros.is_late
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.close)
        await stack.enter_async_context(traced(server, broker.core, config.web, config.name))
        for warning in security.current.warnings:
            server.journal.warn("%s", warning)
        repo: RunningRepo | None = None
        if config.groups:
            keys = KeyStore(home())
            repo = await stack.enter_async_context(joined(config, keys, trees, broker, server, _RELEASE))
            for each in config.groups:
                tell(f"group {each.group.name}: publishes as {each.panel.panel}, keeps it as {each.repo.repo}")
        node = None if repo is None else repo.listening
        if node is None and (config.node.uplinks or any(astuple(config.node.listen))):
            node = await stack.enter_async_context(lone_node(config.node, _RELEASE))
        for uri in () if node is None else node.uris:
            tell(f"NDN: listening on {uri}")
        endpoint = (
            None if config.roles is None else await stack.enter_async_context(asking(config.roles, broker, server))
        )
        if said is not None:
            now = clock()
            server.execute(broker.readers_changed(said.readers.users, said.readers.nodes, now), now)
        stack.push_async_callback(server.stop)  # while the groups are there: wills go into them
        server.start()
        tell(_told_of_store(config, broker))
        frame_bytes = config.broker.max_packet_bytes + FRAME_SLACK_BYTES
        uris = [server.listen(listener, frame_bytes) for listener in config.listeners]
        for uri in uris:
            tell(f"MQTT: listening on {uri}")
        running = Running(config, server, broker, uris, repo, hook, node=node)
        judge: RoleJudge | None = None
        if roles is not None:
            guests = Guests(roles, clock, endpoint)
            judge = RoleJudge(broker.core, roles, guests)
            running.roles = BrokerRoles(broker, roles, server, guests)
            tell(f"roles: documents for {_number(running.roles.topics(), 'topic')}")
        if macros is not None:
            running.macros = BrokerMacros(broker, macros, server, judge)
            tell(f"macros: {len(running.macros.names())}")
        if config.flips is not None:
            running.bridges = await stack.enter_async_context(_flips(running, config.flips))
            for uri in running.bridges.uris:
                tell(f"FLIPS: listening on {uri}")
            into, out = _number(config.flips.into, "topic"), _number(config.flips.out, "topic")
            tell(f"FLIPS: {into} into groups, {out} out of them")
        if config.http is not None:
            gate = UserGate(security, None if endpoint is None else endpoint.bearer)
            await stack.enter_async_context(_http(running, config.http, gate, judge, builders))
            tell(f"HTTP: listening on {running.uris[-1]}")
        yield running


@asynccontextmanager
async def _flips(running: Running, settings: FlipsSettings) -> AsyncIterator[Bridges]:
    """Run FLIPS, and have it counted with the rest."""
    from roost.host.mqtt.bridges import bridged  # hybrid ICN costs who has none neither time nor memory

    server = running.server
    groups = server.count_groups
    node = None if running.node is None else running.node.server
    async with bridged(settings, running.config, node, server.journal) as bridges:
        server.count_groups = lambda: groups() | bridges.counts()
        try:
            yield bridges
        finally:
            server.count_groups = groups


@asynccontextmanager
async def _http(
    running: Running, settings: HttpSettings, gate: UserGate, judge: RoleJudge | None, builders: Sequence[Builder]
) -> AsyncIterator[None]:
    """Open the HTTP door for the desks that there are; it is closed before anything behind it is."""
    server, security = running.server, running.server.security
    topics = running.topics = BrokerTopics(running.broker.core, server.clock, judge)
    server.hear = topics.hear
    desks = Desks(running.macros, running.roles, running.topics)
    groups = server.count_groups
    async with AsyncExitStack() as stack:
        wing = joined_wings([await stack.enter_async_context(build(running, gate)) for build in builders])
        limits, is_behind = running.config.limits, settings.behind_proxy
        door = HttpDoor(desks, gate, server.clock, server.journal, limits, wing, behind_proxy=is_behind)
        running.http = door
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


def _told_of_store(config: Config, broker: Broker) -> str:
    where = f"keeps sessions in {config.store}" if config.store is not None else "keeps sessions in memory only"
    return f"{where}; sessions so far: {broker.statistics().sessions}"


def _number(things: Sequence[object], what: str) -> str:
    return f"{len(things)} {what}{'' if len(things) == 1 else 's'}"


def _sources(config: Config, hook: Hook | None) -> Sources:
    sources = sources_of(config)
    return sources if hook is None else replace(sources, hook=lambda: hook)
