"""CONNECT: the first packet and its form [MQTT 5.0 §3.1]."""

import pytest
from tests.broker_packets import (
    auth,
    connect,
    disconnect,
    packet,
    pingreq,
    props,
    puback,
    publish,
    subscribe,
    text,
    unsubscribe,
)
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, ended, only


@clauses(v4="3.1.0-1", v5="3.1.0-1 3.14.0-1")
def test_whoever_does_not_begin_with_connect_is_cut_off_without_a_word(version: int) -> None:
    for first in (
        publish(b"t", version=version),
        subscribe(1, b"t", version=version),
        unsubscribe(1, b"t", version=version),
        puback(1),
        pingreq(),
        disconnect(),
        auth(0x18, auth_method=b"m"),
    ):
        link = World().link(version)
        assert link.say(first + connect(b"c", version=version)) == []
        assert link.closed


@clauses(v4="3.1.0-2", v5="3.1.0-2 3.2.0-2 4.13.1-1")
@pytest.mark.parametrize("client_id", [b"c", b"other"])
def test_a_second_connect_ends_the_link(version: int, client_id: bytes) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(connect(client_id, version=version)), 0x82)


@clauses(v4="3.1.2-1", v5="3.1.2-1")
@pytest.mark.parametrize("protocol", [b"MQTTX", b"mqtt", b"MQT", b"", b"HTTP"])
def test_another_protocol_is_not_let_in(version: int, protocol: bytes) -> None:
    link = World().link(version)
    heard = link.say(connect(b"c", version=version, protocol=protocol))
    assert link.closed
    assert [(each.kind, each.reason) for each in heard] in ([], [("CONNACK", 0x84 if version == 5 else 1)])


@clauses(v4="3.1.2-2 3.2.2-5")
@pytest.mark.parametrize(("protocol", "level"), [(b"MQTT", 3), (b"MQIsdp", 3), (b"MQTT", 0)])
def test_an_older_version_is_answered_with_return_code_1(version: int, protocol: bytes, level: int) -> None:
    link = World().link(version)
    assert link.say_raw(connect(b"c", version=level, protocol=protocol)) == b"\x20\x02\x00\x01"
    assert link.closed


@clauses(v5="3.1.2-2 3.2.2-7")
@pytest.mark.parametrize("level", [6, 127])
def test_a_newer_version_is_answered_with_0x84(version: int, level: int) -> None:
    link = World().link(version)
    heard = link.say(connect(b"c", version=level))
    assert link.closed
    assert [(each.kind, each.reason) for each in heard] in ([], [("CONNACK", 0x84)])


@clauses(v4="3.1.2-3 3.1.4-1", v5="3.1.2-3 3.1.4-1")
def test_the_reserved_connect_flag_is_refused(version: int) -> None:
    World().link(version).is_refused(connect(b"c", version=version, flags=0b0000_0011), 0x81)


@clauses(v4="3.1.2-9 3.1.4-1", v5="3.1.2-9 3.1.4-1")
def test_a_will_flag_without_a_will_is_refused(version: int) -> None:
    World().link(version).is_refused(connect(b"c", version=version, flags=0b0000_0110), 0x81)


@clauses(v4="3.1.2-9", v5="3.1.2-9")
def test_a_will_without_its_payload_is_refused(version: int) -> None:
    whole = connect(b"c", version=version, will=b"w", will_payload=b"")
    cut = packet(0x10, whole[2:-2])
    World().link(version).is_refused(cut, 0x81)


@clauses(v4="3.1.2-11 3.1.2-13 3.1.2-15", v5="3.1.2-11 3.1.2-13")
@pytest.mark.parametrize("flags", [0b0000_1010, 0b0001_0010, 0b0001_1010, 0b0010_0010])
def test_flags_of_a_will_without_a_will_are_refused(version: int, flags: int) -> None:
    World().link(version).is_refused(connect(b"c", version=version, flags=flags), 0x81)


@clauses(v4="3.1.2-11")
def test_fields_of_a_will_without_its_flag_are_refused(version: int) -> None:
    World().link(version).is_refused(connect(b"c", version=version, will=b"w", flags=0b0000_0010))


