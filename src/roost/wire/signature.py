"""SignatureInfo of Data and Interests, and what a signer is [NDN-packet-spec, signature and signed-interest].

Keys live in `roost.trust`, the two signers that need none in `roost.wire.digest`. SignatureInfo repeats for every
packet of a key, so decoding is remembered by its bytes.
"""

from __future__ import annotations

from typing import Final, Protocol

from roost.errors import BadPacket
from roost.naming.name import Name
from roost.naming.number import read_nni
from roost.wire import tlv
from roost.wire.tlv import element, skip

DIGEST_SHA256: Final = 0
SHA256_RSA: Final = 1
SHA256_ECDSA: Final = 3
HMAC_SHA256: Final = 4
ED25519: Final = 5
NULL: Final = 200

SIGNATURE_NAMES: Final[dict[int, str]] = {
    DIGEST_SHA256: "SHA-256 digest",
    SHA256_RSA: "RSA",
    SHA256_ECDSA: "ECDSA",
    HMAC_SHA256: "HMAC-SHA256",
    ED25519: "Ed25519",
    NULL: "null",
}

_NAMED: Final = frozenset({SHA256_RSA, SHA256_ECDSA, HMAC_SHA256, ED25519})
VALIDITY_PERIOD: Final = 253
_NOT_BEFORE: Final = 254
_NOT_AFTER: Final = 255
_TIME_BYTES: Final = 15
_REMEMBERED: Final = 4096
_REMEMBERED_BYTES: Final = 512  # a stranger must not fill the memory with long ones


class Signer(Protocol):
    """What makes a signature: its type, where the key is to be found, and the value over a signed portion."""

    @property
    def signature_type(self) -> int: ...
    @property
    def key_locator(self) -> bytes: ...  # the whole KeyLocator element, empty for digest and null
    def sign(self, portion: bytes) -> bytes: ...


class SignatureInfo:
    """Who signed and how; `key_name` or `key_digest` say where the key is, the rest is None where absent."""

    __slots__ = ("key_digest", "key_name", "nonce", "sequence", "time_ms", "type", "validity", "wire")

    def __init__(self, wire: bytes) -> None:
        self.wire: Final = wire  # the element's TLV-VALUE
        self.type = -1
        self.key_name: Name | None = None
        self.key_digest: bytes | None = None
        self.nonce: bytes | None = None
        self.time_ms: int | None = None
        self.sequence: int | None = None
        self.validity: tuple[str, str] | None = None

    def __repr__(self) -> str:
        kind = SIGNATURE_NAMES.get(self.type, f"type {self.type}")
        key = f" by {self.key_name}" if self.key_name else f" by {self.key_digest.hex()}" if self.key_digest else ""
        return f"<{kind} signature{key}>"


_known: Final[dict[bytes, SignatureInfo]] = {}


def signature_info(buffer: bytes, start: int, end: int) -> SignatureInfo:
    """Decode the value of a SignatureInfo or InterestSignatureInfo element."""
    wire = buffer[start:end]
    info = _known.get(wire)
    if info is None:
        info = _decode(wire)
        if info.nonce is None and info.time_ms is None and info.sequence is None and len(wire) <= _REMEMBERED_BYTES:
            if len(_known) >= _REMEMBERED:
                _known.clear()
            _known[wire] = info
    return info


_ORDER: Final[dict[int, int]] = {
    tlv.SIGNATURE_TYPE: 1,
    tlv.KEY_LOCATOR: 2,
    tlv.SIGNATURE_NONCE: 3,
    tlv.SIGNATURE_TIME: 4,
    tlv.SIGNATURE_SEQUENCE: 5,
    VALIDITY_PERIOD: 6,
}


def _decode(wire: bytes) -> SignatureInfo:
    info = SignatureInfo(wire)
    last = position = 0
    end = len(wire)
    while position < end:
        at = position
        type_, low, position = element(wire, position, end)
        order = _ORDER.get(type_, 0)
        if order <= last:
            skip(type_, at, "SignatureInfo")
            continue
        last = order
        if type_ == tlv.SIGNATURE_TYPE:
            info.type = read_nni(wire, low, position)
        elif type_ == tlv.KEY_LOCATOR:
            _key_locator(info, wire, low, position)
        elif type_ == tlv.SIGNATURE_NONCE:
            if low == position:
                raise BadPacket("SignatureNonce is empty, it has at least one byte")
            info.nonce = wire[low:position]
        elif type_ == tlv.SIGNATURE_TIME:
            info.time_ms = read_nni(wire, low, position)
        elif type_ == tlv.SIGNATURE_SEQUENCE:
            info.sequence = read_nni(wire, low, position)
        else:
            info.validity = read_validity(wire, low, position)
    if info.type < 0:
        raise BadPacket("SignatureInfo has no SignatureType")
    if info.type in _NAMED and info.type != HMAC_SHA256 and info.key_name is None and info.key_digest is None:
        raise BadPacket(f"a {SIGNATURE_NAMES[info.type]} signature needs a KeyLocator, this one has none")
    return info


def _key_locator(info: SignatureInfo, wire: bytes, start: int, end: int) -> None:
    if start == end:
        raise BadPacket("KeyLocator is empty, it holds a Name or a KeyDigest")
    type_, low, high = element(wire, start, end)
    if type_ == tlv.NAME:
        info.key_name = Name.decode(wire[low:high])
    elif type_ == tlv.KEY_DIGEST:
        if high - low != 32:
            raise BadPacket(f"KeyDigest has 32 bytes, this one has {high - low}")
        info.key_digest = wire[low:high]
    else:
        raise BadPacket(f"KeyLocator holds a Name or a KeyDigest, not element {type_}")
    while high < end:
        at = high
        type_, _, high = element(wire, high, end)
        skip(type_, at, "KeyLocator")


def read_validity(wire: bytes, start: int, end: int) -> tuple[str, str]:
    """Read the value of a ValidityPeriod: both times as `YYYYMMDDThhmmss` in UTC."""
    times: list[str] = []
    position = start
    while position < end:
        at = position
        type_, low, position = element(wire, position, end)
        if len(times) == 2 or type_ != (_NOT_AFTER if times else _NOT_BEFORE):
            skip(type_, at, "ValidityPeriod")
            continue
        text = wire[low:position]
        if len(text) != _TIME_BYTES or text[8:9] != b"T" or not (text[:8] + text[9:]).isdigit():
            raise BadPacket("NotBefore and NotAfter are written as YYYYMMDDThhmmss")
        times.append(text.decode())
    if len(times) != 2:
        raise BadPacket("ValidityPeriod holds NotBefore and NotAfter")
    return times[0], times[1]


def validity_element(not_before: str, not_after: str) -> bytes:
    """Write a ValidityPeriod; both times are `YYYYMMDDThhmmss` in UTC."""
    return tlv.tlv(
        VALIDITY_PERIOD,
        tlv.tlv(_NOT_BEFORE, not_before.encode()) + tlv.tlv(_NOT_AFTER, not_after.encode()),
    )


def locator_of_name(name: Name) -> bytes:
    """Write a KeyLocator that holds a name."""
    return tlv.tlv(tlv.KEY_LOCATOR, name.wire)


def locator_of_digest(digest: bytes) -> bytes:
    """Write a KeyLocator that holds the SHA-256 of a public key."""
    return tlv.tlv(tlv.KEY_LOCATOR, tlv.tlv(tlv.KEY_DIGEST, digest))
