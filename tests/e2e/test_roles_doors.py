"""Figure 7 at every door: who gets the raw stream and who the anonymised one, over MQTT, HTTP, NDN, in a pipeline.

The same documents and roles hold for all of them. At the doors of the node they are asked for every message; in the
network the stream's content key is the door, which is wrapped for those alone who may see the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
from tests.e2e.test_http import get
from tests.e2e.test_mqtt_groups import asked, taken, uri_of
from tests.loops import run
from tests.roles_house import (
    EXACT,
    GROUP,
    PERMISSIONS,
    RAW,
    ROLES,
    STREAM,
    VAGUE,
    House,
    built,
    client,
    face_of,
    node,
    say,
    working,
)
from tests.roles_world import DOCUMENT

from roost.errors import BadConfig
from roost.host.mqtt.running import Running
from roost.host.sealed import SealedReader
from roost.host.stretches import Access, Stretch, StretchReader
from roost.naming import Name
from roost.trust.access import parse_sealed
from roost.wire import Data
from roost.wire.reading import decode_reading


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> House:
    return built(tmp_path_factory.mktemp("house"))


@pytest.fixture
def house(keys: House, monkeypatch: pytest.MonkeyPatch) -> House:
    monkeypatch.setenv("ROOST_HOME", str(keys.folder / "home"))
    keys.says(ROLES)
    return keys


# -- the doors: what of both streams a user gets


async def over_mqtt(_house: House, user: str, running: Running, sam: aiomqtt.Client) -> set[str]:
    async with client(running, user) as one:
        await one.subscribe("plain/end", qos=1)
        for wanted in (f"$raw/{RAW}", STREAM):
            await one.subscribe(wanted, qos=1)
        await say(sam)
        await sam.publish("plain/end", "", qos=1)  # what came before it is here before it
        found: set[str] = set()
        while True:
            [(topic, payload)] = await taken(one, 1)
            if topic == "plain/end":
                return found
            found.add(payload)


async def over_http(_house: House, user: str, running: Running, sam: aiomqtt.Client) -> set[str]:
    await say(sam)
    found: set[str] = set()
    for wanted in (f"%24raw/{RAW}", STREAM):
        status, said = await get(running, f"/topics/{wanted}?since=1", f"{user}:word")
        assert status in {200, 403}
        found |= {str(each["value"]) for each in said} if status == 200 else set()
    return found


async def over_ndn(house: House, user: str, running: Running, sam: aiomqtt.Client) -> set[str]:
    await say(sam)
    async with face_of(house, user, running) as face:
        group = face.group(GROUP)
        read = [reading for topic in (RAW, STREAM) for reading in await group.read(f"Gate1/{topic}")]
        newest = [await group.latest(f"Gate1/{topic}") for topic in (RAW, STREAM)]
        came = []
        async for reading in group.subscribe(*[f"Gate1/{topic}" for topic in (RAW, STREAM)], since=1):
            came.append(reading)
            if len(came) == 2:
                break
    told = [(each.stream, each.sealed, each.value) for each in read]
    assert [(each.stream, each.sealed, each.value) for each in newest if each is not None] == told
    assert {(each.stream, each.sealed, each.value) for each in came} == set(told)
    assert all((each.reading is None) == each.sealed for each in read), "it is opened, or it says that it is sealed"
    return {str(each.value) for each in read if not each.sealed}


async def in_a_pipeline(house: House, user: str, running: Running, sam: aiomqtt.Client) -> set[str]:
    await say(sam)
    access = Access((uri_of(running),), str(house.home(user)), group=GROUP)
    streams = [Name.parse(f"{GROUP}/Gate1/{topic}") for topic in (RAW, STREAM)]

    def work() -> set[str]:
        found: set[str] = set()
        with StretchReader(access) as reader:
            for fetched in reader.read([Stretch(stream, 1, 1) for stream in streams]):
                assert [number for number, _ in fetched.packets] == [1], "it is there for everybody, sealed or not"
                found |= {decode_reading(content).payload.decode() for content in fetched.opened.values()}
        return found

    return await asyncio.to_thread(work)


Door = Callable[[House, str, Running, aiomqtt.Client], Awaitable[set[str]]]
DOORS: list[Door] = [over_mqtt, over_http, over_ndn, in_a_pipeline]
FIGURE_7 = {"ada": {EXACT, VAGUE}, "cid": {VAGUE}, "vic": set(), "bob": set()}


@pytest.mark.parametrize("user", FIGURE_7)
@pytest.mark.parametrize("door", DOORS, ids=lambda door: str(door.__name__))
def test_every_door_gives_each_role_what_figure_7_gives_it(house: House, door: Door, user: str) -> None:
    async def test() -> None:
        async with working(house) as (running, sam):
            assert await door(house, user, running, sam) == FIGURE_7[user]

    run(test)


async def read(house: House, user: str, running: Running, topic: str, panel: str = "Gate1") -> list[str]:
    """The values of a stream as a user's keys open it; `sealed` where none does."""
    async with face_of(house, user, running) as face:
        found = await face.group(GROUP).read(f"{panel}/{topic}")
        return ["sealed" if each.sealed else str(each.value) for each in found]


