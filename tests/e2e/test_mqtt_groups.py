"""Brokers with a group behind them: two nodes that are one, the past of a subscription, sessions that move."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from tests import broker_packets as packets
from tests.loops import run

from roost.cli import main
from roost.host.client import connect
from roost.host.mqtt.config import read_config
from roost.host.mqtt.running import Running, running_broker

GROUP = "/BigCompany/Building1/Electricity"
V5 = aiomqtt.ProtocolVersion.V5
V4 = aiomqtt.ProtocolVersion.V311


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ROOST_PASSPHRASE", raising=False)
    repos = ("--repo", "Repo1", "--repo", "Repo2")
    assert main(["init", "--company", "BigCompany", "--building", "Building1", *repos]) == 0
    for panel in ("Gate1", "Gate2"):
        assert main(["keys", "make", f"{GROUP}/{panel}"]) == 0
    return tmp_path


@asynccontextmanager
async def node(folder: Path, number: int, *uplinks: str, **more: Any) -> AsyncIterator[Running]:  # noqa: ANN401
    """A broker with a repo and a panel of its own, linked to others."""
    said: dict[str, Any] = {
        "listeners": [{"tcp": "127.0.0.1:0"}],
        "store": str(folder / f"node{number}"),
        "trees": [{"filter": "plain/#"}, {"filter": "#", "group": GROUP}],
        "groups": [{"name": GROUP, "panel": f"Gate{number}", "repo": f"Repo{number}"}],
        "node": {"tcp": ["127.0.0.1:0"], "uplinks": list(uplinks)},
    }
    async with running_broker(read_config(said | more, folder, folder)) as running:
        yield running


def uri_of(running: Running) -> str:
    assert running.repo is not None
    return running.repo.listening.uris[0]


def client(running: Running, **more: Any) -> aiomqtt.Client:  # noqa: ANN401  as aiomqtt has it
    return aiomqtt.Client("127.0.0.1", int(running.uris[0].rpartition(":")[2]), **({"protocol": V5} | more))


@asynccontextmanager
async def two(folder: Path) -> AsyncIterator[tuple[Running, Running]]:
    async with node(folder, 1) as one, node(folder, 2, uri_of(one)) as other:
        yield one, other


async def taken(listening: aiomqtt.Client, count: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    async with asyncio.timeout(20):
        while len(found) < count:
            message = await anext(aiter(listening.messages))
            assert isinstance(message.payload, bytes)
            found.append((str(message.topic), message.payload.decode()))
    return found


def asked(since: str) -> Properties:
    properties = Properties(PacketTypes.SUBSCRIBE)  # type: ignore[no-untyped-call]
    properties.UserProperty = ("since", since)
    return properties


def lasting() -> dict[str, Any]:
    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.SessionExpiryInterval = 3600
    return {"clean_start": False, "properties": properties}


def test_what_is_published_at_one_node_is_delivered_at_every_node(home: Path) -> None:
    async def test() -> None:
        async with (
            two(home) as (one, other),
            client(other) as far,
            client(one, protocol=V4) as near,
            client(one) as device,
        ):
            await far.subscribe("hall/#", qos=2)
            await near.subscribe("hall/#", qos=1)
            for qos in (0, 1, 2):
                await device.publish("hall/temp", f"2{qos}.5", qos=qos)
            expected = [("hall/temp", "20.5"), ("hall/temp", "21.5"), ("hall/temp", "22.5")]
            assert await taken(near, 3) == expected
            assert await taken(far, 3) == expected
            counts = one.server.count_groups()
            assert counts["groups/messages/inserted"] >= 3, "and what nodes tell each other"
            listed = (Path(__file__).parents[2] / "docs/mqtt.md").read_text(encoding="utf-8")
            assert [name for name in counts if f"`{name}`" not in listed] == []

    run(test)


def test_a_message_is_a_signed_reading_that_any_consumer_can_verify(home: Path) -> None:
    async def test() -> None:
        async with node(home, 1) as one, client(one) as device, connect([uri_of(one)]) as face:
            await device.publish("hall/room1/temp", b"21.5", qos=1)
            await device.publish("hall/room1/door", b'{"value": true}', qos=1)
            found = {}
            async with asyncio.timeout(20):
                async for reading in face.group(GROUP).subscribe("Gate1/#", since=1):
                    found[str(reading.stream)] = (reading.value, str(reading.signer))
                    if len(found) == 2:
                        break
            signer = f"{GROUP}/Gate1"
            assert found == {
                f"{GROUP}/Gate1/hall/room1/temp": (21.5, signer),
                f"{GROUP}/Gate1/hall/room1/door": (True, signer),
            }

    run(test)


def test_a_sensors_reading_reaches_mqtt_clients_by_the_name_of_its_stream(home: Path) -> None:
    async def test() -> None:
        async with node(home, 1) as one, client(one) as listening, connect([uri_of(one)]) as face:
            await listening.subscribe("BigCompany/Building1/Electricity/+/Heater/#", qos=1)
            async with face.group(GROUP).panel("Panel1", folder=home / "panel") as panel:
                await panel.publish("Heater/Voltage", 229.5, unit="V")
                await panel.flush()
            message = await anext(aiter(listening.messages))
            assert (str(message.topic), message.payload) == (f"{GROUP[1:]}/Panel1/Heater/Voltage", b"229.5")
            assert message.properties is not None
            assert ("unit", "V") in message.properties.json()["UserProperty"]  # type: ignore[no-untyped-call]

    run(test)


def test_the_past_comes_first_then_the_present_without_gap_or_repetition(home: Path) -> None:
    async def test() -> None:
        async with node(home, 1) as one, client(one) as device:
            for number in range(300):
                await device.publish("hall/count", str(number), qos=1)
            async with client(one) as new, client(one, protocol=V4) as old:
                await new.subscribe("hall/#", qos=1, properties=asked("1h"))
                await old.subscribe("$since/1/hall/count", qos=1)
                for number in range(300, 600):
                    await device.publish("hall/count", str(number), qos=1)
                expected = [("hall/count", str(number)) for number in range(600)]
                assert await taken(new, 600) == expected
                assert await taken(old, 600) == expected

    run(test)


def test_an_impossible_past_is_refused_with_its_reason(home: Path) -> None:
    async def test() -> None:
        async with node(home, 1) as one, client(one) as asking:
            codes = await asking.subscribe("hall/#", qos=1, properties=asked("yesterday"))
            assert [code.value for code in codes] == [0x8F]  # type: ignore[union-attr]

    run(test)


def test_a_session_goes_on_at_another_node_when_its_own_is_gone(home: Path) -> None:
    async def test() -> None:
        async with AsyncExitStack() as stack:
            other = await stack.enter_async_context(node(home, 2))
            async with node(home, 1, uri_of(other)) as one:
                device = await stack.enter_async_context(client(other))
                async with client(one, identifier="display", **lasting()) as display:
                    await display.subscribe("hall/#", qos=1)
                    await device.publish("hall/a", "1", qos=1)
                    assert await taken(display, 1) == [("hall/a", "1")]
                    await heard(other, b"display", filters=1)
                await heard(other, b"display", done=1)
                await device.publish("hall/a", "2", qos=1)
            # The node of the display is gone; its client finds the other one.
            await device.publish("hall/a", "3", qos=1)
            async with client(other, identifier="display", **lasting()) as display:
                assert await taken(display, 2) == [("hall/a", "2"), ("hall/a", "3")]

    run(test)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that nobody tells."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110  it is looked at, because nobody sets an event for a test
            await asyncio.sleep(0.02)


async def heard(running: Running, identifier: bytes, *, filters: int = 0, done: int = 0) -> None:
    """Wait until a node knows of a session elsewhere."""

    def is_known() -> bool:
        session = running.broker.core.sessions.get(identifier)
        if session is None or session.abroad is None or not session.abroad.elsewhere:
            return False
        return len(session.subscriptions) >= filters and max(session.abroad.done.values(), default=0) >= done

    await until(is_known)


def test_a_client_that_comes_to_another_node_is_hung_up_on_at_the_first(home: Path) -> None:
    async def test() -> None:
        async with two(home) as (one, other), AsyncExitStack() as stack:
            first = await stack.enter_async_context(client(one, identifier="display", **lasting()))
            await first.subscribe("hall/#", qos=1)
            await heard(other, b"display", filters=1)
            second = await stack.enter_async_context(client(other, identifier="display", **lasting()))
            with pytest.raises(aiomqtt.MqttError):
                async with asyncio.timeout(20):
                    await anext(aiter(first.messages))
            async with client(one) as device:
                await device.publish("hall/a", "1", qos=1)
            assert await taken(second, 1) == [("hall/a", "1")]

    run(test)


async def raw(running: Running) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A device with a session that persists, packet by packet."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(running.uris[0].rpartition(":")[2]))
    writer.write(packets.connect(b"device", clean=False))
    assert (await reader.readexactly(4))[:2] == b"\x20\x02"
    return reader, writer


def test_a_qos_2_message_that_is_sent_again_at_another_node_comes_once(home: Path) -> None:
    async def test() -> None:
        async with two(home) as (one, other), client(other) as far, asyncio.timeout(30):
            await far.subscribe("hall/#", qos=2)
            reader, writer = await raw(one)
            await heard(other, b"device")
            writer.write(packets.publish(b"hall/temp", b"21.5", qos=2, packet_id=7))
            assert await reader.readexactly(4) == b"\x50\x02\x00\x07"
            assert await taken(far, 1) == [("hall/temp", "21.5")]
            writer.close()  # and PUBREC was lost
            reader, writer = await raw(other)
            writer.write(packets.publish(b"hall/temp", b"21.5", qos=2, packet_id=7, dup=True) + packets.pubrel(7))
            assert await reader.readexactly(8) == b"\x50\x02\x00\x07" + b"\x70\x02\x00\x07"
            writer.write(packets.publish(b"hall/temp", b"21.5", qos=2, packet_id=7) + packets.pubrel(7))
            writer.write(packets.publish(b"hall/temp", b"22", qos=2, packet_id=7) + packets.pubrel(7))
            assert await taken(far, 2) == [("hall/temp", "21.5"), ("hall/temp", "22")]
            writer.close()

    run(test)


def test_the_last_retained_message_is_the_same_at_every_node(home: Path) -> None:
    async def test() -> None:
        async with two(home) as (one, other):
            async with client(one) as device, client(other) as watching:
                await watching.subscribe("hall/state", qos=1)
                await device.publish("hall/state", "on", qos=1, retain=True)
                assert await taken(watching, 1) == [("hall/state", "on")]
            async with client(other) as late:
                await late.subscribe("hall/#", qos=1)
                assert await taken(late, 1) == [("hall/state", "on")]

    run(test)


def test_a_shared_subscription_over_two_nodes_gets_each_message_once(home: Path) -> None:
    async def test() -> None:
        async with two(home) as (one, other), client(one) as here, client(other) as there, client(one) as device:
            await here.subscribe("$share/workers/jobs/#", qos=1)
            await there.subscribe("$share/workers/jobs/#", qos=1)
            members = (one.broker.core, other.broker.core)
            await until(lambda: all(len(core.router.shares) == 2 for core in members))
            got: list[str] = []

            async def work(worker: aiomqtt.Client) -> None:
                async for message in worker.messages:
                    assert isinstance(message.payload, bytes)
                    got.append(message.payload.decode())

            async with asyncio.TaskGroup() as tasks:
                working = [tasks.create_task(work(worker)) for worker in (here, there)]
                for number in range(100):
                    await device.publish(f"jobs/{number % 5}", str(number), qos=1)
                await device.publish("jobs/end", "end", qos=1)
                await until(lambda: len(got) >= 101)
                for task in working:
                    task.cancel()
            assert sorted(got) == sorted([*map(str, range(100)), "end"])

    run(test)


def test_a_restart_hands_on_what_came_meanwhile(home: Path) -> None:
    async def test() -> None:
        async with node(home, 2) as other, client(other) as device:
            async with node(home, 1, uri_of(other)) as one, client(one, identifier="display", **lasting()) as display:
                await display.subscribe("hall/#", qos=1)
                await device.publish("hall/a", "1", qos=1)
                assert await taken(display, 1) == [("hall/a", "1")]
            await device.publish("hall/a", "2", qos=1)
            async with node(home, 1, uri_of(other)) as one, client(one, identifier="display", **lasting()) as display:
                assert await taken(display, 1) == [("hall/a", "2")]

    run(test)


def test_wills_that_are_spoken_when_a_node_ends_are_in_the_group(home: Path) -> None:
    async def test() -> None:
        async with AsyncExitStack() as stack:
            async with node(home, 1) as one:
                async with client(one, identifier="display", **lasting()) as display:
                    await display.subscribe("hall/#", qos=1)
                device = client(one, will=aiomqtt.Will("hall/gone", "device", qos=1))
                await device.__aenter__()
            with pytest.raises(aiomqtt.MqttError):
                await anext(aiter(device.messages))
            one = await stack.enter_async_context(node(home, 1))
            async with client(one, identifier="display", **lasting()) as display:
                assert await taken(display, 1) == [("hall/gone", "device")]

    run(test)


def test_messages_that_two_repos_have_are_acknowledged_when_they_do(home: Path) -> None:
    replicated = {
        "trees": [{"filter": "#", "group": GROUP, "durability": {"replicated": 2}}],
    }

    async def test() -> None:
        async with node(home, 2) as other, node(home, 1, uri_of(other), **replicated) as one, client(one) as device:
            async with asyncio.timeout(30):
                await device.publish("hall/a", "1", qos=1, timeout=30)
            assert other.repo is not None
            assert any("Gate1" in str(stream) for stream, _ in other.repo.repos[0].shelf.holdings)

    run(test)


def test_copies_that_nobody_can_make_are_complained_of_and_counted(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    replicated = {
        "trees": [{"filter": "#", "group": GROUP, "durability": {"replicated": 2}}],
        "features": {"sys_interval": "1s"},
    }

    async def test() -> None:
        async with node(home, 1, **replicated) as one, client(one) as device:
            await device.subscribe("$SYS/broker/groups/messages/uncopied")
            publishing = asyncio.create_task(device.publish("hall/a", "1", qos=1, timeout=30))
            async with asyncio.timeout(30):
                async for message in device.messages:
                    if message.payload == b"1":
                        break
                await until(lambda: "messages wait for copies" in caplog.text)
            assert not publishing.done()
            publishing.cancel()
        assert f"{GROUP}: messages wait for copies, unacknowledged: 1 now (2 copies were asked for" in caplog.text

    run(test)


def test_a_3_1_1_device_hears_nothing_of_what_no_reading_can_be_and_all_else_comes_through(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with node(home, 1) as one:
            for topic, payload in (("hall", b"1"), ("/".join("a" * 15), b"x" * 10_000)):
                reader, writer = await raw(one)
                writer.write(packets.publish(topic.encode(), payload, qos=1, packet_id=7))
                writer.write(packets.publish(b"hall/b", b"1", qos=1, packet_id=8))
                async with asyncio.timeout(30):
                    assert await reader.readexactly(4) == packets.puback(8)
                writer.close()
            assert one.broker.counts()["publish/messages/unfit"] == 2
        assert "2 to 16 levels, this one has 1: topic 'hall' (client 'device')" in caplog.text
        assert "make one of them smaller: topic 'a/a/a" in caplog.text

    run(test)


def test_topics_that_no_reading_can_have_are_refused(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with node(home, 1) as one, client(one) as device:
            await device.publish("/".join("a" * 17), "1", qos=1)  # with a reason that aiomqtt does not show
            assert one.server.journal.rejected == 1
            await device.publish("hall/a", "1", qos=1)
        assert "2 to 16 levels, this one has 17" in caplog.text

    run(test)


def test_plain_trees_stay_at_their_node(home: Path) -> None:
    async def test() -> None:
        async with two(home) as (one, other), client(other) as far, client(one) as near, client(one) as device:
            for listening in (near, far):
                await listening.subscribe("#", qos=1)
            await device.publish("plain/a", "1", qos=1)
            await device.publish("hall/a", "2", qos=1)
            assert await taken(near, 2) == [("plain/a", "1"), ("hall/a", "2")]
            assert await taken(far, 1) == [("hall/a", "2")]

    run(test)


@pytest.mark.parametrize("qos", [1, 2])
def test_a_client_moves_as_soon_as_it_is_answered_and_has_everything_once(home: Path, qos: int) -> None:
    async def test() -> None:
        async with two(home) as nodes:
            for number in range(6):
                here, there = nodes[number % 2], nodes[(number + 1) % 2]
                async with client(here, identifier="display", **lasting()) as display, client(there) as device:
                    await display.subscribe(f"hall/{number}", qos=qos)
                    await device.publish(f"hall/{number}", "first", qos=qos)
                    assert await taken(display, 1) == [(f"hall/{number}", "first")]
                    await display.subscribe(f"room/{number}", qos=qos)
                async with client(here) as device:
                    await device.publish(f"room/{number}", "second", qos=qos)
                async with client(there, identifier="display", **lasting()) as display:
                    assert await taken(display, 1) == [(f"room/{number}", "second")]
                    await display.unsubscribe(f"room/{number}")
                    await display.unsubscribe(f"hall/{number}")

    run(test)


def test_a_clock_that_is_set_forward_ends_nobody(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    features = {"sys_interval": "1s"}

    async def test() -> None:
        async with AsyncExitStack() as stack:
            one = await stack.enter_async_context(node(home, 1, features=features))
            other = await stack.enter_async_context(node(home, 2, uri_of(one), features=features))
            clients = []
            for at, running in enumerate((one, other)):
                will = aiomqtt.Will(f"hall/gone{at}", "gone", qos=1)
                device = await stack.enter_async_context(client(running, will=will, keepalive=60))
                await device.subscribe("hall/#", qos=1)
                clients.append(device)
            async with client(one, identifier="away", **lasting()) as away:
                await away.subscribe("hall/#", qos=1)
            now = time.time_ns
            monkeypatch.setattr(time, "time_ns", lambda: now() + 24 * 3600 * 10**9)
            for device in clients:  # time has passed at both, more than once
                await device.subscribe("$SYS/broker/uptime")
                async with asyncio.timeout(20):
                    for _ in range(3):
                        await anext(aiter(device.messages))
            await clients[0].publish("hall/a", "1", qos=1)
            for device in clients:
                async for message in device.messages:
                    if message.topic.value.startswith("hall"):
                        assert message.topic.value == "hall/a"
                        break
            assert b"away" in one.broker.core.sessions

    run(test)
