"""The reason codes of MQTT 5.0 [MQTT 5.0 §2.4], their names, and what 3.1.1 says instead.

`Malformed` is what every parser raises: it carries the code that the client is told. For a 3.1.1 client only CONNACK
and SUBACK have codes at all; every other mistake closes the connection without a word.
"""

from __future__ import annotations

from typing import Final

from roost.errors import InvalidInput

SUCCESS: Final = 0x00
NORMAL_DISCONNECTION: Final = 0x00
GRANTED_QOS_0: Final = 0x00
GRANTED_QOS_1: Final = 0x01
GRANTED_QOS_2: Final = 0x02
DISCONNECT_WITH_WILL: Final = 0x04
NO_MATCHING_SUBSCRIBERS: Final = 0x10
NO_SUBSCRIPTION_EXISTED: Final = 0x11
CONTINUE_AUTHENTICATION: Final = 0x18
RE_AUTHENTICATE: Final = 0x19
UNSPECIFIED_ERROR: Final = 0x80
MALFORMED_PACKET: Final = 0x81
PROTOCOL_ERROR: Final = 0x82
IMPLEMENTATION_SPECIFIC_ERROR: Final = 0x83
UNSUPPORTED_PROTOCOL_VERSION: Final = 0x84
CLIENT_IDENTIFIER_NOT_VALID: Final = 0x85
BAD_USER_NAME_OR_PASSWORD: Final = 0x86
NOT_AUTHORIZED: Final = 0x87
SERVER_UNAVAILABLE: Final = 0x88
SERVER_BUSY: Final = 0x89
BANNED: Final = 0x8A
SERVER_SHUTTING_DOWN: Final = 0x8B
BAD_AUTHENTICATION_METHOD: Final = 0x8C
KEEP_ALIVE_TIMEOUT: Final = 0x8D
SESSION_TAKEN_OVER: Final = 0x8E
TOPIC_FILTER_INVALID: Final = 0x8F
TOPIC_NAME_INVALID: Final = 0x90
PACKET_IDENTIFIER_IN_USE: Final = 0x91
PACKET_IDENTIFIER_NOT_FOUND: Final = 0x92
RECEIVE_MAXIMUM_EXCEEDED: Final = 0x93
TOPIC_ALIAS_INVALID: Final = 0x94
PACKET_TOO_LARGE: Final = 0x95
MESSAGE_RATE_TOO_HIGH: Final = 0x96
QUOTA_EXCEEDED: Final = 0x97
ADMINISTRATIVE_ACTION: Final = 0x98
PAYLOAD_FORMAT_INVALID: Final = 0x99
RETAIN_NOT_SUPPORTED: Final = 0x9A
QOS_NOT_SUPPORTED: Final = 0x9B
USE_ANOTHER_SERVER: Final = 0x9C
SERVER_MOVED: Final = 0x9D
SHARED_SUBSCRIPTIONS_NOT_SUPPORTED: Final = 0x9E
CONNECTION_RATE_EXCEEDED: Final = 0x9F
MAXIMUM_CONNECT_TIME: Final = 0xA0
SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED: Final = 0xA1
WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED: Final = 0xA2

_NAMES: Final = {
    SUCCESS: "success",
    GRANTED_QOS_1: "granted QoS 1",
    GRANTED_QOS_2: "granted QoS 2",
    DISCONNECT_WITH_WILL: "disconnect with will message",
    NO_MATCHING_SUBSCRIBERS: "no matching subscribers",
    NO_SUBSCRIPTION_EXISTED: "no subscription existed",
    CONTINUE_AUTHENTICATION: "continue authentication",
    RE_AUTHENTICATE: "re-authenticate",
    UNSPECIFIED_ERROR: "unspecified error",
    MALFORMED_PACKET: "malformed packet",
    PROTOCOL_ERROR: "protocol error",
    IMPLEMENTATION_SPECIFIC_ERROR: "implementation specific error",
    UNSUPPORTED_PROTOCOL_VERSION: "unsupported protocol version",
    CLIENT_IDENTIFIER_NOT_VALID: "client identifier not valid",
    BAD_USER_NAME_OR_PASSWORD: "bad user name or password",
    NOT_AUTHORIZED: "not authorized",
    SERVER_UNAVAILABLE: "server unavailable",
    SERVER_BUSY: "server busy",
    BANNED: "banned",
    SERVER_SHUTTING_DOWN: "server shutting down",
    BAD_AUTHENTICATION_METHOD: "bad authentication method",
    KEEP_ALIVE_TIMEOUT: "keep alive timeout",
    SESSION_TAKEN_OVER: "session taken over",
    TOPIC_FILTER_INVALID: "topic filter invalid",
    TOPIC_NAME_INVALID: "topic name invalid",
    PACKET_IDENTIFIER_IN_USE: "packet identifier in use",
    PACKET_IDENTIFIER_NOT_FOUND: "packet identifier not found",
    RECEIVE_MAXIMUM_EXCEEDED: "receive maximum exceeded",
    TOPIC_ALIAS_INVALID: "topic alias invalid",
    PACKET_TOO_LARGE: "packet too large",
    MESSAGE_RATE_TOO_HIGH: "message rate too high",
    QUOTA_EXCEEDED: "quota exceeded",
    ADMINISTRATIVE_ACTION: "administrative action",
    PAYLOAD_FORMAT_INVALID: "payload format invalid",
    RETAIN_NOT_SUPPORTED: "retain not supported",
    QOS_NOT_SUPPORTED: "QoS not supported",
    USE_ANOTHER_SERVER: "use another server",
    SERVER_MOVED: "server moved",
    SHARED_SUBSCRIPTIONS_NOT_SUPPORTED: "shared subscriptions not supported",
    CONNECTION_RATE_EXCEEDED: "connection rate exceeded",
    MAXIMUM_CONNECT_TIME: "maximum connect time",
    SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED: "subscription identifiers not supported",
    WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED: "wildcard subscriptions not supported",
}

NO_CODE: Final = -1
_CONNACK_OF_4: Final = {
    SUCCESS: 0,
    UNSUPPORTED_PROTOCOL_VERSION: 1,
    CLIENT_IDENTIFIER_NOT_VALID: 2,
    SERVER_UNAVAILABLE: 3,
    SERVER_BUSY: 3,
    SERVER_SHUTTING_DOWN: 3,
    QUOTA_EXCEEDED: 3,
    USE_ANOTHER_SERVER: 3,
    SERVER_MOVED: 3,
    CONNECTION_RATE_EXCEEDED: 3,
    BAD_USER_NAME_OR_PASSWORD: 4,
    NOT_AUTHORIZED: 5,
    BANNED: 5,
    BAD_AUTHENTICATION_METHOD: 5,
}


class Malformed(InvalidInput):
    """A packet that the specification forbids; `reason` is the code that says so.

    `version` is set by the parser of CONNECT: the form in which the client understands an answer, or 0.
    """

    def __init__(self, reason: int, message: str, version: int = 0) -> None:
        super().__init__(message)
        self.reason = reason
        self.version = version


def name_of(reason: int) -> str:
    """Name a reason code as the specification does."""
    return _NAMES.get(reason, f"reason 0x{reason:02X}")


def connack_code(reason: int, version: int) -> int:
    """Give what CONNACK says for a reason; `NO_CODE` is "close without a CONNACK" [3.1.1 MQTT-3.2.2-6]."""
    return reason if version >= 5 else _CONNACK_OF_4.get(reason, NO_CODE)
