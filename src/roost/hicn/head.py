"""What a forwarder reads of a packet, in both forms, with every length checked before anything is touched.

The TCP form (first nibble 6) is an IPv6 header and a TCP header of 20 bytes each and more, 60 in all:

    4–5    length of what follows the IPv6 header       44–47  name suffix
    6      next header, 6                               48–51  Data: path label in byte 51
    8–23   Interest: locator, Data: name prefix         52     data offset 5, lifetime scale
    24–39  Interest: name prefix, Data: locator         53     flags
    40–43  ports, which say nothing                     56–59  checksum, lifetime mantissa

The compact form (first byte 0x90) has 32 bytes: flags 1, length of the rest 2–3, lifetime in ms 4–7, name prefix 8–23,
name suffix 24–27, path label 28–31. A signature block may follow either header, the payload ends the packet.
"""

from __future__ import annotations

from struct import unpack_from
from typing import Final

from roost.errors import BadPacket
from roost.hicn.manifest import decode_suffixes
from roost.hicn.signature import block_end

TCP_BYTES: Final = 60
COMPACT_BYTES: Final = 32
MAX_PACKET_BYTES: Final = 1500  # what hicn-light has room for; a byte more and it is lost there

IS_DATA: Final = 0x40  # ECE; the flags of the TCP form
MANIFEST: Final = 0x20  # URG
SIGNED: Final = 0x10  # ACK
LAST: Final = 0x04  # RST
PLAIN: Final = 0x02  # SYN, which all packets have

COMPACT: Final = 0x90
COMPACT_SIGNED: Final = 0x01
COMPACT_MANIFEST: Final = 0x02
COMPACT_INTEREST: Final = 0x04
COMPACT_LAST: Final = 0x08

TCP_LABEL: Final = 51
COMPACT_LABEL: Final = 31

_IPV4_ZEROS: Final = bytes(12)
_NO_SUFFIX: Final = b"\xff\xff\xff\xff"


class Head:
    """A packet whose form is right: its kind, its name as 20 bytes, its lifetime, and where its parts are."""

    __slots__ = ("body", "compact", "is_data", "key", "lifetime_ms", "manifest", "signature_at", "wanted", "wire")

    def __init__(self, wire: bytes, key: bytes, lifetime_ms: int, *, is_data: bool, compact: bool) -> None:
        self.wire: Final = wire
        self.key: Final = key
        self.lifetime_ms: Final = lifetime_ms
        self.is_data: Final = is_data
        self.compact: Final = compact
        self.manifest = False
        self.signature_at = 0  # 0: not signed
        self.body = 0  # where the payload starts
        self.wanted: list[bytes] = []  # the names that an Interest with a list asks for


def read_head(wire: bytes) -> Head:
    """Read what a forwarder needs; `BadPacket` says what is wrong."""
    size = len(wire)
    if size > MAX_PACKET_BYTES:
        raise BadPacket(f"a packet has at most {MAX_PACKET_BYTES} bytes, this one has {size}")
    first = wire[0] if wire else 0
    if first >> 4 == 6:
        return _read_tcp(wire, size)
    if first == COMPACT:
        return _read_compact(wire, size)
    raise BadPacket(f"a packet starts with 6 (IPv6) or 0x90 (compact), this one with 0x{first:02x}")


def _read_tcp(wire: bytes, size: int) -> Head:
    if size < TCP_BYTES:
        raise BadPacket(f"an IPv6 and a TCP header have {TCP_BYTES} bytes, this packet has {size}")
    length, next_header = unpack_from("!HB", wire, 4)
    if length != size - 40:
        raise BadPacket(f"the IPv6 header announces {length} bytes, {size - 40} follow it")
    if next_header != 6:
        raise BadPacket(f"the next header is TCP (6), not {next_header}")
    offset_scale, flags, _, _, mantissa = unpack_from("!BBHHH", wire, 52)
    if offset_scale >> 4 != 5:
        raise BadPacket(f"the TCP header has 5 words, not {offset_scale >> 4}")
    is_data = flags & IS_DATA != 0
    key = (wire[8:24] if is_data else wire[24:40]) + wire[44:48]
    head = Head(wire, key, mantissa << (offset_scale & 15), is_data=is_data, compact=False)
    _finish(head, TCP_BYTES, manifest=flags & MANIFEST != 0, signed=flags & SIGNED != 0)
    return head


def _read_compact(wire: bytes, size: int) -> Head:
    if size < COMPACT_BYTES:
        raise BadPacket(f"a compact header has {COMPACT_BYTES} bytes, this packet has {size}")
    flags, length, lifetime_ms = unpack_from("!BHI", wire, 1)
    if length != size - COMPACT_BYTES:
        raise BadPacket(f"the compact header announces {length} bytes, {size - COMPACT_BYTES} follow it")
    head = Head(wire, wire[8:28], lifetime_ms, is_data=not flags & COMPACT_INTEREST, compact=True)
    _finish(head, COMPACT_BYTES, manifest=flags & COMPACT_MANIFEST != 0, signed=flags & COMPACT_SIGNED != 0)
    return head


def _finish(head: Head, header_bytes: int, *, manifest: bool, signed: bool) -> None:
    key = head.key
    if key.startswith(_IPV4_ZEROS):
        raise BadPacket("a name prefix that starts with twelve zero bytes is an IPv4 name, which is not supported")
    if key.endswith(_NO_SUFFIX):
        raise BadPacket("suffix 0xffffffff is not a name's")
    head.body = header_bytes
    if signed:
        head.signature_at = header_bytes
        head.body = block_end(head.wire, header_bytes)
    head.manifest = manifest
    if manifest and not head.is_data:
        listed = decode_suffixes(head.wire[head.body :])
        if listed.suffixes[0] != int.from_bytes(key[16:], "big"):
            raise BadPacket(f"a list of suffixes starts with the packet's own, not with {listed.suffixes[0]}")
        head.wanted = [key[:16] + suffix.to_bytes(4, "big") for suffix in listed.wanted()]
