"""Arrivals: by what a node tells the others which clients came, and what becomes of their wills.

    topic    $roost/sessions/arrivals      a stream of the telling node's panel
    payload  deterministic CBOR: [panel, came, over, heard]

| part  | what it is                                                                                               |
| ----- | -------------------------------------------------------------------------------------------------------- |
| panel | the name of the telling node's panel                                                                     |
| came  | [[client id, when it came, in ns, user], …]; with a will a fourth field, below                           |
| over  | [[client id, when it came, panel], …]: the will that it left at the node of that panel is over           |
| heard | [[panel, started], …]: all wills here were told since that node began                                    |

A will is [topic, payload, QoS × 2 + retain, properties, delay_s, expiry_s], the latter -1 if there is none; it is
empty where others cannot speak it: too large (`MAX_WILL_BYTES`), or of a plain topic. `over` counts before `came`.

A client id is at one node [MQTT-3.1.4-3]. Sessions that last are told of whole (`roost.broker.announcement`), and come
with their filters; of others no more is needed than this: who has the same client id from before hangs up. Client ids
that a node has made up itself are nobody else's, and are told only if they leave a will.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import cbor2

from roost.broker.announcement import SESSIONS
from roost.broker.packets.connect import Will
from roost.broker.packets.fields import check_topic
from roost.broker.packets.kept import Kept
from roost.broker.packets.reasons import Malformed
from roost.errors import BadPacket

TOPIC: Final = SESSIONS + b"arrivals"  # the others below it are digests
MAX_ROWS: Final = 1000  # of each kind, of one reading
MAX_BYTES: Final = 6000
MAX_WILL_BYTES: Final = 4000
_HEAD_BYTES: Final = 24
_MAX_TIME: Final = (1 << 63) - 1
_MAX_SECONDS: Final = 0xFFFF_FFFF
_MAX_QOS_AND_RETAIN: Final = 5


@dataclass(frozen=True, slots=True)
class Arrival:
    """A client came: when, and whether it left a will; `will` is None where others cannot speak it."""

    came: int
    has_will: bool = False
    user: bytes = b""
    will: Will | None = None

    @property
    def size(self) -> int:
        """About so many bytes of a payload."""
        return _HEAD_BYTES + len(self.user) + (0 if self.will is None else size_of(self.will))


@dataclass(frozen=True, slots=True)
class Arrivals:
    """One reading's."""

    panel: bytes
    came: dict[bytes, Arrival] = field(default_factory=dict)
    over: list[tuple[bytes, int, bytes]] = field(default_factory=list)
    heard: list[tuple[bytes, int]] = field(default_factory=list)

    def encode(self) -> bytes:
        """Write the payload."""
        came = [[client, each.came, each.user, *_row(each)] for client, each in self.came.items()]
        rows = [self.panel, came, [list(each) for each in self.over], [list(each) for each in self.heard]]
        return cbor2.dumps(rows, canonical=True)


def size_of(will: Will) -> int:
    """About so many bytes of a payload."""
    return len(will.topic) + len(will.payload) + len(will.properties.kept) + _HEAD_BYTES


def parts(
    panel: bytes, came: dict[bytes, Arrival], over: list[tuple[bytes, int, bytes]], heard: list[tuple[bytes, int]]
) -> list[Arrivals]:
    """What is to be told, in parts of which each fits a reading; a client id that is too long for one is left out."""
    found = [Arrivals(panel)]
    room = MAX_BYTES
    for client, time, where in over:
        room = _make_room(found, room, len(client) + len(where) + _HEAD_BYTES, len(found[-1].over))
        found[-1].over.append((client, time, where))
    for client, arrival in came.items():
        size_bytes = len(client) + arrival.size
        if size_bytes > MAX_BYTES:
            continue
        room = _make_room(found, room, size_bytes, len(found[-1].came))
        found[-1].came[client] = arrival
    for where, started in heard:  # behind all the rest
        room = _make_room(found, room, len(where) + _HEAD_BYTES, len(found[-1].heard))
        found[-1].heard.append((where, started))
    return [each for each in found if each.came or each.over or each.heard]


