"""Announcements: what the nodes of a group tell each other of a persistent session, so that it can go on at any node.

    topic    $roost/sessions/<hex of the client id's SHA-256>      a stream of the announcing node's panel
    payload  deterministic CBOR: a map with these keys

| key       | value                                                                                                |
| --------- | ---------------------------------------------------------------------------------------------------- |
| client    | the client id                                                                                        |
| user      | whose session it is                                                                                  |
| born      | when the session began, in ns: another one of the same client is another session                     |
| began     | when its client came to the announcing node, in ns                                                   |
| expiry_s  | how long it outlives its link; 0: it ends with it, so that it is over if it is not online            |
| online    | whether it has a link at the announcing node                                                         |
| panel     | the name of the announcing node's panel                                                              |
| held      | packet identifiers of the client's QoS 2 messages that are not released, two bytes each              |
| filters   | subscriptions: [filter, QoS, flags, identifier, share name or nothing]; absent: as they were          |
| part      | which part this is, and of how many; absent: it is all                                               |
| done      | by stream, through which number everything was acknowledged, where that changed                      |
| begun     | QoS 2 messages that the client began to take: [stream, number, packet identifier]; absent: none       |
| recalls   | pasts that it is still to get: [filter, since: time, number, next numbers by stream]; absent: none    |

Keys that are not in the table are passed over: later versions may have more. Announcements are readings,
signed by the node's panel; clients can neither publish nor read them. The client is where it came last (`began`, then
by panel), and of what one node says the later counts; `done` only rises, and says nothing of streams of `recalls`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final

import cbor2

from roost.broker.filters import Options
from roost.broker.packets.fields import check_filter, is_shared, split_shared
from roost.broker.packets.reasons import Malformed
from roost.broker.since import Since
from roost.errors import BadPacket

RESERVED: Final = b"$roost/"
SESSIONS: Final = RESERVED + b"sessions/"
MAX_FILTERS: Final = 1000
MAX_DONE: Final = 1000
MAX_BEGUN: Final = 1000
MAX_PARTS: Final = 10_000
_MAX_IDENTIFIER: Final = 0xFFFF
_MAX_NUMBER: Final = (1 << 64) - 1
_MAX_TIME: Final = (1 << 63) - 1
_NO_LOCAL: Final = 1
_AS_PUBLISHED: Final = 2

Recalls = dict[bytes, tuple[Since, dict[bytes, int]]]  # by filter: since when, and the next numbers of streams


@dataclass(frozen=True, slots=True)
class Announcement:
    """What one says; `filters` is None where it says nothing of them, `part` is which of how many it is."""

    client: bytes
    user: bytes
    born: int
    began: int
    expiry_s: int
    online: bool
    filters: dict[bytes, Options] | None = None
    done: dict[bytes, int] = field(default_factory=dict)
    panel: bytes = b""
    held: frozenset[int] = frozenset()
    part: tuple[int, int] = (0, 1)
    begun: dict[tuple[bytes, int], int] = field(default_factory=dict)
    recalls: Recalls = field(default_factory=dict)

    @property
    def is_last(self) -> bool:
        """Whether no part of it is still to come."""
        return self.part[0] + 1 == self.part[1]

    def joined(self, following: Announcement) -> Announcement:
        """What it says of filters and recalls together with the part that follows it."""
        recalls = dict(self.recalls)
        for filter_, (since, places) in following.recalls.items():
            recalls[filter_] = since, recalls.get(filter_, (since, {}))[1] | places
        filters = None if self.filters is None else self.filters | (following.filters or {})
        return replace(following, filters=filters, recalls=recalls)

    @property
    def topic(self) -> bytes:
        """Where it is published."""
        return SESSIONS + sha256(self.client).hexdigest().encode()

    def encode(self) -> bytes:
        """Write the payload."""
        said: dict[str, Any] = {
            "client": self.client,
            "user": self.user,
            "born": self.born,
            "began": self.began,
            "expiry_s": self.expiry_s,
            "online": self.online,
            "panel": self.panel,
            "held": b"".join([packet_id.to_bytes(2, "big") for packet_id in sorted(self.held)]),
            "done": self.done,
        }
        if self.filters is not None:
            said["filters"] = [_row(filter_, options) for filter_, options in self.filters.items()]
        if self.part != (0, 1):
            said["part"] = list(self.part)
        if self.begun:
            said["begun"] = [[stream, number, packet_id] for (stream, number), packet_id in self.begun.items()]
        if self.recalls:
            said["recalls"] = [[filter_, *since, places] for filter_, (since, places) in self.recalls.items()]
        return cbor2.dumps(said, canonical=True)


def _row(filter_: bytes, options: Options) -> list[object]:
    flags = (_NO_LOCAL if options.no_local else 0) | (_AS_PUBLISHED if options.retain_as_published else 0)
    return [filter_, options.qos, flags, options.identifier, options.shared]


def decode_announcement(payload: bytes) -> Announcement:
    """Read a payload; raises `BadPacket`."""
    try:
        said = cbor2.loads(payload)
    except (cbor2.CBORDecodeError, ValueError, RecursionError) as error:
        raise BadPacket(f"an announcement is CBOR, this is not: {error}") from None
    if not isinstance(said, dict):
        raise BadPacket("an announcement is a map")
    client, user = said.get("client"), said.get("user")
    born, began, expiry_s = said.get("born"), said.get("began"), said.get("expiry_s")
    online, done = said.get("online"), said.get("done")
    panel, held = said.get("panel"), said.get("held")
    if not isinstance(client, bytes) or not isinstance(user, bytes) or not isinstance(online, bool):
        raise BadPacket("an announcement says whose session it is, and whether it is online")
    if not _is_number(expiry_s, 0xFFFF_FFFF) or not _is_number(born, _MAX_TIME) or not _is_number(began, _MAX_TIME):
        raise BadPacket("an announcement says when the session began, when its client came, and how long it lasts")
    if not _is_by_stream(done):
        raise BadPacket(f"what is done is a number by stream, of at most {MAX_DONE}")
    if not isinstance(panel, bytes) or not isinstance(held, bytes) or len(held) % 2:
        raise BadPacket("an announcement says by which panel it is, and which packet identifiers are held")
    assert isinstance(expiry_s, int)  # noqa: S101  it was looked at above
    assert isinstance(born, int)  # noqa: S101  as above
    assert isinstance(began, int)  # noqa: S101  as above
    assert isinstance(done, dict)  # noqa: S101  as above
    identifiers = frozenset([int.from_bytes(held[low : low + 2], "big") for low in range(0, len(held), 2)])
    filters = _filters(said.get("filters"))
    part, begun = _part(said.get("part", [0, 1])), _begun(said.get("begun", []))
    recalls = _recalls(said.get("recalls", []))
    return Announcement(
        client, user, born, began, expiry_s, online, filters, done, panel, identifiers, part, begun, recalls
    )


def _part(said: object) -> tuple[int, int]:
    if not isinstance(said, list) or len(said) != 2 or not all(_is_number(each, MAX_PARTS) for each in said):
        raise BadPacket(f"a part is one of at most {MAX_PARTS}")
    if said[0] >= said[1]:
        raise BadPacket(f"there is no part {said[0]} of {said[1]}")
    return said[0], said[1]


def _begun(rows: object) -> dict[tuple[bytes, int], int]:
    if not isinstance(rows, list) or len(rows) > MAX_BEGUN:
        raise BadPacket(f"an announcement says of at most {MAX_BEGUN} messages that they were begun")
    found: dict[tuple[bytes, int], int] = {}
    for row in rows:
        if not isinstance(row, list) or len(row) != 3 or not isinstance(row[0], bytes):
            raise BadPacket("a message that was begun has a stream, a number and a packet identifier")
        if not _is_number(row[1], _MAX_NUMBER) or not _is_number(row[2], _MAX_IDENTIFIER) or not row[2]:
            raise BadPacket("a message that was begun has a number, and a packet identifier that is not 0")
        found[row[0], row[1]] = row[2]
    return found


def _filters(rows: object) -> dict[bytes, Options] | None:
    if rows is None:
        return None
    if not isinstance(rows, list) or len(rows) > MAX_FILTERS:
        raise BadPacket(f"an announcement has at most {MAX_FILTERS} filters")
    found: dict[bytes, Options] = {}
    for row in rows:
        if not isinstance(row, list) or len(row) != 5:
            raise BadPacket("a filter has five fields")
        filter_, qos, flags, identifier, shared = row
        if not isinstance(filter_, bytes) or not isinstance(shared, bytes | None):
            raise BadPacket("filters and share names are bytes")
        _check(filter_)
        if shared != (split_shared(filter_)[0] if is_shared(filter_) else None):
            raise BadPacket(f"{filter_!r} is not shared by {shared!r}")
        if not _is_number(qos, 2) or not _is_number(flags, 3) or not _is_number(identifier, 0x0FFF_FFFF):
            raise BadPacket("the options of a filter are numbers of MQTT's")
        found[filter_] = Options(
            qos,
            no_local=bool(flags & _NO_LOCAL),
            retain_as_published=bool(flags & _AS_PUBLISHED),
            identifier=identifier,
            shared=shared,
        )
    return found


def _recalls(rows: object) -> Recalls:
    if not isinstance(rows, list) or len(rows) > MAX_FILTERS:
        raise BadPacket(f"an announcement has at most {MAX_FILTERS} recalls")
    found: Recalls = {}
    for row in rows:
        if not isinstance(row, list) or len(row) != 4 or not isinstance(row[0], bytes) or not _is_by_stream(row[3]):
            raise BadPacket(f"a recall has four fields, the last with numbers of at most {MAX_DONE} streams")
        if is_shared(row[0]) or not _is_number(row[1], _MAX_TIME) or not _is_number(row[2], _MAX_NUMBER):
            raise BadPacket("a recall has a filter that is not shared, and since when it is")
        _check(row[0])
        found[row[0]] = Since(row[1], row[2]), row[3]
    return found


def _check(filter_: bytes) -> None:
    try:
        check_filter(filter_)
    except Malformed as error:
        raise BadPacket(f"{filter_!r} is no filter: {error}") from None


def _is_by_stream(said: object) -> bool:
    """Whether something is a number by stream."""
    if not isinstance(said, dict) or len(said) > MAX_DONE:
        return False
    return all(isinstance(stream, bytes) and _is_number(number, _MAX_NUMBER) for stream, number in said.items())


def _is_number(value: object, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= high
