"""How often a stream speaks, learnt from the gaps between its readings; nothing, unless they are regular.

Two readings that somebody published by hand have a gap and no rhythm, and neither has a switch that speaks when it is
turned. So an interval is learnt from many gaps only, most of which are about the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final

ENOUGH: Final = 8  # gaps, of which an interval is learnt
MOST: Final = 12  # that are remembered, the newest
_FACTOR: Final = 2  # gaps within this factor of the median are about the same
_REGULAR: Final = 0.75  # so many of them have to be


class Rhythm:
    """The last gaps of a stream; what they come to is worked out when it is asked for."""

    __slots__ = ("_gaps",)

    def __init__(self, gaps: Sequence[int] = ()) -> None:
        self._gaps: Final = array("Q", gaps[-MOST:])  # as times are, of which anybody may write any

    def __len__(self) -> int:
        return len(self._gaps)

    def take(self, gap: int) -> None:
        """Take in that a reading was measured so long after the one before."""
        if len(self._gaps) >= MOST:
            del self._gaps[0]
        self._gaps.append(gap)

    @property
    def interval(self) -> int:
        """The median of the gaps, 0 while there are too few or they differ too much."""
        count = len(self._gaps)
        if count < ENOUGH:
            return 0
        median = sorted(self._gaps)[count // 2]
        near = sum([median <= gap * _FACTOR and gap <= median * _FACTOR for gap in self._gaps])
        return median if near >= count * _REGULAR else 0
