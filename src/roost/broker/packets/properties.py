"""The properties of MQTT 5.0: one table, read and written by it [MQTT 5.0 §2.2.2].

A property that stands in a packet of another type, is unknown or has a bad form is a malformed packet; one that stands
there twice or has a forbidden value is a protocol error. The properties of PUBLISH and of a will are not read here:
most of them only travel on (`roost.broker.packets.kept`).
"""

from __future__ import annotations

from typing import Final

from roost.broker.packets import framing
from roost.broker.packets.fields import read_binary, read_byte, read_text, read_u16, read_u32, text
from roost.broker.packets.framing import read_var_int, var_int
from roost.broker.packets.reasons import MALFORMED_PACKET, PROTOCOL_ERROR, Malformed

PAYLOAD_FORMAT: Final = 1
MESSAGE_EXPIRY: Final = 2
CONTENT_TYPE: Final = 3
RESPONSE_TOPIC: Final = 8
CORRELATION: Final = 9
SUBSCRIPTION_ID: Final = 11
SESSION_EXPIRY: Final = 17
ASSIGNED_CLIENT_ID: Final = 18
SERVER_KEEP_ALIVE: Final = 19
AUTH_METHOD: Final = 21
AUTH_DATA: Final = 22
REQUEST_PROBLEM: Final = 23
WILL_DELAY: Final = 24
REQUEST_RESPONSE: Final = 25
RESPONSE_INFORMATION: Final = 26
SERVER_REFERENCE: Final = 28
REASON_STRING: Final = 31
RECEIVE_MAXIMUM: Final = 33
TOPIC_ALIAS_MAXIMUM: Final = 34
TOPIC_ALIAS: Final = 35
MAXIMUM_QOS: Final = 36
RETAIN_AVAILABLE: Final = 37
USER: Final = 38
MAXIMUM_PACKET_SIZE: Final = 39
WILDCARDS_AVAILABLE: Final = 40
SUBSCRIPTION_IDS_AVAILABLE: Final = 41
SHARED_AVAILABLE: Final = 42

# How a value is written; a flag is a byte that is 0 or 1.
_FLAG: Final = 0
_U16: Final = 1
_U32: Final = 2
_VAR: Final = 3
_TEXT: Final = 4
_BINARY: Final = 5
_PAIR: Final = 6

# identifier → attribute, form, least value. In the order they are written.
_SHAPES: Final[dict[int, tuple[str, int, int]]] = {
    SESSION_EXPIRY: ("session_expiry_s", _U32, 0),
    ASSIGNED_CLIENT_ID: ("assigned_client_id", _TEXT, 0),
    SERVER_KEEP_ALIVE: ("server_keep_alive_s", _U16, 0),
    AUTH_METHOD: ("auth_method", _TEXT, 0),
    AUTH_DATA: ("auth_data", _BINARY, 0),
    REQUEST_PROBLEM: ("request_problem", _FLAG, 0),
    REQUEST_RESPONSE: ("request_response", _FLAG, 0),
    RESPONSE_INFORMATION: ("response_information", _TEXT, 0),
    SERVER_REFERENCE: ("server_reference", _TEXT, 0),
    REASON_STRING: ("reason_string", _TEXT, 0),
    RECEIVE_MAXIMUM: ("receive_maximum", _U16, 1),
    TOPIC_ALIAS_MAXIMUM: ("topic_alias_maximum", _U16, 0),
    MAXIMUM_QOS: ("maximum_qos", _FLAG, 0),
    RETAIN_AVAILABLE: ("retain_available", _FLAG, 0),
    MAXIMUM_PACKET_SIZE: ("maximum_packet_bytes", _U32, 1),
    WILDCARDS_AVAILABLE: ("wildcards_available", _FLAG, 0),
    SUBSCRIPTION_IDS_AVAILABLE: ("subscription_ids_available", _FLAG, 0),
    SHARED_AVAILABLE: ("shared_available", _FLAG, 0),
    SUBSCRIPTION_ID: ("subscription_ids", _VAR, 1),
    USER: ("user", _PAIR, 0),
}
_EXPLAINED: Final = (REASON_STRING, USER)
_ALLOWED: Final[dict[int, tuple[int, ...]]] = {  # what a client may send, by packet type [MQTT 5.0 table 2-4]
    framing.CONNECT: (
        SESSION_EXPIRY,
        AUTH_METHOD,
        AUTH_DATA,
        REQUEST_PROBLEM,
        REQUEST_RESPONSE,
        RECEIVE_MAXIMUM,
        TOPIC_ALIAS_MAXIMUM,
        USER,
        MAXIMUM_PACKET_SIZE,
    ),
    framing.PUBACK: _EXPLAINED,
    framing.PUBREC: _EXPLAINED,
    framing.PUBREL: _EXPLAINED,
    framing.PUBCOMP: _EXPLAINED,
    framing.SUBSCRIBE: (SUBSCRIPTION_ID, USER),
    framing.UNSUBSCRIBE: (USER,),
    framing.DISCONNECT: (SESSION_EXPIRY, SERVER_REFERENCE, REASON_STRING, USER),
    framing.AUTH: (AUTH_METHOD, AUTH_DATA, REASON_STRING, USER),
}


