"""Paho as a client of `roost mqtt`, in both versions: wills and sessions, over take-overs and kill -9."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from paho.mqtt.enums import MQTTProtocolVersion
from tests.interop.mqtt_server import MqttServer, fresh, running_mqtt_server
from tests.interop.paho_client import V4, V5, PahoClient, staying, versions


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MqttServer]:
    with running_mqtt_server(tmp_path_factory.mktemp("mqtt")) as started:
        yield started


# -- wills


@versions
def test_a_will_comes_when_a_client_vanishes_and_not_when_it_leaves(
    server: MqttServer, version: MQTTProtocolVersion
) -> None:
    place = fresh()
    with PahoClient(server, version) as watcher:
        watcher.subscribe(f"{place}/+", qos=2)
        PahoClient(server, version, will=(f"{place}/left", b"no", {})).close()
        PahoClient(server, version, will=(f"{place}/vanished", b"yes", {})).cut()
        (message,) = watcher.take()
        assert (message.topic, message.payload, message.qos) == (f"{place}/vanished", b"yes", 1)


def test_a_will_waits_and_is_forgotten_when_its_client_is_back_in_time(server: MqttServer) -> None:
    place = fresh()
    with PahoClient(server, V5) as watcher:
        watcher.subscribe(f"{place}/+")
        will = (f"{place}/back", b"", {"WillDelayInterval": 1})
        staying(server, V5, place, will=will).cut()
        with staying(server, V5, place) as back:
            assert back.present
            gone = (f"{place}/gone", b"after a second", {"WillDelayInterval": 1, "ContentType": "text/plain"})
            staying(server, V5, will=gone).cut()
            assert watcher.nothing_more(), "both wait"
            (message,) = watcher.take()
            assert (message.topic, message.payload) == (f"{place}/gone", b"after a second")
            assert message.properties.ContentType == "text/plain"
            assert watcher.nothing_more(), "the other was due before"


def test_a_session_that_expires_takes_its_will_with_it(server: MqttServer) -> None:
    place = fresh()
    with PahoClient(server, V5) as watcher:
        watcher.subscribe(f"{place}/over")
        will = (f"{place}/over", b"", {"WillDelayInterval": 3600})
        PahoClient(server, V5, place, clean=False, will=will, properties={"SessionExpiryInterval": 1}).cut()
        watcher.take()
        with staying(server, V5, place) as back:
            assert not back.present


def test_a_client_may_leave_and_have_its_will_published(server: MqttServer) -> None:
    place = fresh()
    with PahoClient(server, V5) as watcher:
        watcher.subscribe(place)
        PahoClient(server, V5, will=(place, b"as I wished", {})).close(with_will=True)
        assert watcher.heard() == [(place, b"as I wished")]


# -- sessions


@versions
@pytest.mark.parametrize("qos", [1, 2])
def test_messages_wait_for_a_client_that_is_away(server: MqttServer, version: MQTTProtocolVersion, qos: int) -> None:
    place = fresh()
    with staying(server, version, place) as client:
        assert not client.present
        client.subscribe(place, qos=qos)
    sent = [b"%d" % number for number in range(100)]
    with PahoClient(server, version) as speaker:
        for payload in sent:
            speaker.publish_on(place, payload, qos)
        speaker.publish(place, b"last", qos)
    with staying(server, version, place) as client:
        assert client.present
        assert [payload for _, payload in client.heard(101)] == [*sent, b"last"]
    with PahoClient(server, version, place) as client:
        assert not client.present
        client.publish(place, b"for nobody", 1)
        assert client.nothing_more(), "a clean start forgets the subscription"


@pytest.mark.parametrize(("version", "qos"), [(V4, 1), (V5, 2)])
def test_sessions_and_retained_messages_survive_kill_9(
    server: MqttServer, version: MQTTProtocolVersion, qos: int
) -> None:
    place = fresh()
    with staying(server, version, place) as client:
        client.subscribe(f"{place}/+", qos=qos)
    with PahoClient(server, version) as speaker:
        for number in range(50):
            assert speaker.publish(f"{place}/{number}", b"%d" % number, qos) == 0
        speaker.publish(f"{place}/kept", b"retained", qos, retain=True)
        speaker.publish(f"{place}/zero", b"QoS 0 is not kept for who is away")
        server.kill_and_restart()
        speaker.until(lambda: speaker.ended is not None)
    with staying(server, version, place) as client:
        assert client.present
        assert client.heard(51) == [
            *((f"{place}/{number}", b"%d" % number) for number in range(50)),
            (f"{place}/kept", b"retained"),
        ]
        assert client.nothing_more()
        client.subscribe(f"{place}/kept", qos=qos)
        (message,) = client.take()
        assert (message.payload, message.retain) == (b"retained", True)


@versions
def test_what_was_not_acknowledged_comes_again(server: MqttServer, version: MQTTProtocolVersion) -> None:
    place = fresh()
    client = staying(server, version, place, manual=True)
    client.subscribe(place, qos=1)
    for payload in (b"a", b"b", b"c"):
        client.publish(place, payload, 1)
    first = client.take(3)
    assert [message.dup for message in first] == [False] * 3
    client.acknowledge(first[0])
    assert client.nothing_more()
    client.cut()
    server.kill_and_restart()
    with staying(server, version, place, manual=True) as again:
        second = again.take(2)
        assert [(message.payload, message.mid, message.dup) for message in second] == [
            (message.payload, message.mid, True) for message in first[1:]
        ]
        for message in second:
            again.acknowledge(message)
        assert again.nothing_more()


def test_a_session_lasts_no_longer_than_the_server_wants(server: MqttServer) -> None:
    with PahoClient(server, V5, properties={"SessionExpiryInterval": 0xFFFFFFFF}) as client:
        assert client.told.SessionExpiryInterval == 7 * 24 * 3600


def test_a_client_may_change_its_mind_about_its_session_when_it_leaves(server: MqttServer) -> None:
    place = fresh()
    staying(server, V5, place).close(SessionExpiryInterval=0)
    with staying(server, V5, place) as client:
        assert not client.present


@versions
def test_a_client_of_the_same_name_takes_the_session_over(server: MqttServer, version: MQTTProtocolVersion) -> None:
    place = fresh()
    first = staying(server, version, place)
    first.subscribe(place, qos=1)
    with staying(server, version, place) as second:
        first.until(lambda: first.ended is not None)
        assert first.ended == (0x8E if version == V5 else 0x80)
        assert second.present
        second.publish(place, b"still subscribed", 1)
        assert second.heard() == [(place, b"still subscribed")]
    first.close()


@versions
def test_a_client_without_a_name_is_given_one(server: MqttServer, version: MQTTProtocolVersion) -> None:
    with PahoClient(server, version) as one, PahoClient(server, version) as other:
        if version == V5:
            assert one.told.AssignedClientIdentifier != other.told.AssignedClientIdentifier
        assert other.nothing_more()
        assert one.nothing_more()
        assert one.ended is None
