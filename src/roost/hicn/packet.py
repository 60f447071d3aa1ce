"""Interest and Data as applications see them, and how they become bytes and back, in either form.

    encode(Interest(HicnName.parse("abcd::1|100"), lifetime_ms=2000))     → 60 bytes
    decode(wire)                                                          → Interest or Data

`encode` computes the checksum. `decode` does not look at it: in a UDP datagram it is allowed to be stale, see
`roost.hicn.checksum`. A lifetime keeps its 16 highest bits in the TCP form (`roost.hicn.lifetime`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from struct import pack
from typing import Final

from roost.errors import BadPacket
from roost.hicn import head as layout
from roost.hicn.checksum import checksum
from roost.hicn.head import COMPACT_BYTES, MAX_PACKET_BYTES, TCP_BYTES, Head, read_head
from roost.hicn.lifetime import split_lifetime
from roost.hicn.manifest import SuffixList, decode_suffixes
from roost.hicn.name import ADDRESS_BYTES, HicnName
from roost.hicn.signature import Signature, decode_signature

INTEREST_LIFETIME_MS: Final = 2_000
DATA_LIFETIME_MS: Final = 50_000
HOP_LIMIT: Final = 254
NO_LOCATOR: Final = bytes(ADDRESS_BYTES)
MAX_PAYLOAD_BYTES: Final = MAX_PACKET_BYTES - TCP_BYTES  # of a packet in the TCP form that is not signed
_MAX_COMPACT_LIFETIME_MS: Final = 0xFFFF_FFFF
_PORTS: Final = b"\x80\x00\x00\x80"


class Form(Enum):
    """How a packet is written; one name may be asked for in one form and answered in the other."""

    TCP = "tcp"
    COMPACT = "compact"


@dataclass(frozen=True)
class Interest:
    """A question for one name, or with `manifest` for several of one prefix; it may carry a payload instead."""

    name: HicnName
    lifetime_ms: int = INTEREST_LIFETIME_MS
    payload: bytes = b""
    manifest: SuffixList | None = None
    locator: bytes = NO_LOCATOR  # who asks, on faces that are IPv6 itself
    hop_limit: int = HOP_LIMIT
    form: Form = Form.TCP
    signature: Signature | None = None


@dataclass(frozen=True)
class Data:
    """The answer: content of a name. A lifetime of 0 means that nobody may answer with it again."""

    name: HicnName
    payload: bytes = b""
    lifetime_ms: int = DATA_LIFETIME_MS
    path_label: int = 0
    manifest: bool = False  # the payload lists other content
    last: bool = False  # the last segment
    locator: bytes = NO_LOCATOR  # who asked, on faces that are IPv6 itself
    hop_limit: int = HOP_LIMIT
    form: Form = Form.TCP
    signature: Signature | None = None


def encode(packet: Interest | Data) -> bytes:
    """Write a packet; `BadPacket` says what cannot be written."""
    payload = payload_of(packet)
    signature = b"" if packet.signature is None else packet.signature.encode()
    compact = packet.form is Form.COMPACT
    size = (COMPACT_BYTES if compact else TCP_BYTES) + len(signature) + len(payload)
    if size > MAX_PACKET_BYTES:
        raise BadPacket(f"a packet has at most {MAX_PACKET_BYTES} bytes, this one would have {size}")
    header = _compact_header(packet, size) if compact else _tcp_header(packet, size)
    wire = header + signature + payload
    return wire if compact else wire[:56] + checksum(wire).to_bytes(2, "big") + wire[58:]


def decode(wire: bytes) -> Interest | Data:
    """Read a packet; `BadPacket` says what is wrong with it."""
    return from_head(read_head(wire))


def from_head(head: Head) -> Interest | Data:
    """Read the rest of a packet whose form has been checked."""
    wire = head.wire
    name = HicnName.from_key(head.key)
    form = Form.COMPACT if head.compact else Form.TCP
    hop_limit = HOP_LIMIT if head.compact else wire[7]
    signature = decode_signature(wire, head.signature_at) if head.signature_at else None
    payload = wire[head.body :]
    if head.is_data:
        return Data(
            name,
            payload,
            head.lifetime_ms,
            wire[layout.COMPACT_LABEL if head.compact else layout.TCP_LABEL],
            manifest=head.manifest,
            last=bool(wire[1] & layout.COMPACT_LAST if head.compact else wire[53] & layout.LAST),
            locator=NO_LOCATOR if head.compact else wire[24:40],
            hop_limit=hop_limit,
            form=form,
            signature=signature,
        )
    manifest = decode_suffixes(payload) if head.manifest else None
    locator = NO_LOCATOR if head.compact else wire[8:24]
    rest = b"" if head.manifest else payload
    return Interest(name, head.lifetime_ms, rest, manifest, locator, hop_limit, form, signature)


def payload_of(packet: Interest | Data) -> bytes:
    """Return what ends the packet: its payload, or the list of suffixes of an Interest that has one."""
    if isinstance(packet, Data) or packet.manifest is None:
        return packet.payload
    if packet.payload:
        raise BadPacket("an Interest with a list of suffixes has no room for a payload")
    if packet.manifest.suffixes[0] != packet.name.suffix:
        raise BadPacket(f"a list of suffixes starts with the packet's own, {packet.name.suffix}")
    return packet.manifest.encode()


def _tcp_header(packet: Interest | Data, size: int) -> bytes:
    if len(packet.locator) != ADDRESS_BYTES:
        raise BadPacket(f"a locator has {ADDRESS_BYTES} bytes, this one has {len(packet.locator)}")
    if not 0 <= packet.hop_limit <= 255:
        raise BadPacket(f"a hop limit is 0 to 255, not {packet.hop_limit}")
    mantissa, scale = split_lifetime(packet.lifetime_ms)
    flags = layout.PLAIN
    if packet.manifest:
        flags |= layout.MANIFEST
    if packet.signature is not None:
        flags |= layout.SIGNED
    label = 0
    addresses = packet.locator + packet.name.prefix
    if isinstance(packet, Data):
        flags |= layout.IS_DATA
        if packet.last:
            flags |= layout.LAST
        label = _label_of(packet)
        addresses = packet.name.prefix + packet.locator
    return (
        pack("!IHBB", 6 << 28, size - 40, 6, packet.hop_limit)
        + addresses
        + _PORTS
        + pack("!IIBBHHH", packet.name.suffix, label, 5 << 4 | scale, flags, 0, 0, mantissa)
    )


def _compact_header(packet: Interest | Data, size: int) -> bytes:
    if packet.locator != NO_LOCATOR or packet.hop_limit != HOP_LIMIT:
        raise BadPacket("the compact form has no place for a locator or a hop limit")
    if not 0 <= packet.lifetime_ms <= _MAX_COMPACT_LIFETIME_MS:
        raise BadPacket(f"a lifetime is 0 to {_MAX_COMPACT_LIFETIME_MS} ms, not {packet.lifetime_ms}")
    flags = layout.COMPACT_MANIFEST if packet.manifest else 0
    if packet.signature is not None:
        flags |= layout.COMPACT_SIGNED
    label = 0
    if isinstance(packet, Data):
        label = _label_of(packet)
        if packet.last:
            flags |= layout.COMPACT_LAST
    else:
        flags |= layout.COMPACT_INTEREST
    fixed = pack("!BBHI", layout.COMPACT, flags, size - COMPACT_BYTES, packet.lifetime_ms)
    return fixed + packet.name.key + label.to_bytes(4, "big")


def _label_of(data: Data) -> int:
    if not 0 <= data.path_label <= 255:
        raise BadPacket(f"a path label is 0 to 255, not {data.path_label}")
    return data.path_label


def narrowed(head: Head, onward: list[bytes]) -> bytes:
    """Return an Interest with a list that asks only for these names; one that is signed stays as it is."""
    packet = from_head(head)
    if not isinstance(packet, Interest) or packet.manifest is None or packet.signature is not None:
        return head.wire
    left = {int.from_bytes(key[16:], "big") for key in onward}
    listed = packet.manifest
    asked = sum(1 << at for at, suffix in enumerate(listed.suffixes) if listed.asked >> at & 1 and suffix in left)
    return encode(replace(packet, manifest=SuffixList(listed.suffixes, asked)))
