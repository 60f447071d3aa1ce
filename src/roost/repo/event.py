"""The content of a repo's notifications and of their snapshot: what came into the store, or left it [ours].

    Event    = 32768 { Cause 32770, then any of  Name 7,  Data 6 }
    Snapshot = 32772 { Covers 32774, Name 7 … }

| element  | no.   | value                                                                                     |
| -------- | ----- | ----------------------------------------------------------------------------------------- |
| Cause    | 32770 | NonNegativeInteger: why (`roost.repo.cause`)                                               |
| Covers   | 32774 | NonNegativeInteger: the last notification that is in the snapshot; go on behind it        |
| Name     | 7     | a packet; in a snapshot the latest of each stream                                         |
| Data     | 6     | a whole packet, where it is small enough to go along                                      |

Types are even and above 32767, so that others pass over them. Numbers and names are `roost.pubsub.repos.events`'.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.number import read_nni
from roost.wire import Data, tlv

EVENT: Final = 32768
CAUSE: Final = 32770
SNAPSHOT: Final = 32772
COVERS: Final = 32774


@dataclass(frozen=True, slots=True)
class Event:
    """One notification."""

    cause: int
    names: tuple[Name, ...] = ()
    packets: tuple[Data, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The latest reading of every stream, as of a notification; 0 before the first."""

    covers: int
    names: tuple[Name, ...] = ()


def encode_event(cause: int, parts: Iterable[bytes]) -> bytes:
    """Write a notification of whole Name or Data elements."""
    return tlv.tlv(EVENT, tlv.number(CAUSE, cause) + b"".join(parts))


def decode_event(content: bytes) -> Event:
    """Check and open a notification; raises `BadPacket` with the reason."""
    position, end = tlv.outer(content, EVENT)
    cause = -1
    names: list[Name] = []
    packets: list[Data] = []
    while position < end:
        at = position
        type_, low, position = tlv.element(content, at, end)
        if type_ == CAUSE and cause < 0:
            cause = read_nni(content, low, position)
        elif type_ == tlv.NAME and cause >= 0:
            names.append(Name.decode(content[low:position]))
        elif type_ == tlv.DATA and cause >= 0:
            packets.append(Data.decode(content[at:position]))
        else:
            tlv.skip(type_, at, "Event")
    if cause < 0:
        raise BadPacket("a notification begins with its cause")
    return Event(cause, tuple(names), tuple(packets))


def encode_snapshot(covers: int, names: Iterable[Name]) -> bytes:
    """Write a snapshot, to be cut into segments."""
    return tlv.tlv(SNAPSHOT, tlv.number(COVERS, covers) + b"".join([name.wire for name in names]))


def decode_snapshot(content: bytes) -> Snapshot:
    """Check and open a snapshot; raises `BadPacket` with the reason."""
    type_, position, end = tlv.element(content, 0, len(content))
    if type_ != SNAPSHOT or end != len(content):
        raise BadPacket(f"a snapshot is one element {SNAPSHOT}")
    covers = -1
    names: list[Name] = []
    while position < end:
        at = position
        type_, low, position = tlv.element(content, at, end)
        if type_ == COVERS and covers < 0:
            covers = read_nni(content, low, position)
        elif type_ == tlv.NAME and covers >= 0:
            names.append(Name.decode(content[low:position]))
        else:
            tlv.skip(type_, at, "Snapshot")
    if covers < 0:
        raise BadPacket("a snapshot begins with the number of the notification that it covers")
    return Snapshot(covers, tuple(names))
