"""Lifetimes in the TCP form: a 16-bit mantissa, shifted left by a scale of 4 bits, in milliseconds.

Of an Interest it is how long the question stays, of a Data how long the answer is fresh. The encoder halves until the
mantissa fits, so a long lifetime loses low bits; it never becomes longer than was asked.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket

MAX_MANTISSA: Final = 0xFFFF
MAX_SCALE: Final = 15
MAX_LIFETIME_MS: Final = MAX_MANTISSA << MAX_SCALE  # almost 25 days


def split_lifetime(lifetime_ms: int) -> tuple[int, int]:
    """Return mantissa and scale of a lifetime."""
    if not 0 <= lifetime_ms <= MAX_LIFETIME_MS:
        raise BadPacket(f"a lifetime is 0 to {MAX_LIFETIME_MS} ms, not {lifetime_ms}")
    scale = max(0, lifetime_ms.bit_length() - 16)
    return lifetime_ms >> scale, scale


def kept_lifetime(lifetime_ms: int) -> int:
    """Return what is left of a lifetime once it has been through the TCP form."""
    mantissa, scale = split_lifetime(lifetime_ms)
    return mantissa << scale
