"""Data packets [NDN-packet-spec, data]: decoded lazily over their bytes, checked strictly, encoded in one pass."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from roost.errors import BadPacket
from roost.naming.component import IMPLICIT_DIGEST, Component
from roost.naming.name import Name, check_components, cuts_of
from roost.naming.number import read_nni, var
from roost.wire import tlv
from roost.wire.signature import SignatureInfo, Signer, signature_info
from roost.wire.tlv import element, outer, packet, skip

BLOB: Final = 0
LINK: Final = 1
KEY: Final = 2
NACK: Final = 3
PREFIX_ANNOUNCEMENT: Final = 5

_REMEMBERED: Final = 4096
_REMEMBERED_BYTES: Final = 64  # longer ones are padded with unknown elements, and must not fill the memory


class MetaInfo:
    """ContentType, FreshnessPeriod and FinalBlockId of a Data."""

    __slots__ = ("content_type", "final_block", "freshness_ms")

    def __init__(self, content_type: int = BLOB, freshness_ms: int = 0, final_block: Component | None = None) -> None:
        self.content_type: Final = content_type
        self.freshness_ms: Final = freshness_ms
        self.final_block: Final = final_block


_PLAIN: Final = MetaInfo()
_known: Final[dict[bytes, MetaInfo]] = {}


class Data:
    """One Data packet, immutable: `wire` is the whole packet, everything else is read off it.

    `value` is the name as bytes, which is all that a forwarder needs; `name` is made of it when asked for.
    """

    __slots__ = (
        "_content_high",
        "_content_low",
        "_digest",
        "_name",
        "_portion_high",
        "_portion_low",
        "_signature_low",
        "meta",
        "signature",
        "value",
        "wire",
    )

    def __init__(self, wire: bytes, value: bytes, meta: MetaInfo, signature: SignatureInfo) -> None:
        self.wire: Final = wire
        self.value: Final = value
        self._name: Name | None = None
        self.meta: Final = meta
        self.signature: Final = signature
        self._content_low = 0
        self._content_high = 0
        self._portion_low = 0
        self._portion_high = 0
        self._signature_low = 0
        self._digest = b""

    @staticmethod
    def decode(wire: bytes) -> Data:
        """Check and open a whole Data packet; raises `BadPacket` with the reason."""
        return decode_data(wire)

    @property
    def name(self) -> Name:
        """The name."""
        name = self._name
        if name is None:
            name = Name(self.value)
            self._name = name
        return name

    @property
    def content(self) -> bytes:
        """The payload."""
        return self.wire[self._content_low : self._content_high]

    @property
    def content_type(self) -> int:
        """The ContentType, 0 (blob) where the packet says nothing."""
        return self.meta.content_type

    @property
    def freshness_ms(self) -> int:
        """The FreshnessPeriod, 0 where the packet says nothing."""
        return self.meta.freshness_ms

    @property
    def final_block(self) -> Component | None:
        """The last component of the final segment's name, if the packet says."""
        return self.meta.final_block

    @property
    def signed_portion(self) -> bytes:
        """The bytes the signature covers."""
        return self.wire[self._portion_low : self._portion_high]

    @property
    def signature_value(self) -> bytes:
        """The signature."""
        return self.wire[self._signature_low :][: _length_at(self.wire, self._portion_high)]

    @property
    def implicit_digest(self) -> bytes:
        """The SHA-256 of the whole packet."""
        if not self._digest:
            self._digest = sha256(self.wire).digest()
        return self._digest

    @property
    def full_name(self) -> Name:
        """The name with the implicit digest as last component."""
        return Name(self.value + b"\x01\x20" + self.implicit_digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Data) and self.wire == other.wire

    def __hash__(self) -> int:
        return hash(self.wire)

    def __repr__(self) -> str:
        return f"<Data {self.name} {self._content_high - self._content_low} bytes, {self.signature!r}>"


def decode_data(wire: bytes) -> Data:
    """Check and open a whole Data packet."""
    start, end = outer(wire, tlv.DATA)
    type_, low, position = element(wire, start, end)
    if type_ != tlv.NAME:
        raise BadPacket("a Data starts with its Name")
    value = wire[low:position]
    if check_components(wire, low, position) and any(part.type == IMPLICIT_DIGEST for part in Name(value)):
        raise BadPacket("an implicit digest is in the name of a Data; only an Interest may ask by it")
    meta = _PLAIN
    content_low = content_high = 0
    at = position
    type_, low, position = element(wire, at, end)
    while type_ > 31:
        skip(type_, at, "Data")
        at = position
        type_, low, position = element(wire, at, end)
    if type_ == tlv.META_INFO:
        meta = meta_info(wire, low, position)
        at = position
        type_, low, position = element(wire, at, end)
    while type_ > 31:
        skip(type_, at, "Data")
        at = position
        type_, low, position = element(wire, at, end)
    if type_ == tlv.CONTENT:
        content_low = low
        content_high = position
        at = position
        type_, low, position = element(wire, at, end)
        while type_ > 31:
            skip(type_, at, "Data")
            at = position
            type_, low, position = element(wire, at, end)
    if type_ != tlv.SIGNATURE_INFO:
        raise BadPacket(f"SignatureInfo was expected at byte {at} of the Data, element {type_} is there")
    data = Data(wire, value, meta, signature_info(wire, low, position))
    data._content_low = content_low
    data._content_high = content_high
    data._portion_low = start
    while True:
        at = position
        type_, low, position = element(wire, at, end)
        if type_ == tlv.SIGNATURE_VALUE:
            break
        skip(type_, at, "Data")
    data._portion_high = at
    data._signature_low = low
    while position < end:
        at = position
        type_, _, position = element(wire, at, end)
        skip(type_, at, "Data")
    return data


