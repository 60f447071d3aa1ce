"""The NDN side of a node that keeps no group: a forwarder for programs of this machine and for other nodes."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from roost.errors import BadConfig
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.host.address import is_loopback
from roost.host.home_trust import choose_trust, is_initialised
from roost.host.listening import ListeningNode, running
from roost.host.mqtt.config_groups import NodeSettings as Settings
from roost.host.uplink import Uplink
from roost.naming import Name
from roost.node import Node, NodeSettings
from roost.node.introduction import INSIDE, Introduction


@asynccontextmanager
async def lone_node(settings: Settings, version: str) -> AsyncIterator[ListeningNode]:
    """Run it while the block runs; raises `BadConfig` if others could reach it before it has keys and a policy."""
    listen = settings.listen
    outside = [host for host, _ in listen.tcp + listen.udp + listen.ws if host != "localhost" and not is_loopback(host)]
    if outside and not is_initialised():
        raise BadConfig(
            f"node: {outside[0]} is reachable from other machines, and this node has no keys and no policy yet: run "
            "`roost init` first, or listen on 127.0.0.1 only"
        )
    randomness = random.Random(secrets.randbits(128))  # noqa: S311  nonces are no secrets
    introduction = Introduction(choose_trust(None, None, time.time_ns()).verifier, randomness)
    node = Node(NodeSettings(version=version, policy=introduction), randomness)
    async with running(node, listen) as listening:
        listening.server.attach_application(introduction, lambda effect, now: None, INSIDE)  # noqa: ARG005  as it says
        if settings.uplinks:
            node.forwarder.strategies.set(Name(), STRATEGY_PREFIX / "fail-over")
        for cost, uri in enumerate(settings.uplinks):
            Uplink(listening.server, uri, routes=[Name()], cost=cost).start()
        yield listening
