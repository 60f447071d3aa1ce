"""The list of suffixes in an Interest: one packet that asks for several names of one prefix.

Layout: count (u32, 1 to 256), 4 bytes of padding, a bitmap of 256 bits in four big-endian words of 64, then `count`
suffixes (u32). Bit i of the map, counted from the low end of word i / 64, says whether suffix i is asked for. The first
suffix is that of the packet's own name. A forwarder that swapped the bytes of `count` entries before it looked at
`count` died of this list, so here the length is known to be right before any entry is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import pack, unpack_from
from typing import Final

from roost.errors import BadPacket
from roost.hicn.name import MAX_SUFFIX

MAX_SUFFIXES: Final = 256
_FIXED_BYTES: Final = 40


@dataclass(frozen=True)
class SuffixList:
    """Suffixes, and which of them are asked for as a bitmap: bit i stands for suffix i."""

    suffixes: tuple[int, ...]
    asked: int

    def __post_init__(self) -> None:
        count = len(self.suffixes)
        if not 1 <= count <= MAX_SUFFIXES:
            raise BadPacket(f"a list of suffixes has 1 to {MAX_SUFFIXES} of them, not {count}")
        if not 0 < self.asked < 1 << count:
            raise BadPacket(f"of a list of {count} suffixes at least one is asked for, and none beyond its end")
        if not all(0 <= suffix <= MAX_SUFFIX for suffix in self.suffixes):
            raise BadPacket(f"a name suffix is 0 to {MAX_SUFFIX}")

    @classmethod
    def of(cls, *suffixes: int) -> SuffixList:
        """Ask for all of these."""
        return cls(suffixes, (1 << len(suffixes)) - 1)

    def wanted(self) -> list[int]:
        """List the suffixes that are asked for, each once."""
        found = [suffix for place, suffix in enumerate(self.suffixes) if self.asked >> place & 1]
        return list(dict.fromkeys(found))

    def encode(self) -> bytes:
        """Write it as the payload of an Interest."""
        words = [self.asked >> 64 * word & 0xFFFF_FFFF_FFFF_FFFF for word in range(4)]
        return pack(f"!II4Q{len(self.suffixes)}I", len(self.suffixes), 0, *words, *self.suffixes)


def decode_suffixes(payload: bytes) -> SuffixList:
    """Read the payload of an Interest that says it is a list; anything but exactly a list is refused."""
    if len(payload) < _FIXED_BYTES:
        raise BadPacket(f"a list of suffixes has at least {_FIXED_BYTES} bytes, this one has {len(payload)}")
    (count,) = unpack_from("!I", payload)
    if not 1 <= count <= MAX_SUFFIXES:
        raise BadPacket(f"a list of suffixes has 1 to {MAX_SUFFIXES} of them, not {count}")
    if len(payload) != _FIXED_BYTES + 4 * count:
        raise BadPacket(f"a list of {count} suffixes has {_FIXED_BYTES + 4 * count} bytes, this one has {len(payload)}")
    words = unpack_from("!4Q", payload, 8)
    asked = sum(word << 64 * place for place, word in enumerate(words))
    return SuffixList(unpack_from(f"!{count}I", payload, _FIXED_BYTES), asked)