def test_who_is_no_reader_has_what_nothing_governs_and_nothing_else(house: House) -> None:
    async def test() -> None:
        async with working(house) as (running, sam):
            await sam.publish("open/door", "true", qos=1)
            await say(sam)
            assert await read(house, "eve", running, "open/door") == ["true"]
            assert await read(house, "eve", running, RAW) == await read(house, "eve", running, STREAM) == ["sealed"]
            async with face_of(house, "eve", running) as face:
                [clear] = await face.group(GROUP).read("Gate1/open/door")
                [closed] = await face.group(GROUP).read(f"Gate1/{RAW}")
            assert decode_reading(clear.data.content).payload == b"true", "as it was before there were roles"
            assert parse_sealed(closed.data.content)[2].starts_with(closed.stream)
            assert EXACT.encode() not in closed.data.wire
            assert str(closed.signer) == str(clear.signer) == f"{GROUP}/Gate1"
            listed = (Path(__file__).parents[2] / "docs/mqtt.md").read_text(encoding="utf-8")
            counts = running.server.count_groups()
            assert [name for name in counts if name.startswith("groups/") and f"`{name}`" not in listed] == []
            assert counts["groups/messages/sealed"] >= 2

    run(test)


def test_a_reload_gives_keys_and_takes_them_back_from_the_next_reading_on(house: House) -> None:
    async def test() -> None:
        async with working(house) as (running, sam):
            await say(sam, "11.1")
            assert await read(house, "cid", running, RAW) == ["sealed"]
            house.says(ROLES | {"ada": [], "cid": ["developer"]})
            await running.reload()
            await say(sam, "22.2")
            assert await read(house, "ada", running, RAW) == ["11.1", "sealed"], "what could be read stays readable"
            assert await read(house, "cid", running, RAW) == ["sealed", "22.2"]
            house.says(ROLES, {**DOCUMENT, "topic": "elsewhere/+"})
            await running.reload()
            await sam.publish(RAW, "33.3", qos=1)
            assert (await read(house, "eve", running, RAW))[2:] == ["33.3"], "nothing governs it any more"

    run(test)


def test_who_may_see_a_stream_later_gets_the_key_that_it_has(house: House) -> None:
    async def test() -> None:
        async with working(house) as (running, sam):
            await say(sam, "11.1")
            keys = running.server.count_groups()["groups/keys"]
            house.says(ROLES | {"vic": ["developer"]})
            await running.reload()
            await say(sam, "22.2")
            assert await read(house, "vic", running, RAW) == ["11.1", "22.2"]
            assert await read(house, "ada", running, RAW) == ["11.1", "22.2"], "under the same key"
            assert running.server.count_groups()["groups/keys"] == keys + 2, "one more for each stream"

    run(test)


