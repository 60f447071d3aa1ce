"""The desk of roles: what it adds to an explanation, for it knows the macros."""

from __future__ import annotations

from typing import cast

import pytest
from tests.broker_macros_world import Alone, macro
from tests.loops import run
from tests.roles_world import DOCUMENT, HERE

from roost.broker.roles.keeper import RoleKeeper
from roost.errors import BadTopic
from roost.host.clock import Clock
from roost.host.mqtt.role_desk import BrokerRoles
from roost.host.mqtt.role_finding import Guests
from roost.host.mqtt.server import Server
from roost.process.roles.specification import Specification

NOT_ASKED = cast("Server", None)
MISSING = "but: home/hall/anonymize: there is no such macro yet, so nothing comes"


def house() -> tuple[Alone, BrokerRoles]:
    world = Alone()
    world.roles = lambda: RoleKeeper([Specification.read(DOCUMENT)], HERE)
    world.crash()
    keeper = world.broker.core.roles
    assert keeper is not None
    return world, BrokerRoles(world.broker, keeper, NOT_ASKED, Guests(keeper, Clock(), None))


def test_a_stream_that_no_macro_makes_is_said() -> None:
    async def test() -> None:
        world, desk = house()
        assert MISSING in (await desk.explain(b"cid", "home/hall")).splitlines()
        assert "no such macro" not in await desk.explain(b"ada", "home/hall")
        world.define(macro("home/hall/anonymize", "Noctua.topic('home/hall')"))
        assert "no such macro" not in await desk.explain(b"cid", "home/hall")
        world.run(world.broker.delete_macro("home/hall/anonymize", world.now))
        assert MISSING in (await desk.explain(b"cid", "home/hall")).splitlines()

    run(test)


def test_a_filter_is_no_topic() -> None:
    async def test() -> None:
        _, desk = house()
        with pytest.raises(BadTopic, match="wildcard"):
            await desk.explain(b"cid", "home/+")

    run(test)
