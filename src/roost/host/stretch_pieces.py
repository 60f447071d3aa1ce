"""What is asked for, what there is of it, and a piece in between: its numbers are here, dropped, refused or lacking."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from roost.naming import Name
from roost.repo.question import Run


class Stretch(NamedTuple):
    """The readings low to high of a stream."""

    stream: Name
    low: int
    high: int


@dataclass(slots=True)
class Fetched:
    """What there is of a part of a stretch; each of its numbers is in one of the lists."""

    stream: Name
    packets: list[tuple[int, bytes]]  # by number, as they are on the wire
    dropped: list[Run] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)  # with the rule that says no
    missing: list[int] = field(default_factory=list)
    verified: bool = False  # all packets
    opened: dict[int, bytes] = field(default_factory=dict)  # the plain content of sealed packets


class Piece:
    """A part of a stretch that is being fetched."""

    __slots__ = ("doubtful", "dropped", "packets", "refused", "sealed", "stretch", "verified")

    def __init__(self, stretch: Stretch) -> None:
        self.stretch: Final = stretch
        self.packets: dict[int, bytes] = {}
        self.sealed: set[int] = set()
        self.dropped: list[Run] = []
        self.doubtful: list[int] = []  # came from where it is to be verified
        self.refused: dict[int, str] = {}
        self.verified = 0

    @staticmethod
    def of(fetched: Fetched) -> Piece:
        """A piece that has all its packets."""
        piece = Piece(Stretch(fetched.stream, fetched.packets[0][0], fetched.packets[-1][0]))
        piece.packets = dict(fetched.packets)
        return piece

    def take(self, packets: Iterable[tuple[int, bytes]], sealed: Iterable[int], *, doubtful: bool) -> None:
        """Add packets of numbers that are lacking."""
        known = self.packets.keys()
        sealed = [number for number in sealed if number not in known]
        taken = [packet for packet in packets if packet[0] not in known]
        self.packets.update(taken)
        if doubtful:
            self.doubtful += [number for number, _ in taken]
        self.sealed.update(sealed)

    def drop(self, runs: Iterable[Run]) -> None:
        """Add dropped runs, as far as they concern this piece."""
        low, high = self.stretch.low, self.stretch.high
        self.dropped += [(max(low, run[0]), min(high, run[1])) for run in runs if run[0] <= high and run[1] >= low]

    def lacking(self) -> list[Run]:
        """The runs of numbers that are neither here, refused nor dropped."""
        if len(self.packets) == self.stretch.high - self.stretch.low + 1:
            return []
        known = sorted([*self.dropped, *[(number, number) for number in (*self.packets, *self.refused)]])
        runs: list[Run] = []
        number = self.stretch.low
        for low, high in known:
            if low > number:
                runs.append((number, low - 1))
            number = max(number, high + 1)
        if number <= self.stretch.high:
            runs.append((number, self.stretch.high))
        return runs

    def fetched(self, opened: dict[int, bytes]) -> Fetched:
        """What became of it; whatever is still lacking is missing."""
        missing = [number for low, high in self.lacking() for number in range(low, high + 1)]
        dropped = self._dropped_only() if self.dropped else []
        packets = sorted(self.packets.items())
        refused = sorted(self.refused.items())
        return Fetched(self.stretch.stream, packets, dropped, refused, missing, self.verified == len(packets), opened)

    def _dropped_only(self) -> list[Run]:
        """The dropped runs, without what somebody gave all the same."""
        given = sorted([*self.packets, *self.refused])
        runs: list[Run] = []
        behind = self.stretch.low  # of what is in `runs` or given
        for low, high in sorted(self.dropped):
            at = max(low, behind)
            for number in given[bisect_left(given, at) : bisect_right(given, high)]:
                if at < number:
                    runs.append((at, number - 1))
                at = number + 1
            if at <= high:
                runs.append((at, high))
            behind = max(behind, high + 1)
        return runs
