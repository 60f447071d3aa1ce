"""How large our IBLT is: it doubles when differences outgrow it, and halves after a long calm.

The sizes are the rungs of a ladder (`presets`); with one rung nothing ever changes, as C++ peers need it. Growing is
quick, because an IBLT that is too small costs an entire state; shrinking is slow, because one that is too large costs
some bytes: only after `CALM` IBLTs sent in a row during which every difference seen would have left the next smaller
one half empty. What made it grow can therefore not make it shrink, and it does not swing. Differences are learnt from
unsigned Interests: a liar can make us use the largest size, and no more.
"""

from __future__ import annotations

from typing import Final

from roost.sync.iblt import cells_for

CALM: Final = 32  # a member of a full-sync group sends about one a second


class Sizing:
    """The size we use now, and what speaks for another one."""

    def __init__(self, ladder: tuple[int, ...], expected: int) -> None:
        self._ladder: Final = ladder
        self._rung = ladder.index(expected)
        self._calm = 0
        self._largest = 0  # difference since the last one was sent

    @property
    def expected(self) -> int:
        """How many differing elements our IBLT is made for."""
        return self._ladder[self._rung]

    def decoded(self, size: int) -> None:
        """Take in that a difference of this many elements was decoded."""
        self._largest = max(self._largest, size)
        while self.expected < size and self._rung + 1 < len(self._ladder):
            self._rung += 1

    def undecodable(self, cells: int) -> None:
        """Take in that an IBLT of this many cells was too small for its difference."""
        self._calm = 0
        while cells_for(self.expected) <= cells and self._rung + 1 < len(self._ladder):
            self._rung += 1

    def sent(self) -> None:
        """Take in that an IBLT of ours goes out: time passes in these."""
        calm = self._rung > 0 and 2 * self._largest <= self._ladder[self._rung - 1]
        self._largest = 0
        self._calm = self._calm + 1 if calm else 0
        if self._calm >= CALM:
            self._rung -= 1
            self._calm = 0
