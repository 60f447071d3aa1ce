"""The part of the configuration that is about groups: who this node is in each of them, and how it meets other nodes.

groups:
  - name: /BigCompany/Building1/Mqtt
    panel: Gate1                  # publishes for MQTT clients; its key is in ROOST_HOME
    repo: Repo1                   # keeps the group on this machine; its key too
    retention: ["# 90d"]
node:
  tcp: [10.0.0.5:6363]            # where other repos and NDN programs reach it
  uplinks: [tcp4://10.0.0.6:6363] # other nodes of these groups
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from roost.errors import BadConfig, BadName
from roost.host.address import parse_uri
from roost.host.keystore import KeyStore
from roost.host.listening import HostPort, Listen
from roost.host.mqtt.config_values import entries, known, listen_at, path, section, text
from roost.host.repo import duty_of
from roost.naming import Name
from roost.naming.building import Group, Panel, Repo, numbered
from roost.pubsub.repos.repo import RepoSettings
from roost.repo.retention import Rule
from roost.repo.retention_text import rule_of

_PORTS: Final = {"tcp": 6363, "udp": 6363, "ws": 9696}


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """A group, and who this node is in it."""

    group: Group
    panel: Panel
    repo: Repo
    retention: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """Where the NDN side of the node listens, and whom it knows."""

    listen: Listen = field(default_factory=Listen)
    uplinks: tuple[str, ...] = ()


def read_groups(value: object) -> tuple[GroupSettings, ...]:
    """Read `groups`; raises `BadConfig`."""
    found = tuple(_group(f"groups[{at}]", each) for at, each in enumerate(entries("groups", value)))
    names = [each.group.name for each in found]
    for name in names:
        if names.count(name) > 1:
            raise BadConfig(f"groups: {name} stands there twice; a node has one panel and one repo in a group")
    return found


def check_keys(groups: Iterable[GroupSettings], keys: KeyStore, now: int) -> None:
    """Raise `NoKey` or `BadConfig` if the panel or the repo of a group cannot sign with what is in the key store."""
    keys.check()
    keychain = keys.keychain()
    for each in groups:
        keychain.signer_for(numbered(each.panel.name / "a" / "b", 1), now)
        duty_of(keys, each.repo, None, RepoSettings(), now)


def _group(key: str, value: object) -> GroupSettings:
    said = section(key, value)
    known(key, said, dict.fromkeys(("name", "panel", "repo", "retention")))
    try:
        group = Group.at(Name.parse(text(f"{key}.name", said.get("name"))))
        panel = group.panel(text(f"{key}.panel", said.get("panel")))
        repo = group.repo(text(f"{key}.repo", said.get("repo")))
    except BadName as error:
        raise BadConfig(f"{key}: {error}") from None
    rules: list[Rule] = []
    for at, rule in enumerate(entries(f"{key}.retention", said.get("retention", []))):
        try:
            rules.append(rule_of(text(f"{key}.retention[{at}]", rule)))
        except BadConfig as error:
            raise BadConfig(f"{key}.retention[{at}]: {error}") from None
    return GroupSettings(group, panel, repo, tuple(rules))


def read_node(value: object, folder: Path) -> NodeSettings:
    """Read `node`; raises `BadConfig`."""
    said = section("node", value)
    known("node", said, dict.fromkeys(("unix", *_PORTS, "uplinks")))
    uplinks = [
        text(f"node.uplinks[{at}]", each) for at, each in enumerate(entries("node.uplinks", said.get("uplinks", [])))
    ]
    for at, uplink in enumerate(uplinks):
        try:
            parse_uri(uplink)
        except BadConfig as error:
            raise BadConfig(f"node.uplinks[{at}]: {error}") from None
    unix = path("node.unix", said["unix"], folder) if said.get("unix", False) is not False else None
    listen = Listen(unix=unix, tcp=_addresses(said, "tcp"), udp=_addresses(said, "udp"), ws=_addresses(said, "ws"))
    return NodeSettings(listen, tuple(uplinks))


def _addresses(said: Mapping[str, object], scheme: str) -> tuple[HostPort, ...]:
    key = f"node.{scheme}"
    return tuple(
        listen_at(f"{key}[{at}]", each, _PORTS[scheme]) for at, each in enumerate(entries(key, said.get(scheme, [])))
    )
