"""AUTH of MQTT 5.0: a challenge, its answer, or the wish to authenticate again [MQTT 5.0 §3.15]. 3.1.1 has none."""

from __future__ import annotations

from roost.broker.packets import framing
from roost.broker.packets.fields import check_end, read_byte
from roost.broker.packets.framing import body_of, check_flags, header
from roost.broker.packets.properties import Properties, encode_properties, parse_properties
from roost.broker.packets.reasons import (
    CONTINUE_AUTHENTICATION,
    PROTOCOL_ERROR,
    RE_AUTHENTICATE,
    SUCCESS,
    Malformed,
    name_of,
)


class Auth:
    """An AUTH of a client."""

    def __init__(self, reason: int, method: bytes, data: bytes) -> None:
        self.reason: int = reason
        self.method: bytes = method
        self.data: bytes = data


def parse_auth(frame: bytes, version: int) -> Auth:
    """Read an AUTH."""
    if version < 5:
        raise Malformed(PROTOCOL_ERROR, "3.1.1 has no AUTH")
    check_flags(frame, 0)  # [MQTT-3.15.1-1]
    end = len(frame)
    at = body_of(frame)
    reason = SUCCESS
    properties = Properties()
    if at < end:
        reason, at = read_byte(frame, at, end)
        properties, at = parse_properties(frame, at, end, framing.AUTH)
        check_end(at, end)
    if reason not in {CONTINUE_AUTHENTICATION, RE_AUTHENTICATE}:  # [MQTT-3.15.2-1]
        raise Malformed(PROTOCOL_ERROR, f"{name_of(reason)} is no reason for a client to send AUTH")
    if properties.auth_method is None:  # §3.15.2.2.2
        raise Malformed(PROTOCOL_ERROR, "AUTH has no authentication method")
    return Auth(reason, properties.auth_method, properties.auth_data or b"")


def auth(reason: int, method: bytes, data: bytes = b"", reason_string: bytes = b"") -> bytes:
    """Write an AUTH."""
    properties = Properties()
    properties.auth_method = method
    properties.auth_data = data or None
    properties.reason_string = reason_string or None
    body = reason.to_bytes(1, "big") + encode_properties(properties)
    return header(0xF0, len(body)) + body
