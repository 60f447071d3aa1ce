"""PUBLISH, both ways: the packet that everything is about [MQTT 5.0 §3.3].

The topic's characters are not checked here but once per topic, by who looks it up (`fields.check_topic`). Nor is the
payload touched: it is `frame[payload_at:]`, and is copied only where somebody wants it apart.
"""

from __future__ import annotations

from mypy_extensions import i64

from roost.broker.packets.framing import body_of, header, var_int
from roost.broker.packets.kept import read_kept
from roost.broker.packets.reasons import MALFORMED_PACKET, PROTOCOL_ERROR, Malformed


class Publish:
    """A PUBLISH of a client."""

    def __init__(self, flags: i64, topic: bytes, packet_id: i64, payload_at: i64) -> None:
        self.qos: i64 = flags >> 1 & 3
        self.retain: bool = flags & 1 == 1
        self.dup: bool = flags & 8 != 0
        self.topic: bytes = topic
        self.packet_id: i64 = packet_id  # 0 with QoS 0
        self.payload_at: i64 = payload_at
        self.kept: bytes = b""  # the properties that travel on, without their length
        self.expiry_s: i64 = -1  # −1 is absent
        self.alias: i64 = 0  # 0 is absent


def parse_publish(frame: bytes, version: int) -> Publish:
    """Read a PUBLISH; whether a payload that says it is UTF-8 is, its readers may look at (§3.3.2.3.2)."""
    size: i64 = len(frame)
    flags: i64 = frame[0] & 0x0F
    at: i64 = 2 if frame[1] < 128 else body_of(frame)
    qos: i64 = flags >> 1 & 3
    if qos == 3:
        raise Malformed(MALFORMED_PACKET, "QoS 3 does not exist [MQTT-3.3.1-4]")
    if qos == 0 and flags & 8:
        raise Malformed(MALFORMED_PACKET, "a message of QoS 0 is marked as a duplicate [MQTT-3.3.1-2]")
    if at + 2 > size:
        raise Malformed(MALFORMED_PACKET, "PUBLISH ends inside its topic")
    high: i64 = frame[at]
    low: i64 = frame[at + 1]
    after: i64 = at + 2 + (high << 8 | low)
    packet_id: i64 = 0
    payload_at: i64 = after
    if qos:  # [MQTT-2.2.1-2] [3.1.1 MQTT-2.3.1-5]
        payload_at = after + 2
    if payload_at > size:
        raise Malformed(MALFORMED_PACKET, "PUBLISH ends inside its topic or packet identifier")
    if qos:
        high = frame[after]
        low = frame[after + 1]
        packet_id = high << 8 | low
        if packet_id == 0:  # [MQTT-2.2.1-3] [3.1.1 MQTT-2.3.1-1]
            raise Malformed(PROTOCOL_ERROR, "the packet identifier is 0")
    publish = Publish(flags, frame[at + 2 : after], packet_id, payload_at)
    if version >= 5:
        if payload_at < size and frame[payload_at] == 0:
            publish.payload_at = payload_at + 1
        else:
            _take_properties(frame, publish)
    if after == at + 2 and publish.alias == 0:
        # 5.0 calls it a protocol error (§3.3.2.1), 3.1.1 asks for a character [3.1.1 MQTT-4.7.3-1].
        raise Malformed(PROTOCOL_ERROR, "PUBLISH has neither a topic nor a topic alias")
    return publish


def _take_properties(frame: bytes, publish: Publish) -> None:
    found, after = read_kept(frame, publish.payload_at, len(frame), will=False)
    publish.payload_at = after
    publish.kept = found.kept
    publish.expiry_s = found.expiry_s
    publish.alias = found.alias


def publish_v4(topic: bytes, payload: bytes, qos: int, retain: bool, dup: bool, packet_id: int) -> bytes:  # noqa: FBT001  a field of the packet
    """Write a PUBLISH of 3.1.1."""
    head, tail = split_v4(topic, payload, qos, retain, dup)
    return head + packet_id.to_bytes(2, "big") + tail if qos else head + tail


def publish_v5(
    topic: bytes,
    payload: bytes,
    qos: int,
    retain: bool,  # noqa: FBT001  a field of the packet
    dup: bool,  # noqa: FBT001  a field of the packet
    packet_id: int,
    properties: bytes,
) -> bytes:
    """Write a PUBLISH of 5.0; the properties come without their length."""
    behind = b"\x00" + payload if not properties else var_int(len(properties)) + properties + payload
    return publish_v4(topic, behind, qos, retain, dup, packet_id)


def split_v4(topic: bytes, payload: bytes, qos: int, retain: bool, dup: bool = False) -> tuple[bytes, bytes]:  # noqa: FBT001, FBT002  a field of the packet
    """Write a PUBLISH for many: what stands before the packet identifier, if there is one, and what behind it."""
    size = len(topic)
    first = 0x30 | qos << 1
    if retain:
        first |= 1
    if dup:
        first |= 8
    length = size + len(payload) + (4 if qos else 2)
    if length < 128:
        return (first << 24 | length << 16 | size).to_bytes(4, "big") + topic, payload
    return header(first, length) + size.to_bytes(2, "big") + topic, payload


def split_v5(topic: bytes, payload: bytes, qos: int, retain: bool, properties: bytes) -> tuple[bytes, bytes]:  # noqa: FBT001  a field of the packet
    """Write a PUBLISH of 5.0 for many, with properties that come without their length."""
    return split_v4(topic, var_int(len(properties)) + properties + payload, qos, retain)
