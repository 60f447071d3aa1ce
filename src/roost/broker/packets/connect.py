"""CONNECT: who connects, how, and what is said when they vanish [MQTT 5.0 §3.1].

Read for 3.1.1 and 5.0. Any other version is refused by its number alone, for what follows it may have another form.
What the server allows (Will QoS, retained wills, client identifiers of its own) is not asked here.
"""

from __future__ import annotations

from typing import Final

from roost.broker.packets import framing
from roost.broker.packets.fields import check_end, check_topic, read_binary, read_byte, read_text, read_u16
from roost.broker.packets.framing import body_of, check_flags
from roost.broker.packets.kept import Kept, read_kept
from roost.broker.packets.properties import Properties, parse_properties
from roost.broker.packets.reasons import (
    CLIENT_IDENTIFIER_NOT_VALID,
    MALFORMED_PACKET,
    PROTOCOL_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    Malformed,
)

_RESERVED: Final = 0x01
_CLEAN_START: Final = 0x02
_WILL: Final = 0x04
_WILL_RETAIN: Final = 0x20
_PASSWORD: Final = 0x40
_USER: Final = 0x80
_ABOUT_WILL: Final = 0x38  # Will QoS and Will Retain
_BRIDGE: Final = 0x80  # some brokers mark themselves in the version when they connect to another


class Will:
    """A message to publish when the client is gone."""

    def __init__(self, topic: bytes, payload: bytes, qos: int, retain: bool, properties: Kept) -> None:  # noqa: FBT001  a field of the packet
        self.topic: bytes = topic
        self.payload: bytes = payload
        self.qos: int = qos
        self.retain: bool = retain
        self.properties: Kept = properties


class Connect:
    """A CONNECT of a client."""

    def __init__(self, version: int, properties: Properties) -> None:
        self.version: int = version  # 4 is 3.1.1, 5 is 5.0
        self.properties: Properties = properties
        self.clean_start: bool = True
        self.keep_alive_s: int = 0
        self.client_id: bytes = b""
        self.will: Will | None = None
        self.user: bytes | None = None
        self.password: bytes | None = None


def parse_connect(frame: bytes) -> Connect:
    """Read a CONNECT; what is raised tells in which version to answer [MQTT-3.1.4-1]."""
    version, at = _read_version(frame)
    try:
        return _read_rest(frame, at, version)
    except Malformed as error:
        error.version = version
        raise


def _read_version(frame: bytes) -> tuple[int, int]:
    end = len(frame)
    name, at = read_text(frame, body_of(frame), end)
    if name not in {b"MQTT", b"MQIsdp"}:  # [MQTT-3.1.2-1]
        raise Malformed(UNSUPPORTED_PROTOCOL_VERSION, f"the protocol is {name[:64]!r}, not MQTT")
    version, at = read_byte(frame, at, end)
    if name == b"MQIsdp" or version not in {4, 5}:  # [MQTT-3.1.2-2]
        form = 5 if name == b"MQTT" and 5 < version < _BRIDGE else 4
        raise Malformed(UNSUPPORTED_PROTOCOL_VERSION, f"version {version} of {name.decode()} is not spoken here", form)
    return version, at


def _read_rest(frame: bytes, at: int, version: int) -> Connect:
    check_flags(frame, 0)
    end = len(frame)
    flags, at = read_byte(frame, at, end)
    _check_connect_flags(flags, version)
    keep_alive_s, at = read_u16(frame, at, end)
    properties = Properties()
    if version >= 5:
        properties, at = parse_properties(frame, at, end, framing.CONNECT)
        if properties.auth_data is not None and properties.auth_method is None:
            raise Malformed(PROTOCOL_ERROR, "there is authentication data without an authentication method")
    connect = Connect(version, properties)
    connect.clean_start = flags & _CLEAN_START != 0
    connect.keep_alive_s = keep_alive_s
    # The order of what follows is [MQTT-3.1.3-1].
    connect.client_id, at = read_text(frame, at, end)  # [MQTT-3.1.3-3, MQTT-3.1.3-4]
    if version < 5 and not connect.client_id and not connect.clean_start:
        raise Malformed(  # [3.1.1 MQTT-3.1.3-7, MQTT-3.1.3-8]
            CLIENT_IDENTIFIER_NOT_VALID, "a client without an identifier wants its session kept"
        )
    if flags & _WILL:  # [MQTT-3.1.2-9]
        connect.will, at = _read_will(frame, at, flags, version)
    if (
        flags & _USER
    ):  # [MQTT-3.1.2-16, MQTT-3.1.2-17, MQTT-3.1.3-12] [3.1.1 MQTT-3.1.2-18, MQTT-3.1.2-19, MQTT-3.1.3-11]
        connect.user, at = read_text(frame, at, end)
    if flags & _PASSWORD:  # [MQTT-3.1.2-18, MQTT-3.1.2-19] [3.1.1 MQTT-3.1.2-20, MQTT-3.1.2-21]
        connect.password, at = read_binary(frame, at, end)
    check_end(at, end)
    return connect


def _check_connect_flags(flags: int, version: int) -> None:
    if flags & _RESERVED:
        raise Malformed(MALFORMED_PACKET, "the reserved flag of CONNECT is set [MQTT-3.1.2-3]")
    if flags & _WILL:
        if flags >> 3 & 3 == 3:  # [MQTT-3.1.2-12] [3.1.1 MQTT-3.1.2-14]
            raise Malformed(MALFORMED_PACKET, "the will's QoS is 3")
    elif flags & _ABOUT_WILL:  # [MQTT-3.1.2-11, MQTT-3.1.2-13] [3.1.1 MQTT-3.1.2-13, MQTT-3.1.2-15]
        raise Malformed(MALFORMED_PACKET, "there is no will, but flags of one")
    if version < 5 and flags & _PASSWORD and not flags & _USER:
        raise Malformed(MALFORMED_PACKET, "there is a password without a user name [3.1.1 MQTT-3.1.2-22]")


def _read_will(frame: bytes, at: int, flags: int, version: int) -> tuple[Will, int]:
    end = len(frame)
    properties = Kept()
    if version >= 5:
        properties, at = read_kept(frame, at, end, will=True)
    topic, at = read_text(frame, at, end)  # [MQTT-3.1.3-11] [3.1.1 MQTT-3.1.3-10]
    check_topic(topic)
    payload, at = read_binary(frame, at, end)
    return Will(topic, payload, flags >> 3 & 3, flags & _WILL_RETAIN != 0, properties), at
