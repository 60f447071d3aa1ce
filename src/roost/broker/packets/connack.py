"""CONNACK: whether a client is welcome [MQTT 5.0 §3.2]."""

from __future__ import annotations

from roost.broker.packets.framing import header
from roost.broker.packets.properties import Properties, encode_properties
from roost.broker.packets.reasons import NO_CODE, SUCCESS, connack_code


def connack(version: int, session_present: bool, reason: int, properties: Properties | None = None) -> bytes:  # noqa: FBT001  a field of the packet
    """Write a CONNACK, or nothing where 3.1.1 has no code for the reason [3.1.1 MQTT-3.2.2-6].

    A refusal never says that a session is present [MQTT-3.2.2-6] [3.1.1 MQTT-3.2.2-4].
    """
    code = connack_code(reason, version)
    if code == NO_CODE:
        return b""
    body = (b"\x01" if session_present and reason == SUCCESS else b"\x00") + code.to_bytes(1, "big")
    if version >= 5:
        body += b"\x00" if properties is None else encode_properties(properties)
    return header(0x20, len(body)) + body
