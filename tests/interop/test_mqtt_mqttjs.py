"""MQTT.js as a client of `roost mqtt`, in both versions, over TCP, TLS, WebSocket and both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any, Final

import pytest
from tests.interop.mqtt_server import (
    KEEP_ALIVE_S,
    MAX_PACKET_BYTES,
    PASSWORD,
    RECEIVE_MAXIMUM,
    MqttServer,
    fresh,
    running_mqtt_server,
)
from tests.interop.mqttjs_client import joined, member, running_mqttjs
from tests.interop.processes import Peer

PAYLOADS: Final = (b"", b"x", b"\0\xff" * 600, b"200 kB " * 28_572)

versions: Final = pytest.mark.parametrize("version", [4, 5], ids=["v3.1.1", "v5"])
transports: Final = pytest.mark.parametrize("transport", ["tcp", "tls", "ws", "wss"])


@pytest.fixture(scope="module")
def js(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with running_mqttjs(tmp_path_factory.mktemp("mqttjs")) as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MqttServer]:
    with running_mqtt_server(tmp_path_factory.mktemp("mqtt")) as started:
        yield started


def lasting(version: int, name: str) -> dict[str, Any]:
    """Options of a client whose session outlives its connection."""
    properties = {"properties": {"sessionExpiryInterval": 3600}} if version == 5 else {}
    return {"clientId": name, "clean": False, **properties}


@versions
@transports
async def test_payloads_of_every_size_arrive_over_every_transport(
    js: Peer, server: MqttServer, version: int, transport: str
) -> None:
    place = fresh()
    async with member(js, server, version, transport) as client:
        assert await client.subscribe(f"{place}/#", qos=2) == [2]
        for qos in (0, 1, 2):
            for payload in PAYLOADS:
                assert await client.publish(f"{place}/ü", payload, qos) == 0
                (message,) = await client.take()
                assert (message["topic"], message["payload"], message["qos"]) == (f"{place}/ü", payload, qos)


@versions
@pytest.mark.parametrize("transport", ["tcp", "ws"])
async def test_a_megabyte_arrives(js: Peer, server: MqttServer, version: int, transport: str) -> None:
    place = fresh()
    async with member(js, server, version, transport) as client:
        await client.subscribe(place, qos=1)
        assert await client.publish(place, bytes(1 << 20), 1) == 0
        assert await client.heard() == [(place, bytes(1 << 20))]


@versions
@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_a_burst_keeps_its_order(js: Peer, server: MqttServer, version: int, qos: int) -> None:
    place = fresh()
    async with member(js, server, version, "ws") as speaker, member(js, server, version) as listener:
        await listener.subscribe(place, qos=qos)
        await speaker.burst(place, 300, qos)
        assert await listener.heard(300) == [(place, b"%d" % number) for number in range(300)]
        assert await listener.nothing_more()


@versions
async def test_retained_messages_are_set_replaced_and_cleared(js: Peer, server: MqttServer, version: int) -> None:
    place = fresh()
    async with member(js, server, version) as client:
        for payload in (b"first", b"second"):
            await client.publish(place, payload, 1, retain=True)
        await client.subscribe(place, qos=1)
        (message,) = await client.take()
        assert (message["payload"], message["retain"]) == (b"second", True)
        await client.publish(place, b"", 1, retain=True)
        (message,) = await client.take()
        assert (message["payload"], message["retain"]) == (b"", False)
        await client.subscribe(place, qos=1)
        assert await client.nothing_more()


async def test_options_of_a_subscription_are_heeded(js: Peer, server: MqttServer) -> None:
    place = fresh()
    async with member(js, server, 5) as one, member(js, server, 5) as other:
        await other.publish(place, b"old", 1, retain=True)
        await one.subscribe(place, qos=1, nl=True, rap=True, rh=2, properties={"subscriptionIdentifier": 7})
        await one.publish(place, b"mine", 1)
        await other.publish(place, b"theirs", 1, retain=True)
        (message,) = await one.take()
        assert (message["payload"], message["retain"], message["subscriptionIdentifier"]) == (b"theirs", True, 7)
        assert await one.nothing_more()


@versions
async def test_a_will_comes_when_a_client_vanishes_and_not_when_it_leaves(
    js: Peer, server: MqttServer, version: int
) -> None:
    place = fresh()
    async with member(js, server, version) as watcher:
        await watcher.subscribe(f"{place}/+", qos=2)
        leaving = await joined(js, server, version, will={"topic": f"{place}/left", "payload": "", "qos": 1})
        await leaving.end()
        vanishing = await joined(js, server, version, "ws", will={"topic": f"{place}/gone", "payload": "w", "qos": 1})
        await vanishing.cut()
        assert await watcher.heard() == [(f"{place}/gone", b"w")]


async def test_a_will_waits_as_long_as_it_is_told(js: Peer, server: MqttServer) -> None:
    place = fresh()
    async with member(js, server, 5) as watcher:
        await watcher.subscribe(place)
        will = {
            "topic": place,
            "payload": "later",
            "qos": 1,
            "properties": {"willDelayInterval": 1, "contentType": "text/plain", "userProperties": {"a": ["1", "2"]}},
        }
        await (await joined(js, server, 5, **lasting(5, place), will=will)).cut()
        assert await watcher.nothing_more()
        (message,) = await watcher.take()
        assert (message["payload"], message["contentType"]) == (b"later", "text/plain")
        assert message["userProperties"] == {"a": ["1", "2"]}


@pytest.mark.parametrize(("version", "qos"), [(4, 1), (5, 2)])
async def test_a_session_waits_through_kill_9(js: Peer, server: MqttServer, version: int, qos: int) -> None:
    place = fresh()
    async with member(js, server, version, **lasting(version, place)) as client:
        assert not client.told["present"]
        await client.subscribe(place, qos=qos)
    async with member(js, server, version) as speaker:
        await speaker.burst(place, 100, qos)
    server.kill_and_restart()
    async with member(js, server, version, "ws", **lasting(version, place)) as client:
        assert client.told["present"]
        assert await client.heard(100) == [(place, b"%d" % number) for number in range(100)]
        assert await client.nothing_more()


@versions
async def test_a_client_of_the_same_name_takes_the_session_over(js: Peer, server: MqttServer, version: int) -> None:
    place = fresh()
    first = await joined(js, server, version, **lasting(version, place))
    await first.subscribe(place, qos=1)
    async with member(js, server, version, "wss", **lasting(version, place)) as second:
        assert await first.closed() == (0x8E if version == 5 else None)
        assert second.told["present"]
        await second.publish(place, b"still subscribed", 1)
        assert await second.heard() == [(place, b"still subscribed")]


@versions
async def test_three_share_a_subscription(js: Peer, server: MqttServer, version: int) -> None:
    place = fresh()
    async with AsyncExitStack() as stack:
        members = [await stack.enter_async_context(member(js, server, version)) for _ in range(3)]
        speaker = await stack.enter_async_context(member(js, server, version))
        for each in members:
            assert await each.subscribe(f"$share/crew/{place}", qos=2) == [2]
        await speaker.burst(place, 60, 2)
        shares = [await each.heard(20) for each in members]
        assert sorted(int(payload) for share in shares for _, payload in share) == list(range(60))


async def test_topics_are_numbers_in_both_directions(js: Peer, server: MqttServer) -> None:
    place = fresh()
    few = {"topicAliasMaximum": 2}
    async with (
        member(js, server, 5, autoAssignTopicAlias=True) as speaker,
        member(js, server, 5, properties=few) as listener,
    ):
        assert speaker.told["topicAliasMaximum"] > 0
        await listener.subscribe(f"{place}/+")
        topics = [f"{place}/{number % 3}" for number in range(12)]
        for topic in topics:
            await speaker.publish(topic, topic.encode())
        last = await speaker.sent()
        assert (last["topic"], last["alias"] > 0) == ("", True), "the client says a number in place of the topic"
        heard = await listener.take(12)
        assert [message["payload"] for message in heard] == [topic.encode() for topic in topics]
        aliased = {message["payload"] for message in heard if message.get("topicAlias")}
        assert 0 < len(aliased) <= 2, "and so does the server, within what the client allows"
        assert {message["topicAlias"] for message in heard if message.get("topicAlias")} <= {1, 2}
        assert [message["topic"] for message in heard] == topics


@pytest.mark.parametrize("maximum", [1, 2])
@pytest.mark.parametrize("qos", [1, 2])
async def test_little_in_flight_is_enough_for_many_messages(
    js: Peer, server: MqttServer, qos: int, maximum: int
) -> None:
    place = fresh()
    async with (
        member(js, server, 5) as speaker,
        member(js, server, 5, properties={"receiveMaximum": maximum}) as listener,
    ):
        await listener.subscribe(place, qos=qos)
        await speaker.burst(place, 200, qos)
        assert await listener.heard(200) == [(place, b"%d" % number) for number in range(200)]


async def test_who_sends_more_at_once_than_the_server_takes_is_sent_away(js: Peer, server: MqttServer) -> None:
    client = await joined(js, server, 5)
    sending = asyncio.create_task(client.burst(fresh(), 500, 2, window=500))
    assert await client.closed() == 0x93, "Receive Maximum exceeded (section 4.9)"
    sending.cancel()


async def test_a_request_is_answered_where_its_properties_say(js: Peer, server: MqttServer) -> None:
    place = fresh()
    async with (
        member(js, server, 5) as answering,
        member(js, server, 5, "ws", properties={"requestResponseInformation": True}) as asking,
    ):
        back = f"{asking.told['responseInformation']}/{place}"
        await answering.subscribe(place, qos=1)
        await asking.subscribe(back, qos=1)
        said = {
            "responseTopic": back,
            "correlationData": "00ff01",
            "contentType": "application/json",
            "payloadFormatIndicator": True,
            "messageExpiryInterval": 1000,
            "userProperties": {"a": ["1", "ü"], "b": "2"},
        }
        await asking.publish(place, b"{}", 1, properties=said)
        (question,) = await answering.take()
        left_s = question["messageExpiryInterval"]
        assert {name: question[name] for name in said} == said | {"messageExpiryInterval": left_s}
        assert 900 <= left_s <= 1000
        await answering.publish(question["responseTopic"], b"[]", 1, properties={"correlationData": "00ff01"})
        (answer,) = await asking.take()
        assert (answer["topic"], answer["payload"], answer["correlationData"]) == (back, b"[]", "00ff01")


async def test_what_is_too_large_for_a_client_is_left_out(js: Peer, server: MqttServer) -> None:
    place = fresh()
    async with member(js, server, 5, properties={"maximumPacketSize": 500}) as small, member(js, server, 5) as large:
        await small.subscribe(place, qos=1)
        for size in (100, 1000, 200):
            await large.publish(place, bytes(size), 1)
        assert [len(payload) for _, payload in await small.heard(2)] == [100, 200]


async def test_the_server_says_what_it_offers(js: Peer, server: MqttServer) -> None:
    async with member(js, server, 5, keepalive=3600, clientId="") as client:
        assert client.told["serverKeepAlive"] == KEEP_ALIVE_S
        assert client.told["maximumPacketSize"] == MAX_PACKET_BYTES
        assert client.told["receiveMaximum"] == RECEIVE_MAXIMUM
        assert client.told["assignedClientIdentifier"]


@versions
@transports
async def test_what_is_not_allowed_is_told(js: Peer, server: MqttServer, version: int, transport: str) -> None:
    place = fresh()
    refusal, denied = (0x87, 0x87) if version == 5 else (0x80, 0)
    async with member(js, server, version, transport, username="anna", password=PASSWORD) as anna:
        assert await anna.subscribe("home/anna/#", "home/bert/#", qos=1) == [1, refusal]
        assert await anna.publish(f"home/bert/{place}", b"", 1) == denied
        assert await anna.publish(f"home/bert/{place}", b"", 2) == denied
        assert await anna.publish(f"home/anna/{place}", b"mine", 1) == 0
        assert await anna.heard() == [(f"home/anna/{place}", b"mine")]
    wrong = await joined(js, server, version, transport, username="anna", password="guess")
    assert wrong.told["reason"] == (0x86 if version == 5 else 4)


@versions
@pytest.mark.parametrize("transport", ["tls", "wss"])
async def test_a_certificate_says_who_a_client_is(js: Peer, server: MqttServer, version: int, transport: str) -> None:
    place = fresh()
    certificate, key = server.bert
    async with member(js, server, version, transport, files={"cert": certificate, "key": key}) as bert:
        assert await bert.subscribe("home/bert/#", "home/anna/#") == [0, 0x87 if version == 5 else 0x80]
        await bert.publish(f"home/bert/{place}", b"at home", 1)
        assert await bert.heard() == [(f"home/bert/{place}", b"at home")]


@versions
async def test_the_server_tells_how_it_is(js: Peer, server: MqttServer, version: int) -> None:
    async with member(js, server, version, "ws") as client:
        await client.subscribe("$SYS/broker/version", "$SYS/broker/clients/connected")
        topics = {topic for topic, _ in await client.heard(2)}
        assert topics == {"$SYS/broker/version", "$SYS/broker/clients/connected"}
