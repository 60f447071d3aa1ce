"""CONNECT and CONNACK."""

from __future__ import annotations

import pytest
from tests.broker_packets import connect, packet, props, seen, text

from roost.broker.packets.connack import connack
from roost.broker.packets.connect import parse_connect
from roost.broker.packets.properties import Properties
from roost.broker.packets.reasons import (
    BAD_USER_NAME_OR_PASSWORD,
    CLIENT_IDENTIFIER_NOT_VALID,
    MALFORMED_PACKET,
    NOT_AUTHORIZED,
    PROTOCOL_ERROR,
    QOS_NOT_SUPPORTED,
    SERVER_UNAVAILABLE,
    SUCCESS,
    UNSUPPORTED_PROTOCOL_VERSION,
    Malformed,
)


def refusal(frame: bytes) -> tuple[int, int]:
    with pytest.raises(Malformed) as caught:
        parse_connect(frame)
    return caught.value.reason, caught.value.version


def test_the_smallest_connect_of_3_1_1() -> None:
    found = parse_connect(b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x3c\x00\x00")
    assert (found.version, found.client_id, found.clean_start, found.keep_alive_s) == (4, b"", True, 60)
    assert (found.user, found.password, found.will) == (None, None, None)


@pytest.mark.parametrize("version", [4, 5])
def test_every_field_is_read(version: int) -> None:
    found = parse_connect(
        connect(
            b"me",
            version=version,
            clean=False,
            keep_alive=0xFFFF,
            user=b"u",
            password=b"\x00\xff",
            will=b"gone/me",
            will_payload=b"\xff\x00",
            will_qos=2,
            will_retain=True,
            will_properties=props(will_delay=5, user=[(b"k", b"v")], expiry=9),
        )
    )
    assert (found.version, found.client_id, found.clean_start, found.keep_alive_s) == (version, b"me", False, 0xFFFF)
    assert (found.user, found.password) == (b"u", b"\x00\xff")
    will = found.will
    assert will is not None
    assert (will.topic, will.payload, will.qos, will.retain) == (b"gone/me", b"\xff\x00", 2, True)
    if version == 5:
        assert will.properties.kept == props(user=[(b"k", b"v")])
        assert (will.properties.delay_s, will.properties.expiry_s) == (5, 9)
    else:
        assert (will.properties.kept, will.properties.delay_s, will.properties.expiry_s) == (b"", -1, -1)


def test_every_property_is_read() -> None:
    properties = parse_connect(
        connect(
            version=5,
            properties=props(
                session_expiry=2**32 - 1,
                receive_maximum=7,
                maximum_packet_size=1000,
                topic_alias_maximum=3,
                request_response=1,
                request_problem=0,
                user=[(b"a", b"1"), (b"a", b"2")],
                auth_method=b"m",
                auth_data=b"\x00",
            ),
        )
    ).properties
    assert (properties.session_expiry_s, properties.receive_maximum) == (2**32 - 1, 7)
    assert (properties.maximum_packet_bytes, properties.topic_alias_maximum) == (1000, 3)
    assert (properties.request_response, properties.request_problem) == (1, 0)
    assert properties.user == [(b"a", b"1"), (b"a", b"2")]
    assert (properties.auth_method, properties.auth_data) == (b"m", b"\x00")


def test_5_0_allows_a_password_alone_and_no_identifier_with_a_session() -> None:
    found = parse_connect(connect(b"", version=5, clean=False, password=b"p"))
    assert (found.client_id, found.user, found.password) == (b"", None, b"p")


@pytest.mark.parametrize(
    ("protocol", "version", "form"),
    [
        (b"MQIsdp", 3, 4),
        (b"MQIsdp", 5, 4),
        (b"MQTT", 3, 4),
        (b"MQTT", 0, 4),
        (b"MQTT", 6, 5),
        (b"MQTT", 0x84, 4),
        (b"mqtt", 4, 0),
        (b"HTTP", 5, 0),
        (b"", 5, 0),
    ],
)
def test_other_versions_and_protocols_are_refused(protocol: bytes, version: int, form: int) -> None:
    """[MQTT-3.1.2-1, MQTT-3.1.2-2]; who speaks no MQTT gets no answer."""
    frame = packet(0x10, text(protocol) + bytes([version]) + b"what follows may have any form")
    assert refusal(frame) == (UNSUPPORTED_PROTOCOL_VERSION, form)


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(
    "wrong",
    [
        {"flags": 0x03},  # the reserved one [MQTT-3.1.2-3]
        {"flags": 0x0A},  # Will QoS without a will [MQTT-3.1.2-11]
        {"flags": 0x22},  # Will Retain without a will [MQTT-3.1.2-13]
        {"flags": 0x06},  # a will that is not there [MQTT-3.1.2-9]
        {"flags": 0x82},  # a user name that is not there [MQTT-3.1.2-17]
        {"flags": 0xC2, "user": b"u"},  # a password that is not there [MQTT-3.1.2-19]
        {"flags": 0x02, "user": b"u"},  # a user name that should not be there [MQTT-3.1.2-16]
        {"will": b"w", "will_qos": 3},  # [MQTT-3.1.2-12]
        {"will": b"w/#"},
        {"will": b""},
        {"will": b"\xff"},  # [MQTT-3.1.3-11]
        {"user": b"\xff"},  # [MQTT-3.1.3-12]
        {"client_id": b"a\x00"},  # [MQTT-3.1.3-4]
    ],
)
def test_what_a_connect_must_not_be(version: int, wrong: dict[str, object]) -> None:
    assert refusal(connect(version=version, **wrong)) == (MALFORMED_PACKET, version)  # type: ignore[arg-type]


def test_what_only_3_1_1_forbids() -> None:
    assert refusal(connect(password=b"p")) == (MALFORMED_PACKET, 4)  # [3.1.1 MQTT-3.1.2-22]
    assert refusal(connect(b"", clean=False)) == (CLIENT_IDENTIFIER_NOT_VALID, 4)  # [3.1.1 MQTT-3.1.3-8]


def test_the_flags_of_the_header_are_zero() -> None:
    """[MQTT-2.1.3-1] [3.1.1 MQTT-2.2.2-1]."""
    for flags in range(1, 16):
        assert refusal(bytes([0x10 | flags]) + connect(version=5)[1:]) == (MALFORMED_PACKET, 5)


@pytest.mark.parametrize("version", [4, 5])
def test_a_connect_that_is_cut_anywhere_or_goes_on_is_malformed(version: int) -> None:
    whole = connect(version=version, user=b"u", password=b"p", will=b"w", will_payload=b"x", properties=b"")
    for size in range(len(whole) - 2):
        assert refusal(packet(0x10, whole[2 : 2 + size]))[0] in {MALFORMED_PACKET, UNSUPPORTED_PROTOCOL_VERSION}
    assert refusal(packet(0x10, whole[2:] + b"\x00")) == (MALFORMED_PACKET, version)


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        (props(receive_maximum=0), PROTOCOL_ERROR),
        (props(maximum_packet_size=0), PROTOCOL_ERROR),
        (props(request_response=2), PROTOCOL_ERROR),
        (props(request_problem=2), PROTOCOL_ERROR),
        (props(auth_data=b"x"), PROTOCOL_ERROR),
        (props(topic_alias=1), MALFORMED_PACKET),
        (props(will_delay=1), MALFORMED_PACKET),
        (props(reason_string=b"x"), MALFORMED_PACKET),
        (props(server_keep_alive=1), MALFORMED_PACKET),
        (b"\xff\x7f", MALFORMED_PACKET),
        (props(session_expiry=1)[:-1], MALFORMED_PACKET),
        (props(auth_method=b"\xff"), MALFORMED_PACKET),
        *[
            (props(**{name: [value, value]}), PROTOCOL_ERROR)
            for name, value in {
                "session_expiry": 0,
                "receive_maximum": 1,
                "maximum_packet_size": 1,
                "topic_alias_maximum": 0,
                "request_response": 0,
                "request_problem": 1,
                "auth_method": b"",
                "auth_data": b"",
            }.items()
        ],
    ],
)
def test_properties_that_a_connect_must_not_have(properties: bytes, reason: int) -> None:
    assert refusal(connect(version=5, properties=properties)) == (reason, 5)


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        (props(topic_alias=1), MALFORMED_PACKET),
        (props(topic_alias=0), MALFORMED_PACKET),
        (props(subscription_id=1), MALFORMED_PACKET),
        (props(will_delay=[1, 1]), PROTOCOL_ERROR),
        (props(payload_format=3), PROTOCOL_ERROR),
    ],
)
def test_properties_that_a_will_must_not_have(properties: bytes, reason: int) -> None:
    assert refusal(connect(version=5, will=b"w", will_properties=properties)) == (reason, 5)


