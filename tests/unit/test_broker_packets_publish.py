"""PUBLISH, and the properties of a message."""

from __future__ import annotations

import pytest
from tests.broker_packets import packet, props, publish, seen, text

from roost.broker.packets.publish import parse_publish, publish_v4, publish_v5, split_v4, split_v5
from roost.broker.packets.reasons import (
    MALFORMED_PACKET,
    PROTOCOL_ERROR,
    TOPIC_ALIAS_INVALID,
    Malformed,
)

KEPT = props(
    user=[(b"k", b"1")], payload_format=1, content_type=b"text/plain", response_topic=b"r/t", correlation=b"\x00\xff"
)


def reason_of(frame: bytes, version: int = 5) -> int:
    with pytest.raises(Malformed) as caught:
        parse_publish(frame, version)
    return caught.value.reason


@pytest.mark.parametrize("version", [4, 5])
def test_every_field_is_read(version: int) -> None:
    frame = publish(b"a/b", b"payload", qos=2, packet_id=0x1234, retain=True, dup=True, version=version)
    found = parse_publish(frame, version)
    assert (found.topic, found.qos, found.packet_id) == (b"a/b", 2, 0x1234)
    assert found.retain
    assert found.dup
    assert frame[found.payload_at :] == b"payload"
    assert (found.kept, found.expiry_s, found.alias) == (b"", -1, 0)


@pytest.mark.parametrize("version", [4, 5])
def test_a_message_of_qos_0_has_no_packet_identifier(version: int) -> None:
    """[MQTT-2.2.1-2] [3.1.1 MQTT-2.3.1-5]."""
    frame = publish(b"a", b"\x00\x07", version=version)
    found = parse_publish(frame, version)
    assert (found.packet_id, found.qos, found.retain, found.dup) == (0, 0, False, False)
    assert frame[found.payload_at :] == b"\x00\x07"


@pytest.mark.parametrize("version", [4, 5])
def test_a_payload_may_be_empty_or_long(version: int) -> None:
    for payload in (b"", bytes(200), bytes(20_000)):
        frame = publish(b"a", payload, version=version)
        assert frame[parse_publish(frame, version).payload_at :] == payload


@pytest.mark.parametrize("version", [4, 5])
def test_what_a_publish_must_not_be(version: int) -> None:
    assert reason_of(publish(b"a", qos=3, packet_id=1, version=version), version) == MALFORMED_PACKET  # [MQTT-3.3.1-4]
    assert reason_of(publish(b"a", dup=True, version=version), version) == MALFORMED_PACKET  # [MQTT-3.3.1-2]
    assert reason_of(publish(b"a", qos=1, packet_id=0, version=version), version) == PROTOCOL_ERROR  # [MQTT-2.2.1-3]
    assert reason_of(publish(b"", b"x", version=version), version) == PROTOCOL_ERROR
    assert reason_of(packet(0x30, b""), version) == MALFORMED_PACKET
    assert reason_of(packet(0x30, b"\x00"), version) == MALFORMED_PACKET
    assert reason_of(packet(0x30, b"\x00\x02a"), version) == MALFORMED_PACKET
    assert reason_of(packet(0x32, b"\x00\x01a\x01"), version) == MALFORMED_PACKET


def test_a_publish_of_5_0_has_a_length_of_its_properties() -> None:
    assert reason_of(packet(0x30, text(b"a"))) == MALFORMED_PACKET
    assert reason_of(packet(0x30, text(b"a") + b"\x05\x01")) == MALFORMED_PACKET


def test_what_travels_on_stays_byte_for_byte_and_in_order() -> None:
    """[MQTT-3.3.2-4, MQTT-3.3.2-15 to MQTT-3.3.2-18, MQTT-3.3.2-20]."""
    frame = publish(b"a", b"x", version=5, properties=KEPT)
    found = parse_publish(frame, 5)
    assert found.kept == KEPT
    assert frame[found.payload_at :] == b"x"


@pytest.mark.parametrize("order", [0, 1, 2])
def test_what_the_server_needs_is_taken_out(order: int) -> None:
    parts = [props(user=[(b"a", b"1")]), props(user=[(b"b", b"2"), (b"a", b"3")])]
    parts.insert(order, props(expiry=7))
    parts.insert(order + 1, props(topic_alias=9))
    found = parse_publish(publish(b"", b"x", version=5, properties=b"".join(parts)), 5)
    assert (found.expiry_s, found.alias) == (7, 9)
    assert found.kept == props(user=[(b"a", b"1"), (b"b", b"2"), (b"a", b"3")])


