"""SUBSCRIBE and its answer, SUBACK [MQTT 5.0 §3.8, §3.9]."""

from __future__ import annotations

from collections.abc import Sequence

from roost.broker.packets import framing
from roost.broker.packets.fields import check_filter, is_shared, read_byte, read_packet_id, read_text
from roost.broker.packets.framing import body_of, check_flags, header
from roost.broker.packets.properties import Properties, encode_properties, parse_properties
from roost.broker.packets.reasons import MALFORMED_PACKET, PROTOCOL_ERROR, UNSPECIFIED_ERROR, Malformed


class Subscription:
    """One filter and how its messages are wanted."""

    def __init__(self, topic_filter: bytes, options: int) -> None:
        self.filter: bytes = topic_filter
        self.qos: int = options & 3
        self.no_local: bool = options & 4 != 0
        self.retain_as_published: bool = options & 8 != 0
        self.retain_handling: int = options >> 4 & 3  # 0 always send retained, 1 to a new subscription, 2 never


class Subscribe:
    """A SUBSCRIBE of a client."""

    def __init__(self, packet_id: int) -> None:
        self.packet_id: int = packet_id
        self.subscriptions: list[Subscription] = []  # bound: the packet's size
        self.identifier: int = 0  # 0 is absent
        self.user: list[tuple[bytes, bytes]] = []  # bound: the packet's size


def parse_subscribe(frame: bytes, version: int) -> Subscribe:
    """Read a SUBSCRIBE."""
    check_flags(frame, 2)  # [MQTT-3.8.1-1]
    end = len(frame)
    packet_id, at = read_packet_id(frame, body_of(frame), end)
    subscribe = Subscribe(packet_id)
    if version >= 5:
        properties, at = parse_properties(frame, at, end, framing.SUBSCRIBE)
        subscribe.user = properties.user
        if properties.subscription_ids:
            subscribe.identifier = properties.subscription_ids[0]
    if at == end:  # 5.0 calls it a protocol error (§3.8.3) [MQTT-3.8.3-2] [3.1.1 MQTT-3.8.3-3]
        raise Malformed(PROTOCOL_ERROR, "SUBSCRIBE has no filter")
    while at < end:
        topic_filter, at = read_text(frame, at, end)  # [MQTT-3.8.3-1]
        check_filter(topic_filter)
        options, at = read_byte(frame, at, end)
        _check_options(topic_filter, options, version)
        subscribe.subscriptions.append(Subscription(topic_filter, options))
    return subscribe


def _check_options(topic_filter: bytes, options: int, version: int) -> None:
    if options & (0xC0 if version >= 5 else 0xFC):  # [MQTT-3.8.3-5] [3.1.1 MQTT-3.8.3-4]
        raise Malformed(MALFORMED_PACKET, f"reserved bits are set in the subscription options 0x{options:02X}")
    if options & 3 == 3:  # a protocol error in 5.0 (§3.8.3.1) [3.1.1 MQTT-3.8.3-4]
        raise Malformed(PROTOCOL_ERROR, "QoS 3 does not exist")
    if options & 0x30 == 0x30:  # §3.8.3.1
        raise Malformed(PROTOCOL_ERROR, "Retain Handling 3 does not exist")
    if options & 4 and is_shared(topic_filter):
        raise Malformed(PROTOCOL_ERROR, "a shared subscription has No Local [MQTT-3.8.3-4]")


def suback(version: int, packet_id: int, codes: Sequence[int], reason_string: bytes = b"") -> bytes:
    """Write a SUBACK, a code for each filter in their order [MQTT-3.8.4-6, MQTT-3.9.3-1].

    The codes are those of 5.0; 3.1.1 knows one kind of failure [3.1.1 MQTT-3.9.3-2].
    """
    body = packet_id.to_bytes(2, "big")
    if version >= 5:
        properties = Properties()
        properties.reason_string = reason_string or None
        body += encode_properties(properties) + bytes(codes)
    else:
        body += bytes([min(code, UNSPECIFIED_ERROR) for code in codes])
    return header(0x90, len(body)) + body
