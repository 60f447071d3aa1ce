"""aiomqtt as a client of `roost mqtt`, in both versions: many clients in one event loop, and all they do at once."""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any, Final

import aiomqtt
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.subscribeoptions import SubscribeOptions
from tests.interop.mqtt_server import PASSWORD, WAIT_S, MqttServer, fresh, running_mqtt_server
from tests.interop.paho_client import properties_of

V4: Final = aiomqtt.ProtocolVersion.V311
V5: Final = aiomqtt.ProtocolVersion.V5
MANY: Final = 100
LOUD: Final = 20  # of them speak to all

versions: Final = pytest.mark.parametrize("version", [V4, V5], ids=["v3.1.1", "v5"])
Said = tuple[str, bytes]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MqttServer]:
    with running_mqtt_server(tmp_path_factory.mktemp("mqtt")) as started:
        yield started


def client(
    server: MqttServer,
    version: aiomqtt.ProtocolVersion,
    *,
    transport: str = "tcp",
    staying: bool = False,
    properties: dict[str, object] | None = None,
    **more: Any,  # noqa: ANN401  as aiomqtt has it
) -> aiomqtt.Client:
    if version == V5:
        said = (properties or {}) | ({"SessionExpiryInterval": 3600} if staying else {})
        more |= {"properties": properties_of(PacketTypes.CONNECT, said), "clean_start": not staying}
    else:
        more |= {"clean_session": not staying}
    if transport in {"tls", "wss"} and "tls_context" not in more:
        more["tls_context"] = ssl.create_default_context(cafile=server.authority)
    return aiomqtt.Client(
        "127.0.0.1",
        server.ports[transport],
        protocol=version,
        transport="websockets" if transport in {"ws", "wss"} else "tcp",
        timeout=WAIT_S,
        **more,
    )


async def heard(listening: aiomqtt.Client, count: int) -> list[Said]:
    """The next messages."""
    messages = aiter(listening.messages)
    found = [await anext(messages) for _ in range(count)]
    return [(str(message.topic), bytes(message.payload)) for message in found]


async def nothing_more(listening: aiomqtt.Client) -> bool:
    """Whether nothing came: what was on its way comes before the answer to a question."""
    await listening.unsubscribe("nothing/of/this/name")
    return len(listening.messages) == 0


@versions
@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_payloads_of_every_size_arrive(server: MqttServer, version: aiomqtt.ProtocolVersion, qos: int) -> None:
    place = fresh()
    sizes = (0, 1, 127, 128, 16_383, 16_384, 200_000, 1 << 20)
    async with client(server, version) as speaking, client(server, version) as listening:
        await listening.subscribe(f"{place}/#", qos=qos)
        for size in sizes:
            await speaking.publish(f"{place}/{size}", b"x" * size, qos=qos)
        assert await heard(listening, len(sizes)) == [(f"{place}/{size}", b"x" * size) for size in sizes]


@versions
async def test_a_hundred_clients_talk_at_once(server: MqttServer, version: aiomqtt.ProtocolVersion) -> None:
    place = fresh()
    async with AsyncExitStack() as stack:
        clients = [client(server, version) for _ in range(MANY)]
        for entering in [asyncio.ensure_future(stack.enter_async_context(each)) for each in clients]:
            await entering
        await asyncio.gather(
            *(each.subscribe([(f"{place}/{number}", 2), (f"{place}/all", 1)]) for number, each in enumerate(clients))
        )

        async def talk(number: int) -> Counter[Said]:
            await clients[number].publish(f"{place}/{(number + 1) % MANY}", b"%d" % number, qos=2)
            if number < LOUD:
                await clients[number].publish(f"{place}/all", b"%d" % number, qos=1)
            return Counter(await heard(clients[number], LOUD + 1))

        everything = await asyncio.gather(*(talk(number) for number in range(MANY)))
        to_all = Counter((f"{place}/all", b"%d" % number) for number in range(LOUD))
        for number, found in enumerate(everything):
            assert found == to_all + Counter([(f"{place}/{number}", b"%d" % ((number - 1) % MANY))])


