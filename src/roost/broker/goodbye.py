"""Why a link ends, in words that its version has and in a packet that the client takes (sections 3.2.2, 3.14.2).

A reason that CONNACK or DISCONNECT does not know becomes the nearest one that it does. The sentence that explains it is
left out when the packet would be too large for the client [MQTT-3.2.2-19, 3.14.2-3]; a packet that is too large even
so is not sent at all [MQTT-3.1.2-24].
"""

from __future__ import annotations

from typing import Final

from roost.broker.core import Core
from roost.broker.explaining import words
from roost.broker.link import Link
from roost.broker.packets.connack import connack
from roost.broker.packets.disconnect import disconnect
from roost.broker.packets.properties import Properties
from roost.broker.packets.reasons import (
    ADMINISTRATIVE_ACTION,
    BAD_AUTHENTICATION_METHOD,
    BANNED,
    CONNECTION_RATE_EXCEEDED,
    NOT_AUTHORIZED,
    PACKET_TOO_LARGE,
    PAYLOAD_FORMAT_INVALID,
    QUOTA_EXCEEDED,
    SERVER_MOVED,
    SERVER_SHUTTING_DOWN,
    SERVER_UNAVAILABLE,
    TOPIC_NAME_INVALID,
    UNSPECIFIED_ERROR,
    USE_ANOTHER_SERVER,
)

_BEFORE: Final = frozenset(
    {
        *range(UNSPECIFIED_ERROR, BANNED + 1),
        BAD_AUTHENTICATION_METHOD,
        TOPIC_NAME_INVALID,
        PACKET_TOO_LARGE,
        QUOTA_EXCEEDED,
        *range(PAYLOAD_FORMAT_INVALID, SERVER_MOVED + 1),
        CONNECTION_RATE_EXCEEDED,
    }
)  # what CONNACK can say
_INSTEAD: Final = {SERVER_SHUTTING_DOWN: SERVER_UNAVAILABLE, ADMINISTRATIVE_ACTION: NOT_AUTHORIZED}
_NEVER_AFTER: Final = frozenset({0x84, 0x85, 0x86, SERVER_UNAVAILABLE, BANNED, BAD_AUTHENTICATION_METHOD, 0x91, 0x92})


def send_refusal(core: Core, link: Link, reason: int, why: str) -> None:
    """Tell a client that it is not let in; 3.1.1 has a few codes for that, and silence for the rest."""
    if link.version == 5 and reason not in _BEFORE:
        reason = _INSTEAD.get(reason, UNSPECIFIED_ERROR)
    properties = Properties()
    properties.server_reference = _reference(core, reason) or None
    bare = connack(link.version, False, reason, properties)  # noqa: FBT003  as in the packet
    properties.reason_string = words(why) or None
    _send_what_fits(core, link, connack(link.version, False, reason, properties), bare)  # noqa: FBT003


def send_goodbye(core: Core, link: Link, reason: int, why: str) -> None:
    """Tell a 5.0 client why it is hung up on."""
    if reason in _NEVER_AFTER or 0 < reason < UNSPECIFIED_ERROR:
        reason = NOT_AUTHORIZED if reason in {0x85, 0x86, BANNED, BAD_AUTHENTICATION_METHOD} else UNSPECIFIED_ERROR
    reference = _reference(core, reason)
    _send_what_fits(core, link, disconnect(reason, words(why), reference), disconnect(reason, b"", reference))


def _reference(core: Core, reason: int) -> bytes:
    """Where else to go, for the reasons that may say so."""
    return core.settings.server_reference if reason in {USE_ANOTHER_SERVER, SERVER_MOVED} else b""


def _send_what_fits(core: Core, link: Link, explained: bytes, bare: bytes) -> None:
    packet = explained if len(explained) <= link.max_packet_bytes else bare
    if packet and len(packet) <= link.max_packet_bytes:
        core.send(link, packet)
