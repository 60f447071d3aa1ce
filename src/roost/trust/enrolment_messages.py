"""What is in the boxes of an enrolment: the offer, the claim and its outcome, as TLV.

    KeyOffer  = 192 { 193 kind, 7 Name, 194 until (ns), 195 schema (zlib), 196 { anchor }, 197 { certificates above } }
    UserOffer = 198 { 193 user, 194 until (ns), [199 broker], [200 authority (PEM)] }
    Claim     = 201 { 202 request (a self-signed certificate) or 203 hash of a password, 204 time here (ns) }
    Grant     = 205 { [206 certificate] }
    Refusal   = 207 { reason }

Unknown elements are passed over. Whether what is said can be believed is not decided here, that is
`enrolment.py`'s.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final, TypeAlias

from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.number import read_nni
from roost.wire import tlv
from roost.wire.certificate import Certificate

MAX_SCHEMA_BYTES: Final = 1 << 20
MAX_ABOVE: Final = 16
MAX_TEXT_BYTES: Final = 65_536

_KEY_OFFER: Final = 192
_WHAT: Final = 193
_UNTIL: Final = 194
_SCHEMA: Final = 195
_ANCHOR: Final = 196
_ABOVE: Final = 197
_USER_OFFER: Final = 198
_BROKER: Final = 199
_AUTHORITY: Final = 200
_CLAIM: Final = 201
_REQUEST: Final = 202
_HASH: Final = 203
_TIME: Final = 204
_GRANT: Final = 205
_CERTIFICATE: Final = 206
_REFUSAL: Final = 207


@dataclass(frozen=True, slots=True)
class KeyOffer:
    """A certificate for a key that is yet to be made: for whom, and all that is needed to check it."""

    kind: str  # panel, repo or user: what the one invited is to be
    name: Name
    until: int
    schema: str
    anchor: Certificate
    above: tuple[Certificate, ...]

    def encode(self) -> bytes:
        body = tlv.tlv(_WHAT, self.kind.encode()) + self.name.wire + tlv.number(_UNTIL, self.until)
        body += tlv.tlv(_SCHEMA, zlib.compress(self.schema.encode(), 9)) + tlv.tlv(_ANCHOR, self.anchor.wire)
        return tlv.tlv(_KEY_OFFER, body + tlv.tlv(_ABOVE, b"".join([each.wire for each in self.above])))


@dataclass(frozen=True, slots=True)
class UserOffer:
    """A user of an MQTT broker: the name, where the broker is, and the authority of its certificate."""

    user: str
    until: int
    broker: str = ""
    authority: bytes = b""

    def encode(self) -> bytes:
        body = tlv.tlv(_WHAT, self.user.encode()) + tlv.number(_UNTIL, self.until)
        body += tlv.tlv(_BROKER, self.broker.encode()) + tlv.tlv(_AUTHORITY, self.authority)
        return tlv.tlv(_USER_OFFER, body)


@dataclass(frozen=True, slots=True)
class Claim:
    """What the one invited has made: a request for a certificate, or the hash of a password."""

    time: int
    request: Certificate | None = None
    password_hash: str = ""

    def encode(self) -> bytes:
        made = (
            tlv.tlv(_HASH, self.password_hash.encode())
            if self.request is None
            else tlv.tlv(_REQUEST, self.request.wire)
        )
        return tlv.tlv(_CLAIM, made + tlv.number(_TIME, self.time))


@dataclass(frozen=True, slots=True)
class Grant:
    """It was done; for a key, here is its certificate."""

    certificate: Certificate | None = None

    def encode(self) -> bytes:
        return tlv.tlv(_GRANT, b"" if self.certificate is None else tlv.tlv(_CERTIFICATE, self.certificate.wire))


@dataclass(frozen=True, slots=True)
class Refusal:
    """It was not done, and why, for people."""

    reason: str

    def encode(self) -> bytes:
        return tlv.tlv(_REFUSAL, self.reason.encode())


Offer: TypeAlias = KeyOffer | UserOffer
Outcome: TypeAlias = Grant | Refusal


def decode_offer(content: bytes) -> Offer:
    """Read an offer of either kind; raises `BadPacket`."""
    type_, fields = _open(content)
    if type_ == _USER_OFFER:
        return UserOffer(
            _text(fields, _WHAT), _number(fields, _UNTIL), _text(fields, _BROKER), _field(fields, _AUTHORITY)
        )
    if type_ != _KEY_OFFER:
        raise BadPacket(f"element {type_} is no offer of an enrolment")
    above = [Certificate.decode(wire) for wire in _packets(_field(fields, _ABOVE))]
    return KeyOffer(
        _text(fields, _WHAT),
        Name.decode(_field(fields, tlv.NAME)),
        _number(fields, _UNTIL),
        _inflated(_field(fields, _SCHEMA)),
        Certificate.decode(_field(fields, _ANCHOR)),
        tuple(above),
    )


def decode_claim(content: bytes) -> Claim:
    """Read a claim; raises `BadPacket`."""
    type_, fields = _open(content)
    if type_ != _CLAIM:
        raise BadPacket(f"element {type_} is no claim of an enrolment")
    if (_REQUEST in fields) == (_HASH in fields):
        raise BadPacket("a claim holds either a request for a certificate or the hash of a password")
    time = _number(fields, _TIME)
    if _HASH in fields:
        return Claim(time, None, _text(fields, _HASH))
    return Claim(time, Certificate.decode(fields[_REQUEST]))


def decode_outcome(content: bytes) -> Outcome:
    """Read what became of a claim; raises `BadPacket`."""
    type_, low, end = tlv.element(content, 0, len(content))
    if type_ == _REFUSAL and end == len(content):
        return Refusal(_utf8(content[low:end], _REFUSAL))
    type_, fields = _open(content)
    if type_ != _GRANT:
        raise BadPacket(f"element {type_} is no outcome of an enrolment")
    return Grant(Certificate.decode(fields[_CERTIFICATE]) if _CERTIFICATE in fields else None)


def _open(content: bytes) -> tuple[int, dict[int, bytes]]:
    """The type of the one element there is, and its fields; each may come once."""
    type_, low, end = tlv.element(content, 0, len(content))
    if end != len(content):
        raise BadPacket(f"{len(content) - end} bytes follow the message")
    fields: dict[int, bytes] = {}
    for field, start, stop in tlv.elements(content, low, end):
        if field in fields:
            raise BadPacket(f"element {field} is there twice")
        fields[field] = content[start:stop]
    return type_, fields


def _packets(wire: bytes) -> list[bytes]:
    found: list[bytes] = []
    position = 0
    while position < len(wire):
        if len(found) == MAX_ABOVE:
            raise BadPacket(f"more than {MAX_ABOVE} certificates above one")
        _, _, end = tlv.element(wire, position, len(wire))
        found.append(wire[position:end])
        position = end
    return found


def _field(fields: dict[int, bytes], type_: int) -> bytes:
    if type_ not in fields:
        raise BadPacket(f"element {type_} is missing")
    return fields[type_]


def _number(fields: dict[int, bytes], type_: int) -> int:
    value = _field(fields, type_)
    return read_nni(value, 0, len(value))


def _text(fields: dict[int, bytes], type_: int) -> str:
    return _utf8(_field(fields, type_), type_)


def _utf8(value: bytes, type_: int) -> str:
    if len(value) > MAX_TEXT_BYTES:
        raise BadPacket(f"element {type_} has {len(value)} bytes, {MAX_TEXT_BYTES} are the limit")
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise BadPacket(f"element {type_} is not UTF-8") from None
    if not text.replace("\n", "").isprintable() and text:
        raise BadPacket(f"element {type_} holds control characters")
    return text


def _inflated(value: bytes) -> str:
    expanding = zlib.decompressobj()
    try:
        text = expanding.decompress(value, MAX_SCHEMA_BYTES)
    except zlib.error:
        raise BadPacket("the schema of the offer cannot be unpacked") from None
    if not expanding.eof:
        raise BadPacket(f"the schema of the offer is cut off, or larger than {MAX_SCHEMA_BYTES} bytes")
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise BadPacket("the schema of the offer is not UTF-8") from None
