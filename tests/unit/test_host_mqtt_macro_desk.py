"""The desk of macros: runs are for those who may read what the runs were given."""

from __future__ import annotations

from typing import cast

import pytest
from tests.broker_macros_world import Alone, macro
from tests.loops import run
from tests.roles_world import DOCUMENT, HERE, RAW

from roost.broker.permissions import Permissions
from roost.broker.roles.keeper import RoleKeeper
from roost.errors import Denied, NoMacro
from roost.host.clock import Clock
from roost.host.mqtt.macro_desk import BrokerMacros
from roost.host.mqtt.role_finding import Guests, RoleJudge
from roost.host.mqtt.server import Server
from roost.process.roles.specification import Specification

THROWS = "throw new Error(Noctua.topic('home/hall'))"
GRANTS = """user ann
read Noctua/#
user bob
read #
user cyd
readwrite Noctua/throws"""
BOB = """user bob
read home/bob/#
readwrite Noctua/home/bob/#"""
NOT_ASKED = cast("Server", None)


def desk_of(world: Alone) -> BrokerMacros:
    core = world.broker.core
    assert core.macros is not None
    judge = None
    if core.roles is not None:
        judge = RoleJudge(core, core.roles, Guests(core.roles, Clock(), None))
    return BrokerMacros(world.broker, core.macros, NOT_ASKED, judge)


async def seen(desk: BrokerMacros, name: str, user: bytes) -> tuple[int, bool]:
    return len(await desk.trace(name, user=user)), await desk.last_failure(name, user=user) is not None


def test_runs_are_for_roles_that_may_see_what_they_were_given() -> None:
    async def test() -> None:
        world = Alone()
        world.roles = lambda: RoleKeeper([Specification.read(DOCUMENT)], HERE)
        world.crash()
        world.define(macro("throws", THROWS))
        sensor = world.connect(b"sensor")
        sensor.publish(RAW, b"1")
        desk = desk_of(world)
        assert [await seen(desk, "throws", user) for user in (b"ada", b"cid", b"")] == [
            (1, True),
            (0, False),
            (0, False),
        ]
        world.define(macro("throws", "Noctua.topic('garden')"))
        sensor.publish(b"garden", b"2")
        assert [await seen(desk, "throws", user) for user in (b"ada", b"cid")] == [(2, True), (1, False)]
        assert "last_failure" not in desk.shown("throws")
        with pytest.raises(NoMacro):
            await desk.trace("none", user=b"ada")

    run(test)


def test_runs_are_for_who_may_read_their_inputs_or_change_the_macro() -> None:
    async def test() -> None:
        world = Alone()
        world.define(macro("throws", THROWS))
        world.connect(b"sensor").publish(RAW, b"1")
        world.broker.core.access = Permissions.parse(GRANTS)
        desk = desk_of(world)
        found = [await seen(desk, "throws", user) for user in (b"ann", b"bob", b"cyd")]
        assert found == [(0, False), (1, True), (1, True)]

    run(test)


@pytest.mark.parametrize(
    ("code", "topic"),
    [
        ("Noctua.topic('home/bob/a') + Noctua.topic('secret/x')", "secret/x"),
        ("if (Noctua.topic('home/bob/a') > 1) { Noctua.topic('secret/x') }", "secret/x"),
        ("Noctua.topic('home/bob/a') + Noctua.topic(['secret', 'x'].join('/'))", "secret/x"),
        ("Noctua.topic('home/+/a')", "home/+/a"),
        ("Noctua.topic('#')", "#"),
        ("Noctua.topic('Noctua/home/ann/all')", "Noctua/home/ann/all"),
    ],
)
def test_who_defines_a_macro_may_read_all_that_it_refers_to(code: str, topic: str) -> None:
    async def test() -> None:
        world = Alone()
        world.broker.core.access = Permissions.parse(BOB)
        desk = desk_of(world)
        with pytest.raises(Denied) as denied:
            await desk.define({"name": "home/bob/m", "code": code}, new=True, user=b"bob")
        assert f"home/bob/m: it refers to {topic}, which takes the permission to read {topic}" in str(denied.value)
        assert desk.names() == []

    run(test)


def test_who_replaces_a_macro_may_read_what_its_state_may_be_made_of() -> None:
    async def test() -> None:
        world = Alone()
        world.define(macro("home/bob/m", "Noctua.state.last = Noctua.topic('secret/x')"))
        world.connect(b"sensor").publish(b"secret/x", b"1")
        world.broker.core.access = Permissions.parse(BOB)
        desk = desk_of(world)
        tell = {"name": "home/bob/m", "code": "Noctua.topic('home/bob/a'); Noctua.state.last"}
        with pytest.raises(Denied, match="its state may hold something of secret/x"):
            await desk.define(tell, new=False, user=b"bob")

    run(test)