@clauses(v4="3.1.2-14", v5="3.1.2-12")
def test_a_will_of_qos_3_is_refused(version: int) -> None:
    World().link(version).is_refused(connect(b"c", version=version, will=b"w", will_qos=3), 0x81)
    for qos in (0, 1, 2):
        World().client(b"c", version, will=b"w", will_qos=qos)


@clauses(v4="3.1.2-18 3.1.2-19 3.1.2-20 3.1.2-21", v5="3.1.2-16 3.1.2-17 3.1.2-18 3.1.2-19")
def test_user_name_and_password_are_there_exactly_when_their_flags_say_so(version: int) -> None:
    both = connect(b"c", version=version, user=b"u", password=b"p")
    neither = connect(b"c", version=version)
    user = connect(b"c", version=version, user=b"u")
    for whole, flags in ((both, 0x82), (user, 0x02), (neither, 0x82), (user, 0xC2)):
        world = World()
        world.link(version).is_refused(whole[:9] + bytes([flags]) + whole[10:], 0x81)
        assert world.asked == []
    World().client(b"c", version, user=b"u", password=b"p")


@clauses(v4="3.1.2-22")
def test_a_password_without_a_user_name_is_refused(version: int) -> None:
    World().link(version).is_refused(connect(b"c", version=version, password=b"p"))


@clauses(v4="3.1.3-1", v5="3.1.3-1")
def test_the_fields_of_the_payload_are_read_in_their_order(version: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe(b"topic")
    client = world.client(
        b"identifier", version, will=b"topic", will_payload=b"payload", user=b"user", password=b"password"
    )
    asked = world.asked[-1]
    assert (asked.client, asked.user, asked.password) == (b"identifier", b"user", b"password")
    client.vanish()
    will = only(watcher.hear(), "PUBLISH")
    assert (will.topic, will.payload) == (b"topic", b"payload")


@clauses(v4="3.1.3-3 3.1.4-1", v5="3.1.3-3 3.1.4-1")
def test_a_connect_without_a_client_identifier_field_is_refused(version: int) -> None:
    whole = connect(b"", version=version)
    World().link(version).is_refused(packet(0x10, whole[2:-2]), 0x81)


@clauses(v4="3.1.4-1 4.8.0-1", v5="3.1.4-1 4.13.1-1")
def test_a_connect_that_is_cut_or_too_long_is_refused(version: int) -> None:
    whole = connect(b"client", version=version, will=b"w", user=b"u", password=b"p")
    for size in range(len(whole) - 2):
        World().link(version).is_refused(packet(0x10, whole[2 : 2 + size]), 0x81, 0x84)
    World().link(version).is_refused(packet(0x10, whole[2:] + b"\x00"), 0x81)


@clauses(v5="3.1.4-1 4.13.1-1")
@pytest.mark.parametrize(
    "properties",
    [
        pytest.param(props(session_expiry=[1, 2]), id="twice"),
        pytest.param(props(receive_maximum=0), id="Receive Maximum 0"),
        pytest.param(props(maximum_packet_size=0), id="Maximum Packet Size 0"),
        pytest.param(props(request_problem=2), id="neither yes nor no"),
        pytest.param(props(topic_alias=1), id="of another packet"),
        pytest.param(props(auth_data=b"x"), id="data without a method"),
        pytest.param(b"\x7f\x00", id="unknown"),
    ],
)
def test_a_connect_with_wrong_properties_is_refused(version: int, properties: bytes) -> None:
    World().link(version).is_refused(connect(b"c", version=version, properties=properties), 0x81, 0x82)


@clauses(v4="3.1.3-10", v5="3.1.3-11")
@pytest.mark.parametrize("topic", [b"", b"a/+", b"#"])
def test_the_topic_of_a_will_is_a_topic(version: int, topic: bytes) -> None:
    wrong = connect(b"c", version=version, will=topic)
    assert text(topic) in wrong
    World().link(version).is_refused(wrong, 0x81, 0x82, 0x90)
