"""Readings as they come, over /live and /events: all of them in order, the newest only, and clients that are slow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.e2e.test_http import write_users
from tests.loops import run
from tests.web_api_world import GROUP, World, keys, node

from roost.web.api import live, live_client

GATE = f"{GROUP}/Gate1"
TEMP = f"{GATE}/hall/temp"
USERS = "user ada\nreadwrite #\nuser bob\nread hall/#\n"
WAIT_S = 60


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        keys(folder, patch)
    return folder / "home"


@pytest.fixture(autouse=True)
def use_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_HOME", str(home))
    monkeypatch.delenv("ROOST_PASSPHRASE", raising=False)


@asynccontextmanager
async def following(world: World, wish: object, user: str = "") -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    shown = {"Authorization": aiohttp.encode_basic_auth(user, "word")} if user else {}
    async with aiohttp.ClientSession(headers=shown) as session, session.ws_connect(world.uri + "/live") as socket:
        assert "alerts" in await socket.receive_json(timeout=WAIT_S)
        await socket.send_json(wish)
        await wanted(world)
        yield socket


async def wanted(world: World, count: int = 1) -> None:
    """Wait until what clients asked for holds."""
    told = world.live
    await world.until(lambda: sum(client.wish != live_client.Wish() for client in told._clients) >= count)


async def readings(socket: aiohttp.ClientWebSocketResponse, count: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < count:
        said = await socket.receive_json(timeout=WAIT_S)
        assert "error" not in said, said
        found += said.get("readings", [])
    return found


async def trouble(socket: aiohttp.ClientWebSocketResponse) -> str:
    return str((await socket.receive_json(timeout=WAIT_S))["error"])


async def refusal(socket: aiohttp.ClientWebSocketResponse) -> str:
    [refused] = (await socket.receive_json(timeout=WAIT_S))["refused"]
    return str(refused["error"])


def test_every_reading_of_a_stream_comes_once_and_in_order(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", 0)
            await world.publish("hall/hum", 0)
            async with following(world, {"streams": [TEMP]}) as socket:
                for begin in range(1, 201, 50):
                    await world.publish("hall/temp", *range(begin, begin + 50))
                    await world.publish("hall/hum", begin)
                found = await readings(socket, 200)
                assert [each["value"] for each in found] == list(range(1, 201))
                assert [each["number"] for each in found] == list(range(2, 202))
                assert {each["stream"] for each in found} == {TEMP}
                assert found[0]["topic"] == "hall/temp"

    run(test)


def test_what_a_client_says_replaces_what_it_had_and_what_is_wrong_changes_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", 0)
            await world.publish("hall/hum", 0)
            async with following(world, {"streams": [TEMP]}) as socket:
                wrongs: tuple[Any, ...] = (
                    {"topics": ["a/#/b"]},
                    {"more": 1},
                    [],
                    {"every_ms": 1},
                )
                for wrong in wrongs:
                    await socket.send_json(wrong)
                    assert await trouble(socket)
                await socket.send_str("{")
                assert await trouble(socket) == "that is not JSON"
                await socket.send_str("[" * 100_000)
                assert await trouble(socket)
                await world.publish("hall/temp", 1)
                assert [each["value"] for each in await readings(socket, 1)] == [1]
                await socket.send_json({"streams": [f"{GATE}/hall/hum"]})
                await world.until(lambda: all(TEMP not in each.wish.streams for each in world.live._clients))
                await world.publish("hall/temp", 2)
                await world.publish("hall/hum", 3)
                assert [each["value"] for each in await readings(socket, 1)] == [3]

    run(test)


def test_all_streams_come_those_that_are_new_too_and_of_latest_the_newest_alone(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world, following(world, {"all": True, "latest": True, "every_ms": 50}) as socket:
            await world.publish("hall/temp", *range(500))
            await world.publish("attic/temp", 7)
            last: dict[str, Any] = {}
            count = 0
            while last.get("hall/temp") != 499 or last.get("attic/temp") != 7:
                for each in await readings(socket, 1):
                    assert each["value"] >= last.get(each["topic"], 0), "it never goes back"
                    last[each["topic"]] = each["value"]
                    count += 1
            assert count < 500

    run(test)


def test_topics_come_as_to_an_mqtt_client_plain_ones_too(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world, following(world, {"topics": ["+/temp", "plain/#"]}) as socket:
            await world.publish("plain/door", "open")
            await world.publish("hall/temp", 20)
            found = {each["topic"]: each for each in await readings(socket, 2)}
            assert (found["plain/door"]["value"], found["plain/door"]["stream"]) == ("open", None)
            assert (found["hall/temp"]["value"], found["hall/temp"]["stream"]) == (20, TEMP)

    run(test)


def test_events_are_the_same_without_a_socket(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", 0)
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"{world.uri}/events?stream={TEMP}&topic=plain/%23") as events,
            ):
                assert events.headers["Content-Type"] == "text/event-stream"
                await wanted(world)
                await world.publish("hall/temp", 1)
                async with asyncio.timeout(WAIT_S):
                    first, _, line = [await events.content.readline() for _ in range(3)]
                assert first == b'data: {"alerts":[]}\n'
                assert line.startswith(b'data: {"readings":[{"stream":"' + TEMP.encode())

    run(test)


def test_who_reads_too_slowly_misses_the_oldest_and_is_told_how_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_client, "MAX_WAITING", 20)

    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", 0)
            async with following(world, {"streams": [TEMP], "every_ms": 1000}) as socket:
                await world.publish("hall/temp", *range(1, 201))  # in much less than a second
                found: list[Any] = []
                dropped = 0
                while not found or found[-1]["value"] != 200:
                    said = await socket.receive_json(timeout=WAIT_S)
                    found += said["readings"]
                    dropped += said["dropped"]
                values = [each["value"] for each in found]
                assert values == sorted(set(values))
                assert len(values) + dropped == 200
                assert dropped > 0
                assert world.live.counts()["http/live/dropped"] == dropped
            await world.until(lambda: not world.live.following)
            assert world.live.counts()["http/live/dropped"] == dropped, "that of those who have gone, too"
            assert world.live._by_row == {}

    run(test)


def test_there_are_so_many_clients_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_CLIENTS", 1)

    async def test() -> None:
        async with node(tmp_path) as world:
            async with following(world, {"all": True}):
                answer = await world.ask("/events?all=true")
                assert (answer.status, answer.headers["Retry-After"]) == (429, "10")
                assert world.live.counts()["http/live/refused"] == 1
            await world.until(lambda: not world.live.following)
            async with following(world, {"all": True}):
                pass

    run(test)


def test_who_follows_is_sent_away_when_the_node_ends(tmp_path: Path) -> None:
    async def test() -> None:
        async with aiohttp.ClientSession() as session:
            async with node(tmp_path) as world:
                socket = await session.ws_connect(world.uri + "/live")
                await socket.send_json({"all": True})
                events = await session.get(f"{world.uri}/events?all=true")
                await wanted(world, 2)
            assert (await socket.receive_json(timeout=WAIT_S)) == {"alerts": []}
            assert (await socket.receive(timeout=WAIT_S)).type in {aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED}
            async with asyncio.timeout(WAIT_S):
                assert await events.content.read() == b'data: {"alerts":[]}\n\n'

    run(test)


def test_permissions_hold_for_what_comes(tmp_path: Path) -> None:
    said: dict[str, Any] = write_users(tmp_path, USERS, ada="word", bob="word")

    async def test() -> None:
        async with node(tmp_path, **said) as world:
            await world.publish("attic/temp", 0)
            async with following(world, {"all": True}, "bob") as socket:
                await socket.send_json({"streams": [f"{GATE}/attic/temp"]})
                assert "permission" in await refusal(socket)
                await socket.send_json({"topics": ["attic/#"], "all": True})
                assert "permission" in await refusal(socket)
                await world.publish("attic/temp", 1, 2, 3)
                await world.publish("hall/temp", 4)
                assert [each["value"] for each in await readings(socket, 1)] == [4], "and nothing of the attic"
            async with aiohttp.ClientSession() as session:
                with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                    await session.ws_connect(world.uri + "/live")
                assert caught.value.status == 401

    run(test)


def test_alerts_come_when_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.web.api.alerts.EVERY_S", 0.02)
    monkeypatch.setattr("roost.web.api.alerts.LOW_DISK", 0)

    async def test() -> None:
        async with node(tmp_path, store=str(tmp_path / "store")) as world, following(world, {"all": True}) as socket:
            monkeypatch.setattr("roost.web.api.alerts.LOW_DISK", 1.1)
            said = await socket.receive_json(timeout=WAIT_S)
            assert [each["kind"] for each in said["alerts"]] == ["disk"]
            async with aiohttp.ClientSession() as session, session.ws_connect(world.uri + "/live") as late:
                assert (await late.receive_json(timeout=WAIT_S))["alerts"] == said["alerts"], "who comes later, too"
            monkeypatch.setattr("roost.web.api.alerts.LOW_DISK", 0)
            assert await socket.receive_json(timeout=WAIT_S) == {"alerts": []}

    run(test)


def test_what_is_refused_is_told_one_by_one_and_the_rest_comes(tmp_path: Path) -> None:
    said: dict[str, Any] = write_users(tmp_path, USERS, ada="word", bob="word")
    attic = f"{GATE}/attic/temp"

    async def test() -> None:
        async with node(tmp_path, **said) as world:
            await world.publish("hall/temp", 0)
            await world.publish("attic/temp", 0)
            wish = {"streams": ["/no", TEMP, attic], "topics": ["attic/#", "hall/hum"]}
            async with following(world, wish, "bob") as socket:
                refused = (await socket.receive_json(timeout=WAIT_S))["refused"]
                assert [(each.get("stream") or each["topic"], each["status"]) for each in refused] == [
                    ("/no", 404),
                    (attic, 403),
                    ("attic/#", 403),
                ]
                assert all(each["error"] for each in refused)
                await world.publish("attic/temp", 1)
                await world.publish("hall/temp", 1)
                await world.publish("hall/hum", 2)
                found = await readings(socket, 2)
                assert {(each["topic"], each["value"]) for each in found} == {("hall/temp", 1), ("hall/hum", 2)}
            assert (await world.ask("/events?stream=/no", "bob:word")).status == 404
            assert (await world.ask(f"/events?stream={attic}", "bob:word")).status == 403

    run(test)
