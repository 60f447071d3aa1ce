"""The configuration of a broker, from the keys and values of its file: `sample.yaml` beside this module has them all.

Nothing needs to be said: without a file a broker listens on this machine's port 1883 and keeps its sessions in
ROOST_HOME/mqtt. A key that nobody reads is a mistake, and every mistake is a `BadConfig` that names the key and says
what to write. Reading the file itself, which is YAML, is the command's business (`roost.cli.mqtt`).
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from roost.broker.limits import Limits
from roost.broker.packets.fields import check_filter
from roost.broker.packets.reasons import Malformed
from roost.broker.settings import DISK, RECEIVED, REPLICATED, BrokerSettings
from roost.errors import BadConfig, BadName
from roost.host.address import is_loopback
from roost.host.mqtt.config_flips import FlipsSettings, check_bridged, read_flips
from roost.host.mqtt.config_groups import GroupSettings, NodeSettings, read_groups, read_node
from roost.host.mqtt.config_http import HttpSettings, read_http
from roost.host.mqtt.config_keys import BROKER, BUFFERS, LIMITS, read_values
from roost.host.mqtt.config_listeners import read_listeners
from roost.host.mqtt.config_macros import MacroSettings, read_macros
from roost.host.mqtt.config_roles import RoleSettings, read_role_settings
from roost.host.mqtt.config_sizes import check_sizes
from roost.host.mqtt.config_values import choice, entries, known, path, section, text, whole
from roost.host.mqtt.config_web import KEYS as WEB
from roost.host.mqtt.config_web import WebSettings, read_web
from roost.host.mqtt.hook import HookSettings, read_hook
from roost.host.mqtt.link import Bounds
from roost.host.mqtt.listener import PORTS, ListenerSettings, contexts_of
from roost.host.mqtt.reload import Sources, no_hook, no_roles
from roost.machine import SECOND
from roost.naming import Name
from roost.process.definition import PREFIX

MEMORY: Final = "memory"  # in place of a folder

_LEVELS: Final = {"received": RECEIVED, "disk": DISK}
_OWN: Final = (
    "listeners",
    "store",
    "durability",
    "trees",
    "groups",
    "node",
    "users",
    "permissions",
    "authentication",
    "http",
    "macros",
    "roles",
    "limits",
    "buffers",
    "name",
    "flips",
)
_TOP: Final = dict.fromkeys((*_OWN, *WEB, *BROKER))


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """A part of the topic space: how durable its messages are, and the group that they are readings of, if any."""

    pattern: str
    durability: int
    replicas: int = 1  # with REPLICATED
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """All that a broker is told."""

    listeners: tuple[ListenerSettings, ...]
    store: Path | None  # None keeps everything in memory
    users: Path | None = None
    permissions: Path | None = None
    hook: HookSettings | None = None
    trees: tuple[TreeSettings, ...] = ()
    groups: tuple[GroupSettings, ...] = ()
    node: NodeSettings = field(default_factory=NodeSettings)
    broker: BrokerSettings = field(default_factory=BrokerSettings)
    limits: Limits = field(default_factory=Limits)
    bounds: Bounds = field(default_factory=Bounds)
    http: HttpSettings | None = None
    macros: MacroSettings | None = None
    roles: RoleSettings | None = None
    web: WebSettings = field(default_factory=WebSettings)
    name: str = ""  # of the node, for people
    flips: FlipsSettings | None = None


def read_config(said: Mapping[str, object], folder: Path, home: Path) -> Config:
    """Read what a file said, whose files are relative to `folder`; raises `BadConfig`."""
    config = read_keys(said, folder, home)
    check_together(config)
    return config


def read_keys(said: Mapping[str, object], folder: Path, home: Path) -> Config:
    """Read each key by itself; raises `BadConfig`. What they say has to be looked at together, too."""
    known("", said, _TOP)
    store = said.get("store", str(home / "mqtt"))
    level = choice(_LEVELS)("durability", said.get("durability", "disk"))
    trees = tuple(_tree(f"trees[{at}]", each) for at, each in enumerate(entries("trees", said.get("trees", []))))
    groups = read_groups(said.get("groups", []))
    macros = read_macros(said.get("macros", {}), folder) if "macros" in said or _is_wanted(said, "http") else None
    if macros is not None:
        trees = (*_results(macros, [str(each.group.name) for each in groups]), *trees)
    values: dict[str, object] = {"persistent": store != MEMORY, "durability": level}
    for name, keys in BROKER.items():
        values |= read_values(name, said.get(name, {}), keys)
    values["durable"] = tuple((tree.pattern.encode(), tree.durability) for tree in trees)
    broker = BrokerSettings(**values)  # type: ignore[arg-type]  # each was read as its setting wants it
    limits = Limits(**read_values("limits", said.get("limits", {}), LIMITS))  # type: ignore[arg-type]  # as above
    bounds = Bounds(
        limits.max_links,
        broker.high_water_bytes,
        broker.high_water_bytes // 4,
        greeting_timeout=broker.connect_timeout_s * SECOND,
    )
    return Config(
        listeners=read_listeners(said.get("listeners", [{"tcp": f"127.0.0.1:{PORTS['tcp']}"}]), folder),
        store=None if store == MEMORY else path("store", store, folder),
        users=path("users", said["users"], folder) if "users" in said else None,
        permissions=path("permissions", said["permissions"], folder) if "permissions" in said else None,
        hook=_hook(said.get("authentication", {}), folder),
        trees=trees,
        groups=groups,
        node=read_node(said.get("node", {}), folder),
        broker=broker,
        limits=limits,
        bounds=replace(bounds, **read_values("buffers", said.get("buffers", {}), BUFFERS)),  # type: ignore[arg-type]
        http=read_http(said["http"], folder) if _is_wanted(said, "http") else None,
        macros=macros,
        roles=read_role_settings(said["roles"], folder) if "roles" in said else None,
        web=read_web(said, folder, home),
        name=text("name", said.get("name", platform.node() or "node")),
        flips=read_flips(said["flips"]) if "flips" in said else None,
    )


def check_together(config: Config) -> None:
    """Raise `BadConfig` if keys contradict each other."""
    check_sizes(config.broker, config.bounds)
    _check_reach(config)
    _check_groups(config)
    if config.flips is not None:
        check_bridged(config.flips, config.groups)


def sources_of(config: Config) -> Sources:
    """Where it is written who may come in."""
    hook = no_hook if config.hook is None else config.hook.load
    roles = no_roles if config.roles is None else config.roles.load
    http = dict if config.http is None else config.http.contexts
    return Sources(config.users, config.permissions, lambda: contexts_of(config.listeners) | http(), hook, roles)


def _is_wanted(said: Mapping[str, object], key: str) -> bool:
    return said.get(key, False) is not False


def _hook(value: object, folder: Path) -> HookSettings | None:
    said = section("authentication", value)
    known("authentication", said, {"hook": None})
    return read_hook(text("authentication.hook", said["hook"]), folder) if "hook" in said else None


def _check_reach(config: Config) -> None:
    """Raise `BadConfig` if others could reach a broker that knows nobody: anonymous is for this machine only."""
    if config.permissions is not None:
        return
    places: list[tuple[str, ListenerSettings | HttpSettings]] = []
    places += [(f"listeners[{at}]", each) for at, each in enumerate(config.listeners)]
    if config.http is not None:
        places.append(("http", config.http))
    for key, place in places:
        if place.host != "localhost" and not is_loopback(place.host):
            raise BadConfig(
                f"{key}: {place} can be reached from other machines, and there are no users yet: make one with "
                "`roost users add NAME`, name the files with `users` and `permissions`, or listen on 127.0.0.1 only"
            )
        if place.behind_proxy:
            raise BadConfig(
                f"{key}.behind_proxy: who comes by way of a proxy is not on this machine, and there are no users yet: "
                "make one with `roost users add NAME`, and name the files with `users` and `permissions`"
            )


def _check_groups(config: Config) -> None:
    """Raise `BadConfig` if a tree is of a group that nobody is told about."""
    names = [str(each.group.name) for each in config.groups]
    for at, tree in enumerate(config.trees):
        if tree.group is not None and tree.group not in names:
            raise BadConfig(
                f"trees[{at}].group: {tree.group} is not among the groups; say below `groups` who this node is in it, "
                f"as in: {{name: {tree.group}, panel: Gate1, repo: Repo1}}"
            )


def _tree(key: str, value: object) -> TreeSettings:
    said = section(key, value)
    known(key, said, dict.fromkeys(("filter", "durability", "group")))
    pattern = text(f"{key}.filter", said.get("filter"))
    try:
        check_filter(pattern.encode())
    except Malformed as error:
        why = str(error).removeprefix(f"filter {pattern.encode()[:64]!r}: ")  # as bytes, which nobody wrote here
        raise BadConfig(
            f"{key}.filter: {pattern!r} is no topic filter ({why}); write one such as building1/#"
        ) from None
    try:
        group = str(Name.parse(text(f"{key}.group", said["group"]))) if "group" in said else None
    except BadName as error:
        raise BadConfig(f"{key}.group: {error}") from None
    level, replicas = _durability(f"{key}.durability", said.get("durability", "disk"))
    if level == REPLICATED and group is None:
        raise BadConfig(f"{key}.durability: only a tree with a group has replicas; name one, or write disk")
    if level == RECEIVED and group is not None:
        raise BadConfig(
            f"{key}.durability: a message of a group is acknowledged when it is on the disk, never before: write disk "
            "or `replicated: 2`, or leave out the group, which makes the tree plain MQTT"
        )
    return TreeSettings(pattern, level, replicas, group)


def _results(macros: MacroSettings, groups: list[str]) -> tuple[TreeSettings, ...]:
    """The tree of macros' results, before all others; none if there are no groups."""
    if not groups and not macros.group:
        return ()
    if not macros.group and len(groups) > 1:
        raise BadConfig(f"macros.group: say which group has the results: {', '.join(groups)}")
    return (TreeSettings(f"{PREFIX}#", DISK, group=macros.group or groups[0]),)


def _durability(key: str, value: object) -> tuple[int, int]:
    if isinstance(value, dict) and list(value) == ["replicated"]:
        return REPLICATED, int(str(whole(1, 64)(f"{key}.replicated", value["replicated"])))
    if isinstance(value, str) and value in _LEVELS:
        return _LEVELS[value], 1
    raise BadConfig(f"{key}: {value!r} is none of received, disk and `replicated: 2`")
