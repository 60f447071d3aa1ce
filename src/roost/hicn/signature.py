"""The signature block of a packet, which hICN calls AH: 44 bytes and the signature field, behind the header.

    0      zero
    1      length of the signature field, in words of 4 bytes
    2      algorithm
    3      bytes of padding at the end of the signature field
    4–11   when it was signed, in ms
    12–43  key id, the SHA-256 of the public key
    44–    signature, padding

What a signature covers, and keys, are in `roost.hicn.signing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import pack, unpack_from
from typing import Final

from roost.errors import BadPacket

ECDSA_SHA256: Final = 7
ED25519: Final = 9
HMAC_SHA256: Final = 13
RSA_SHA256: Final = 17

BLOCK_BYTES: Final = 44
KEY_ID_BYTES: Final = 32
_MAX_FIELD_BYTES: Final = 4 * 255


@dataclass(frozen=True)
class Signature:
    """Who signed, how and when; `field_bytes` is the room its value has, the rest of which is padding."""

    algorithm: int
    time_ms: int
    key_id: bytes
    value: bytes
    field_bytes: int

    def __post_init__(self) -> None:
        if self.field_bytes % 4 or not len(self.value) <= self.field_bytes <= _MAX_FIELD_BYTES:
            raise BadPacket(f"a signature of {len(self.value)} bytes does not fit a field of {self.field_bytes}")
        if self.field_bytes - len(self.value) > 255:
            raise BadPacket("the padding of a signature field is 255 bytes at most")
        if len(self.key_id) != KEY_ID_BYTES:
            raise BadPacket(f"a key id has {KEY_ID_BYTES} bytes, this one has {len(self.key_id)}")
        if not (0 <= self.algorithm <= 0xFF and 0 <= self.time_ms < 1 << 64):
            raise BadPacket("the algorithm of a signature is one byte, its time eight")

    @property
    def size_bytes(self) -> int:
        """How much of the packet it takes."""
        return BLOCK_BYTES + self.field_bytes

    def encode(self) -> bytes:
        """Write the block."""
        padding = self.field_bytes - len(self.value)
        return self._fixed(padding) + self.value + bytes(padding)

    def covered(self) -> bytes:
        """Write the block as it is signed: without padding length and value."""
        return self._fixed(0) + bytes(self.field_bytes)

    def _fixed(self, padding: int) -> bytes:
        return pack("!BBBBQ", 0, self.field_bytes // 4, self.algorithm, padding, self.time_ms) + self.key_id


def block_end(wire: bytes, start: int) -> int:
    """Return where the signature block that starts here ends; checks that all of it is there."""
    if len(wire) < start + BLOCK_BYTES:
        raise BadPacket(f"a signature block has at least {BLOCK_BYTES} bytes, this packet has {len(wire) - start} left")
    zero, words, _, padding = unpack_from("!4B", wire, start)
    field_bytes: int = 4 * words
    end = start + BLOCK_BYTES + field_bytes
    if zero:
        raise BadPacket(f"a signature block starts with a zero byte, not with {zero}")
    if len(wire) < end:
        raise BadPacket(f"a signature field has {field_bytes} bytes, this packet has {len(wire) - end + field_bytes}")
    if padding > field_bytes:
        raise BadPacket(f"a signature field of {field_bytes} bytes has no room for {padding} bytes of padding")
    return end


def decode_signature(wire: bytes, start: int) -> Signature:
    """Read the block that starts here, of which `block_end` has said that it is whole."""
    _, words, algorithm, padding, time_ms = unpack_from("!BBBBQ", wire, start)
    value = start + BLOCK_BYTES
    field_bytes = 4 * words
    return Signature(
        algorithm, time_ms, wire[start + 12 : value], wire[value : value + field_bytes - padding], field_bytes
    )