def meta_info(buffer: bytes, start: int, end: int) -> MetaInfo:
    """Decode the value of a MetaInfo element; remembered by its bytes, which repeat within a stream."""
    wire = buffer[start:end]
    meta = _known.get(wire)
    if meta is None:
        meta = _decode_meta(wire)
        if meta.final_block is None and len(wire) <= _REMEMBERED_BYTES:
            if len(_known) >= _REMEMBERED:
                _known.clear()
            _known[wire] = meta
    return meta


def _decode_meta(wire: bytes) -> MetaInfo:
    content_type = freshness_ms = last = position = 0
    final_block: Component | None = None
    end = len(wire)
    while position < end:
        at = position
        type_, low, position = element(wire, at, end)
        if not last < type_ <= tlv.FINAL_BLOCK or type_ < tlv.CONTENT_TYPE:
            skip(type_, at, "MetaInfo")
            continue
        last = type_
        if type_ == tlv.CONTENT_TYPE:
            content_type = read_nni(wire, low, position)
        elif type_ == tlv.FRESHNESS:
            freshness_ms = read_nni(wire, low, position)
        else:
            cuts = cuts_of(wire, low, position)
            if len(cuts) != 2:
                raise BadPacket(f"FinalBlockId holds exactly one name component, this one holds {len(cuts) - 1}")
            final_block = Name(wire[low:position], cuts).at(0)
    return MetaInfo(content_type, freshness_ms, final_block)


def encode_meta(content_type: int, freshness_ms: int, final_block: Component | None) -> bytes:
    """Write a MetaInfo element, empty bytes when everything has its default."""
    value = b""
    if content_type:
        value = tlv.number(tlv.CONTENT_TYPE, content_type)
    if freshness_ms:
        value += tlv.number(tlv.FRESHNESS, freshness_ms)
    if final_block is not None:
        value += tlv.tlv(tlv.FINAL_BLOCK, final_block.wire)
    return tlv.tlv(tlv.META_INFO, value) if value else b""


def encode_data(
    name: Name,
    content: bytes,
    signer: Signer,
    *,
    freshness_ms: int = 0,
    content_type: int = BLOB,
    final_block: Component | None = None,
    info_extra: bytes = b"",
) -> bytes:
    """Write and sign a Data; `info_extra` goes into SignatureInfo behind the KeyLocator (a ValidityPeriod, say)."""
    meta = b""
    if freshness_ms or content_type or final_block is not None:
        meta = encode_meta(content_type, freshness_ms, final_block)
    portion = encode_portion(name, content, signer, meta, info_extra)
    return add_signature(portion, signer.sign(portion))


def encode_portion(name: Name, content: bytes, signer: Signer, meta: bytes = b"", info_extra: bytes = b"") -> bytes:
    """Write the signed portion of a Data, which names the signer already; `meta` is a whole MetaInfo, or empty."""
    value = name.value
    info = b"\x1b\x01" + var(signer.signature_type) + signer.key_locator + info_extra
    # One element a line.
    # fmt: off
    return b"".join((
        b"\x07", var(len(value)), value,
        meta,
        b"\x15", var(len(content)), content,
        b"\x16", var(len(info)), info,
    ))
    # fmt: on


def add_signature(portion: bytes, signature: bytes) -> bytes:
    """Make a Data of a signed portion and the signature over it."""
    return packet(tlv.DATA, portion + b"\x17" + var(len(signature)) + signature)


def make_data(
    name: Name,
    content: bytes,
    signer: Signer,
    *,
    freshness_ms: int = 0,
    content_type: int = BLOB,
    final_block: Component | None = None,
) -> Data:
    """Write and sign a Data, as a packet to look at."""
    return decode_data(
        encode_data(
            name, content, signer, freshness_ms=freshness_ms, content_type=content_type, final_block=final_block
        )
    )


def _length_at(wire: bytes, position: int) -> int:
    _, low, high = element(wire, position, len(wire))
    return high - low