@versions
@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_one_speaks_to_forty_in_order(server: MqttServer, version: aiomqtt.ProtocolVersion, qos: int) -> None:
    place = fresh()
    async with AsyncExitStack() as stack:
        speaking = await stack.enter_async_context(client(server, version))
        listening = [await stack.enter_async_context(client(server, version)) for _ in range(40)]
        await asyncio.gather(*(each.subscribe(place, qos=qos) for each in listening))
        sent = [b"%d" % number for number in range(30)]
        for payload in sent:
            await speaking.publish(place, payload, qos=qos)
        for found in await asyncio.gather(*(heard(each, len(sent)) for each in listening)):
            assert found == [(place, payload) for payload in sent]
        assert all(await asyncio.gather(*(nothing_more(each) for each in listening)))


@versions
async def test_work_is_shared_by_three(server: MqttServer, version: aiomqtt.ProtocolVersion) -> None:
    place = fresh()
    async with (
        client(server, version) as one,
        client(server, version) as two,
        client(server, version) as three,
        client(server, version) as speaking,
    ):
        members = (one, two, three)
        for member in members:
            await member.subscribe(f"$share/workers/{place}/#", qos=2)
        await asyncio.gather(*(speaking.publish(f"{place}/{number}", b"", qos=2) for number in range(90)))
        for member in members:
            assert not await nothing_more(member), "each has a part of it"
        shares = [await heard(member, len(member.messages)) for member in members]
        assert Counter(topic for share in shares for topic, _ in share) == Counter(
            f"{place}/{number}" for number in range(90)
        )


@versions
async def test_a_session_waits_through_kill_9(server: MqttServer, version: aiomqtt.ProtocolVersion) -> None:
    place = fresh()
    async with client(server, version, staying=True, identifier=place) as listening:
        await listening.subscribe(f"{place}/+", qos=2)
    async with client(server, version) as speaking:
        await asyncio.gather(*(speaking.publish(f"{place}/{number}", b"", qos=2) for number in range(100)))
    await asyncio.to_thread(server.kill_and_restart)
    async with client(server, version) as speaking:
        await speaking.publish(f"{place}/after", b"", qos=2)
    async with client(server, version, staying=True, identifier=place) as listening:
        topics = [topic for topic, _ in await heard(listening, 101)]
        assert topics == [*(f"{place}/{number}" for number in range(100)), f"{place}/after"]
        assert await nothing_more(listening)


@versions
async def test_whoever_is_cut_off_hears_of_it(server: MqttServer, version: aiomqtt.ProtocolVersion) -> None:
    place = fresh()
    first = client(server, version, identifier=place)
    await first.__aenter__()
    async with client(server, version, identifier=place) as second:
        with pytest.raises(aiomqtt.MqttError, match="Disconnected during message iteration"):
            await anext(aiter(first.messages))
        await first.__aexit__(None, None, None)
        assert await nothing_more(second)


@versions
async def test_a_will_and_a_retained_message(server: MqttServer, version: aiomqtt.ProtocolVersion) -> None:
    place = fresh()
    vanishing = client(server, version, identifier=place, will=aiomqtt.Will(f"{place}/will", b"gone", 2, retain=True))
    async with client(server, version) as watching:
        await watching.subscribe(f"{place}/+", qos=2)
        await vanishing.__aenter__()
        async with client(server, version, identifier=place):  # which takes the connection [MQTT-3.1.4-3]
            assert await heard(watching, 1) == [(f"{place}/will", b"gone")]
            with pytest.raises(aiomqtt.MqttError):
                await anext(aiter(vanishing.messages))
            await vanishing.__aexit__(None, None, None)
    async with client(server, version) as later:
        await later.subscribe(f"{place}/#")
        message = await anext(aiter(later.messages))
        assert (message.payload, message.retain) == (b"gone", True)


