"""Posting: what a reading that came over MQTT keeps of its PUBLISH, so that another node can hand it on as it was.

    Posting = 176 { flags, expiry_s, packet id, length and bytes of the client id, properties }

| field      | bytes | value                                                                                        |
| ---------- | ----- | -------------------------------------------------------------------------------------------- |
| flags      | 1     | bits 0–1 QoS, bit 2 retain, bit 3 there is an expiry; the others 0                           |
| expiry_s   | 4     | Message Expiry Interval, seconds from the event time; 0 without one                          |
| packet id  | 2     | that of a QoS 2 message, so that one that is sent again at another node is known; else 0     |
| client id  | 2 + n | who published it (No Local)                                                                  |
| properties | rest  | the MQTT 5 properties that are handed on unaltered, as they came                             |

Numbers are big-endian, as in MQTT. The number of the element is even, so who does not know it skips it. What the fields
mean, and whether the properties are well formed, is the broker's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.errors import BadPacket
from roost.wire.envelope import EXPIRES, HEAD, RETAIN, posting_bytes

_FLAGS: Final = 15


@dataclass(frozen=True, slots=True)
class Posting:
    """How an MQTT client published a reading; an `expiry_s` of -1 is none."""

    qos: int
    retain: bool = False
    client: bytes = b""
    expiry_s: int = -1
    packet_id: int = 0
    properties: bytes = b""

    def encode(self) -> bytes:
        """Write the whole element."""
        return posting_bytes(self.qos, self.retain, self.client, self.expiry_s, self.packet_id, self.properties)


def decode_posting(buffer: bytes, low: int, high: int) -> Posting:
    """Open the value of the element; raises `BadPacket`."""
    client_at = low + HEAD.size
    if client_at > high:
        raise BadPacket(f"a posting has at least {HEAD.size} bytes, not {high - low}")
    flags, expiry_s, packet_id, size = HEAD.unpack_from(buffer, low)
    if flags > _FLAGS or flags & 3 == 3 or client_at + size > high:
        raise BadPacket(f"flags {flags:#x} or a client id of {size} bytes make no posting")
    return Posting(
        flags & 3,
        bool(flags & RETAIN),
        buffer[client_at : client_at + size],
        expiry_s if flags & EXPIRES else -1,
        packet_id,
        buffer[client_at + size : high],
    )
