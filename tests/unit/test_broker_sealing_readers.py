"""For whom the content keys of a stream are: figure 7, permissions beside it, and roles that are found elsewhere."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from tests.broker_world import World
from tests.roles_world import DOCUMENT, RAW, STREAM, enter, house

from roost.broker.access import ALLOW_ALL, Access
from roost.broker.permissions import Permissions
from roost.broker.roles.keeper import RoleKeeper
from roost.broker.sealing_readers import CoreReadership
from roost.machine import SECOND
from roost.naming import Name
from roost.process.roles.specification import Specification
from roost.trust import Recipient, generate

USERS = ("ada", "cid", "ann", "kim", "vic", "bob")
KEYS = {
    who: Recipient(generate(Name.of("Co", who), random.Random(at).randbytes).public.spki)
    for at, who in enumerate((*USERS, "node", "other"))
}
OWNERS = {key.digest: who for who, key in KEYS.items()}
ALWAYS = ["node", "other"]


def readership(world: World, users: Sequence[str] = USERS) -> CoreReadership:
    """Those of a broker whose readers are these users."""
    readers = {user.encode(): (KEYS[user],) for user in users}
    world.run(world.broker.readers_changed(readers, (KEYS["other"],), world.now))
    return CoreReadership(world.broker.core, [KEYS["node"]])


def keeper_of(world: World) -> RoleKeeper:
    keeper = world.broker.core.roles
    assert keeper is not None
    return keeper


def who(found: CoreReadership, topic: bytes) -> list[str]:
    """Who gets keys, but for nodes, which always do."""
    names = [OWNERS[digest] for digest in found.recipients(topic)]
    assert [name for name in names if name in ALWAYS] == ALWAYS
    return [name for name in names if name not in ALWAYS]


@pytest.mark.parametrize(
    ("topic", "users"),
    [(RAW, ["ada", "ann"]), (STREAM, ["ada", "cid", "ann"]), (b"Noctua/home/mean", ["kim"])],
)
def test_a_role_has_the_keys_of_the_streams_that_figure_7_lets_it_see(topic: bytes, users: list[str]) -> None:
    found = readership(house())
    assert found.governs(topic)
    assert who(found, topic) == users


@pytest.mark.parametrize(
    ("permissions", "topic", "users"),
    [
        ("all\nread home/#\n", RAW, ["ada", "ann"]),
        ("all\nread home/#\n", STREAM, ["cid", "ann"]),  # in place of the topic; ada would have to ask for it by name
        ("user ada\nread Noctua/#\n", STREAM, ["ada"]),
        ("user ada\nread Noctua/#\n", RAW, []),
        ("all\nread other/#\n", STREAM, []),
        ("all\nread home/%c\n", RAW, []),
    ],
)
def test_permissions_count_beside_roles(permissions: str, topic: bytes, users: list[str]) -> None:
    assert who(readership(house(access=Permissions.parse(permissions))), topic) == users


@pytest.mark.parametrize(
    ("topic", "is_governed"),
    [
        (b"garden/gate", False),
        (b"home/hall/deep", False),
        (b"Noctua/of/garden", False),  # a macro that reads nothing that is governed
        (b"Noctua/of/home", True),  # one that does, and that no document names
        (b"Noctua/of/nothing", False),
        (b"$roost/sessions/00", False),
        (b"$roost/sessions/arrivals", True),  # has wills, whatever their topics
        (b"$roost/macros/00", True),  # says what a macro remembers of its inputs
    ],
)
def test_what_is_governed_is_what_somebody_may_not_see(topic: bytes, is_governed: bool) -> None:
    world = house()
    inputs = {"Noctua/of/garden": ["garden/gate"], "Noctua/of/home": ["home/hall", "garden/gate"]}
    keeper_of(world).inputs_of = inputs.get
    found = readership(world)
    assert found.governs(topic) == is_governed
    if topic == b"Noctua/of/home":
        assert who(found, topic) == ["ada", "ann"], "who may see all inputs"
    if topic.startswith(b"$roost/"):
        assert who(found, topic) == []


def test_without_documents_or_roles_nothing_is_governed() -> None:
    assert not readership(World(roles=RoleKeeper)).governs(RAW)
    assert not CoreReadership(World().broker.core, []).governs(b"$roost/macros/00")


def test_roles_that_are_not_known_give_no_keys_and_readers_are_looked_up_without_a_session() -> None:
    world = house(source=None)
    told: list[None] = []
    world.broker.core.router.on_change = lambda: told.append(None)
    found = readership(world, ["ada"])
    assert [each.user for each in world.looked_up] == ["ada"]
    assert who(found, RAW) == []
    told.clear()
    world.answer("developer")
    assert who(found, RAW) == ["ada"]
    assert told, "and who seals hears of it"
    session = enter(world, "ada")
    session.subscribe(RAW)
    session.disconnect()
    assert who(found, RAW) == ["ada"], "and it stays so when a session of the same user ends"
    readership(world, [])
    assert keeper_of(world).standings == {}


def test_a_source_that_falls_silent_costs_a_reader_its_keys() -> None:
    world = house(source=None)
    found = readership(world, ["ada"])
    world.answer("developer")
    world.wait(keeper_of(world).lookup.settings.ttl / SECOND + 1)
    assert who(found, RAW) == []


@pytest.mark.parametrize("access", [ALLOW_ALL, Permissions.parse("all\nread garden/#\n")])
def test_documents_and_permissions_that_change_are_told(access: Access) -> None:
    world = house()
    told: list[None] = []
    world.broker.core.router.on_change = lambda: told.append(None)
    readership(world)
    told.clear()
    settings = world.broker.core.settings
    world.run(world.broker.reloaded(access, settings, world.now))
    assert len(told) == 1
    document = Specification.read({**DOCUMENT, "topic": "garden/#"})
    world.run(world.broker.document_changed("garden/#", document, world.now))
    assert len(told) == 2
    enter(world, "ada").subscribe(b"#")
    assert len(told) == 2, "and subscriptions are not: they change who asks, and not who may"
