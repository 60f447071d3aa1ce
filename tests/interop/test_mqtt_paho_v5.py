"""Paho as a client of `roost mqtt`: what MQTT 5 brought, and 3.1.1 has where a server can give it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from paho.mqtt.enums import MQTTProtocolVersion
from tests.interop.mqtt_server import KEEP_ALIVE_S, MAX_PACKET_BYTES, MqttServer, fresh, running_mqtt_server
from tests.interop.paho_client import V5, PahoClient, staying, versions


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MqttServer]:
    with running_mqtt_server(tmp_path_factory.mktemp("mqtt")) as started:
        yield started


@versions
def test_a_shared_subscription_is_shared_by_three(server: MqttServer, version: MQTTProtocolVersion) -> None:
    place = fresh()
    with ExitStack() as stack:
        members = [stack.enter_context(PahoClient(server, version)) for _ in range(3)]
        speaker = stack.enter_context(PahoClient(server, version))
        for member in members:
            assert member.subscribe(f"$share/crew/{place}/+", qos=1) == [1]
        for number in range(60):
            speaker.publish(f"{place}/{number}", b"%d" % number, 1)
        for member in members:
            member.until(lambda member=member: len(member.messages) > 0)  # type: ignore[misc]
        shares = [member.heard(20) for member in members]
        assert sorted(int(payload) for share in shares for _, payload in share) == list(range(60))
        assert all(member.nothing_more() for member in members)
        members[0].unsubscribe(f"$share/crew/{place}/+")
        for number in range(10):
            speaker.publish(f"{place}/again", b"%d" % number, 1)
        assert len(members[1].heard(5) + members[2].heard(5)) == 10


@versions
def test_what_a_member_did_not_acknowledge_goes_to_another(server: MqttServer, version: MQTTProtocolVersion) -> None:
    place = fresh()
    leaving = PahoClient(server, version, manual=True)
    with PahoClient(server, version) as staying:
        for member in (leaving, staying):
            member.subscribe(f"$share/crew/{place}", qos=1)
        for number in range(10):
            staying.publish(place, b"%d" % number, 1)
        mine, theirs = staying.heard(5), leaving.heard(5)
        leaving.cut()
        again = staying.heard(5)
        assert again == theirs, "in their order"
        assert sorted(mine + again) == [(place, b"%d" % number) for number in range(10)]


def test_overlapping_subscriptions_tell_their_identifiers(server: MqttServer) -> None:
    place = fresh()
    with PahoClient(server, V5) as client:
        client.subscribe(f"{place}/#", qos=1, identifier=1)
        client.subscribe(f"{place}/+", qos=2, identifier=268_435_455)
        client.subscribe(f"{place}/other", qos=2)
        client.publish(f"{place}/a", b"", 2)
        client.until(lambda: sum(len(_identifiers(message)) for message in client.messages) >= 2)
        found = [identifier for message in client.messages for identifier in _identifiers(message)]
        assert sorted(found) == [1, 268_435_455]


def _identifiers(message: object) -> list[int]:
    return list(getattr(message.properties, "SubscriptionIdentifier", []))  # type: ignore[attr-defined]


def test_a_publisher_may_say_a_number_in_place_of_the_topic(server: MqttServer) -> None:
    place = fresh()
    with PahoClient(server, V5) as speaker, PahoClient(server, V5) as listener:
        assert speaker.told.TopicAliasMaximum == 64
        listener.subscribe(f"{place}/+", qos=1)
        speaker.publish(f"{place}/one", b"1", 1, TopicAlias=64)
        speaker.publish("", b"2", 1, TopicAlias=64)
        speaker.publish(f"{place}/two", b"3", TopicAlias=64)
        speaker.publish("", b"4", TopicAlias=64)
        assert listener.heard(4) == [
            (f"{place}/one", b"1"),
            (f"{place}/one", b"2"),
            (f"{place}/two", b"3"),
            (f"{place}/two", b"4"),
        ]
        speaker.publish_on(f"{place}/three", b"", 1, TopicAlias=65)
        speaker.until(lambda: speaker.ended is not None)
        assert speaker.ended == 0x94, "topic alias invalid [MQTT-3.3.2-9]"


@pytest.mark.parametrize("maximum", [1, 2])
def test_no_more_is_in_flight_than_the_client_wants(server: MqttServer, maximum: int) -> None:
    place = fresh()
    with (
        PahoClient(server, V5, manual=True, properties={"ReceiveMaximum": maximum}) as listener,
        PahoClient(server, V5) as speaker,
    ):
        listener.subscribe(place, qos=1)
        for number in range(40):
            speaker.publish_on(place, b"%d" % number, 1)
        speaker.publish(place, b"last", 1)
        heard: list[bytes] = []
        while len(heard) < 41:
            listener.until(lambda: len(listener.messages) == min(maximum, 41 - len(heard)))
            listener.subscribe("another", qos=0)
            assert len(listener.messages) <= maximum
            (message,) = listener.take()
            heard.append(message.payload)
            listener.acknowledge(message)
        assert heard == [*(b"%d" % number for number in range(40)), b"last"]


@pytest.mark.parametrize("maximum", [1, 2])
def test_exactly_once_with_little_in_flight(server: MqttServer, maximum: int) -> None:
    place = fresh()
    with PahoClient(server, V5, properties={"ReceiveMaximum": maximum}) as listener, PahoClient(server, V5) as speaker:
        listener.subscribe(place, qos=2)
        for number in range(100):
            speaker.publish_on(place, b"%d" % number, 2)
        assert [int(payload) for _, payload in listener.heard(100)] == list(range(100))
        assert listener.nothing_more()


def test_messages_expire_and_tell_how_long_they_have_left(server: MqttServer) -> None:
    place = fresh()
    with staying(server, V5, place) as client:
        client.subscribe(f"{place}/+", qos=1)
    with PahoClient(server, V5) as speaker, PahoClient(server, V5) as watcher:
        speaker.publish(f"{place}/short", b"", 1, MessageExpiryInterval=1)
        speaker.publish(f"{place}/short", b"kept", 1, retain=True, MessageExpiryInterval=1)
        speaker.publish(f"{place}/long", b"", 1, MessageExpiryInterval=1000)
        speaker.publish(f"{place}/never", b"", 1)
        watcher.subscribe(f"{place}/clock")  # a will that comes after more than a second is this test's clock
        staying(server, V5, will=(f"{place}/clock", b"", {"WillDelayInterval": 2})).cut()
        watcher.take()
    with staying(server, V5, place) as client:
        long, never, _ = client.take(3)
        assert (long.topic, never.topic) == (f"{place}/long", f"{place}/never")
        assert 900 <= long.properties.MessageExpiryInterval <= 998
        assert not hasattr(never.properties, "MessageExpiryInterval")
        client.subscribe(f"{place}/short")
        assert client.nothing_more(), "what is retained expires too"


def test_a_request_is_answered_where_its_properties_say(server: MqttServer) -> None:
    place = fresh()
    curious = {"RequestResponseInformation": 1}
    with PahoClient(server, V5) as answering, PahoClient(server, V5, properties=curious) as asking:
        assert asking.told.ResponseInformation.startswith("answers/")
        back = f"{asking.told.ResponseInformation}/{place}"
        answering.subscribe(place, qos=1)
        asking.subscribe(back, qos=1)
        users = [("a", "1"), ("b", "2"), ("a", "ü"), ("", "")]
        asking.publish(
            place,
            b"?",
            1,
            ResponseTopic=back,
            CorrelationData=b"\0\xff\x01",
            ContentType="text/plain",
            PayloadFormatIndicator=1,
            UserProperty=users,
        )
        question = answering.take()[0].properties
        assert question.UserProperty == users
        assert (question.ContentType, question.PayloadFormatIndicator) == ("text/plain", 1)
        answering.publish(question.ResponseTopic, b"!", 1, CorrelationData=question.CorrelationData)
        (answer,) = asking.take()
        assert (answer.topic, answer.payload) == (back, b"!")
        assert answer.properties.CorrelationData == b"\0\xff\x01"


def test_what_is_too_large_for_a_client_is_left_out(server: MqttServer) -> None:
    place = fresh()
    with PahoClient(server, V5, properties={"MaximumPacketSize": 500}) as small, PahoClient(server, V5) as large:
        small.subscribe(place, qos=1)
        large.subscribe(place, qos=1)
        for size in (100, 1000, 200):
            large.publish(place, bytes(size), 1)
        assert [len(payload) for _, payload in large.heard(3)] == [100, 1000, 200]
        assert [len(payload) for _, payload in small.heard(2)] == [100, 200]


@versions
def test_what_is_too_large_for_the_server_ends_the_connection(server: MqttServer, version: MQTTProtocolVersion) -> None:
    place = fresh()
    with PahoClient(server, version) as client:
        if version == V5:
            assert client.told.MaximumPacketSize == MAX_PACKET_BYTES
        client.publish_on(place, bytes(MAX_PACKET_BYTES), 1)
        client.until(lambda: client.ended is not None)
        if version == V5:
            assert client.ended == 0x95


def test_the_server_says_how_often_it_wants_to_hear(server: MqttServer) -> None:
    with PahoClient(server, V5, keep_alive_s=KEEP_ALIVE_S) as modest, PahoClient(server, V5, keep_alive_s=3600) as lazy:
        assert not hasattr(modest.told, "ServerKeepAlive")
        assert lazy.told.ServerKeepAlive == KEEP_ALIVE_S


@versions
def test_a_client_that_is_silent_for_too_long_is_gone(server: MqttServer, version: MQTTProtocolVersion) -> None:
    place = fresh()
    with PahoClient(server, version) as watcher, PahoClient(server, version, keep_alive_s=1) as lively:
        watcher.subscribe(place)
        silent = PahoClient(server, version, keep_alive_s=1, will=(place, b"silent", {}))
        silent.freeze()
        assert watcher.heard() == [(place, b"silent")]
        silent.close()
        assert lively.nothing_more(), "PINGREQ is enough"
