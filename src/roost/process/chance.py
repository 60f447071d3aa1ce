"""The randomness that a run sees: xoshiro128** (Blackman and Vigna), seeded by SplitMix32, as in `shim/chance.js`.

The same seed gives the same numbers in JavaScript and in Python. It is no randomness for secrets.
"""

from __future__ import annotations

from typing import Final

_MASK: Final = 0xFFFFFFFF


class Chance:
    """Numbers from 0 to 1, with 53 bits."""

    def __init__(self, seed: int) -> None:
        high, low = seed >> 32 & _MASK, seed & _MASK
        word = high ^ _turned(low, 16)
        spread = []
        for salt in (0, low, 0, high):
            word = (word + 0x9E3779B9) & _MASK
            mixed = (word ^ word >> 16) * 0x21F0AAAD & _MASK
            mixed = (mixed ^ mixed >> 15) * 0x735A2D97 & _MASK
            spread.append(mixed ^ mixed >> 15 ^ salt)
        self._words: Final = spread if any(spread) else [1, 0, 0, 0]

    def random(self) -> float:
        """The next number."""
        return ((self._word() >> 5) * (1 << 26) + (self._word() >> 6)) / (1 << 53)

    def _word(self) -> int:
        words = self._words
        second = words[1]
        words[2] ^= words[0]
        words[3] ^= words[1]
        words[1] ^= words[2]
        words[0] ^= words[3]
        words[2] ^= second << 9 & _MASK
        words[3] = _turned(words[3], 11)
        return _turned(second * 5 & _MASK, 7) * 9 & _MASK


def _turned(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & _MASK
