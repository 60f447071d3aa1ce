"""Roles over the API: what a role may not see is in no list, no history, no passport, and does not come live."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from tests import roles_house
from tests.e2e.test_http import ask
from tests.loops import run
from tests.roles_house import CODE, GROUP, RAW, STREAM, House, client, node, say

from roost.host.mqtt.running import Running, running_broker
from roost.web.alerting import CRITICAL, PIPELINE, STALE, WARNING, Condition
from roost.web.api import alerts, api

HALL = f"{GROUP}/Gate1/{RAW}"
VAGUE = f"{GROUP}/Gate1/{STREAM}"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    house = roles_house.built(tmp_path_factory.mktemp("house"))
    (house.folder / "permissions").write_text("user sam\nreadwrite #\nreadwrite $roles/#\nall\nread #\n")
    return house


@pytest.fixture(autouse=True)
def use_home(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_HOME", str(house.folder / "home"))
    monkeypatch.setattr(roles_house, "running_broker", partial(running_broker, builders=[api]))


@asynccontextmanager
async def working(house: House) -> AsyncIterator[tuple[Running, aiohttp.ClientSession]]:
    """A node that has one reading of each stream, and some readings of what is sealed."""
    async with node(house) as running, client(running, "sam") as sam, aiohttp.ClientSession() as session:
        status, _ = await ask(running, "PUT", "/macros/home/hall/anonymize", {"code": CODE}, "sam:word")
        assert status == 201
        await sam.subscribe(f"$raw/{RAW}", qos=1)
        await sam.subscribe(STREAM, qos=1)
        await say(sam)
        yield running, session


async def get(running: Running, path: str, user: str) -> tuple[int, Any]:
    return await ask(running, "GET", path, None, f"{user}:word")


async def streams(running: Running, user: str) -> list[str]:
    status, said = await get(running, "/streams", user)
    assert status == 200, said
    return [each["stream"].removeprefix(f"{GROUP}/Gate1/") for each in said["items"]]


def test_each_role_has_the_streams_that_it_may_see_and_nothing_of_the_others(house: House) -> None:
    async def test() -> None:
        async with working(house) as (running, _):
            assert await streams(running, "ada") == [STREAM, RAW], "a developer"
            assert await streams(running, "cid") == [STREAM], "a customer"
            assert await streams(running, "vic") == [], "a visitor"
            assert await streams(running, "bob") == [], "who has no role"
            status, said = await get(running, f"/streams{HALL}", "ada")
            assert (status, said["value"]) == (200, 21.7), "sealed on the disk, and opened for who may see it"
            for path in ("/streams{}", "/history?stream={}&points=5", "/passport?stream={}", "/lineage?stream={}"):
                status, said = await get(running, path.format(HALL), "cid")
                assert status == 403, said
                assert (
                    said["error"] == f"role 'customer' does not see {HALL} as it is; in its place it may have {STREAM}"
                )
                status, said = await get(running, path.format(VAGUE), "cid")
                assert status == 200, said
            _, said = await get(running, f"/streams{HALL}", "bob")
            assert said["error"] == f"the user's roles give nothing of {HALL}: no role of the user's is mentioned"
            status, said = await get(running, f"/history?stream={HALL}&points=5", "ada")
            assert [point[1] for point in said["streams"][0]["points"]] == [21.7]

    run(test)


def test_what_is_read_one_by_one_is_drawn_by_its_value_too(house: House) -> None:
    async def test() -> None:
        async with working(house) as (running, _), client(running, "sam") as sam:
            await sam.publish(RAW, '{"expected": 5, "value": 34.5}', qos=1)
            async with asyncio.timeout(60):
                while True:
                    _, said = await get(running, f"/history?stream={HALL}&points=5", "ada")
                    values = [point[1] for point in said["streams"][0]["points"]]
                    if len(values) > 1:
                        break
            assert values == [21.7, 34.5], "sealed, so not decoded by the hundred"

    run(test)


def test_what_a_result_was_made_of_is_told_to_those_alone_who_may_see_that(house: House) -> None:
    async def test() -> None:
        async with working(house) as (running, _):
            _, told = await get(running, f"/passport?stream={VAGUE}", "cid")
            assert (told["value"], told["verdict"]) == (20, "trusted")
            assert (told["lineage"]["inputs"], told["lineage"]["hidden"], told["lineage"]["cause"]) == ([], 1, None)
            _, told = await get(running, f"/passport?stream={VAGUE}", "ada")
            assert told["lineage"]["inputs"] == [{"stream": HALL, "low": 1, "high": 1}]
            _, tree = await get(running, f"/lineage?stream={VAGUE}", "cid")
            assert (tree["inputs"], tree["hidden"]) == ([], 1)
            _, tree = await get(running, f"/lineage?stream={VAGUE}", "ada")
            assert [each["stream"] for each in tree["inputs"]] == [HALL]

    run(test)


def test_live_shows_each_role_its_own(house: House) -> None:
    async def test() -> None:
        async with working(house) as (running, session), client(running, "sam") as sam:
            uri = running.uris[-1] + "/live"
            shown = {"Authorization": aiohttp.encode_basic_auth("cid", "word")}
            async with session.ws_connect(uri, headers=shown) as socket:
                assert "alerts" in await socket.receive_json(timeout=60)
                await socket.send_json({"streams": [HALL]})
                assert "in its place it may have" in (await socket.receive_json(timeout=60))["refused"][0]["error"]
                await socket.send_json({"all": True, "topics": [RAW]})
                await socket.send_json({"all": 1})
                assert "true or false" in (await socket.receive_json(timeout=60))["error"]  # so the wish before holds
                await sam.publish(RAW, "34.5", qos=1)
                found: list[Any] = []
                while len(found) < 2:
                    found += (await socket.receive_json(timeout=60))["readings"]
                assert [(each["topic"], each["value"]) for each in found] == [(RAW, 30), (STREAM, 30)] or [
                    (each["topic"], each["value"]) for each in found
                ] == [(STREAM, 30), (RAW, 30)], "the stream of the role, as its topic and as itself; and no 34.5"

    run(test)


def test_a_role_that_changes_counts_at_once(house: House) -> None:
    async def test() -> None:
        async with working(house) as (running, _):
            assert await streams(running, "cid") == [STREAM]
            try:
                house.says(roles_house.ROLES | {"cid": ["developer"]})
                await running.reload()
                assert await streams(running, "cid") == [STREAM, RAW]
            finally:
                house.says(roles_house.ROLES)
            await running.reload()
            assert await streams(running, "cid") == [STREAM]

    run(test)


def test_views_say_who_sees_what_to_those_who_may_know(house: House) -> None:
    async def test() -> None:
        async with working(house) as (running, _):
            status, said = await get(running, f"/views?topic={quote(RAW)}", "sam")
            assert (status, said["document"], said["streams"]) == (200, "home/+", [RAW, STREAM, "Noctua/home/mean"])
            by_role = {each["role"]: each for each in said["roles"]}
            assert (by_role["customer"]["default"], by_role["customer"]["streams"]) == (STREAM, [STREAM])
            assert (by_role["developer"]["default"], by_role["visitor"]["default"]) == (RAW, None)
            _, said = await get(running, "/views?topic=plain/door", "sam")
            assert (said["document"], said["streams"], said["roles"]) == (None, ["plain/door"], [])
            assert (await get(running, f"/views?topic={quote(RAW)}", "cid"))[0] == 403
            assert (await get(running, "/views?topic=home/%2B", "sam"))[0] == 400
            assert (await get(running, "/views?topic=", "sam"))[0] == 400

    run(test)


def test_a_macro_on_trial_is_given_what_its_author_may_see(house: House) -> None:
    async def test() -> None:
        async with working(house) as (running, _):
            body = {"definition": {"name": "x", "code": f"Noctua.topic('{RAW}')"}, "since": "1h"}
            status, told = await ask(running, "POST", "/trial", body, "sam:word")
            assert (status, [run_["output"] for run_ in told["runs"]]) == (200, ["21.7"])
            status, said = await ask(running, "POST", "/trial", body, "cid:word")
            assert status == 403, json.dumps(said)

    run(test)


def test_roles_keep_no_alert_back_but_those_about_streams(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_running: object) -> list[Condition]:
        return [
            Condition(PIPELINE, CRITICAL, "hall", "it stands still", "see why", "#/pipelines"),
            Condition(STALE, CRITICAL, f"{GROUP}/Gate1", "all its streams are silent", "see why", "#/streams?group=g"),
            Condition(STALE, WARNING, f"{GROUP}/gone", "it is silent", "see why", f"#/streams{GROUP}/gone"),
            Condition(STALE, WARNING, HALL, "it is silent", "see why", f"#/streams{HALL}"),
        ]

    monkeypatch.setattr(alerts, "_of_pipelines", wrong)
    monkeypatch.setattr(alerts, "EVERY_S", 0.02)

    async def test() -> None:
        async with working(house) as (running, _):
            for user, sees in (("ada", ["hall", f"{GROUP}/Gate1", HALL]), ("cid", ["hall", f"{GROUP}/Gate1"])):
                async with asyncio.timeout(60):
                    found: list[str] = []
                    while "hall" not in found:
                        status, said = await get(running, "/alerts", user)
                        assert status == 200
                        found = [each["subject"] for each in said["items"]]
                assert found == sees

    run(test)
