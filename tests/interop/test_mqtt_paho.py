"""Paho as a client of `roost mqtt`, in both versions: messages of every QoS and size, topics, retained messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from paho.mqtt.enums import MQTTProtocolVersion
from tests.interop.mqtt_server import MqttServer, fresh, running_mqtt_server
from tests.interop.paho_client import V4, V5, PahoClient, versions

PAYLOADS: Final = (b"", b"x", b"\0\xff" * 600, b"200 kB " * 28_572, bytes(1 << 20))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MqttServer]:
    with running_mqtt_server(tmp_path_factory.mktemp("mqtt")) as started:
        yield started


# -- messages


@pytest.mark.parametrize(("speaking", "listening"), [(V4, V4), (V4, V5), (V5, V4), (V5, V5)])
def test_payloads_of_every_size_arrive_at_every_qos(
    server: MqttServer, speaking: MQTTProtocolVersion, listening: MQTTProtocolVersion
) -> None:
    place = fresh()
    with PahoClient(server, speaking) as speaker, PahoClient(server, listening) as listener:
        assert listener.subscribe(f"{place}/+", qos=2) == [2]
        for qos in (0, 1, 2):
            for size, payload in enumerate(PAYLOADS):
                assert speaker.publish(f"{place}/{size}", payload, qos) == 0
                (message,) = listener.take()
                assert (message.topic, message.payload, message.qos) == (f"{place}/{size}", payload, qos)


@versions
@pytest.mark.parametrize("granted", [0, 1, 2])
def test_a_subscription_lowers_the_qos(server: MqttServer, version: MQTTProtocolVersion, granted: int) -> None:
    place = fresh()
    with PahoClient(server, version) as client:
        assert client.subscribe(place, qos=granted) == [granted]
        for qos in (0, 1, 2):
            client.publish(place, b"%d" % qos, qos)
        assert sorted((message.payload, message.qos) for message in client.take(3)) == [
            (b"%d" % qos, min(qos, granted)) for qos in (0, 1, 2)
        ]


@versions
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_many_messages_keep_their_order(server: MqttServer, version: MQTTProtocolVersion, qos: int) -> None:
    place = fresh()
    with PahoClient(server, version) as speaker, PahoClient(server, version) as listener:
        listener.subscribe(place, qos=qos)
        sent = [b"%d" % number for number in range(300)]
        for payload in sent:
            speaker.publish_on(place, payload, qos)
        assert [payload for _, payload in listener.heard(len(sent))] == sent
        assert listener.nothing_more()


@versions
def test_topics_are_any_text(server: MqttServer, version: MQTTProtocolVersion) -> None:
    place = fresh()
    topics = [f"{place}/Käse/温度/🌡", f"{place}//", f"{place}/ with space ", f"{place}/e\u0301", f"{place}/é"]
    with PahoClient(server, version) as client:
        client.subscribe(f"{place}/#")
        for topic in topics:
            client.publish(topic, topic.encode())
        assert client.heard(len(topics)) == [(topic, topic.encode()) for topic in topics]
        client.unsubscribe(f"{place}/#")
        client.subscribe(f"{place}/+/温度/+", f"{place}/é")
        for topic in topics:
            client.publish(topic)
        assert [topic for topic, _ in client.heard(2)] == [topics[0], topics[4]]
        assert client.nothing_more()


@versions
def test_wildcards_match_as_section_4_7_says(server: MqttServer, version: MQTTProtocolVersion) -> None:
    place = fresh()
    with PahoClient(server, version) as client:
        for wanted, count in ((f"{place}/#", 3), (f"{place}/+", 1), (f"{place}/+/b", 1), (f"{place}/+/+", 1)):
            client.subscribe(wanted)
            for topic in (place, f"{place}/a", f"{place}/a/b"):
                client.publish(topic, wanted.encode())
            assert {payload for _, payload in client.heard(count)} == {wanted.encode()}
            client.unsubscribe(wanted)
        assert client.nothing_more()


@versions
def test_one_packet_may_have_many_filters(server: MqttServer, version: MQTTProtocolVersion) -> None:
    place = fresh()
    filters = [f"{place}/{number}/#" for number in range(500)]
    with PahoClient(server, version) as client:
        assert client.subscribe(*filters, qos=1) == [1] * 500
        for number in (0, 499):
            client.publish(f"{place}/{number}/a", b"", 1)
        assert [topic for topic, _ in client.heard(2)] == [f"{place}/0/a", f"{place}/499/a"]
        client.unsubscribe(*filters)
        client.publish(f"{place}/0/a", b"", 1)
        assert client.nothing_more()


# -- retained messages


@versions
def test_a_retained_message_is_set_replaced_and_cleared(server: MqttServer, version: MQTTProtocolVersion) -> None:
    place = fresh()
    with PahoClient(server, version) as client:
        for payload in (b"first", b"second"):
            client.publish(place, payload, 1, retain=True)
        client.subscribe(place, qos=1)
        (message,) = client.take()
        assert (message.payload, message.retain, message.qos) == (b"second", True, 1)
        client.publish(place, b"third", 1, retain=True)
        (message,) = client.take()
        assert (message.payload, message.retain) == (b"third", False), "who was there gets it as an ordinary message"
        client.publish(place, b"", 1, retain=True)
        assert client.heard() == [(place, b"")], "the clearing is a message as well"
        client.subscribe(place, qos=1)
        assert client.nothing_more()


def test_retain_handling_says_when_retained_messages_are_sent(server: MqttServer) -> None:
    place = fresh()
    with PahoClient(server, V5) as client:
        client.publish(place, b"kept", 1, retain=True)
        client.subscribe(place, retainHandling=2)
        assert client.nothing_more()
        client.unsubscribe(place)
        client.subscribe(place, retainHandling=1)
        assert client.heard() == [(place, b"kept")]
        client.subscribe(place, retainHandling=1)
        assert client.nothing_more(), "it has the subscription already"
        client.subscribe(place, retainHandling=0)
        assert client.heard() == [(place, b"kept")]


def test_retain_as_published_keeps_the_flag(server: MqttServer) -> None:
    place = fresh()
    with PahoClient(server, V5) as client:
        client.subscribe(place, retainAsPublished=True)
        client.publish(place, b"a", retain=True)
        client.publish(place, b"b", retain=False)
        assert [message.retain for message in client.take(2)] == [True, False]


def test_no_local_keeps_what_one_said_oneself(server: MqttServer) -> None:
    place = fresh()
    with PahoClient(server, V5) as one, PahoClient(server, V5) as other:
        one.subscribe(place, noLocal=True)
        one.publish(place, b"mine", 1)
        other.publish(place, b"theirs", 1)
        assert one.heard() == [(place, b"theirs")]
