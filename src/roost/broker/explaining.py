"""Why something is refused, in words beside the reason code: the Reason String of an answer [MQTT 5.0 §3.1.2.11.7].

A client of 5.0 gets it unless it wants no problem information [MQTT-3.1.2-29], and only where the packet still fits the
client's maximum [MQTT-3.4.2-2, 3.5.2-2, 3.6.2-2, 3.7.2-2, 3.9.2-1, 3.11.2-1, 3.15.2-2]. A sentence tells a client what
is wrong with what it asks, and nothing of others, of keys and of files of this machine. What CONNACK and DISCONNECT say
is `roost.broker.goodbye`'s business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.broker.link import Link
from roost.broker.packets.acks import ack_v5
from roost.broker.packets.subscribe import suback
from roost.broker.packets.unsubscribe import unsuback

NO_SUCH_IDENTIFIER: Final = "no message has this packet identifier"
_SHOWN: Final = 128  # characters of a filter
_LONGEST: Final = 1024  # characters of a sentence


def acknowledgement(link: Link, kind: int, packet_id: int, reason: int, why: str) -> bytes:
    """Write PUBACK, PUBREC, PUBREL or PUBCOMP of 5.0 for something that went wrong."""
    return fitting(link, ack_v5(kind, packet_id, reason), ack_v5(kind, packet_id, reason, words(why)))


def granted(link: Link, packet_id: int, codes: Sequence[int], refused: Sequence[tuple[bytes, str]]) -> bytes:
    """Write a SUBACK; of filters that are refused it tells the first one and why."""
    bare = suback(link.version, packet_id, codes)
    return fitting(link, bare, suback(link.version, packet_id, codes, _first(refused))) if refused else bare


def ended(link: Link, packet_id: int, codes: Sequence[int], refused: Sequence[tuple[bytes, str]]) -> bytes:
    """Write an UNSUBACK; of filters that were none it tells the first one."""
    bare = unsuback(link.version, packet_id, codes)
    return fitting(link, bare, unsuback(link.version, packet_id, codes, _first(refused))) if refused else bare


def fitting(link: Link, bare: bytes, explained: bytes) -> bytes:
    """Choose the packet with the sentence, if the client wants it and takes it."""
    return explained if link.explains and len(explained) <= link.max_packet_bytes else bare


def words(why: str) -> bytes:
    """Write a sentence, of which somebody else may have chosen the length."""
    return why[:_LONGEST].encode(errors="replace")


def _first(refused: Sequence[tuple[bytes, str]]) -> bytes:
    filter_, why = refused[0]
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    return words(f"{filter_.decode()[:_SHOWN]!r}: {why}{more}")
