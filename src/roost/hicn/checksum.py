"""The checksum of the TCP form: the Internet checksum over the IPv6 pseudo-header and all that follows the IPv6 header.

That is the rule of TCP over IPv6 [RFC 8200 §8.1], so the name is covered through the addresses. 0xFFFF, which the rule
never gives, says that nobody computed it. A path label changes on the way and some forwarders do not correct the sum
for it, so `checksum_holds` takes the label's field as zero, which is what its maker put there.
"""

from __future__ import annotations

from struct import pack
from typing import Final

NOT_COMPUTED: Final = 0xFFFF
_CHECKSUM: Final = 56
_LABEL: Final = 48
_TCP: Final = 6


def checksum(wire: bytes) -> int:
    """Compute the sum of a packet in the TCP form, whatever stands in its checksum field."""
    body = wire[40:_CHECKSUM] + b"\0\0" + wire[_CHECKSUM + 2 :]
    covered = wire[8:40] + pack("!II", len(body), _TCP) + body
    return ~_folded_sum(covered) & 0xFFFF


def checksum_holds(wire: bytes) -> bool:
    """Whether the sum of a packet in the TCP form is right, but for its path label, or was not computed."""
    found = int.from_bytes(wire[_CHECKSUM : _CHECKSUM + 2], "big")
    return found in {NOT_COMPUTED, checksum(wire), checksum(wire[:_LABEL] + bytes(4) + wire[_LABEL + 4 :])}


def patched(found: int, before: bytes, after: bytes) -> int:
    """Correct a checksum for a change of some 16-bit words of what it covers [RFC 1624]."""
    if found == NOT_COMPUTED:
        return found
    turned = bytes(byte ^ 0xFF for byte in before)
    return ~_folded_sum(pack("!H", ~found & 0xFFFF) + turned + after) & 0xFFFF


def _folded_sum(data: bytes) -> int:
    """The sum of all 16-bit words with the carry added: what is left of the whole number by 0xFFFF."""
    whole = int.from_bytes(data + b"\0" if len(data) % 2 else data, "big")
    return whole % 0xFFFF or (0xFFFF if whole else 0)
