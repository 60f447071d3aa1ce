"""Faces: `faces/create`, `faces/update` and `faces/destroy` [nfd-management §4].

Opening a face takes time and is the driver's work: a command waits until the driver says `opened` or `failed`, at most
8 s; commands for the same URI wait together. At most 64 commands wait; more are answered 503.

NFD takes an MTU of 64 or more; we refuse one below 128, because of 64 bytes the headers of a fragment take 62.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from roost.errors import Refused
from roost.forwarding.control import ControlParameters, ControlResponse, accepted, form
from roost.forwarding.datasets import link_mtu
from roost.forwarding.face import (
    CONGESTION_MARKING,
    FIRST_FACE,
    LOCAL_FIELDS,
    MULTI_ACCESS,
    ON_DEMAND,
    PERMANENT,
    PERSISTENT,
    RELIABILITY,
    OpenFace,
)
from roost.forwarding.face_uri import CREATABLE, parse_canonical
from roost.forwarding.replies import Asked, Handlers, Reply
from roost.forwarding.tables import FaceRecord, Tables
from roost.machine import SECOND
from roost.wire.link import MIN_MTU

MAX_WAITING: Final = 64
OPENING_NS: Final = 8 * SECOND
_KEEPS_PERSISTENCY: Final = ("unix://", "fd://", "ws://", "wss://", "internal://")


@dataclass(slots=True)
class _Opening:
    uri: str
    deadline: int
    waiting: list[Asked] = field(default_factory=list)


class FaceCommands:
    """The face commands, and those of them that wait for the driver."""

    def __init__(self, tables: Tables, schemes: frozenset[str] = CREATABLE) -> None:
        self._tables = tables
        self._schemes = schemes
        self._opening: dict[int, _Opening] = {}
        self._next_request = 1

    def handlers(self) -> Handlers:
        """List the commands."""
        shared = "flags mask persistency congestion_interval_ns congestion_threshold_bytes mtu"
        return {
            ("faces", "create"): (form("uri", f"local_uri {shared}"), self.create),
            ("faces", "update"): (form("", f"face {shared}"), self.update),
            ("faces", "destroy"): (form("face"), self.destroy),
        }

    def create(self, asked: Asked, now: int) -> Reply:
        """Ask the driver for a face, unless there is one already."""
        given = asked.parameters
        uri = given.uri or ""
        try:
            self._check(given)
        except Refused as error:
            return Reply(ControlResponse(error.code, str(error)))
        for face in self._tables.faces.values():
            if face.spec.remote_uri == uri and given.local_uri in {None, face.spec.local_uri}:
                return Reply(_exists(face))
        if sum(len(opening.waiting) for opening in self._opening.values()) >= MAX_WAITING:
            return Reply(ControlResponse(503, f"{MAX_WAITING} commands wait for faces already, try again"))
        for opening in self._opening.values():
            if opening.uri == uri:
                if all(other.name != asked.name for other in opening.waiting):  # not the same command once more
                    opening.waiting.append(asked)
                return Reply(None)
        request = self._next_request
        self._next_request += 1
        self._opening[request] = _Opening(uri, now + OPENING_NS, [asked])
        flags = LOCAL_FIELDS * bool(given.bit(LOCAL_FIELDS)) | RELIABILITY * bool(given.bit(RELIABILITY))
        if given.bit(CONGESTION_MARKING) is not False:  # on unless it is asked to be off
            flags |= CONGESTION_MARKING
        persistency = PERSISTENT if given.persistency is None else given.persistency
        return Reply(None, [OpenFace(request, uri, given.local_uri or "", persistency, given.mtu or 0, flags)])

    def opened(self, request: int, face_id: int) -> list[tuple[Asked, ControlResponse]]:
        """Answer the commands that waited for a face that is there now."""
        opening = self._opening.pop(request, None)
        face = self._tables.faces.get(face_id)
        if opening is None:
            return []
        if face is None:
            return [(asked, ControlResponse(504, "The face closed at once")) for asked in opening.waiting]
        first = opening.waiting[0]
        _change(face, first.parameters, ("congestion_interval_ns", "congestion_threshold_bytes"))
        answers = [(first, accepted(_described(face, with_uris=True)))]
        return answers + [(asked, _exists(face)) for asked in opening.waiting[1:]]

    def failed(self, request: int, code: int, reason: str) -> list[tuple[Asked, ControlResponse]]:
        """Answer the commands that waited for a face that could not be opened."""
        opening = self._opening.pop(request, None)
        return [] if opening is None else [(asked, ControlResponse(code, reason)) for asked in opening.waiting]

    def tick(self, now: int) -> list[tuple[Asked, ControlResponse]]:
        """Give up on faces that take too long; should one open later, it is simply there."""
        late = [request for request, opening in self._opening.items() if opening.deadline <= now]
        return [answer for request in late for answer in self.failed(request, 504, "The face did not open in time")]

    def deadline(self) -> int | None:
        """When the next command is given up."""
        return min((opening.deadline for opening in self._opening.values()), default=None)

    def update(self, asked: Asked, now: int) -> Reply:  # noqa: ARG002  a handler's shape
        """Change what may be changed about a face, all of it or nothing."""
        given = asked.parameters
        face = self._tables.faces.get(asked.target())
        if face is None:
            return Reply(ControlResponse(404, "Specified face does not exist"))
        wrong = _invalid(face, given)
        if wrong.present():
            text = "Invalid properties specified"
            if wrong.mtu is not None:
                text += f": an MTU is at least {MIN_MTU}, and stream faces have none"
            return Reply(ControlResponse(409, text, wrong.encode()))
        flags = face.flags
        for bit in (LOCAL_FIELDS, RELIABILITY, CONGESTION_MARKING):
            asked_for = given.bit(bit)
            if asked_for is not None:
                flags = flags | bit if asked_for else flags & ~bit
        face.set_flags(flags)
        if given.mtu is not None:
            face.set_mtu(given.mtu)
        _change(face, given, ("persistency", "congestion_interval_ns", "congestion_threshold_bytes"))
        return Reply(accepted(_described(face, with_uris=False)))

    def destroy(self, asked: Asked, now: int) -> Reply:
        """Close a face; one that is not there is closed already."""
        face_id = asked.parameters.face or 0
        if face_id == 0:
            return Reply(ControlResponse(400, "failed in validating parameters: face must be valid"))
        if face_id < FIRST_FACE:
            return Reply(ControlResponse(403, "a reserved face cannot be destroyed"))
        effects = self._tables.destroy_face(face_id, now) if face_id in self._tables.faces else ()
        return Reply(accepted(ControlParameters(face=face_id)), effects)

    def _check(self, given: ControlParameters) -> None:
        remote = parse_canonical(given.uri or "", "remote")
        if given.local_uri is not None:
            parse_canonical(given.local_uri, "local")
        if remote.scheme not in self._schemes:
            raise Refused("Unsupported protocol", 406)
        is_stream = not remote.scheme.startswith("udp")
        if remote.multicast:
            raise Refused("Cannot create multicast faces", 406)
        if given.persistency is not None and given.persistency not in {PERSISTENT, PERMANENT}:
            raise Refused("Outgoing faces only support persistent and permanent persistency", 406)
        if is_stream and given.local_uri is not None:
            raise Refused("Stream faces cannot be created with a LocalUri", 406)
        if given.mtu is not None and (is_stream or given.mtu < MIN_MTU):
            raise Refused(f"An MTU is at least {MIN_MTU}, and stream faces have none", 406)
        if given.bit(LOCAL_FIELDS) and not (is_stream and remote.loopback):
            raise Refused("Local fields can only be enabled on faces with local scope", 406)


def _described(face: FaceRecord, *, with_uris: bool) -> ControlParameters:
    return ControlParameters(
        face=face.id,
        uri=face.spec.remote_uri if with_uris else None,
        local_uri=face.spec.local_uri if with_uris else None,
        flags=face.flags,
        persistency=face.persistency,
        congestion_interval_ns=face.congestion_interval_ns,
        congestion_threshold_bytes=face.congestion_threshold_bytes,
        mtu=link_mtu(face),
    )


def _exists(face: FaceRecord) -> ControlResponse:
    return ControlResponse(409, "Face with remote URI already exists", _described(face, with_uris=True).encode())


def _change(face: FaceRecord, given: ControlParameters, attributes: tuple[str, ...]) -> None:
    for attribute in attributes:
        value = getattr(given, attribute)
        if value is not None:
            setattr(face, attribute, value)


def _invalid(face: FaceRecord, given: ControlParameters) -> ControlParameters:
    """Return those of the given properties that this face cannot have."""
    bad_flags = LOCAL_FIELDS if given.bit(LOCAL_FIELDS) and not face.spec.local else None
    bad_persistency = None
    if given.persistency is not None and given.persistency != face.persistency:
        fixed = face.spec.remote_uri.startswith(_KEEPS_PERSISTENCY) or face.spec.local_uri.startswith(
            _KEEPS_PERSISTENCY
        )
        shared = face.spec.link_type == MULTI_ACCESS and given.persistency != PERMANENT
        if fixed or shared or given.persistency not in {PERSISTENT, ON_DEMAND, PERMANENT}:
            bad_persistency = given.persistency
    bad_mtu = given.mtu if given.mtu is not None and (given.mtu < MIN_MTU or face.spec.mtu == 0) else None
    return ControlParameters(flags=bad_flags, mask=bad_flags, persistency=bad_persistency, mtu=bad_mtu)
