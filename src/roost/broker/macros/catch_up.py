"""A catch-up under way: macros that a node takes up, in a processor of their own, and the readings that they missed.

    streams, each read in parts ──▶ one merge in the order of times ──▶ a piece at a time ──▶ the side processor

What it costs to process a reading are the macros that refer to it, so a piece is counted in these. Nothing here reads
streams or publishes results; that is `roost.broker.macros.catching_up`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.process.processor import Processor
from roost.process.sample import Sample

PIECE: Final = 500  # activations by missed readings that a call goes through
AT_ONCE: Final = 10  # macros that a call loads: each takes milliseconds


class CatchUp:
    """The macros, and how far they are; none of them is in the main processor yet."""

    def __init__(self, side: Processor, names: list[str]) -> None:
        self.side: Final = side
        self.names = names  # of macros that are still to be taken up; bound: those that are known
        self.since: Final[dict[str, int]] = {}  # by macro: from when on new streams count; bound: the side's macros
        self.missed: Iterator[Sample] | None = None  # as far as the last look saw; None if that is all processed
        self.readings = 0  # processed so far
        self.barrier = 0  # the ticket up to which its results are to be in the group before it goes on
        self.room = 0  # what is left of this piece

    def next_names(self, count: int) -> list[str]:
        """The macros that are to be taken up next."""
        names, self.names = self.names[:count], self.names[count:]
        return names

    def take(self) -> list[Sample]:
        """The next readings, as many as there is room for; with room left there are no more."""
        found: list[Sample] = []
        for sample in () if self.missed is None else self.missed:
            found.append(sample)
            self.room -= max(1, len(self.side.dependencies.touched(sample.topic).turns))
            if self.room <= 0:
                break
        self.readings += len(found)
        return found
