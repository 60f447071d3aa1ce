"""The newest samples that one filter stands for, in the order of their event times.

Samples of the same time stand in the order in which they came; what comes late is put where its time says. No more are
kept than the references to the filter can ask for, and a few, so that not every arrival has to cut.

What history knows is put below what is in memory, and what both know counts once. A reading of a group is the same if
stream and number are. Of plain messages only topic, time and value can tell: two that are alike in all three are the
same message when one is remembered and one is in memory, but not when both arrive, for then there were two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from roost.process.reference import Reference
from roost.process.sample import Sample

_TIME: Final = itemgetter(1)  # of a sample
_SPARE: Final = 8
MAX_STREAMS: Final = 65_536


class Series:
    """Samples of one filter, and who refers to it."""

    def __init__(self, topic_filter: str) -> None:
        self.filter: Final = topic_filter
        self.references: Final[dict[Reference, int]] = {}  # → how many macros have this reference
        self.depth = 0
        self.samples: list[Sample] = []  # the oldest first; bound: depth and an eighth of it and _SPARE
        self.numbers: Final[dict[bytes, int]] = {}  # how far each stream has come; bound: MAX_STREAMS
        self.unplaced = 0  # readings of streams beyond it
        self.version = 0  # counts up whenever the samples are others
        self.is_loaded = False  # whether history was asked for all that the references want
        self.is_used = False  # lately; for whoever has to make room

    def refer(self, reference: Reference) -> None:
        """Count one more macro that has this reference."""
        if reference not in self.references:
            self.is_loaded = self.is_loaded and reference.count <= self.depth
        self.references[reference] = self.references.get(reference, 0) + 1
        self.depth = max(self.depth, reference.count)

    def release(self, reference: Reference) -> bool:
        """Count one macro less; returns whether anybody still refers to it."""
        self.references[reference] -= 1
        if not self.references[reference]:
            del self.references[reference]
            self.depth = max([each.count for each in self.references], default=0)
            self._cut()
        return bool(self.references)

    def insert(self, sample: Sample) -> bool:
        """Put a sample that has arrived in its place; returns whether it is new and among those that are kept."""
        if sample.stream:
            self.reached(sample.stream, sample.number)
        samples = self.samples
        at = len(samples)
        if samples and samples[-1].time >= sample.time:
            at = bisect_right(samples, sample.time, key=_TIME)
            if sample.stream and _is_known(sample, samples, at):
                return False
            if at == 0 and len(samples) >= self.depth:
                return False
        samples.insert(at, sample)
        self.version += 1
        if len(samples) > self.depth + self.depth // 8 + _SPARE:
            self._cut()
        return True

    def reached(self, stream: bytes, number: int) -> None:
        """A stream has come as far as this."""
        known = self.numbers.get(stream, -1)
        if known < 0 and len(self.numbers) >= MAX_STREAMS:
            self.unplaced += 1
        elif number > known:
            self.numbers[stream] = number

    def is_ahead(self, sample: Sample) -> bool:
        """Whether a reading that history has is still to arrive."""
        return bool(sample.stream) and sample.number > self.numbers.get(sample.stream, sample.number)

    def merge(self, remembered: Sequence[Sample]) -> None:
        """Put what history knows below what is in memory, each sample once."""
        here: dict[tuple[str, int], list[Sample]] = {}
        for sample in self.samples:
            here.setdefault((sample.topic, sample.time), []).append(sample)
        older: list[Sample] = []
        for sample in reversed(remembered):
            alike = here.get((sample.topic, sample.time), [])
            index = next((n for n, each in enumerate(alike) if _is_same(each, sample)), -1)
            if index < 0:
                older.append(sample)
            else:
                del alike[index]
        self.samples = sorted(older + self.samples, key=_TIME)
        self.version += 1
        self._cut()

    def clear(self) -> None:
        """Keep nothing; history will be asked again."""
        self.samples = []
        self.version += 1
        self.is_loaded = False

    def _cut(self) -> None:
        if len(self.samples) > self.depth:
            del self.samples[: len(self.samples) - self.depth]


def _is_known(sample: Sample, samples: list[Sample], at: int) -> bool:
    """Whether a reading stands among those of its time, which end at this place."""
    while at and samples[at - 1].time == sample.time:
        at -= 1
        if samples[at].stream == sample.stream and samples[at].number == sample.number:
            return True
    return False


def _is_same(one: Sample, other: Sample) -> bool:
    """Whether two samples of the same topic and time are one."""
    if one.stream and other.stream:
        return one.stream == other.stream and one.number == other.number
    a, b = one.value, other.value
    return a == b or (isinstance(a, float) and isinstance(b, float) and a != a and b != b)  # noqa: PLR0124 (not a number)
