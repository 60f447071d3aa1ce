"""PUBACK, PUBREC, PUBREL and PUBCOMP: four packets of one form [MQTT 5.0 §3.4 to §3.7].

Without a reason code they mean success, and are the same four bytes in both versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mypy_extensions import i64

from roost.broker.packets.fields import check_end, read_byte, read_packet_id
from roost.broker.packets.framing import PUBACK, PUBCOMP, PUBREC, PUBREL, body_of, check_flags, header
from roost.broker.packets.properties import Properties, encode_properties, parse_properties
from roost.broker.packets.reasons import (
    IMPLEMENTATION_SPECIFIC_ERROR,
    MALFORMED_PACKET,
    NO_MATCHING_SUBSCRIBERS,
    NOT_AUTHORIZED,
    PACKET_IDENTIFIER_IN_USE,
    PACKET_IDENTIFIER_NOT_FOUND,
    PAYLOAD_FORMAT_INVALID,
    PROTOCOL_ERROR,
    QUOTA_EXCEEDED,
    SUCCESS,
    TOPIC_NAME_INVALID,
    UNSPECIFIED_ERROR,
    Malformed,
    name_of,
)

_OF_RECEIPT: Final = (
    SUCCESS,
    NO_MATCHING_SUBSCRIBERS,
    UNSPECIFIED_ERROR,
    IMPLEMENTATION_SPECIFIC_ERROR,
    NOT_AUTHORIZED,
    TOPIC_NAME_INVALID,
    PACKET_IDENTIFIER_IN_USE,
    QUOTA_EXCEEDED,
    PAYLOAD_FORMAT_INVALID,
)
_OF_RELEASE: Final = (SUCCESS, PACKET_IDENTIFIER_NOT_FOUND)
_REASONS: Final = {PUBACK: _OF_RECEIPT, PUBREC: _OF_RECEIPT, PUBREL: _OF_RELEASE, PUBCOMP: _OF_RELEASE}


def ack(kind: int, packet_id: int) -> bytes:
    """Write a successful acknowledgement of either version."""
    first = 0x62 if kind == PUBREL else kind << 4
    return (first << 24 | 2 << 16 | packet_id).to_bytes(4, "big")


def ack_v5(
    kind: int, packet_id: int, reason: int, reason_string: bytes = b"", user: Sequence[tuple[bytes, bytes]] = ()
) -> bytes:
    """Write an acknowledgement of 5.0 with a reason, as short as it can be."""
    if not reason_string and not user:
        if reason == SUCCESS:
            return ack(kind, packet_id)
        body = packet_id.to_bytes(2, "big") + reason.to_bytes(1, "big")
    else:
        properties = Properties()
        properties.reason_string = reason_string or None
        properties.user = list(user)
        body = packet_id.to_bytes(2, "big") + reason.to_bytes(1, "big") + encode_properties(properties)
    return header(kind << 4 | (2 if kind == PUBREL else 0), len(body)) + body


def parse_ack(frame: bytes, version: int) -> tuple[int, int]:
    """Read an acknowledgement; returns packet identifier and reason."""
    kind: i64 = frame[0] >> 4
    check_flags(frame, 2 if kind == PUBREL else 0)  # PUBREL: [MQTT-3.6.1-1]
    size: i64 = len(frame)
    if size < 4 or (size > 4 and version < 5):
        raise Malformed(MALFORMED_PACKET, f"an acknowledgement of type {kind} has {size} bytes")
    if size > 4:
        return _parse_reasoned(frame, kind)
    high: i64 = frame[2]
    low: i64 = frame[3]
    packet_id: i64 = high << 8 | low
    if packet_id == 0:
        raise Malformed(PROTOCOL_ERROR, "the packet identifier is 0")
    return packet_id, SUCCESS


def _parse_reasoned(frame: bytes, kind: int) -> tuple[int, int]:
    size = len(frame)
    packet_id, at = read_packet_id(frame, body_of(frame), size)
    reason, at = read_byte(frame, at, size)
    if reason not in _REASONS[kind]:  # [MQTT-3.4.2-1, MQTT-3.5.2-1, MQTT-3.6.2-1, MQTT-3.7.2-1]
        raise Malformed(PROTOCOL_ERROR, f"{name_of(reason)} is no reason of an acknowledgement of type {kind}")
    if at < size:
        _, at = parse_properties(frame, at, size, kind)
        check_end(at, size)
    return packet_id, reason