async def test_a_hundred_questions_at_once_find_their_answers(server: MqttServer) -> None:
    place = fresh()
    async with client(server, V5) as answering, client(server, V5, properties={"ReceiveMaximum": 2}) as asking:
        await answering.subscribe(f"{place}/questions", qos=1)
        await asking.subscribe(f"{place}/answers", qos=1)

        async def answer() -> None:
            messages = aiter(answering.messages)
            for _ in range(MANY):
                question: Any = await anext(messages)
                said = properties_of(
                    PacketTypes.PUBLISH,
                    {
                        "CorrelationData": question.properties.CorrelationData,
                        "UserProperty": question.properties.UserProperty,
                    },
                )
                await answering.publish(question.properties.ResponseTopic, question.payload * 2, 1, properties=said)

        async def ask(number: int) -> None:
            said = {
                "ResponseTopic": f"{place}/answers",
                "CorrelationData": number.to_bytes(2),
                "UserProperty": [("number", str(number)), ("number", "again")],
            }
            properties = properties_of(PacketTypes.PUBLISH, said)
            await asking.publish(f"{place}/questions", b"%d," % number, 1, properties=properties)

        async def collect() -> dict[int, tuple[bytes, Any]]:
            messages = aiter(asking.messages)
            found: dict[int, tuple[bytes, Any]] = {}
            for _ in range(MANY):
                message: Any = await anext(messages)
                number = int.from_bytes(message.properties.CorrelationData)
                found[number] = (message.payload, message.properties.UserProperty)
            return found

        _, found, *_ = await asyncio.gather(answer(), collect(), *(ask(number) for number in range(MANY)))
        assert found == {
            number: (b"%d,%d," % (number, number), [("number", str(number)), ("number", "again")])
            for number in range(MANY)
        }


async def test_options_of_a_subscription_are_heeded(server: MqttServer) -> None:
    place = fresh()
    async with client(server, V5) as one, client(server, V5) as other:
        await other.publish(f"{place}/kept", b"old", 1, retain=True)
        options = SubscribeOptions(qos=1, noLocal=True, retainAsPublished=True, retainHandling=2)
        await one.subscribe(f"{place}/#", options=options)
        await one.publish(f"{place}/mine", b"", 1)
        await other.publish(f"{place}/kept", b"new", 1, retain=True)
        message = await anext(aiter(one.messages))
        assert (message.payload, message.retain) == (b"new", True)
        assert await nothing_more(one)


@versions
@pytest.mark.parametrize("transport", ["tcp", "tls", "ws", "wss"])
async def test_a_user_comes_in_by_any_door(
    server: MqttServer, version: aiomqtt.ProtocolVersion, transport: str
) -> None:
    place = fresh()
    async with client(server, version, transport=transport, username="anna", password=PASSWORD) as anna:
        await anna.subscribe("#", qos=1)
        await anna.publish(f"home/bert/{place}", b"denied", qos=1)
        await anna.publish(f"home/anna/{place}", b"x" * 200_000, qos=2)
        assert await heard(anna, 1) == [(f"home/anna/{place}", b"x" * 200_000)]
    with pytest.raises(aiomqtt.MqttError, match="Bad user name or password"):
        await client(server, version, transport=transport, username="anna", password="guess").__aenter__()


@versions
async def test_text_of_any_language_is_a_topic(server: MqttServer, version: aiomqtt.ProtocolVersion) -> None:
    place = fresh()
    topics = [f"{place}/{word}" for word in ("Straße", "東京", "🏠/🌡", "عربى", "a b", "%u", "\u00a0")]
    async with client(server, version) as speaking, client(server, version) as listening:
        for topic in topics:
            await listening.subscribe(topic)
        for topic in topics:
            await speaking.publish(topic, topic.encode(), retain=True)
        assert await heard(listening, len(topics)) == [(topic, topic.encode()) for topic in topics]
        await speaking.subscribe(f"{place}/#")
        assert {topic for topic, _ in await heard(speaking, len(topics))} == set(topics)


@versions
async def test_the_server_counts_its_clients(server: MqttServer, version: aiomqtt.ProtocolVersion) -> None:
    async with AsyncExitStack() as stack:
        watching = await stack.enter_async_context(client(server, version))
        await watching.subscribe("$SYS/broker/clients/connected")
        for _ in range(4):
            await stack.enter_async_context(client(server, version))
        while await heard(watching, 1) != [("$SYS/broker/clients/connected", b"5")]:
            pass
