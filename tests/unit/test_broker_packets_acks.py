"""PUBACK, PUBREC, PUBREL and PUBCOMP."""

from __future__ import annotations

import pytest
from tests.broker_packets import packet, props, puback, pubcomp, pubrec, pubrel, seen

from roost.broker.packets.acks import ack, ack_v5, parse_ack
from roost.broker.packets.framing import PUBACK, PUBCOMP, PUBREC, PUBREL
from roost.broker.packets.reasons import (
    MALFORMED_PACKET,
    NOT_AUTHORIZED,
    PACKET_IDENTIFIER_NOT_FOUND,
    PROTOCOL_ERROR,
    SUCCESS,
    Malformed,
)

BUILDERS = {PUBACK: puback, PUBREC: pubrec, PUBREL: pubrel, PUBCOMP: pubcomp}
FIRST = {PUBACK: 0x40, PUBREC: 0x50, PUBREL: 0x62, PUBCOMP: 0x70}
RECEIPT = {0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99}
REASONS = {PUBACK: RECEIPT, PUBREC: RECEIPT, PUBREL: {0x00, 0x92}, PUBCOMP: {0x00, 0x92}}


def reason_of(frame: bytes, version: int = 5) -> int:
    with pytest.raises(Malformed) as caught:
        parse_ack(frame, version)
    return caught.value.reason


@pytest.mark.parametrize("kind", BUILDERS)
def test_success_is_four_bytes_in_both_versions(kind: int) -> None:
    for packet_id in (1, 255, 256, 65_535):
        frame = BUILDERS[kind](packet_id)
        assert ack(kind, packet_id) == frame
        assert ack_v5(kind, packet_id, SUCCESS) == frame
        assert parse_ack(frame, 4) == parse_ack(frame, 5) == (packet_id, SUCCESS)


@pytest.mark.parametrize("kind", BUILDERS)
def test_every_reason_that_the_packet_has_is_read_and_no_other(kind: int) -> None:
    """[MQTT-3.4.2-1, MQTT-3.5.2-1, MQTT-3.6.2-1, MQTT-3.7.2-1]."""
    for reason in range(256):
        frame = BUILDERS[kind](7, reason)
        if reason in REASONS[kind]:
            assert parse_ack(frame, 5) == (7, reason)
        else:
            assert reason_of(frame) == PROTOCOL_ERROR


@pytest.mark.parametrize("kind", BUILDERS)
def test_properties_are_read_and_passed_over(kind: int) -> None:
    properties = props(user=[(b"k", b"v")], reason_string=b"why")
    assert parse_ack(BUILDERS[kind](7, 0, properties), 5) == (7, 0)
    assert parse_ack(BUILDERS[kind](7, 0, b""), 5) == (7, 0)
    assert parse_ack(BUILDERS[kind](7, 0, props(reason_string=bytes([97]) * 200)), 5) == (7, 0)


@pytest.mark.parametrize("kind", BUILDERS)
def test_what_an_acknowledgement_must_not_be(kind: int) -> None:
    build = BUILDERS[kind]
    assert reason_of(build(0)) == PROTOCOL_ERROR
    assert reason_of(build(0, 0)) == PROTOCOL_ERROR
    assert reason_of(build(1, 0), 4) == MALFORMED_PACKET
    assert reason_of(packet(FIRST[kind], b"\x01")) == MALFORMED_PACKET
    assert reason_of(packet(FIRST[kind], b"")) == MALFORMED_PACKET
    assert reason_of(build(1, 0, props(reason_string=[b"a", b"b"]))) == PROTOCOL_ERROR
    assert reason_of(build(1, 0, props(session_expiry=1))) == MALFORMED_PACKET
    assert reason_of(packet(FIRST[kind], b"\x00\x01\x00\x00\x00")) == MALFORMED_PACKET
    assert reason_of(packet(FIRST[kind], b"\x00\x01\x00\x01")) == MALFORMED_PACKET


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("kind", BUILDERS)
def test_the_flags_of_the_header_are_fixed(kind: int, version: int) -> None:
    """[MQTT-2.1.3-1, MQTT-3.6.1-1] [3.1.1 MQTT-2.2.2-2]."""
    good = BUILDERS[kind](1)
    for flags in set(range(16)) - {good[0] & 15}:
        assert reason_of(bytes([good[0] & 0xF0 | flags]) + good[1:], version) == MALFORMED_PACKET


def test_a_reason_is_written_as_short_as_it_can_be() -> None:
    assert ack_v5(PUBACK, 258, NOT_AUTHORIZED) == b"\x40\x03\x01\x02\x87"
    assert ack_v5(PUBREL, 258, PACKET_IDENTIFIER_NOT_FOUND) == b"\x62\x03\x01\x02\x92"
    [explained] = seen(ack_v5(PUBREC, 1, NOT_AUTHORIZED, b"why", [(b"k", b"v")]), 5)
    assert (explained.kind, explained.packet_id, explained.reason) == ("PUBREC", 1, NOT_AUTHORIZED)
    assert explained.properties == {"reason_string": b"why", "user": [(b"k", b"v")]}
    [welcome] = seen(ack_v5(PUBACK, 1, SUCCESS, user=((b"k", b"v"),)), 5)
    assert (welcome.reason, welcome.properties) == (0, {"user": [(b"k", b"v")]})
