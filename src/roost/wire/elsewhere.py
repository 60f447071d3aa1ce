"""Elsewhere: in the reading of a payload that does not fit a packet, where its parts are, and how to know them.

    Elsewhere = 181 { first (8 bytes), count (4), size_bytes (4), digest (32), [key (32)] }

| field      | value                                                                                               |
| ---------- | --------------------------------------------------------------------------------------------------- |
| first      | the number of the first part, in the stream of the parts (`roost.repo.payloads`)                     |
| count      | of parts, whose numbers follow each other                                                           |
| size_bytes | of the payload                                                                                      |
| digest     | SHA-256 of the payload                                                                              |
| key        | of a reading that is sealed: the parts are the payload encrypted with it (AES-256-GCM)               |

Numbers are big-endian. The number of the element is odd: who does not know it cannot take the empty payload beside it
for the real one. How parts are made and joined is `roost.broker.large`'s.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from roost.errors import BadPacket
from roost.wire import tlv

ELSEWHERE: Final = 181
MAX_PARTS: Final = 1 << 16
KEY_BYTES: Final = 32
_HEAD: Final = struct.Struct(">QII32s")
ENCODED_BYTES: Final = _HEAD.size + KEY_BYTES + 2  # at most


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Where the payload of a reading is; without a `key` its parts are plain."""

    first: int
    count: int
    size_bytes: int
    digest: bytes
    key: bytes = b""

    def encode(self) -> bytes:
        """Write the whole element."""
        return tlv.tlv(ELSEWHERE, _HEAD.pack(self.first, self.count, self.size_bytes, self.digest) + self.key)


def decode_elsewhere(buffer: bytes, low: int, high: int) -> Elsewhere:
    """Open the value of the element; raises `BadPacket`."""
    key_at = low + _HEAD.size
    if high - key_at not in {0, KEY_BYTES}:
        raise BadPacket(f"where a payload is takes {_HEAD.size} bytes, or {KEY_BYTES} more, not {high - low}")
    first, count, size_bytes, digest = _HEAD.unpack_from(buffer, low)
    if not first or not 1 <= count <= MAX_PARTS or first + count > 1 << 64:
        raise BadPacket(f"a payload has 1 to {MAX_PARTS} parts from number 1 on, not {count} from {first} on")
    return Elsewhere(first, count, size_bytes, digest, buffer[key_at:high])
