"""The properties of a message, in PUBLISH and in a will: what travels on unaltered, and what is taken out.

Payload format, content type, response topic, correlation data and user properties go to every subscriber as they came,
in their order [MQTT-3.3.2-4, MQTT-3.3.2-15 to MQTT-3.3.2-18, MQTT-3.3.2-20], so they stay the bytes they are. Expiry,
alias and delay are the server's business: they are taken out, and written anew where the message leaves.
"""

from __future__ import annotations

from mypy_extensions import i64

from roost.broker.packets.fields import check_text, check_topic, read_binary, read_byte, read_u16, read_u32
from roost.broker.packets.framing import read_var_int
from roost.broker.packets.properties import (
    CONTENT_TYPE,
    CORRELATION,
    MESSAGE_EXPIRY,
    PAYLOAD_FORMAT,
    RESPONSE_TOPIC,
    SUBSCRIPTION_ID,
    TOPIC_ALIAS,
    USER,
    WILL_DELAY,
    repeated,
)
from roost.broker.packets.reasons import MALFORMED_PACKET, PROTOCOL_ERROR, TOPIC_ALIAS_INVALID, Malformed


class Kept:
    """The properties of one message."""

    def __init__(self) -> None:
        self.kept: bytes = b""  # without their length
        self.expiry_s: i64 = -1
        self.alias: i64 = 0  # 0 is absent
        self.delay_s: i64 = -1  # of a will


def read_kept(frame: bytes, at: int, end: int, *, will: bool) -> tuple[Kept, int]:
    """Read the properties of a PUBLISH or of a will and their length; returns them and the index behind them."""
    length, at = read_var_int(frame, at, end)
    stop = at + length
    if stop > end:
        raise Malformed(MALFORMED_PACKET, f"the properties are {length} bytes long, only {end - at} are there")
    found = Kept()
    parts: list[bytes] = []
    seen: i64 = 0  # a bit for each identifier up to 24; compiled, a literal is shifted within 32 bits
    start = at  # of what was not put into parts yet
    while at < stop:
        here = at
        identifier: i64 = frame[at]
        at += 1
        if identifier == USER:
            at = _skip_text(frame, _skip_text(frame, at, stop), stop)
            continue
        if identifier <= WILL_DELAY:
            if seen >> identifier & 1:
                raise repeated(identifier)
            seen |= 1 << identifier
        at = _read_single(frame, at, stop, identifier, found, will=will)
        if identifier == MESSAGE_EXPIRY or identifier == TOPIC_ALIAS or identifier == WILL_DELAY:  # noqa: PLR1714, SIM109  a set is slow here
            if here > start:
                parts.append(frame[start:here])
            start = at
    if start < stop:
        parts.append(frame[start:stop])
    found.kept = parts[0] if len(parts) == 1 else b"".join(parts)
    return found, stop


def user_properties(kept: bytes) -> list[tuple[bytes, bytes]]:
    """The user properties among what was kept of a message."""
    found: list[tuple[bytes, bytes]] = []
    at, end = 0, len(kept)
    while at < end:
        identifier: i64 = kept[at]
        at += 1
        if identifier == PAYLOAD_FORMAT:
            at += 1
            continue
        name, at = read_binary(kept, at, end)
        if identifier == USER:
            value, at = read_binary(kept, at, end)
            found.append((name, value))
    return found


def _read_single(frame: bytes, at: int, end: int, identifier: i64, found: Kept, *, will: bool) -> int:
    if identifier == PAYLOAD_FORMAT:
        indicator, at = read_byte(frame, at, end)
        if indicator > 1:
            raise Malformed(PROTOCOL_ERROR, f"the payload format indicator is {indicator}, not 0 or 1")
    elif identifier == MESSAGE_EXPIRY:
        found.expiry_s, at = read_u32(frame, at, end)
    elif identifier == CONTENT_TYPE:  # [MQTT-3.3.2-19]
        at = _skip_text(frame, at, end)
    elif identifier == RESPONSE_TOPIC:  # [MQTT-3.3.2-13, MQTT-3.3.2-14]
        topic, at = read_binary(frame, at, end)
        check_topic(topic)
    elif identifier == CORRELATION:
        _, at = read_binary(frame, at, end)
    elif identifier == WILL_DELAY and will:
        found.delay_s, at = read_u32(frame, at, end)
    elif identifier == TOPIC_ALIAS and not will:
        if found.alias:
            raise repeated(identifier)
        found.alias, at = read_u16(frame, at, end)
        if found.alias == 0:
            raise Malformed(TOPIC_ALIAS_INVALID, "the topic alias is 0 [MQTT-3.3.2-8]")
    elif identifier == SUBSCRIPTION_ID and not will:
        raise Malformed(PROTOCOL_ERROR, "a client's PUBLISH has a subscription identifier [MQTT-3.3.4-6]")
    else:
        raise Malformed(MALFORMED_PACKET, f"property {identifier} does not belong into a message")
    return at


def _skip_text(frame: bytes, at: int, end: int) -> int:
    string, after = read_binary(frame, at, end)
    check_text(string)
    return after
