"""Faces as the forwarder sees them, and the events and effects by which a driver attaches real ones to it.

A face is a number, what a driver says about it (`FaceSpec`), its flags and its counters. The driver picks a free id,
opens the face, hands in what arrives (`Arrived`, a batch) and executes `Send` (a batch per face).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.machine import Effect

INTERNAL_FACE: Final = 1
CONTENT_STORE_FACE: Final = 254
FIRST_FACE: Final = 256

POINT_TO_POINT: Final = 0
MULTI_ACCESS: Final = 1
AD_HOC: Final = 2

PERSISTENT: Final = 0
ON_DEMAND: Final = 1
PERMANENT: Final = 2

LOCAL_FIELDS: Final = 1
RELIABILITY: Final = 2
CONGESTION_MARKING: Final = 4


@dataclass(frozen=True, slots=True)
class FaceSpec:
    """What a driver says of a face it has opened."""

    remote_uri: str
    local_uri: str
    local: bool  # scope: whether the other end is on this machine and may use /localhost
    link_type: int = POINT_TO_POINT
    persistency: int = PERSISTENT
    mtu: int = 0  # the largest link packet in bytes; 0 for a stream, which has no limit of its own
    flags: int = 0


@dataclass(frozen=True, slots=True)
class Arrived:
    """Event: link packets that came in on a face, whole, in order."""

    face: int
    packets: list[bytes]


@dataclass(frozen=True, slots=True)
class Send(Effect):
    """Write these link packets to a face, in order, with one write if possible."""

    face: int
    packets: list[bytes]


@dataclass(frozen=True, slots=True)
class OpenFace(Effect):
    """Open a face towards `uri`; answer with `face_opened` or `face_failed` for this `request`."""

    request: int
    uri: str
    local_uri: str
    persistency: int
    mtu: int
    flags: int


@dataclass(frozen=True, slots=True)
class CloseFace(Effect):
    """Close the transport of a face; the forwarder has forgotten it already."""

    face: int
