"""The desk of macros: runs are for those who may read what the runs were given."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from tests.broker_macros_world import Alone, MacroStreet, macro
from tests.loops import run
from tests.roles_world import DOCUMENT, HERE, RAW

from roost.broker.access import ALLOW_ALL
from roost.broker.permissions import Permissions
from roost.broker.roles.keeper import RoleKeeper
from roost.errors import Denied, NoMacro
from roost.host.clock import Clock
from roost.host.mqtt import macro_desk
from roost.host.mqtt.macro_desk import BrokerMacros
from roost.host.mqtt.role_finding import Guests, RoleJudge
from roost.host.mqtt.server import Server
from roost.host.mqtt.until import Until
from roost.machine import Effect
from roost.process.definition import definition_of
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


FINDS = "Noctua.topic(Noctua.topic('home/bob/which'))"
FOR_BOB = [
    ({}, ["home/bob/which"], "secret/x"),
    ({}, ["home/bob/which"], "home/bob/a"),  # he may read it, and has not said so
    ({"computed": []}, [], "home/bob/a"),
    ({"computed": ["home/bob/+"]}, ["home/bob/+"], "secret/x"),
    ({"computed": ["home/bob/+"]}, ["home/bob/+"], "$SYS/broker/uptime"),
]


@pytest.mark.parametrize(("more", "kept", "topic"), FOR_BOB)
def test_a_run_names_nothing_that_the_author_of_its_macro_was_not_asked_about(
    more: dict[str, object], kept: list[str], topic: str
) -> None:
    async def test() -> None:
        world = Alone()
        world.broker.core.access = Permissions.parse(BOB)
        desk = desk_of(world)
        definition = desk.permitted(definition_of({"name": "home/bob/m", "code": FINDS, **more}), b"bob")
        assert list(definition.computed) == kept
        world.broker.core.access = ALLOW_ALL
        world.define(definition)
        world.connect(b"sensor").publish(b"home/bob/which", topic.encode())
        (run_,) = await desk.trace("home/bob/m", user=b"")
        assert f"it computed the name {topic}, for which it has no filter" in str(run_["failure"])
        assert desk.shown("home/bob/m")["definition"] == {"name": "home/bob/m", "code": FINDS, "computed": kept}

    run(test)


def test_a_run_names_what_its_author_may_read_and_has_said() -> None:
    async def test() -> None:
        world = Alone()
        world.broker.core.access = Permissions.parse(BOB)
        desk = desk_of(world)
        told = {"name": "home/bob/m", "code": FINDS, "computed": ["home/bob/+"]}
        world.define(desk.permitted(definition_of(told), b"bob"))
        world.broker.core.access = ALLOW_ALL
        sensor, watcher = world.connect(b"sensor"), world.connect(b"watcher")
        watcher.subscribe(b"Noctua/home/bob/m")
        sensor.publish(b"home/bob/which", b"home/bob/a")
        sensor.publish(b"home/bob/a", b"5")
        assert watcher.payloads() == [b"5"]

    run(test)


def test_who_lets_a_run_name_topics_may_read_them() -> None:
    world = Alone()
    world.broker.core.access = Permissions.parse(BOB)
    told = {"name": "home/bob/m", "code": FINDS, "computed": ["home/bob/+", "home/#"]}
    with pytest.raises(Denied, match="`computed` has home/#, which takes the permission to read home/#"):
        desk_of(world).permitted(definition_of(told), b"bob")


def test_who_may_read_everything_says_nothing_of_it() -> None:
    world = Alone()
    world.broker.core.access = Permissions.parse(GRANTS)
    definition = definition_of({"name": "m", "code": FINDS})
    assert desk_of(world).permitted(definition, b"bob") is definition


class Door:
    """A server of a node in a street: what it executes is done, and what others say comes if they are heard."""

    def __init__(self, street: MacroStreet, number: int, *, hears: bool) -> None:
        self.street, self.node, self.hears = street, street.nodes[number - 1], hears
        self.until = Until()

    def clock(self) -> int:
        return self.node.now

    def execute(self, effects: list[Effect], now: int) -> None:
        self.node.run(effects)
        asyncio.get_running_loop().call_soon(self.live, now)

    def live(self, _now: int) -> None:
        self.node.is_cut_off = not self.hears
        self.street.live(1)
        self.until.look()


@pytest.mark.parametrize("hears", [True, False])
def test_a_change_at_a_node_that_does_not_run_the_macro_waits_for_the_one_that_does(
    hears: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(macro_desk, "ANSWER_S", 3 if hears else 0.01)

    async def test() -> None:
        street = MacroStreet(4)
        street.define(1, macro("minus", "-Noctua.topic('hall/a')"))
        street.nodes[0].connect(b"ann").publish(b"hall/a", b"1")
        street.live(1)
        node = street.nodes[1]
        desk = BrokerMacros(node.broker, street.macros(2), cast("Server", Door(street, 2, hears=hears)))
        wanted = {"name": "minus", "code": "2 * Noctua.topic('hall/a')"}
        changed = await desk.define(wanted, new=False, user=b"")
        ended = await desk.delete("minus", user=b"")
        for answer, key in ((changed, "effective"), (ended, "position")):
            if hears:
                numbers = answer[key]
                assert isinstance(numbers, dict)
                assert list(numbers.values()) == [1]
                assert "pending" not in answer
            else:
                assert key not in answer
                assert "has not said yet from which readings on" in str(answer["pending"])

    run(test)


def test_a_macro_on_spark_that_nobody_runs_says_so() -> None:
    async def test() -> None:
        street = MacroStreet(1, 1)
        street.live(1)
        node = street.nodes[0]
        desk = BrokerMacros(node.broker, street.macros(1), cast("Server", Door(street, 1, hears=True)))
        street.define(1, macro("here", "-Noctua.topic('hall/a')"))
        street.define(1, macro("away", "-Noctua.topic('hall/a')", engine="spark"))
        assert "warning" not in desk.shown("here")
        assert "start `roost macro spark`" in str(desk.shown("away")["warning"])
        assert desk.names() == ["away", "here"]
        assert desk.names("node") == ["here"]
        assert "warning" in desk.shown("away")
        assert desk.names("spark") == ["away"]
        assert "warning" not in desk.shown("away")
        street.live(31)
        assert "warning" in desk.shown("away")

    run(test)
