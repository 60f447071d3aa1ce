"""MurmurHash3 for x86, 32 bits: the one hash under IBLT keys, IBLT cells and Bloom filters [PSync §1].

Not for secrets: whoever knows the seed can make collisions, and in PSync everybody knows it. Two multipliers are
written as negative numbers, which changes nothing modulo 2^32 and keeps every product within the 64 bits of a compiled
integer.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

ELEMENT_SEED: Final = 11

_MASK: Final = 0xFFFFFFFF
_C1: Final = -0x3361D2AF  # 0xCC9E2D51
_C2: Final = 0x1B873593
_STEP: Final = 0xE6546B64
_F1: Final = -0x7A143595  # 0x85EBCA6B
_F2: Final = -0x3D4D51CB  # 0xC2B2AE35


def murmur3(data: bytes, seed: int) -> int:
    """Hash bytes."""
    size: i64 = len(data)
    state: i64 = seed
    block: i64
    at: i64 = 0
    while at + 4 <= size:
        block = data[at]
        second: i64 = data[at + 1]
        third: i64 = data[at + 2]
        fourth: i64 = data[at + 3]
        block |= second << 8 | third << 16 | fourth << 24
        block = block * _C1 & _MASK
        block = (block << 15 | block >> 17) & _MASK
        state ^= block * _C2 & _MASK
        state = (state << 13 | state >> 19) & _MASK
        state = state * 5 + _STEP & _MASK
        at += 4
    if at < size:
        block = 0
        while size > at:
            size -= 1
            last: i64 = data[size]
            block = block << 8 | last
        block = block * _C1 & _MASK
        block = (block << 15 | block >> 17) & _MASK
        state ^= block * _C2 & _MASK
    return _finish(state ^ len(data))


def murmur3_key(key: i64, seed: i64) -> i64:
    """Hash the 4 bytes of a key, little endian, which are just one block."""
    block: i64 = key * _C1 & _MASK
    block = (block << 15 | block >> 17) & _MASK
    state: i64 = seed ^ (block * _C2 & _MASK)
    state = (state << 13 | state >> 19) & _MASK
    return _finish((state * 5 + _STEP & _MASK) ^ 4)


def element_key(value: bytes) -> int:
    """Return the key of a set element, given the TLV-VALUE of its name `/<stream>/<number>`."""
    return murmur3(value, ELEMENT_SEED)


def _finish(state: i64) -> i64:
    state = (state ^ state >> 16) * _F1 & _MASK
    state = (state ^ state >> 13) * _F2 & _MASK
    return state ^ state >> 16
