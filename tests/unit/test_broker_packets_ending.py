"""DISCONNECT, AUTH and PINGREQ, and the names of reasons."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests import broker_packets as client
from tests.broker_packets import packet, props, seen

from roost.broker.packets.auth import auth, parse_auth
from roost.broker.packets.disconnect import disconnect, parse_disconnect
from roost.broker.packets.ping import PINGRESP, parse_pingreq
from roost.broker.packets.reasons import (
    CONTINUE_AUTHENTICATION,
    MALFORMED_PACKET,
    PROTOCOL_ERROR,
    RE_AUTHENTICATE,
    SERVER_MOVED,
    SESSION_TAKEN_OVER,
    SUCCESS,
    Malformed,
    name_of,
)

OF_CLIENTS = {0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x90, *range(0x93, 0x9A)}


def reason_of(frame: bytes, version: int = 5) -> int:
    parsers: dict[int, Callable[[bytes, int], object]] = {12: parse_ping, 14: parse_disconnect, 15: parse_auth}
    with pytest.raises(Malformed) as caught:
        parsers[frame[0] >> 4](frame, version)
    return caught.value.reason


def parse_ping(frame: bytes, _version: int) -> None:
    parse_pingreq(frame)


@pytest.mark.parametrize("version", [4, 5])
def test_a_disconnect_without_a_body_is_a_normal_one(version: int) -> None:
    found = parse_disconnect(b"\xe0\x00", version)
    assert (found.reason, found.session_expiry_s, found.reason_string) == (0, -1, b"")


def test_a_disconnect_of_5_0_has_a_reason_and_properties() -> None:
    properties = props(session_expiry=0, reason_string=b"why", user=[(b"k", b"v")])
    found = parse_disconnect(client.disconnect(4, properties), 5)
    assert (found.reason, found.session_expiry_s, found.reason_string) == (4, 0, b"why")
    assert parse_disconnect(client.disconnect(4, b""), 5).session_expiry_s == -1


def test_a_client_disconnects_for_reasons_of_clients_only() -> None:
    """[MQTT-3.14.2-1]."""
    for reason in range(256):
        if reason in OF_CLIENTS:
            assert parse_disconnect(client.disconnect(reason), 5).reason == reason
        else:
            assert reason_of(client.disconnect(reason)) == PROTOCOL_ERROR


def test_what_a_disconnect_must_not_be() -> None:
    for flags in range(1, 16):  # [MQTT-3.14.1-1]
        assert reason_of(bytes([0xE0 | flags, 0]), 4) == MALFORMED_PACKET
        assert reason_of(bytes([0xE0 | flags, 0]), 5) == MALFORMED_PACKET
    assert reason_of(client.disconnect(0), 4) == MALFORMED_PACKET
    assert reason_of(client.disconnect(0, props(receive_maximum=1))) == MALFORMED_PACKET
    assert reason_of(client.disconnect(0, props(session_expiry=[1, 1]))) == PROTOCOL_ERROR
    assert reason_of(packet(0xE0, b"\x00\x00\x00")) == MALFORMED_PACKET


def test_the_server_says_why_it_hangs_up() -> None:
    assert disconnect(SESSION_TAKEN_OVER) == b"\xe0\x01\x8e"
    [found] = seen(disconnect(SERVER_MOVED, b"why", b"elsewhere"), 5)
    assert (found.kind, found.reason) == ("DISCONNECT", SERVER_MOVED)
    assert found.properties == {"reason_string": b"why", "server_reference": b"elsewhere"}


def test_an_auth_has_method_and_data() -> None:
    found = parse_auth(client.auth(0x19, auth_method=b"m", auth_data=b"\x00"), 5)
    assert (found.reason, found.method, found.data) == (RE_AUTHENTICATE, b"m", b"\x00")
    assert parse_auth(client.auth(0x18, auth_method=b"m"), 5).data == b""


def test_what_an_auth_must_not_be() -> None:
    good = client.auth(0x18, auth_method=b"m")
    for flags in range(1, 16):  # [MQTT-3.15.1-1]
        assert reason_of(bytes([0xF0 | flags]) + good[1:]) == MALFORMED_PACKET
    for reason in set(range(256)) - {0x18, 0x19}:  # [MQTT-3.15.2-1]; success is the server's to say
        assert reason_of(client.auth(reason, auth_method=b"m")) == PROTOCOL_ERROR
    assert reason_of(good, 4) == PROTOCOL_ERROR
    assert reason_of(b"\xf0\x00") == PROTOCOL_ERROR
    assert reason_of(client.auth(0x18, auth_data=b"x")) == PROTOCOL_ERROR
    assert reason_of(client.auth(0x18, auth_method=[b"m", b"m"])) == PROTOCOL_ERROR
    assert reason_of(client.auth(0x18, auth_method=b"m", session_expiry=1)) == MALFORMED_PACKET
    assert reason_of(packet(0xF0, b"\x18")) == MALFORMED_PACKET
    assert reason_of(packet(0xF0, good[2:] + b"\x00")) == MALFORMED_PACKET


def test_the_server_challenges_and_says_that_it_is_content() -> None:
    [challenge] = seen(auth(CONTINUE_AUTHENTICATION, b"m", b"\xff", b"go on"), 5)
    assert (challenge.kind, challenge.reason) == ("AUTH", CONTINUE_AUTHENTICATION)
    assert challenge.properties == {"auth_method": b"m", "auth_data": b"\xff", "reason_string": b"go on"}
    assert seen(auth(SUCCESS, b"m"), 5)[0].properties == {"auth_method": b"m"}


def test_a_ping_is_two_bytes_both_ways() -> None:
    parse_pingreq(client.pingreq())
    assert seen(PINGRESP)[0].kind == "PINGRESP"
    assert reason_of(b"\xc1\x00") == MALFORMED_PACKET
    assert reason_of(b"\xc0\x01\x00") == MALFORMED_PACKET


def test_reasons_have_names() -> None:
    assert name_of(0x8E) == "session taken over"
    assert name_of(0x42) == "reason 0x42"
