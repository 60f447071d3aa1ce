"""One stream in a repo: which numbers are held, which are gone on purpose, and how many bytes that takes.

    Holding = [Held 173] [Gone 175] [Bytes 177]

| element | no. | value                                                                                         |
| ------- | --- | --------------------------------------------------------------------------------------------- |
| Held    | 173 | intervals that are held                                                                       |
| Gone    | 175 | intervals that retention or a deletion took away: they are no holes, and not wanted again     |
| Bytes   | 177 | NonNegativeInteger: the size of the packets held                                              |

An interval is two variable-size numbers: how far it begins behind the end of the one before (the first: behind 0), and
how many numbers follow its first one.

An element without anything in it is left out. No number is both held and gone; intervals do not touch.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.naming.number import read_nni, read_var, var
from roost.repo import intervals
from roost.repo.numbering import MAX_NUMBER
from roost.wire import tlv
from roost.wire.tlv import element, skip

HELD: Final = 173
GONE: Final = 175
BYTES: Final = 177

MAX_INTERVALS: Final = 1024  # of what is held, and of what is gone; a row stays within some pages


class Holding:
    """The numbers of one stream. Most streams are one interval, which is kept in place; the others are in lists."""

    __slots__ = ("_gone", "_high", "_low", "_older", "size_bytes")

    def __init__(self) -> None:
        self.size_bytes = 0
        self._low = 1  # the last interval, empty if high is lower
        self._high = 0
        self._older: list[int] | None = None  # those before it, as `intervals` has them; bound: MAX_INTERVALS
        self._gone: list[int] | None = None  # bound: MAX_INTERVALS

    def copy(self) -> Holding:
        """Another that can be changed by itself."""
        copy = Holding()
        copy.size_bytes = self.size_bytes
        copy._low = self._low
        copy._high = self._high
        copy._older = None if self._older is None else self._older.copy()
        copy._gone = None if self._gone is None else self._gone.copy()
        return copy

    # -- asking

    @property
    def lowest(self) -> int:
        """The lowest number held, 0 without any."""
        return self._older[0] if self._older else self._low if self._high else 0

    @property
    def highest(self) -> int:
        """The highest number held, 0 without any."""
        return self._high

    @property
    def count(self) -> int:
        """How many numbers are held."""
        return self._high - self._low + 1 + intervals.count(self._older or [])

    @property
    def held(self) -> list[tuple[int, int]]:
        """The intervals that are held."""
        return intervals.pairs(self._bounds())

    @property
    def gone(self) -> list[tuple[int, int]]:
        """The intervals that are gone on purpose."""
        return intervals.pairs(self._gone) if self._gone else []

    def is_held(self, number: int) -> bool:
        """Whether a number is here."""
        return self._low <= number <= self._high or (
            self._older is not None and intervals.contains(self._older, number)
        )

    def is_gone(self, number: int) -> bool:
        """Whether a number was dropped on purpose."""
        return self._gone is not None and intervals.contains(self._gone, number)

    def holes(self, limit: int) -> list[tuple[int, int]]:
        """What is missing below the highest number held, the lowest first."""
        if self.is_whole:
            return []
        accounted = self._bounds()
        for low, high in self.gone:
            intervals.add(accounted, low, high)
        found: list[tuple[int, int]] = []
        begin = 1
        for low, high in intervals.pairs(accounted):
            if len(found) >= limit or low > self._high:
                break
            if low > begin:
                found.append((begin, low - 1))
            begin = high + 1
        return found

    @property
    def is_whole(self) -> bool:
        """Whether it can be seen at a glance that nothing is missing, as with most streams."""
        if self._older is not None:
            return False
        return self._low == 1 if self._gone is None else self._gone == [1, self._low - 1]

    def gaps(self) -> list[tuple[int, int]]:
        """What is missing below the highest number held or gone, the lowest first."""
        found = self.holes(MAX_NUMBER)
        begin = self._high + 1
        for low, high in self.gone:
            if low > begin:
                found.append((begin, low - 1))
            begin = max(begin, high + 1)
        return found

    # -- changing

    def has_room(self, number: int) -> bool:
        """Whether a number can be added: it continues an interval, or there is room for another."""
        if self._older is None or len(self._older) < 2 * MAX_INTERVALS - 2:
            return True
        return self.is_held(number) or self.is_held(number - 1) or self.is_held(number + 1)

    def add(self, number: int, size_bytes: int) -> bool:
        """Take in a number; returns whether it is new."""
        if self.is_held(number):
            return False
        self.size_bytes += size_bytes
        if self._gone:
            intervals.remove(self._gone, number, number)
        if number == self._high + 1 and (self._high or number == 1):
            self._high = number
        else:
            bounds = self._bounds()
            intervals.add(bounds, number, number)
            self._settle(bounds)
        return True

    def drop(self, low: int, high: int, size_bytes: int, *, on_purpose: bool = True) -> bool:
        """Let numbers go that took this many bytes, held or not; returns False if there is no room to remember it.

        What is lost, and shall be fetched again, does not go on purpose.
        """
        bounds, gone = self._bounds(), [*(self._gone or ())]
        intervals.remove(bounds, low, high)
        if on_purpose:
            intervals.add(gone, low, high)
        if max(len(bounds), len(gone)) > 2 * MAX_INTERVALS:
            return False
        self._gone = gone or None
        self._settle(bounds)
        self.size_bytes = max(0, self.size_bytes - size_bytes)
        return True

    def _bounds(self) -> list[int]:
        return [*(self._older or ()), self._low, self._high] if self._high else []

    def _settle(self, bounds: list[int]) -> None:
        self._low, self._high = bounds[-2:] if bounds else (1, 0)
        self._older = bounds[:-2] or None

    # -- as bytes

    def encode(self) -> bytes:
        """Write the elements."""
        return (
            _encode(HELD, self.held)
            + _encode(GONE, self.gone)
            + (tlv.number(BYTES, self.size_bytes) if self.size_bytes else b"")
        )

    @staticmethod
    def decode(value: bytes) -> Holding:
        """Read the elements; raises `BadPacket`."""
        holding = Holding()
        position = last = 0
        while position < len(value):
            at = position
            type_, low, position = element(value, at, len(value))
            if type_ <= last or type_ not in {HELD, GONE, BYTES}:
                skip(type_, at, "Holding")
                continue
            last = type_
            if type_ == HELD:
                holding._settle(_decode(value, low, position))
            elif type_ == GONE:
                holding._gone = _decode(value, low, position)
            else:
                holding.size_bytes = read_nni(value, low, position)
        bounds = holding._bounds()
        for low, high in holding.gone:
            if intervals.touches(bounds, low, high):
                raise BadPacket(f"numbers of {low} to {high} are both held and gone")
        return holding


def _encode(type_: int, of: list[tuple[int, int]]) -> bytes:
    if not of:
        return b""
    value: list[bytes] = []
    end = 0
    for low, high in of:
        value += (var(low - end), var(high - low))
        end = high
    return tlv.tlv(type_, b"".join(value))


def _decode(value: bytes, position: int, stop: int) -> list[int]:
    bounds: list[int] = []
    end = 0
    while position < stop:
        behind, position = read_var(value, position, stop)
        beyond, position = read_var(value, position, stop)
        if behind < (2 if bounds else 1):
            raise BadPacket(f"an interval begins {behind} behind {end}, which touches the one before")
        low = end + behind
        end = low + beyond
        bounds += (low, end)
        if end > MAX_NUMBER or len(bounds) > 2 * MAX_INTERVALS:
            raise BadPacket(f"there are more than {MAX_INTERVALS} intervals, or numbers of more than 64 bits")
    if not bounds:
        raise BadPacket("intervals are announced, and there are none")
    return bounds
