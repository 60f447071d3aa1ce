"""UNSUBSCRIBE and its answer, UNSUBACK [MQTT 5.0 §3.10, §3.11]."""

from __future__ import annotations

from collections.abc import Sequence

from roost.broker.packets import framing
from roost.broker.packets.fields import check_filter, read_packet_id, read_text
from roost.broker.packets.framing import body_of, check_flags, header
from roost.broker.packets.properties import Properties, encode_properties, parse_properties
from roost.broker.packets.reasons import PROTOCOL_ERROR, Malformed


def parse_unsubscribe(frame: bytes, version: int) -> tuple[int, list[bytes]]:
    """Read an UNSUBSCRIBE; returns packet identifier and filters."""
    check_flags(frame, 2)  # [MQTT-3.10.1-1]
    end = len(frame)
    packet_id, at = read_packet_id(frame, body_of(frame), end)
    if version >= 5:
        _, at = parse_properties(frame, at, end, framing.UNSUBSCRIBE)
    if at == end:  # 5.0 calls it a protocol error (§3.10.3) [MQTT-3.10.3-2]
        raise Malformed(PROTOCOL_ERROR, "UNSUBSCRIBE has no filter")
    filters: list[bytes] = []
    while at < end:
        topic_filter, at = read_text(frame, at, end)  # [MQTT-3.10.3-1]
        check_filter(topic_filter)
        filters.append(topic_filter)
    return packet_id, filters


def unsuback(version: int, packet_id: int, codes: Sequence[int], reason_string: bytes = b"") -> bytes:
    """Write an UNSUBACK, in 5.0 with a code for each filter in their order [MQTT-3.11.3-1]."""
    body = packet_id.to_bytes(2, "big")
    if version >= 5:
        properties = Properties()
        properties.reason_string = reason_string or None
        body += encode_properties(properties) + bytes(codes)
    return header(0xB0, len(body)) + body
