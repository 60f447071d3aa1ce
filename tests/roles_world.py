"""The house of figure 7: a topic, its anonymised stream, and users of every role, for tests of every door.

ada    developer    raw by default, the anonymised stream for the asking
cid    customer     the anonymised stream
vic    visitor      a role without streams
bob    (none)       no role that is mentioned
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.broker_packets import Seen
from tests.broker_world import Client, World

from roost.broker.access import ALLOW_ALL, Access
from roost.broker.roles.keeper import RoleKeeper
from roost.broker.roles.sources import FileRoles, Source
from roost.broker.settings import BrokerSettings
from roost.process.roles.holding import HoldingSettings
from roost.process.roles.lookup_port import LookupSettings
from roost.process.roles.specification import Specification

RAW, STREAM = b"home/hall", b"Noctua/home/hall/anonymize"
DOCUMENT: Mapping[str, object] = {
    "topic": "home/+",
    "roles": {
        "developer": {"streams": ["raw", "{topic}/anonymize"], "default": "raw"},
        "customer": {"streams": ["{topic}/anonymize"]},
        "analyst": {"streams": ["{topic}/anonymize", "raw"], "default": "{topic}/anonymize"},
        "clerk": {"streams": ["home/mean"]},
        "visitor": {"streams": []},
    },
}
USERS = {
    "ada": frozenset({"developer"}),
    "cid": frozenset({"customer"}),
    "ann": frozenset({"analyst"}),
    "kim": frozenset({"clerk"}),
    "vic": frozenset({"visitor"}),
}
HERE = FileRoles(USERS)


def house(
    *documents: Mapping[str, object],
    source: Source | None = HERE,
    settings: BrokerSettings | None = None,
    access: Access = ALLOW_ALL,
    hold: bool = True,
    lookup: LookupSettings | None = None,
) -> World:
    """A broker under these documents, figure 7's if none is given; without a source `World.answer` is it."""
    said = [Specification.read(each) for each in documents or (DOCUMENT,)]

    def keeper() -> RoleKeeper:
        return RoleKeeper(said, source, lookup, HoldingSettings(hold=hold))

    return World(settings, access=access, roles=keeper)


def enter(world: World, user: str, version: int = 5, client: str = "", **options: Any) -> Client:  # noqa: ANN401
    """Connect as a user, with options of the packet."""
    return world.connect((client or user).encode(), version, user=user.encode(), password=b"x", **options)


def brought(client: Client) -> list[tuple[bytes, bytes]]:
    """Take the messages that came: topic and payload."""
    return [(each.topic, each.payload) for each in messages(client)]


def messages(client: Client) -> list[Seen]:
    """Take the messages that came."""
    return [each for each in client.seen() if each.kind == "PUBLISH"]