def _make_room(found: list[Arrivals], room: int, size_bytes: int, count: int) -> int:
    """Begin another part if the last one is full; returns what is left in it."""
    if size_bytes > room or count >= MAX_ROWS:
        found.append(Arrivals(found[-1].panel))
        room = MAX_BYTES
    return room - size_bytes


def _row(arrival: Arrival) -> list[Any]:
    will = arrival.will
    if will is None:
        return [[]] if arrival.has_will else []
    flags = will.qos << 1 | (1 if will.retain else 0)
    properties = will.properties
    about = [properties.kept, int(properties.delay_s), int(properties.expiry_s)]
    return [[will.topic, will.payload, flags, *about]]


def decode_arrivals(payload: bytes) -> Arrivals:
    """Read a payload; raises `BadPacket`."""
    try:
        said = cbor2.loads(payload)
    except (cbor2.CBORDecodeError, ValueError, RecursionError) as error:
        raise BadPacket(f"arrivals are CBOR, this is not: {error}") from None
    if not isinstance(said, list) or len(said) != 4 or not isinstance(said[0], bytes):
        raise BadPacket("arrivals are a panel and three lists")
    for rows in said[1:]:
        if not isinstance(rows, list) or len(rows) > MAX_ROWS or not all(isinstance(row, list) for row in rows):
            raise BadPacket(f"arrivals have lists of at most {MAX_ROWS} rows")
    found = Arrivals(said[0])
    for row in said[1]:
        if len(row) not in {3, 4} or not isinstance(row[0], bytes) or not isinstance(row[2], bytes):
            raise BadPacket("an arrival is a client id, a time and a user, and a will if there is one")
        if not _is_time(row[1]):
            raise BadPacket("a client came at a time")
        found.came[row[0]] = _arrival(row[1], row[2], row[3]) if len(row) == 4 else Arrival(row[1], user=row[2])
    for row in said[2]:
        if len(row) != 3 or not isinstance(row[0], bytes) or not isinstance(row[2], bytes) or not _is_time(row[1]):
            raise BadPacket("a will that is over is a client id, a time and a panel")
        found.over.append((row[0], row[1], row[2]))
    for row in said[3]:
        if len(row) != 2 or not isinstance(row[0], bytes) or not _is_time(row[1]):
            raise BadPacket("a node that was heard is a panel and a time")
        found.heard.append((row[0], row[1]))
    return found


def _arrival(came: int, user: bytes, row: object) -> Arrival:
    if not isinstance(row, list) or len(row) not in {0, 6}:
        raise BadPacket("a will has six fields, or none")
    if not row:
        return Arrival(came, has_will=True, user=user)
    topic, payload, flags, kept, delay_s, expiry_s = row
    if not all(isinstance(each, bytes) for each in (topic, payload, kept)):
        raise BadPacket("the topic, payload and properties of a will are bytes")
    if not _is_number(flags, 0, _MAX_QOS_AND_RETAIN) or not all(
        _is_number(each, -1, _MAX_SECONDS) for each in (delay_s, expiry_s)
    ):
        raise BadPacket("the QoS, delay and expiry of a will are numbers of MQTT's")
    try:
        check_topic(topic)
    except Malformed as error:
        raise BadPacket(f"{topic!r} is no topic: {error}") from None
    properties = Kept()
    properties.kept, properties.delay_s, properties.expiry_s = kept, delay_s, expiry_s
    return Arrival(came, has_will=True, user=user, will=Will(topic, payload, flags >> 1, flags & 1 == 1, properties))


def _is_time(value: object) -> bool:
    return _is_number(value, 0, _MAX_TIME)


def _is_number(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