def test_after_a_restart_the_past_is_there_at_every_door(house: House, tmp_path: Path) -> None:
    async def test() -> None:
        async with working(house, store=str(tmp_path / "store")) as (_, sam):
            await say(sam, "11.1")
        async with working(house, store=str(tmp_path / "store")) as (running, sam):
            await say(sam, "22.2")
            async with client(running, "ada") as ada:
                await ada.subscribe(RAW, qos=1, properties=asked("1"))
                assert await taken(ada, 2) == [(RAW, "11.1"), (RAW, "22.2")]
            async with client(running, "cid") as cid:
                await cid.subscribe(RAW, qos=1, properties=asked("24h"))
                assert await taken(cid, 2) == [(RAW, "10"), (RAW, "20")]
            status, found = await get(running, f"/topics/{RAW}?since=24h", "ada:word")
            assert (status, [each["value"] for each in found]) == (200, [11.1, 22.2])
            assert await read(house, "ada", running, RAW) == ["11.1", "22.2"]
            assert await read(house, "cid", running, RAW) == ["sealed", "sealed"]

    run(test)


def test_another_node_of_the_group_hands_on_what_it_may_open(house: House) -> None:
    async def test() -> None:
        async with node(house) as one, node(house, 2, uri_of(one)) as other:
            async with client(other, "ada") as ada, client(other, "cid") as cid, client(one, "sam") as sam:
                await ada.subscribe(RAW, qos=1)
                await cid.subscribe(RAW, qos=1)
                await sam.publish(RAW, EXACT, qos=1)
                assert await taken(ada, 1) == [(RAW, EXACT)]
            async with client(other, "ada") as later:
                await later.subscribe(RAW, qos=1, properties=asked("1h"))
                assert await taken(later, 1) == [(RAW, EXACT)], "by its time, which is told beside the seal"
            assert await read(house, "ada", other, RAW) == [EXACT]
            assert await read(house, "cid", other, RAW) == ["sealed"]

    run(test)


def test_a_will_that_nodes_tell_each_other_is_for_them_alone(house: House) -> None:
    (house.folder / "watching").write_text(PERMISSIONS + "read $SYS/#\n")
    more: dict[str, Any] = {"permissions": "watching", "features": {"sys_interval": "1s"}}

    async def test() -> None:
        async with (
            node(house) as one,
            node(house, 2, uri_of(one), **more) as other,
            client(other, "sam", identifier="watch") as watch,
        ):
            await watch.subscribe("$SYS/broker/roaming/wills")
            async with client(one, "sam", will=aiomqtt.Will(RAW, EXACT, qos=1)):
                async for message in watch.messages:
                    if message.payload == b"1":
                        break
                roaming = other.broker.core.roaming
                assert roaming is not None
                (panel,) = roaming.bequests.panels
                (left,) = [each.will for each in roaming.bequests.of(panel)]
                assert left is not None
                assert left.payload == EXACT.encode(), "the other node has it"
                for user in ("ada", "eve"):
                    told = await read(house, user, one, "$roost/sessions/arrivals")
                    assert set(told) == {"sealed"}

    run(test)


def test_certificates_that_cannot_be_used_are_told_with_their_key_and_file(house: House, tmp_path: Path) -> None:
    (tmp_path / "torn.cert").write_text("no certificate")
    roles = {"documents": "rbps.yaml", "users": "roles.yaml", "readers": {"ada": [str(tmp_path / "torn.cert")]}}

    async def test() -> None:
        with pytest.raises(BadConfig, match=r"roles\.readers\.ada: .*torn\.cert"):
            async with node(house, roles=roles):
                pass

    run(test)


def test_a_reading_that_somebody_stopped_waiting_for_while_it_was_opened_is_the_next_one(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        begun, gate = asyncio.Event(), asyncio.Event()
        original = SealedReader.open

        async def slow(self: SealedReader, data: Data) -> bytes:
            begun.set()
            await gate.wait()
            return await original(self, data)

        monkeypatch.setattr(SealedReader, "open", slow)
        async with working(house) as (running, sam), face_of(house, "ada", running) as face:
            await say(sam)
            async with face.group(GROUP).subscribe(f"Gate1/{RAW}", since=1) as subscription:
                impatient = asyncio.ensure_future(anext(subscription))
                await begun.wait()
                impatient.cancel()
                await asyncio.wait([impatient])
                gate.set()
                assert str((await anext(subscription)).value) == EXACT

    run(test)