def test_an_expiry_of_zero_and_the_largest_are_not_absent() -> None:
    assert parse_publish(publish(b"a", version=5, properties=props(expiry=0)), 5).expiry_s == 0
    assert parse_publish(publish(b"a", version=5, properties=props(expiry=2**32 - 1)), 5).expiry_s == 2**32 - 1


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        (props(topic_alias=0), TOPIC_ALIAS_INVALID),  # [MQTT-3.3.2-8]
        (props(subscription_id=1), PROTOCOL_ERROR),  # [MQTT-3.3.4-6]
        (props(payload_format=2), PROTOCOL_ERROR),
        (props(response_topic=b"a/#"), MALFORMED_PACKET),  # [MQTT-3.3.2-14]
        (props(response_topic=b""), MALFORMED_PACKET),
        (props(content_type=b"\xff"), MALFORMED_PACKET),  # [MQTT-3.3.2-19]
        (props(user=[(b"k", b"\x00")]), MALFORMED_PACKET),  # [MQTT-1.5.7-1]
        (props(user=[(b"\xff", b"v")]), MALFORMED_PACKET),
        (props(will_delay=1), MALFORMED_PACKET),
        (props(session_expiry=1), MALFORMED_PACKET),
        (props(reason_string=b"x"), MALFORMED_PACKET),
        (props(shared_available=1), MALFORMED_PACKET),
        (b"\x00", MALFORMED_PACKET),
        (b"\x7f", MALFORMED_PACKET),
        (b"\xff", MALFORMED_PACKET),
        (b"\x01", MALFORMED_PACKET),
        (b"\x02\x00\x00\x00", MALFORMED_PACKET),
        (b"\x26\x00\x01k", MALFORMED_PACKET),
        *[
            (props(**{name: [value, value]}), PROTOCOL_ERROR)
            for name, value in {
                "payload_format": 0,
                "expiry": 1,
                "content_type": b"t",
                "response_topic": b"t",
                "correlation": b"",
                "topic_alias": 1,
            }.items()
        ],
    ],
)
def test_properties_that_a_publish_must_not_have(properties: bytes, reason: int) -> None:
    assert reason_of(publish(b"a", b"payload!", version=5, properties=properties)) == reason


def test_a_property_does_not_reach_into_the_payload() -> None:
    assert reason_of(packet(0x30, text(b"a") + b"\x04\x09\x00\x05abcdef")) == MALFORMED_PACKET


@pytest.mark.parametrize("payload", [b"", b"x", bytes(119), bytes(120), bytes(121), bytes(20_000)])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_what_is_written_is_what_a_client_reads(qos: int, payload: bytes) -> None:
    packet_id = 0x1234 if qos else 0
    for retain in (False, True):
        for dup in (False, True) if qos else (False,):
            [old] = seen(publish_v4(b"a/b", payload, qos, retain, dup, packet_id))
            [new] = seen(publish_v5(b"a/b", payload, qos, retain, dup, packet_id, KEPT), 5)
            [bare] = seen(publish_v5(b"a/b", payload, qos, retain, dup, packet_id, b""), 5)
            for each in (old, new, bare):
                assert (each.topic, each.payload, each.qos, each.packet_id) == (b"a/b", payload, qos, packet_id)
                assert (each.retain, each.dup) == (retain, dup)
            assert new.properties["user"] == [(b"k", b"1")]
            assert new.properties["response_topic"] == b"r/t"
            assert bare.properties == {}


def test_a_message_for_many_differs_only_in_its_packet_identifier() -> None:
    for properties in (b"", KEPT, bytes(0) + props(user=[(b"k", bytes([65]) * 200)])):
        head, tail = split_v5(b"a/b", b"payload", 1, True, properties)
        assert head + b"\x00\x07" + tail == publish_v5(b"a/b", b"payload", 1, True, False, 7, properties)
    head, tail = split_v4(b"a/b", bytes(200), 2, False)
    assert head + b"\x00\x07" + tail == publish_v4(b"a/b", bytes(200), 2, False, False, 7)
