"""How a member that is far behind finds what it still lacks, in a group whose vectors are windows [our extension].

Who hears a window full of streams it did not know has missed much, and of what it is sent now some may be lost, too. So
it keeps account of the keys: of which stretches somebody has told it all (with news: whoever had none to tell may know
as little), and where the gaps are. Soon after the others fall silent it sends a window of its own at the first gap: in
that they see what it lacks. A gap that was asked is passed over until the next pass; the end is reached when there are
no gaps, or when several passes over all of them brought nothing new.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final

MAX_STRETCHES: Final = 1000
PASSES: Final = 5  # over gaps that nothing comes of: with every second Interest lost, one in fifty is still lacking
_END: Final = b"\xff"  # behind every key


class Stretches:
    """A set of keys, as stretches from behind one key up to another."""

    __slots__ = ("_highs", "_lows", "turned_away")

    def __init__(self, other: Stretches | None = None) -> None:
        self.turned_away = 0
        self._lows: Final[list[bytes]] = [] if other is None else list(other._lows)  # bound: MAX_STRETCHES
        self._highs: Final[list[bytes]] = [] if other is None else list(other._highs)

    def add(self, after: bytes, upto: bytes | None) -> None:
        """Add a stretch, joining those it touches."""
        low = after
        high = _END if upto is None else upto
        first = bisect_left(self._highs, low)
        last = bisect_right(self._lows, high)
        if first < last:
            low = min(low, self._lows[first])
            high = max(high, self._highs[last - 1])
        elif low == high:
            return
        elif len(self._lows) >= MAX_STRETCHES:  # the last gives way: gaps are asked from the front
            self.turned_away += 1
            if first == len(self._lows):
                return
            self._lows.pop()
            self._highs.pop()
        self._lows[first:last] = [low]
        self._highs[first:last] = [high]

    @property
    def gap(self) -> bytes | None:
        """Behind which key the first gap begins, None if there is none."""
        if not self._lows or self._lows[0]:
            return b""
        return None if self._highs[0] == _END else self._highs[0]


class CatchUp:
    """From the moment it is noticed that we are behind, until `over`."""

    __slots__ = ("_asked", "_passes", "_told", "over")

    def __init__(self) -> None:
        self.over = False
        self._told: Final = Stretches()
        self._asked = Stretches()  # in this pass, or told
        self._passes = PASSES

    @property
    def gap(self) -> bytes:
        """Behind which key to ask next."""
        return self._asked.gap or b""

    def told(self, after: bytes, upto: bytes | None) -> None:
        """Somebody has told us of all streams here, and some were new."""
        self._told.add(after, upto)
        self._passes = PASSES
        self.over = self._told.gap is None
        self.asked(after, upto)

    def asked(self, after: bytes, upto: bytes | None) -> None:
        """We, or somebody who may know as little, have said what there is here."""
        self._asked.add(after, upto)
        if self._asked.gap is None:
            self._asked = Stretches(self._told)
            self._passes -= 1
            self.over = self.over or not self._passes
