"""Byte strings in order: a list in pieces, so that putting one anywhere moves a piece, and behind the last nothing.

For the store in memory; what a key stands for, and how many there may be, is its owner's business.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Final

_PIECE: Final = 512  # keys; one of twice as many is cut in two


class SortedKeys:
    """A set of keys that is walked in order; it must not change during a walk."""

    __slots__ = ("_last", "_pieces")

    def __init__(self) -> None:
        self._pieces: Final[list[list[bytes]]] = []
        self._last: Final[list[bytes]] = []  # of each piece

    def add(self, key: bytes) -> None:
        """Put in a key that is not there."""
        at = bisect_left(self._last, key)
        if at == len(self._last):
            if not at:
                self._pieces.append([key])
                self._last.append(key)
                return
            at -= 1
            self._pieces[at].append(key)
            self._last[at] = key
        else:
            insort(self._pieces[at], key)
        piece = self._pieces[at]
        if len(piece) >= 2 * _PIECE:
            self._pieces.insert(at, piece[:_PIECE])
            self._last.insert(at, piece[_PIECE - 1])
            del piece[:_PIECE]

    def remove(self, key: bytes) -> None:
        """Take out a key that is there."""
        at = bisect_left(self._last, key)
        piece = self._pieces[at]
        del piece[bisect_left(piece, key)]
        if piece:
            self._last[at] = piece[-1]
        else:
            del self._pieces[at], self._last[at]

    def forward(self, low: bytes) -> Iterator[bytes]:
        """The keys from `low` on."""
        at = bisect_left(self._last, low)
        if at == len(self._last):
            return
        piece = self._pieces[at]
        yield from piece[bisect_left(piece, low) :]
        for piece in self._pieces[at + 1 :]:
            yield from piece

    def backward(self, high: bytes) -> Iterator[bytes]:
        """The keys before `high`, the last first."""
        at = bisect_left(self._last, high)
        if at < len(self._last):
            piece = self._pieces[at]
            yield from reversed(piece[: bisect_left(piece, high)])
        for piece in reversed(self._pieces[:at]):
            yield from reversed(piece)
