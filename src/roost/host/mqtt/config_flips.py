"""Topics without a broker, as the configuration says them: a forwarder of this node, and what goes to and fro.

flips:
  listen: ["127.0.0.1:9695"]                  where forwarders elsewhere reach it, on UDP (hybrid ICN)
  peers: ["10.0.0.7:9695"]                    forwarders that are asked for topics
  into:                                       contents of a topic become readings of a group
    - {topic: home/temp, group: /BigCompany/Building1/Electricity, stream: Heater/Temp, unit: Cel}
  out:                                        readings of a group become contents of a topic
    - {group: /BigCompany/Building1/Electricity, stream: Panel1/Heater/Voltage, topic: home/volt, interval: 10s}

  root: /BigCompany/Building1/Electricity     where topics would be streams, for keys and the trust schema; default: /

Content that goes out is signed with the key of this home that may sign the topic below `root`, if there is one; `into`
with `verify: true` takes only content that somebody has signed who may.
The groups are among those of this node. Its panel there signs what comes in, or another one with `panel: Panel2`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from roost.errors import BadConfig, BadName, BadTopic
from roost.host.address import parse_listen
from roost.host.listening import HostPort
from roost.host.mqtt.config_groups import GroupSettings
from roost.host.mqtt.config_values import entries, known, listen_at, section, text, time_s, yes_or_no
from roost.naming import Name
from roost.pubsub.flips.identifiers import checked_topic

PORT: Final = 9695  # hicn-light's

_KEYS: Final = dict.fromkeys(("listen", "peers", "root", "into", "out"))
_INTO: Final = dict.fromkeys(("topic", "group", "panel", "stream", "unit", "verify"))
_OUT: Final = dict.fromkeys(("group", "stream", "topic", "whole", "interval"))


@dataclass(frozen=True, slots=True)
class IntoGroup:
    """Contents of a topic as a stream of a group, below a panel whose key is here: an empty one is this node's."""

    topic: str
    group: str
    stream: str
    unit: str = ""
    panel: str = ""
    verify: bool = False


@dataclass(frozen=True, slots=True)
class OutOfGroup:
    """A stream, relative to its group, as a topic."""

    group: str
    stream: str
    topic: str
    whole: bool = False
    interval_s: int = 0  # 0: nobody knows


@dataclass(frozen=True, slots=True)
class FlipsSettings:
    """Where the forwarder listens, whom it asks, and what is bridged."""

    listen: tuple[HostPort, ...] = ()
    peers: tuple[HostPort, ...] = ()
    into: tuple[IntoGroup, ...] = ()
    out: tuple[OutOfGroup, ...] = ()
    root: Name = Name()  # noqa: RUF009  it is frozen


def read_flips(value: object) -> FlipsSettings:
    """Read the section; raises `BadConfig`."""
    said = section("flips", value)
    known("flips", said, _KEYS)
    found = FlipsSettings(
        tuple(listen_at(f"flips.listen[{at}]", each, PORT) for at, each in _list(said, "listen")),
        tuple(_peer(f"flips.peers[{at}]", each) for at, each in _list(said, "peers")),
        tuple(_into(f"flips.into[{at}]", each) for at, each in _list(said, "into")),
        tuple(_out(f"flips.out[{at}]", each) for at, each in _list(said, "out")),
        _root(said),
    )
    _check_twice("flips.into", [f"{each.stream} of {each.panel} {each.group}" for each in found.into])
    _check_twice("flips.out", [each.topic for each in found.out])
    return found


def check_bridged(settings: FlipsSettings, groups: Sequence[GroupSettings]) -> None:
    """Raise `BadConfig` if something is bridged with a group that this node is not in."""
    names = [str(each.group.name) for each in groups]
    both: tuple[tuple[str, Sequence[IntoGroup | OutOfGroup]], ...] = (("into", settings.into), ("out", settings.out))
    for key, bridges in both:
        for at, bridge in enumerate(bridges):
            if bridge.group not in names:
                raise BadConfig(
                    f"flips.{key}[{at}].group: {bridge.group} is not among the groups; say below `groups` who this "
                    f"node is in it, as in: {{name: {bridge.group}, panel: Panel1, repo: Repo1}}"
                )


def _list(said: Mapping[str, object], key: str) -> list[tuple[int, object]]:
    return list(enumerate(entries(f"flips.{key}", said.get(key, []))))


def _peer(key: str, value: object) -> HostPort:
    address = text(key, value)
    try:
        host, port = parse_listen(address, PORT)
    except BadConfig as error:
        raise BadConfig(f"{key}: {error}") from None
    if not port or address.startswith(":"):
        raise BadConfig(f"{key}: {address!r} is no address of another forwarder; write host:{PORT}")
    return host, port


def _into(key: str, value: object) -> IntoGroup:
    said = section(key, value)
    known(key, said, _INTO)
    unit = text(f"{key}.unit", said["unit"]) if "unit" in said else ""
    panel = text(f"{key}.panel", said["panel"]) if "panel" in said else ""
    verify = bool(yes_or_no(f"{key}.verify", said.get("verify", False)))
    return IntoGroup(_topic(key, said), _group(key, said), _stream(key, said), unit, panel, verify)


def _out(key: str, value: object) -> OutOfGroup:
    said = section(key, value)
    known(key, said, _OUT)
    whole = bool(yes_or_no(f"{key}.whole", said.get("whole", False)))
    interval_s = int(str(time_s(0, 86_400)(f"{key}.interval", said.get("interval", 0))))
    return OutOfGroup(_group(key, said), _stream(key, said), _topic(key, said), whole, interval_s)


def _root(said: Mapping[str, object]) -> Name:
    try:
        return Name.parse(text("flips.root", said.get("root", "/")))
    except BadName as error:
        raise BadConfig(f"flips.root: {error}") from None


def _topic(key: str, said: Mapping[str, object]) -> str:
    topic = text(f"{key}.topic", said.get("topic"))
    try:
        return checked_topic(topic)
    except BadTopic as error:
        raise BadConfig(f"{key}.topic: {error}") from None


def _group(key: str, said: Mapping[str, object]) -> str:
    try:
        return str(Name.parse(text(f"{key}.group", said.get("group"))))
    except BadName as error:
        raise BadConfig(f"{key}.group: {error}") from None


def _stream(key: str, said: Mapping[str, object]) -> str:
    stream = text(f"{key}.stream", said.get("stream")).strip("/")
    try:
        found = Name.parse(f"/{stream}")
    except BadName as error:
        raise BadConfig(f"{key}.stream: {error}") from None
    if not found:
        raise BadConfig(f"{key}.stream: there is nothing in it; write one such as Heater/Voltage")
    return stream


def _check_twice(key: str, names: Sequence[str]) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            raise BadConfig(f"{key}[{at}]: {name} stands there twice; a stream or topic has one source")
