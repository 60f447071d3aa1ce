"""The client's half of MQTT for tests: builders of what a client sends, and a strict reader of what a server sends.

Written apart from `roost.broker.packets`, so that a mistake there is not repeated here. Nothing stops a builder from
making a forbidden packet. `seen` asserts every rule of form that a server has to keep.

    connect(b"me", version=5, properties=props(session_expiry=60)) + subscribe(1, (b"a/#", 1), version=5)
    [each.kind for each in seen(answer, version=5)] == ["CONNACK", "SUBACK"]
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, Final

_KINDS: Final = (
    "", "CONNECT", "CONNACK", "PUBLISH", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBSCRIBE", "SUBACK", "UNSUBSCRIBE",
    "UNSUBACK", "PINGREQ", "PINGRESP", "DISCONNECT", "AUTH",
)  # fmt: skip

# name → identifier, form: 1, 2, 4 bytes, v a variable byte integer, s string, b binary, p pair of strings
PROPERTIES: Final[dict[str, tuple[int, str]]] = {
    "payload_format": (1, "1"),
    "expiry": (2, "4"),
    "content_type": (3, "s"),
    "response_topic": (8, "s"),
    "correlation": (9, "b"),
    "subscription_id": (11, "v"),
    "session_expiry": (17, "4"),
    "assigned_client_id": (18, "s"),
    "server_keep_alive": (19, "2"),
    "auth_method": (21, "s"),
    "auth_data": (22, "b"),
    "request_problem": (23, "1"),
    "will_delay": (24, "4"),
    "request_response": (25, "1"),
    "response_information": (26, "s"),
    "server_reference": (28, "s"),
    "reason_string": (31, "s"),
    "receive_maximum": (33, "2"),
    "topic_alias_maximum": (34, "2"),
    "topic_alias": (35, "2"),
    "maximum_qos": (36, "1"),
    "retain_available": (37, "1"),
    "user": (38, "p"),
    "maximum_packet_size": (39, "4"),
    "wildcards_available": (40, "1"),
    "subscription_ids_available": (41, "1"),
    "shared_available": (42, "1"),
}
_NAMES: Final = {identifier: (name, form) for name, (identifier, form) in PROPERTIES.items()}
_EXPLAINED: Final = {"reason_string", "user"}
_SENT_BY_SERVER: Final[dict[str, set[str]]] = {
    "CONNACK": _EXPLAINED
    | {
        "session_expiry", "assigned_client_id", "server_keep_alive", "auth_method", "auth_data", "response_information",
        "server_reference", "receive_maximum", "topic_alias_maximum", "maximum_qos", "retain_available",
        "maximum_packet_size", "wildcards_available", "subscription_ids_available", "shared_available",
    },
    "PUBLISH": {
        "payload_format", "expiry", "content_type", "response_topic", "correlation", "subscription_id", "topic_alias",
        "user",
    },
    "PUBACK": _EXPLAINED,
    "PUBREC": _EXPLAINED,
    "PUBREL": _EXPLAINED,
    "PUBCOMP": _EXPLAINED,
    "SUBACK": _EXPLAINED,
    "UNSUBACK": _EXPLAINED,
    "DISCONNECT": _EXPLAINED | {"server_reference"},
    "AUTH": _EXPLAINED | {"auth_method", "auth_data"},
}  # fmt: skip
_RECEIPT: Final = {0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99}
_REASONS: Final[dict[str, set[int]]] = {
    "CONNACK": {0, *range(0x80, 0x8B), 0x8C, 0x90, 0x95, 0x97, *range(0x99, 0x9E), 0x9F},
    "PUBACK": _RECEIPT,
    "PUBREC": _RECEIPT,
    "PUBREL": {0x00, 0x92},
    "PUBCOMP": {0x00, 0x92},
    "SUBACK": {0, 1, 2, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2},
    "UNSUBACK": {0x00, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91},
    "DISCONNECT": {0, *range(0x80, 0x84), 0x87, 0x89, 0x8B, 0x8D, 0x8E, 0x8F, 0x90, *range(0x93, 0xA3)},
    "AUTH": {0x00, 0x18},
}


# -- building


def var_int(number: int) -> bytes:
    out = bytearray()
    while True:
        number, digit = divmod(number, 128)
        out.append(digit | (128 if number else 0))
        if not number:
            return bytes(out)


def text(string: bytes) -> bytes:
    return struct.pack(">H", len(string)) + string


def packet(first: int, body: bytes) -> bytes:
    return bytes([first]) + var_int(len(body)) + body


def props(**values: Any) -> bytes:  # noqa: ANN401  a number, bytes, or for `user` a list of pairs
    """Properties without their length, in the order given; a list of values writes one property several times."""
    out = b""
    for name, value in values.items():
        identifier, form = PROPERTIES[name]
        for each in value if isinstance(value, list) else [value]:
            out += var_int(identifier)
            if form == "p":
                out += text(each[0]) + text(each[1])
            elif form in "sb":
                out += text(each)
            else:
                out += var_int(each) if form == "v" else each.to_bytes(int(form), "big")
    return out


def _with_length(version: int, properties: bytes) -> bytes:
    return var_int(len(properties)) + properties if version >= 5 else b""


def connect(
    client_id: bytes = b"client",
    *,
    version: int = 4,
    clean: bool = True,
    keep_alive: int = 60,
    user: bytes | None = None,
    password: bytes | None = None,
    will: bytes | None = None,
    will_payload: bytes = b"",
    will_qos: int = 0,
    will_retain: bool = False,
    will_properties: bytes = b"",
    properties: bytes = b"",
    protocol: bytes = b"MQTT",
    flags: int | None = None,
) -> bytes:
    """`will` is its topic; `flags` replaces the flags that follow from the rest."""
    made = 2 * clean
    payload = text(client_id)
    if will is not None:
        made |= 4 | will_qos << 3 | will_retain << 5
        payload += _with_length(version, will_properties) + text(will) + text(will_payload)
    if user is not None:
        made |= 128
        payload += text(user)
    if password is not None:
        made |= 64
        payload += text(password)
    head = text(protocol) + bytes([version, made if flags is None else flags]) + struct.pack(">H", keep_alive)
    return packet(0x10, head + _with_length(version, properties) + payload)


def publish(
    topic: bytes,
    payload: bytes = b"",
    *,
    qos: int = 0,
    packet_id: int = 0,
    retain: bool = False,
    dup: bool = False,
    version: int = 4,
    properties: bytes = b"",
) -> bytes:
    number = struct.pack(">H", packet_id) if qos else b""
    return packet(
        0x30 | dup << 3 | qos << 1 | retain, text(topic) + number + _with_length(version, properties) + payload
    )


def _ack(first: int, packet_id: int, reason: int | None, properties: bytes | None) -> bytes:
    body = struct.pack(">H", packet_id)
    if reason is not None or properties is not None:
        body += bytes([reason or 0])
    if properties is not None:
        body += var_int(len(properties)) + properties
    return packet(first, body)


def puback(packet_id: int, reason: int | None = None, properties: bytes | None = None) -> bytes:
    return _ack(0x40, packet_id, reason, properties)


def pubrec(packet_id: int, reason: int | None = None, properties: bytes | None = None) -> bytes:
    return _ack(0x50, packet_id, reason, properties)


def pubrel(packet_id: int, reason: int | None = None, properties: bytes | None = None) -> bytes:
    return _ack(0x62, packet_id, reason, properties)


def pubcomp(packet_id: int, reason: int | None = None, properties: bytes | None = None) -> bytes:
    return _ack(0x70, packet_id, reason, properties)


def subscribe(packet_id: int, *filters: bytes | tuple[bytes, int], version: int = 4, properties: bytes = b"") -> bytes:
    """Each filter alone (QoS 0) or with its options byte, which in 3.1.1 is the QoS."""
    body = struct.pack(">H", packet_id) + _with_length(version, properties)
    for each in filters:
        topic_filter, options = (each, 0) if isinstance(each, bytes) else each
        body += text(topic_filter) + bytes([options])
    return packet(0x82, body)


def unsubscribe(packet_id: int, *filters: bytes, version: int = 4, properties: bytes = b"") -> bytes:
    head = struct.pack(">H", packet_id) + _with_length(version, properties)
    return packet(0xA2, head + b"".join(text(each) for each in filters))


def pingreq() -> bytes:
    return b"\xc0\x00"


def disconnect(reason: int | None = None, properties: bytes | None = None) -> bytes:
    """Without a reason it is that of both versions."""
    if reason is None:
        return b"\xe0\x00"
    return packet(0xE0, bytes([reason]) + (b"" if properties is None else var_int(len(properties)) + properties))


def auth(reason: int = 0x18, **values: Any) -> bytes:  # noqa: ANN401  as in `props`
    return packet(0xF0, bytes([reason]) + _with_length(5, props(**values)))


# -- reading


@dataclass(slots=True)
class Seen:
    """A packet of a server; what its kind does not have keeps its default."""

    kind: str
    raw: bytes
    packet_id: int = 0
    reason: int = 0
    session_present: bool = False
    codes: list[int] = field(default_factory=list)
    topic: bytes = b""
    payload: bytes = b""
    qos: int = 0
    retain: bool = False
    dup: bool = False
    properties: dict[str, Any] = field(default_factory=dict)  # `user` and `subscription_id` are lists


def seen(data: bytes, version: int = 4) -> list[Seen]:
    """Read all packets of a server; nothing may be left over."""
    found = []
    while data:
        size, body_at = _read_var_int(data, 1)
        end = body_at + size
        assert end <= len(data), f"the server's last packet is not whole: {data!r}"
        found.append(_packet(data[:end], body_at, version))
        data = data[end:]
    return found


def _packet(raw: bytes, at: int, version: int) -> Seen:
    kind = _KINDS[raw[0] >> 4]
    packet_ = Seen(kind, raw)
    assert kind in {*_SENT_BY_SERVER, "PINGRESP"}, f"a server never sends {kind}"
    assert version >= 5 or kind not in {"DISCONNECT", "AUTH"}, f"a server of 3.1.1 never sends {kind}"
    flags = raw[0] & 15
    assert kind == "PUBLISH" or flags == (2 if kind == "PUBREL" else 0), f"{kind} has the flags {flags}"
    if kind == "PUBLISH":
        at = _publish(packet_, flags, at, version)
    elif kind == "CONNACK":
        assert raw[at] in {0, 1}, "reserved flags of CONNACK"
        packet_.session_present, packet_.reason = bool(raw[at]), raw[at + 1]
        assert not (packet_.session_present and packet_.reason), "a refusal with a session [MQTT-3.2.2-6]"
        assert packet_.reason in (_REASONS[kind] if version >= 5 else range(6)), f"CONNACK {packet_.reason:#x}"
        at = _properties(packet_, at + 2, version)
    elif kind in {"SUBACK", "UNSUBACK"}:
        packet_.packet_id = int.from_bytes(raw[at : at + 2], "big")
        at = _properties(packet_, at + 2, version)
        packet_.codes, at = list(raw[at:]), len(raw)
        allowed = _REASONS[kind] if version >= 5 else ({0, 1, 2, 0x80} if kind == "SUBACK" else set())
        assert set(packet_.codes) <= allowed, f"{kind} has the codes {packet_.codes}"
    elif kind != "PINGRESP":
        at = _reasoned(packet_, at, version)
    assert at == len(raw), f"{kind} has {len(raw) - at} bytes too many"
    assert kind not in {"PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBACK", "UNSUBACK"} or packet_.packet_id
    return packet_


def _publish(packet_: Seen, flags: int, at: int, version: int) -> int:
    raw = packet_.raw
    packet_.retain, packet_.qos, packet_.dup = bool(flags & 1), flags >> 1 & 3, bool(flags & 8)
    assert packet_.qos < 3, "QoS 3 [MQTT-3.3.1-4]"
    assert packet_.qos or not packet_.dup, "a duplicate of QoS 0 [MQTT-3.3.1-2]"
    packet_.topic, at = _read_text(raw, at)
    assert not {b"+"[0], b"#"[0]} & set(packet_.topic), "a wildcard in a topic [MQTT-3.3.2-2]"
    if packet_.qos:
        packet_.packet_id, at = int.from_bytes(raw[at : at + 2], "big"), at + 2
        assert packet_.packet_id, "packet identifier 0 [MQTT-2.2.1-4]"
    at = _properties(packet_, at, version)
    assert packet_.topic or packet_.properties.get("topic_alias"), "neither topic nor alias"
    packet_.payload = raw[at:]
    return len(raw)


def _reasoned(packet_: Seen, at: int, version: int) -> int:
    raw = packet_.raw
    if packet_.kind in {"PUBACK", "PUBREC", "PUBREL", "PUBCOMP"}:
        packet_.packet_id, at = int.from_bytes(raw[at : at + 2], "big"), at + 2
    if version >= 5 and at < len(raw):
        packet_.reason, at = raw[at], at + 1
        assert packet_.reason in _REASONS[packet_.kind], f"{packet_.kind} {packet_.reason:#x}"
        if at < len(raw):
            at = _properties(packet_, at, version)
    return at


def _properties(packet_: Seen, at: int, version: int) -> int:
    if version < 5:
        return at
    raw = packet_.raw
    size, at = _read_var_int(raw, at)
    end = at + size
    assert end <= len(raw), f"the properties of {packet_.kind} are longer than it"
    while at < end:
        identifier, at = _read_var_int(raw, at)
        name, form = _NAMES[identifier]
        assert name in _SENT_BY_SERVER[packet_.kind], f"{packet_.kind} with {name}"
        value: Any
        if form == "p":
            first, at = _read_text(raw, at)
            second, at = _read_text(raw, at)
            value = (first, second)
        elif form == "s":
            value, at = _read_text(raw, at)
        elif form == "b":
            size = int.from_bytes(raw[at : at + 2], "big")
            value, at = raw[at + 2 : at + 2 + size], at + 2 + size
        elif form == "v":
            value, at = _read_var_int(raw, at)
            assert value, "a subscription identifier of 0"
        else:
            value, at = int.from_bytes(raw[at : at + int(form)], "big"), at + int(form)
        if name in {"user", "subscription_id"}:
            packet_.properties.setdefault(name, []).append(value)
        else:
            assert name not in packet_.properties, f"{packet_.kind} with {name} twice"
            packet_.properties[name] = value
    assert at == end, f"the last property of {packet_.kind} is cut"
    return at


def _read_var_int(data: bytes, at: int) -> tuple[int, int]:
    start, value = at, 0
    while True:
        byte = data[at]
        value |= (byte & 127) << 7 * (at - start)
        at += 1
        if byte < 128:
            assert byte or at == start + 1, "a variable byte integer that is too long [MQTT-1.5.5-1]"
            return value, at


def _read_text(data: bytes, at: int) -> tuple[bytes, int]:
    size = int.from_bytes(data[at : at + 2], "big")
    string = data[at + 2 : at + 2 + size]
    assert len(string) == size, "a string that is cut"
    assert "\x00" not in string.decode(), "a NUL in a string [MQTT-1.5.4-2]"
    return string, at + 2 + size
