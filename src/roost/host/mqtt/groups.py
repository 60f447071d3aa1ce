"""The groups of a broker, joined: a repo of this node for each of them, and a panel that publishes for MQTT clients.

Keys are in ROOST_HOME: the panel's, and the repo's. Without uplinks the node is alone, and says what its numbers are;
with some it asks another node first, if its disk is new (`roost.broker.insertion`).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Final

from roost.broker.broker import Broker
from roost.broker.roaming import Roaming
from roost.broker.sealing import Sealing
from roost.broker.sealing_readers import CoreReadership
from roost.broker.trees import Tree, Trees
from roost.errors import BadConfig
from roost.host.enrol_noticing import noticing
from roost.host.joining import group_file
from roost.host.keystore import KeyStore
from roost.host.mqtt.config import Config
from roost.host.mqtt.config_groups import check_keys
from roost.host.mqtt.gateways import Gateways, PanelKeys
from roost.host.mqtt.server import Server
from roost.host.repo import Duty, RunningRepo, duty_of, running_repo
from roost.naming import Name
from roost.naming.building import Panel
from roost.naming.topic import TopicFilter
from roost.pubsub.repos.repo import RepoSettings
from roost.repo.retention import Rule
from roost.trust import KeyChain, Receiver, Recipient
from roost.trust.wrapping import receiving
from roost.wire import Data

SESSIONS: Final = Rule(TopicFilter("+/$roost/sessions/+"), max_count=256)  # what nodes tell: the last say it all
MACROS: Final = Rule(TopicFilter("+/$roost/macros/+"), max_count=1024)  # the same, in parts
DOCUMENTS: Final = Rule(TopicFilter("+/$roost/roles/+"), max_count=1024)  # as macros


def trees_of(config: Config) -> Trees:
    """Which topics belong to which group."""
    panels = {str(each.group.name): each.panel for each in config.groups}
    return Trees(
        [
            Tree(number, tree.pattern.encode(), panels.get(tree.group or ""), tree.replicas)
            for number, tree in enumerate(config.trees)
        ]
    )


def roaming_of(trees: Trees, running: RunningRepo, *, alone: bool) -> Roaming:
    """Who tells other nodes of sessions: by group, any tree of it, and our panel.

    There are others once one was heard, and where one is to be dialled it is waited for from the start.
    """
    groups: dict[bytes, tuple[int, bytes]] = {}
    homes: dict[int, int] = {}
    for tree in trees.all:
        if tree.panel is not None:
            told, _ = groups.setdefault(tree.panel.group.name.value, (tree.number, tree.panel.name.value))
            homes[tree.number] = told
    return Roaming(groups, lambda: not alone or any(len(repo.peers) for repo in running.repos), homes)


@asynccontextmanager
async def joined(
    config: Config, keys: KeyStore, trees: Trees, broker: Broker, server: Server, version: str
) -> AsyncIterator[RunningRepo]:
    """Serve the groups of a configuration while the block runs; raises `NoKey` and `BadConfig`."""
    now = server.clock()
    check_keys(config.groups, keys, now)
    panels = _panels(config, keys.keychain(), broker)
    gateways = Gateways(broker, server, trees.all)
    repo = running_repo(
        _duties(config, keys, now),
        config.node.listen,
        keys.verifier(now),
        uplinks=config.node.uplinks,
        told=gateways.told,
        version=version,
    )
    async with repo as running, noticing(keys, running):
        server.insert = gateways.insert
        server.is_flooded = gateways.is_behind
        server.count_groups = gateways.counts
        alone = not config.node.uplinks
        gateways.start(running, panels, broker.began, broker.positions, alone=alone)
        broker.core.router.on_change = gateways.reseal
        roaming = roaming_of(trees, running, alone=alone)
        macros = broker.core.macros
        if macros is not None:
            macros.last_number = partial(_last_number, running)
        server.execute(broker.join(gateways, roaming, now), now)
        try:
            yield running
        finally:
            broker.core.router.on_change = None
            await gateways.finish()
            gateways.close()


def _panels(config: Config, keychain: KeyChain, broker: Broker) -> list[PanelKeys]:
    """The panels with their keys; raises `BadConfig` if what roles govern could not be opened again here."""
    panels: list[PanelKeys] = []
    for each in config.groups:
        name = each.panel.name
        held = receiving([identity.key for identity in keychain.identities if identity.name == name])
        sealing: Sealing | None = None
        if broker.core.roles is not None:
            if not held:
                raise BadConfig(
                    f"{name} has an Ed25519 key, which cannot receive content keys, and roles need one that can; "
                    f"make an ECDSA key beside it: roost key make {name}"
                )
            own = [Recipient(key.public.spki) for key in held]
            sealing = Sealing(CoreReadership(broker.core, own), keychain.signer_for, os.urandom)
        panels.append(PanelKeys(each.panel, keychain.signer_for, sealing, [Receiver.of(key) for key in held]))
    return panels


def _duties(config: Config, keys: KeyStore, now: int) -> list[Duty]:
    duties: list[Duty] = []
    for each in config.groups:
        folder = None if config.store is None else group_file(config.store / "repos", each.repo.name, "rocks")
        settings = RepoSettings(retention=(SESSIONS, MACROS, DOCUMENTS, *each.retention), tells=True)
        duty = duty_of(keys, each.repo, folder, settings, now)
        duties.append(replace(duty, certificates=duty.certificates + _shown(keys, each.panel, now)))
    return duties


def _last_number(running: RunningRepo, stream: bytes) -> int:
    """The highest number of a stream that a repo here has, or had."""
    for repo in running.repos:
        if stream.startswith(repo.place.group.name.value):
            row = repo.shelf.holdings.of(Name(stream))
            return max(row.highest, *[high for _, high in row.gone[-1:]], 0)
    return 0


def _shown(keys: KeyStore, panel: Panel, now: int) -> tuple[Data, ...]:
    """The certificates that other nodes need to believe the panel, which has no face of its own to show them on."""
    held = [identity.certificate for identity in keys.keychain().identities if identity.name == panel.name]
    valid = [certificate for certificate in held if certificate.valid_at(now)]
    return tuple(each.data for certificate in valid for each in keys.chain_of(certificate))
