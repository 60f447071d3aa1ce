"""DISCONNECT: a client says goodbye, or the server why it hangs up [MQTT 5.0 §3.14]. 3.1.1 has only the first."""

from __future__ import annotations

from typing import Final

from roost.broker.packets import framing
from roost.broker.packets.fields import check_end, read_byte
from roost.broker.packets.framing import body_of, check_flags, header
from roost.broker.packets.properties import Properties, encode_properties, parse_properties
from roost.broker.packets.reasons import (
    ADMINISTRATIVE_ACTION,
    DISCONNECT_WITH_WILL,
    IMPLEMENTATION_SPECIFIC_ERROR,
    MALFORMED_PACKET,
    MESSAGE_RATE_TOO_HIGH,
    NORMAL_DISCONNECTION,
    PACKET_TOO_LARGE,
    PAYLOAD_FORMAT_INVALID,
    PROTOCOL_ERROR,
    QUOTA_EXCEEDED,
    RECEIVE_MAXIMUM_EXCEEDED,
    TOPIC_ALIAS_INVALID,
    TOPIC_NAME_INVALID,
    UNSPECIFIED_ERROR,
    Malformed,
    name_of,
)

_OF_CLIENTS: Final = (
    NORMAL_DISCONNECTION,
    DISCONNECT_WITH_WILL,
    UNSPECIFIED_ERROR,
    MALFORMED_PACKET,
    PROTOCOL_ERROR,
    IMPLEMENTATION_SPECIFIC_ERROR,
    TOPIC_NAME_INVALID,
    RECEIVE_MAXIMUM_EXCEEDED,
    TOPIC_ALIAS_INVALID,
    PACKET_TOO_LARGE,
    MESSAGE_RATE_TOO_HIGH,
    QUOTA_EXCEEDED,
    ADMINISTRATIVE_ACTION,
    PAYLOAD_FORMAT_INVALID,
)


class Disconnect:
    """A DISCONNECT of a client."""

    def __init__(self, reason: int) -> None:
        self.reason: int = reason
        self.session_expiry_s: int = -1  # −1 is absent
        self.reason_string: bytes = b""


def parse_disconnect(frame: bytes, version: int) -> Disconnect:
    """Read a DISCONNECT."""
    check_flags(frame, 0)  # [MQTT-3.14.1-1]
    end = len(frame)
    at = body_of(frame)
    if at == end:
        return Disconnect(NORMAL_DISCONNECTION)
    if version < 5:
        raise Malformed(MALFORMED_PACKET, "DISCONNECT has a body")
    reason, at = read_byte(frame, at, end)
    if reason not in _OF_CLIENTS:  # [MQTT-3.14.2-1]
        raise Malformed(PROTOCOL_ERROR, f"{name_of(reason)} is no reason for a client to disconnect")
    disconnected = Disconnect(reason)
    if at < end:
        properties, at = parse_properties(frame, at, end, framing.DISCONNECT)
        check_end(at, end)
        disconnected.session_expiry_s = properties.session_expiry_s
        disconnected.reason_string = properties.reason_string or b""
    return disconnected


def disconnect(reason: int, reason_string: bytes = b"", server_reference: bytes = b"") -> bytes:
    """Write a DISCONNECT of 5.0; never with a session expiry [MQTT-3.14.2-2]."""
    body = reason.to_bytes(1, "big")
    if reason_string or server_reference:
        properties = Properties()
        properties.reason_string = reason_string or None
        properties.server_reference = server_reference or None
        body += encode_properties(properties)
    return header(0xE0, len(body)) + body
