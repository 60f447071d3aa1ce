"""What a repo is told and answers in the protocol of ndn-python-repo [repo.md §3].

    /<repo>/<verb>/notify/<digest>                parameters: Notification; answered with an empty Data
    /<publisher>/msg/<repo>/<verb>/<nonce>        the message, a Data whose Content is a sequence of ObjParam
    /<repo>/<verb> check/<digest>                 parameters: RequestNo; answered with a CommandStatus

| element        | no. | element        | no. | element     | no. |
| -------------- | --- | -------------- | --- | ----------- | --- |
| StartBlockId   | 204 | EndBlockId     | 205 | ObjParam    | 301 |
| RequestNo      | 206 | StatusCode     | 208 | ObjStatus   | 302 |
| InsertNum      | 209 | DeleteNum      | 210 | NotifyNonce | 128 |
| ForwardingHint | 211 | RegisterPrefix | 212 |             |     |

A request number is the SHA-256 of the message. Sync groups (401, 402), which that repo joins with SVS version 1, are
refused as malformed: a group's sync is `roost.sync`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.name import NAME_TYPE
from roost.repo.commands import DELETE_NUM, END_BLOCK, INSERT_NUM, PROCESS, START_BLOCK, STATUS_CODE
from roost.repo.fields import Fields, only
from roost.wire import tlv

NONCE: Final = 128
HINT: Final = 211
REGISTER: Final = 212
OBJECT: Final = 301
STATUS: Final = 302

QUEUED: Final = 100
DONE: Final = 200
RUNNING: Final = 300
FAILED: Final = 400
REFUSED: Final = 403
UNKNOWN: Final = 404

MAX_OBJECTS: Final = 64
_NONCE_BYTES: Final = 64
_NUMBER_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Notification:
    """The parameters of a notify Interest: whose message is to be fetched, its nonce, and where to ask for it."""

    publisher: Name
    nonce: bytes
    hints: tuple[Name, ...] = ()

    def encode(self) -> bytes:
        """Write the ApplicationParameters."""
        body = self.publisher.wire + tlv.tlv(NONCE, self.nonce)
        return body + _wrapped(HINT, self.hints)

    @staticmethod
    def decode(wire: bytes) -> Notification:
        """Read the ApplicationParameters; raises `BadPacket`."""
        found = Fields(wire, 0, len(wire), (NAME_TYPE, NONCE, HINT), "a notification")
        publisher, nonce = found.name(), found.value(NONCE)
        if not publisher or not nonce or len(nonce) > _NONCE_BYTES:
            raise BadPacket(f"a notification has the publisher's name and a nonce of 1 to {_NONCE_BYTES} bytes")
        return Notification(publisher, nonce, found.names(HINT))


@dataclass(frozen=True, slots=True)
class ObjectParameter:
    """ObjParam: what to fetch or delete, from where, and what to register for it."""

    name: Name
    start: int | None = None
    end: int | None = None
    hints: tuple[Name, ...] = ()
    register: tuple[Name, ...] = ()

    def encode(self) -> bytes:
        """Write the whole element."""
        body = self.name.wire + _wrapped(HINT, self.hints)
        if self.start is not None:
            body += tlv.number(START_BLOCK, self.start)
        if self.end is not None:
            body += tlv.number(END_BLOCK, self.end)
        return tlv.tlv(OBJECT, body + _wrapped(REGISTER, self.register))


def decode_message(wire: bytes) -> list[ObjectParameter]:
    """Read a message; raises `BadPacket`."""
    objects: list[ObjectParameter] = []
    for type_, low, high in tlv.elements(wire):
        if type_ != OBJECT:
            raise BadPacket(f"element {type_} stands where a command has objects; sync groups are not joined here")
        found = Fields(wire, low, high, (NAME_TYPE, HINT, START_BLOCK, END_BLOCK, REGISTER), "an ObjParam")
        name = found.name()
        if name is None:
            raise BadPacket("an ObjParam has a Name, this one has none")
        start, end = found.number(START_BLOCK), found.number(END_BLOCK)
        objects.append(ObjectParameter(name, start, end, found.names(HINT), found.names(REGISTER)))
    if not 1 <= len(objects) <= MAX_OBJECTS:
        raise BadPacket(f"a command has 1 to {MAX_OBJECTS} objects, this one has {len(objects)}")
    return objects


def request_number(message: bytes) -> bytes:
    """The number by which a command is checked."""
    return sha256(message).digest()


def encode_check(number: bytes) -> bytes:
    """Write the parameters of a check."""
    return tlv.tlv(PROCESS, number)


def decode_check(wire: bytes) -> bytes:
    """Read the parameters of a check: the request number; raises `BadPacket`."""
    low, high = only(wire, PROCESS, "a check")
    if high - low != _NUMBER_BYTES:
        raise BadPacket(f"a request number has {_NUMBER_BYTES} bytes, this one has {high - low}")
    return wire[low:high]


@dataclass(frozen=True, slots=True)
class ObjectStatus:
    """What became of one object."""

    name: Name
    code: int
    inserted: int | None = None
    deleted: int | None = None

    def encode(self) -> bytes:
        """Write the whole element."""
        body = self.name.wire + tlv.number(STATUS_CODE, self.code)
        if self.inserted is not None:
            body += tlv.number(INSERT_NUM, self.inserted)
        if self.deleted is not None:
            body += tlv.number(DELETE_NUM, self.deleted)
        return tlv.tlv(STATUS, body)


@dataclass(frozen=True, slots=True)
class CommandStatus:
    """RepoCommandRes: what became of a command."""

    code: int
    objects: tuple[ObjectStatus, ...] = ()

    def encode(self) -> bytes:
        """Write the Content of an answer."""
        return tlv.number(STATUS_CODE, self.code) + b"".join([each.encode() for each in self.objects])

    @staticmethod
    def decode(wire: bytes) -> CommandStatus:
        """Read the Content of an answer; raises `BadPacket`."""
        type_, _, position = tlv.element(wire, 0, len(wire))
        if type_ != STATUS_CODE:
            raise BadPacket(f"a command's status starts with element {STATUS_CODE}, this is {type_}")
        code = Fields(wire, 0, position, (STATUS_CODE,), "a command's status").required(STATUS_CODE)
        objects: list[ObjectStatus] = []
        for kind, low, high in tlv.elements(wire, position):
            if kind != STATUS:
                raise BadPacket(f"element {kind} stands where a command's status has those of its objects")
            found = Fields(wire, low, high, (NAME_TYPE, STATUS_CODE, INSERT_NUM, DELETE_NUM), "an ObjStatus")
            name = found.name()
            if name is None:
                raise BadPacket("an ObjStatus has a Name, this one has none")
            counts = found.number(INSERT_NUM), found.number(DELETE_NUM)
            objects.append(ObjectStatus(name, found.required(STATUS_CODE), *counts))
        return CommandStatus(code, tuple(objects))


def _wrapped(type_: int, names: tuple[Name, ...]) -> bytes:
    return tlv.tlv(type_, b"".join([name.wire for name in names])) if names else b""
