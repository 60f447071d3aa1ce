"""Paho as a client of `roost mqtt`, in both versions: users, permissions, certificates, transports and `$SYS`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import pytest
from paho.mqtt.enums import MQTTProtocolVersion
from tests.interop.mqtt_server import PASSWORD, MqttServer, fresh, running_mqtt_server
from tests.interop.paho_client import V5, PahoClient, versions

PAYLOADS: Final = (b"", b"x", b"\0\xff" * 600, b"200 kB " * 28_572)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MqttServer]:
    with running_mqtt_server(tmp_path_factory.mktemp("mqtt")) as started:
        yield started


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MqttServer]:
    """A server that has no users and no permissions."""
    with running_mqtt_server(tmp_path_factory.mktemp("mqtt"), for_anyone=True) as started:
        yield started


# -- who may do what


@versions
def test_what_is_not_allowed_is_told(server: MqttServer, version: MQTTProtocolVersion) -> None:
    place = fresh()
    refusal = 0x87 if version == V5 else 0x80
    with PahoClient(server, version, user=("anna", PASSWORD)) as anna, PahoClient(server, version) as other:
        assert anna.subscribe("home/anna/#", "home/bert/#", "news/+", "drop/x", "#", qos=1) == [
            1,
            refusal,
            1,
            refusal,
            1,
        ]
        other.subscribe("drop/#", "home/#", qos=2)
        denied = 0x87 if version == V5 else 0
        assert anna.publish(f"home/bert/{place}", b"", 1) == denied
        assert anna.publish(f"home/bert/{place}", b"", 0) == 0
        anna.publish(f"home/bert/{place}", b"", 2)
        assert anna.publish(f"drop/{place}", b"mine", 2) == 0
        assert other.heard() == [(f"drop/{place}", b"mine")]
        other.publish(f"home/bert/{place}", b"not for anna", 1)
        other.publish(f"home/anna/{place}", b"for anna", 1)
        assert {payload for _, payload in anna.heard()} == {b"for anna"}
        assert other.publish("locked/door", b"", 1) == denied


@versions
@pytest.mark.parametrize("wrong", [("anna", "guess"), ("nobody", PASSWORD)])
def test_a_wrong_password_is_refused(server: MqttServer, version: MQTTProtocolVersion, wrong: tuple[str, str]) -> None:
    client = PahoClient(server, version, user=wrong)
    assert client.reason == 0x86, "which is what Paho makes of the code of 3.1.1 too"
    client.close()


@versions
def test_a_will_where_one_may_not_write_is_refused(server: MqttServer, version: MQTTProtocolVersion) -> None:
    client = PahoClient(server, version, user=("anna", PASSWORD), will=("home/bert/will", b"", {}))
    assert client.reason == 0x87
    client.close()


@versions
def test_a_will_cannot_speak_for_the_server(open_server: MqttServer, version: MQTTProtocolVersion) -> None:
    place = fresh()
    with PahoClient(open_server, version) as watcher:
        watcher.subscribe("$SYS/forged", place)
        forger = PahoClient(open_server, version, place, will=("$SYS/forged", b"forged", {}))
        with PahoClient(open_server, version, place) as successor:
            successor.publish(place, b"who takes the name over has had the will published")
        assert [topic for topic, _ in watcher.heard()] == [place]
        forger.close()


# -- transports


@versions
@pytest.mark.parametrize("transport", ["tls", "ws", "wss"])
def test_other_transports_carry_the_same(server: MqttServer, version: MQTTProtocolVersion, transport: str) -> None:
    place = fresh()
    with PahoClient(server, version, transport=transport) as client:
        client.subscribe(place, qos=2)
        for qos, payload in itertools.product((0, 1, 2), PAYLOADS):
            client.publish(place, payload, qos)
            (message,) = client.take()
            assert (message.payload, message.qos) == (payload, qos)


@versions
@pytest.mark.parametrize("transport", ["tls", "wss"])
def test_a_certificate_says_who_a_client_is(server: MqttServer, version: MQTTProtocolVersion, transport: str) -> None:
    place = fresh()
    with PahoClient(server, version, transport=transport, certificate=server.bert) as bert:
        assert bert.subscribe("home/bert/#", "home/anna/#", qos=1) == [1, 0x87 if version == V5 else 0x80]
        bert.publish(f"home/bert/{place}", b"at home", 1)
        assert bert.heard() == [(f"home/bert/{place}", b"at home")]


# -- what the server tells


@versions
def test_the_server_tells_how_it_is(server: MqttServer, version: MQTTProtocolVersion) -> None:
    with PahoClient(server, version) as client:
        client.subscribe("$SYS/#")
        topics = {"$SYS/broker/version", "$SYS/broker/uptime", "$SYS/broker/clients/connected"}
        client.until(lambda: topics <= {message.topic for message in client.messages})
        assert all(message.topic.startswith("$SYS/") for message in client.messages)
    with PahoClient(server, version) as client:
        client.subscribe("#", "+/broker/uptime", qos=0)
        client.publish("$SYS/broker/version", b"not ours to say", 1)
        assert not [message for message in client.messages if message.topic.startswith("$")], "[MQTT-4.7.2-1]"
