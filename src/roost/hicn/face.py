"""Faces as an hICN forwarder sees them, and the events and effects by which a driver attaches real ones to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.hicn.control import COMMAND, decode_control
from roost.hicn.head import read_head
from roost.machine import Effect

_COMMAND: Final = bytes([COMMAND])


@dataclass(frozen=True, slots=True)
class HicnFaceSpec:
    """What a driver says of a face: who is there, and whether that is on this machine."""

    remote: str
    local: bool  # only local faces may put Data into the cache that nobody asked for


@dataclass(frozen=True, slots=True)
class Arrived:
    """Event: packets that came in on a face, whole, in order."""

    face: int
    packets: list[bytes]


@dataclass(frozen=True, slots=True)
class Send(Effect):
    """Write these packets to a face, in order."""

    face: int
    packets: list[bytes]


@dataclass(frozen=True, slots=True)
class CloseFace(Effect):
    """Forget a face once everything is sent: it said goodbye, and the forwarder has forgotten it."""

    face: int


def introduces(wire: bytes) -> bool:
    """Whether a packet makes a face of an unknown peer: Interests and commands do, Data does not.

    `BadPacket` says what is wrong with one that cannot be read: what sends those gets no face.
    """
    if wire[:1] == _COMMAND:
        decode_control(wire)
        return True
    return not read_head(wire).is_data
