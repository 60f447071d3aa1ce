"""Interest packets [NDN-packet-spec, interest and signed-interest]: strict over their bytes; encoded; signed.

A forwarder changes three things on the way, each as a splice of the wire bytes: the Nonce it adds, the HopLimit it
counts down and the ForwardingHint it strips inside its own region.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from roost.errors import BadPacket
from roost.naming.component import IMPLICIT_DIGEST, PARAMETERS_DIGEST
from roost.naming.name import Name, check_components, parameters_digest_count
from roost.naming.number import read_nni, var
from roost.wire import tlv
from roost.wire.delegation import decode_delegations
from roost.wire.signature import SignatureInfo, Signer, signature_info
from roost.wire.tlv import element, outer, packet, skip

DEFAULT_LIFETIME_MS: Final = 4000
NONCE_BYTES: Final = 4


class Interest:
    """One Interest packet: `wire` is the whole packet, the rest is read off it; absent numbers are -1.

    `value` and `cuts` are the name as bytes, all that a forwarder needs; `name` is made of them when asked for.
    """

    __slots__ = (
        "_hint_high",
        "_hint_low",
        "_name",
        "_parameters_at",
        "_parameters_high",
        "_parameters_low",
        "_signature_at",
        "_signature_high",
        "_signature_low",
        "can_be_prefix",
        "cuts",
        "hop_limit",
        "hop_limit_at",
        "lifetime_ms",
        "must_be_fresh",
        "nonce",
        "signature",
        "splice_at",
        "value",
        "wire",
    )

    def __init__(self, wire: bytes, value: bytes, cuts: list[int]) -> None:
        self.wire: Final = wire
        self.value: Final = value
        self.cuts: Final = cuts
        self._name: Name | None = None
        self.can_be_prefix = False
        self.must_be_fresh = False
        self.nonce = b""
        self.lifetime_ms = DEFAULT_LIFETIME_MS
        self.hop_limit = -1
        self.hop_limit_at = -1
        self.signature: SignatureInfo | None = None
        self.splice_at = 0  # where a Nonce belongs when there is none
        self._hint_low = 0
        self._hint_high = 0
        self._parameters_at = 0
        self._parameters_low = 0
        self._parameters_high = 0
        self._signature_at = 0
        self._signature_low = 0
        self._signature_high = 0

    @staticmethod
    def decode(wire: bytes) -> Interest:
        """Check and open a whole Interest packet; raises `BadPacket` with the reason."""
        return decode_interest(wire)

    @property
    def name(self) -> Name:
        """The name."""
        name = self._name
        if name is None:
            name = Name(self.value, self.cuts)
            self._name = name
        return name

    @property
    def hints(self) -> list[Name]:
        """The delegations of the ForwardingHint, in order; empty where there is none."""
        if not self._hint_high:
            return []
        return decode_delegations(self.wire, self._hint_low, self._hint_high, "ForwardingHint")

    @property
    def has_hint(self) -> bool:
        """Whether there is a ForwardingHint."""
        return self._hint_high > 0

    @property
    def parameters(self) -> bytes | None:
        """The ApplicationParameters, None where there are none."""
        return self.wire[self._parameters_low : self._parameters_high] if self._parameters_at else None

    @property
    def signed_portion(self) -> bytes:
        """What a signature covers: the name without its digest, and, if there is one, parameters and SignatureInfo."""
        covered = b"".join([part.wire for part in self.name if part.type != PARAMETERS_DIGEST])
        if not self._signature_at:  # also because a slice that ends before it begins is an error when compiled
            return covered
        return covered + self.wire[self._parameters_at : self._signature_at]

    @property
    def signature_value(self) -> bytes:
        """The signature, empty where there is none."""
        return self.wire[self._signature_low : self._signature_high]

    def with_nonce(self, nonce: bytes) -> bytes:
        """Return the wire with a Nonce added."""
        return self._spliced(self.splice_at, self.splice_at, b"\x0a\x04" + nonce)

    def with_hop_limit(self, hop_limit: int) -> bytes:
        """Return the wire with its HopLimit replaced."""
        at = self.hop_limit_at
        return self.wire[:at] + bytes((hop_limit,)) + self.wire[at + 1 :]

    def without_hint(self) -> bytes:
        """Return the wire with its ForwardingHint stripped."""
        low = self._hint_low - 1 - len(var(self._hint_high - self._hint_low))
        return self._spliced(low, self._hint_high, b"")

    def _spliced(self, low: int, high: int, replacement: bytes) -> bytes:
        _, start, end = element(self.wire, 0, len(self.wire))
        return packet(tlv.INTEREST, self.wire[start:low] + replacement + self.wire[high:end])

    def __repr__(self) -> str:
        flags = " prefix" * self.can_be_prefix + " fresh" * self.must_be_fresh
        return f"<Interest {self.name}{flags} {self.lifetime_ms} ms>"


_FIELDS: Final = (
    tlv.CAN_BE_PREFIX,
    tlv.MUST_BE_FRESH,
    tlv.FORWARDING_HINT,
    tlv.NONCE,
    tlv.LIFETIME,
    tlv.HOP_LIMIT,
    tlv.PARAMETERS,
    tlv.INTEREST_SIGNATURE_INFO,
    tlv.INTEREST_SIGNATURE_VALUE,
)
_ORDER: Final[list[int]] = [_FIELDS.index(type_) + 1 if type_ in _FIELDS else 0 for type_ in range(64)]


def decode_interest(wire: bytes) -> Interest:
    """Check and open a whole Interest packet."""
    start, end = outer(wire, tlv.INTEREST)
    type_, low, position = element(wire, start, end)
    if type_ != tlv.NAME:
        raise BadPacket("an Interest starts with its Name")
    if low == position:
        raise BadPacket("the Name of an Interest has at least one component")
    cuts = [0]
    digest = check_components(wire, low, position, cuts)
    interest = Interest(wire, wire[low:position], cuts)
    interest.splice_at = position
    last = 0
    while position < end:
        at = position
        type_, low, position = element(wire, at, end)
        order = _ORDER[type_] if type_ < 64 else 0
        if order <= last:
            skip(type_, at, "Interest")
            continue
        last = order
        if order <= 3:
            interest.splice_at = position
            _flags(interest, type_, low, position)
        elif order == 4:
            if position - low != NONCE_BYTES:
                raise BadPacket(f"a Nonce has {NONCE_BYTES} bytes, this one has {position - low}")
            interest.nonce = wire[low:position]
        elif order == 5:
            interest.lifetime_ms = read_nni(wire, low, position)
        elif order == 6:
            if position - low != 1:
                raise BadPacket(f"HopLimit has 1 byte, this one has {position - low}")
            interest.hop_limit = wire[low]
            interest.hop_limit_at = low
        else:
            _signed(interest, order, at, low, position)
    if last >= 7 or digest:
        _check_digests(interest, end)
    return interest


def _flags(interest: Interest, type_: int, low: int, high: int) -> None:
    if type_ == tlv.FORWARDING_HINT:
        decode_delegations(interest.wire, low, high, "ForwardingHint")
        interest._hint_low = low
        interest._hint_high = high
    elif low != high:
        raise BadPacket(f"element {type_} of an Interest is a flag and has no value")
    elif type_ == tlv.CAN_BE_PREFIX:
        interest.can_be_prefix = True
    else:
        interest.must_be_fresh = True


def _signed(interest: Interest, order: int, at: int, low: int, high: int) -> None:
    if order == 7:
        interest._parameters_at = at
        interest._parameters_low = low
        interest._parameters_high = high
    elif order == 8:
        interest.signature = signature_info(interest.wire, low, high)
    else:
        interest._signature_at = at
        interest._signature_low = low
        interest._signature_high = high


def _check_digests(interest: Interest, end: int) -> None:
    parts = list(interest.name)
    if any(part.type == IMPLICIT_DIGEST for part in parts[:-1]):
        raise BadPacket("an implicit digest is the last component of a name")
    digests = [part.value for part in parts if part.type == PARAMETERS_DIGEST]
    if len(digests) > 1:
        raise BadPacket(f"a name has at most one ParametersSha256DigestComponent, this one has {len(digests)}")
    if not interest._parameters_at:
        if digests:
            raise BadPacket("the name has a parameters digest, but there are no ApplicationParameters")
        if interest.signature is not None or interest._signature_at:
            raise BadPacket("a signed Interest has ApplicationParameters, this one has none")
        return
    if not digests:
        raise BadPacket("ApplicationParameters are there, but the name has no parameters digest")
    if sha256(interest.wire[interest._parameters_at : end]).digest() != digests[0]:
        raise BadPacket("the parameters digest in the name does not match the parameters")
    if (interest.signature is None) != (not interest._signature_at):
        raise BadPacket("InterestSignatureInfo and InterestSignatureValue come together")
    if interest.signature is not None and interest.name.at(-1).type != PARAMETERS_DIGEST:
        raise BadPacket("the parameters digest is the last component of a signed Interest's name")


def encode_interest(
    name: Name,
    *,
    nonce: bytes = b"",
    can_be_prefix: bool = False,
    must_be_fresh: bool = False,
    hints: tuple[Name, ...] = (),
    lifetime_ms: int = DEFAULT_LIFETIME_MS,
    hop_limit: int = -1,
    parameters: bytes | None = None,
) -> bytes:
    """Write an Interest; with `parameters`, their digest is appended to the name."""
    if b"\x02\x20" in name.value and parameters_digest_count(name):
        raise BadPacket(f"{name} already has a parameters digest; leave it out, it is made of the parameters")
    tail = b"" if parameters is None else tlv.tlv(tlv.PARAMETERS, parameters)
    return _assemble(name, nonce, can_be_prefix, must_be_fresh, hints, lifetime_ms, hop_limit, tail)


def sign_interest(
    name: Name,
    signer: Signer,
    *,
    nonce: bytes = b"",
    signature_nonce: bytes = b"",
    time_ms: int = -1,
    sequence: int = -1,
    can_be_prefix: bool = False,
    must_be_fresh: bool = False,
    hints: tuple[Name, ...] = (),
    lifetime_ms: int = DEFAULT_LIFETIME_MS,
    hop_limit: int = -1,
    parameters: bytes = b"",
) -> bytes:
    """Write a signed Interest; a parameters digest already in `name` is dropped and made anew."""
    name = Name.of(*[part for part in name if part.type != PARAMETERS_DIGEST])
    info = b"\x1b\x01" + var(signer.signature_type) + signer.key_locator
    if signature_nonce:
        info += tlv.tlv(tlv.SIGNATURE_NONCE, signature_nonce)
    if time_ms >= 0:
        info += tlv.number(tlv.SIGNATURE_TIME, time_ms)
    if sequence >= 0:
        info += tlv.number(tlv.SIGNATURE_SEQUENCE, sequence)
    covered = tlv.tlv(tlv.PARAMETERS, parameters) + tlv.tlv(tlv.INTEREST_SIGNATURE_INFO, info)
    tail = covered + tlv.tlv(tlv.INTEREST_SIGNATURE_VALUE, signer.sign(name.value + covered))
    return _assemble(name, nonce, can_be_prefix, must_be_fresh, hints, lifetime_ms, hop_limit, tail)


def _assemble(
    name: Name,
    nonce: bytes,
    can_be_prefix: bool,  # noqa: FBT001  private, and called with names in order
    must_be_fresh: bool,  # noqa: FBT001
    hints: tuple[Name, ...],
    lifetime_ms: int,
    hop_limit: int,
    tail: bytes,
) -> bytes:
    value = name.value
    if tail:
        value += b"\x02\x20" + sha256(tail).digest()
    if not value:
        raise BadPacket("the Name of an Interest has at least one component")
    body = b"\x07" + var(len(value)) + value
    if can_be_prefix:
        body += b"\x21\x00"
    if must_be_fresh:
        body += b"\x12\x00"
    if hints:
        body += tlv.tlv(tlv.FORWARDING_HINT, b"".join([hint.wire for hint in hints]))
    if nonce:
        if len(nonce) != NONCE_BYTES:
            raise BadPacket(f"a Nonce has {NONCE_BYTES} bytes, not {len(nonce)}")
        body += b"\x0a\x04" + nonce
    if lifetime_ms != DEFAULT_LIFETIME_MS:
        body += tlv.number(tlv.LIFETIME, lifetime_ms)
    if hop_limit >= 0:
        if hop_limit > 255:
            raise BadPacket(f"HopLimit is at most 255, not {hop_limit}")
        body += b"\x22\x01" + bytes((hop_limit,))
    return packet(tlv.INTEREST, body + tail)


def matches(interest: Interest, name: Name, digest: bytes) -> bool:
    """Whether a Data of this name and implicit digest may answer the Interest [interest §matching]."""
    asked = interest.value
    if asked == name.value or (interest.can_be_prefix and name.value.startswith(asked)):
        return True
    return asked[-34:-32] == b"\x01\x20" and asked[:-34] == name.value and asked[-32:] == digest