@pytest.mark.parametrize("version", [4, 5])
def test_a_client_is_told_that_it_is_welcome(version: int) -> None:
    for present in (False, True):
        [answer] = seen(connack(version, present, SUCCESS), version)
        assert (answer.kind, answer.session_present, answer.reason, answer.properties) == ("CONNACK", present, 0, {})


def test_a_refusal_never_has_a_session() -> None:
    """[MQTT-3.2.2-6] [3.1.1 MQTT-3.2.2-4]."""
    assert seen(connack(5, True, NOT_AUTHORIZED), 5)[0].reason == NOT_AUTHORIZED
    assert not seen(connack(4, True, NOT_AUTHORIZED))[0].session_present


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (UNSUPPORTED_PROTOCOL_VERSION, 1),
        (CLIENT_IDENTIFIER_NOT_VALID, 2),
        (SERVER_UNAVAILABLE, 3),
        (BAD_USER_NAME_OR_PASSWORD, 4),
        (NOT_AUTHORIZED, 5),
    ],
)
def test_3_1_1_has_codes_of_its_own(reason: int, code: int) -> None:
    assert connack(4, False, reason) == b"\x20\x02\x00" + bytes([code])


def test_3_1_1_closes_without_a_word_when_no_code_fits() -> None:
    """[3.1.1 MQTT-3.1.4-1, MQTT-3.2.2-6]."""
    assert connack(4, False, MALFORMED_PACKET) == b""
    assert connack(4, False, QOS_NOT_SUPPORTED) == b""
    assert seen(connack(5, False, QOS_NOT_SUPPORTED), 5)[0].reason == QOS_NOT_SUPPORTED


def test_every_property_of_a_connack_is_written() -> None:
    properties = Properties()
    expected: dict[str, object] = {
        "session_expiry": 60, "assigned_client_id": b"id", "server_keep_alive": 30, "auth_method": b"m",
        "auth_data": b"\x00", "response_information": b"r/", "server_reference": b"other", "reason_string": b"why",
        "receive_maximum": 10, "topic_alias_maximum": 0, "maximum_qos": 1, "retain_available": 0,
        "maximum_packet_size": 1 << 20, "wildcards_available": 1, "subscription_ids_available": 0,
        "shared_available": 1, "user": [(b"a", b"1"), (b"b", b"2")],
    }  # fmt: skip
    attributes = {
        "session_expiry": "session_expiry_s",
        "server_keep_alive": "server_keep_alive_s",
        "maximum_packet_size": "maximum_packet_bytes",
    }
    for name, value in expected.items():
        setattr(properties, attributes.get(name, name), value)
    assert seen(connack(5, True, SUCCESS, properties), 5)[0].properties == expected
