"""Bloom filters over names: the subscription list of a PSync consumer, in a few bytes [PSync §7].

`count` names and a false-positive probability of `p_milli` thousandths fix the size and the hashes; both numbers travel
with the filter. A name that was added is always found; of the others about one in 1000 / p_milli is found too, while no
more than `count` are in, so whoever gets an answer checks it against what was asked.
"""

from __future__ import annotations

from math import log
from typing import Final

from mypy_extensions import i64

from roost.errors import BadConfig, BadPacket
from roost.naming import Name
from roost.sync.murmur import murmur3

MAX_FILTER_BYTES: Final = 8000  # as much as an Interest could hold

# The start of the table of A. Partow's bloom filter library; a probability of 0.001, the smallest there is, takes ten.
_TABLE: Final = (
    0xAAAAAAAA,
    0x55555555,
    0x33333333,
    0xCCCCCCCC,
    0x66666666,
    0x99999999,
    0xB5B5B5B5,
    0x4B4B4B4B,
    0xAA55AA55,
    0x55335533,
)
_RANDOM: Final = 0xB67A3E03


def shape(count: int, p_milli: int) -> tuple[int, int]:
    """How many hashes and how many bits a filter has; raises `BadConfig` if there can be no such filter."""
    if count < 1 or not 1 <= p_milli <= 999:
        raise BadConfig(f"a Bloom filter for {count} names at {p_milli}/1000 cannot be: at least 1, and 1..999")
    hashes, bits = 1, _bits(count, p_milli, 1)
    while (fewer := _bits(count, p_milli, hashes + 1)) < bits:
        hashes, bits = hashes + 1, fewer
    whole = int(bits) + -int(bits) % 8
    if not 0 < whole <= 8 * MAX_FILTER_BYTES:
        raise BadConfig(f"a Bloom filter for {count} names at {p_milli}/1000 would have {whole // 8} bytes")
    return hashes, whole


def salts(hashes: int) -> list[int]:
    """The seeds of the hashes, made from each other in place and in order."""
    made = list(_TABLE[:hashes])
    for index in range(hashes):
        made[index] = (made[index] * made[(index + 3) % hashes] + _RANDOM) & 0xFFFFFFFF
    return made


class BloomFilter:
    """One filter."""

    __slots__ = ("_bits", "_salts", "_size", "count", "p_milli")

    def __init__(self, count: int, p_milli: int) -> None:
        hashes, size = shape(count, p_milli)
        self.count: Final = count
        self.p_milli: Final = p_milli
        self._size: Final = size
        self._salts: Final = salts(hashes)
        self._bits = bytearray(size // 8)

    @staticmethod
    def decode(count: int, p_milli: int, raw: bytes) -> BloomFilter:
        """Take a filter from the network."""
        try:
            made = BloomFilter(count, p_milli)
        except BadConfig as error:
            raise BadPacket(str(error)) from None
        if len(raw) != len(made._bits):
            raise BadPacket(
                f"a Bloom filter for {count} names at {p_milli}/1000 has {len(made._bits)} bytes, not {len(raw)}"
            )
        made._bits = bytearray(raw)
        return made

    def add(self, name: Name) -> None:
        """Put a name in."""
        for salt in self._salts:
            bit: i64 = murmur3(name.value, salt) % self._size
            self._bits[bit >> 3] |= 1 << (bit & 7)

    def __contains__(self, name: Name) -> bool:
        for salt in self._salts:
            bit: i64 = murmur3(name.value, salt) % self._size
            if not self._bits[bit >> 3] & 1 << (bit & 7):
                return False
        return True

    def encode(self) -> bytes:
        """Write the bits; the two numbers go beside them."""
        return bytes(self._bits)


def _bits(count: int, p_milli: int, hashes: int) -> float:
    return -hashes * count / log(1.0 - (p_milli / 1000) ** (1.0 / hashes))