class Properties:
    """The properties of one packet; −1, None or nothing in the list is "absent"."""

    def __init__(self) -> None:
        self.session_expiry_s: int = -1
        self.assigned_client_id: bytes | None = None
        self.server_keep_alive_s: int = -1
        self.auth_method: bytes | None = None
        self.auth_data: bytes | None = None
        self.request_problem: int = -1
        self.request_response: int = -1
        self.response_information: bytes | None = None
        self.server_reference: bytes | None = None
        self.reason_string: bytes | None = None
        self.receive_maximum: int = -1
        self.topic_alias_maximum: int = -1
        self.maximum_qos: int = -1
        self.retain_available: int = -1
        self.maximum_packet_bytes: int = -1
        self.wildcards_available: int = -1
        self.subscription_ids_available: int = -1
        self.shared_available: int = -1
        self.subscription_ids: list[int] = []  # bound: the packet's size
        self.user: list[tuple[bytes, bytes]] = []  # bound: the packet's size


def parse_properties(frame: bytes, at: int, end: int, packet: int) -> tuple[Properties, int]:
    """Read the properties of a packet of type `packet` and their length; returns them and the index behind them."""
    properties = Properties()
    length, at = read_var_int(frame, at, end)
    stop = at + length
    if stop > end:
        raise Malformed(MALFORMED_PACKET, f"the properties are {length} bytes long, only {end - at} are there")
    allowed = _ALLOWED[packet]
    while at < stop:
        identifier, at = read_var_int(frame, at, stop)
        if identifier not in allowed:
            raise Malformed(MALFORMED_PACKET, f"property {identifier} does not belong into a packet of type {packet}")
        at = _read(frame, at, stop, properties, identifier)
    return properties, stop


def _read(frame: bytes, at: int, end: int, properties: Properties, identifier: int) -> int:
    attribute, form, least = _SHAPES[identifier]
    if form == _PAIR:  # [MQTT-1.5.7-1]
        name, at = read_text(frame, at, end)
        value, at = read_text(frame, at, end)
        properties.user.append((name, value))
        return at
    if identifier == SUBSCRIPTION_ID:
        if properties.subscription_ids:
            raise repeated(identifier)
        number, at = read_var_int(frame, at, end)
        properties.subscription_ids.append(number)
    elif form in {_TEXT, _BINARY}:
        if getattr(properties, attribute) is not None:
            raise repeated(identifier)
        string, at = read_text(frame, at, end) if form == _TEXT else read_binary(frame, at, end)
        setattr(properties, attribute, string)
        return at
    else:
        if getattr(properties, attribute) != -1:
            raise repeated(identifier)
        number, at = _read_number(frame, at, end, form)
        setattr(properties, attribute, number)
    if number < least or (form == _FLAG and number > 1):
        raise Malformed(PROTOCOL_ERROR, f"property {identifier} has the value {number}, which is not allowed")
    return at


def _read_number(frame: bytes, at: int, end: int, form: int) -> tuple[int, int]:
    if form == _U32:
        return read_u32(frame, at, end)
    return read_u16(frame, at, end) if form == _U16 else read_byte(frame, at, end)


def repeated(identifier: int) -> Malformed:
    """Say that a property is there twice."""
    return Malformed(PROTOCOL_ERROR, f"property {identifier} is there twice")


def encode_properties(properties: Properties) -> bytes:
    """Write the properties that are present, with their length, 0 included [MQTT-2.2.2-1]."""
    parts: list[bytes] = []
    for identifier, (attribute, form, _) in _SHAPES.items():
        if form == _PAIR:
            parts += [user_property(name, value) for name, value in properties.user]
        elif form == _VAR:
            parts += [b"\x0b" + var_int(number) for number in properties.subscription_ids]
        elif form in {_TEXT, _BINARY}:
            string: bytes | None = getattr(properties, attribute)
            if string is not None:
                parts.append(identifier.to_bytes(1, "big") + text(string))
        else:
            number: int = getattr(properties, attribute)
            if number != -1:
                parts.append(identifier.to_bytes(1, "big") + number.to_bytes(_WIDTHS[form], "big"))
    body = b"".join(parts)
    return var_int(len(body)) + body


_WIDTHS: Final = {_FLAG: 1, _U16: 2, _U32: 4}


def user_property(name: bytes, value: bytes) -> bytes:
    """Write one user property."""
    return b"\x26" + text(name) + text(value)
