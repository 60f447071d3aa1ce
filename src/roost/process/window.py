"""The window: what macros can look back on, recent samples in memory and older ones from the store.

One series for every filter that macros refer to (`roost.process.series`), so that reading is taking the end of a list,
with wildcards too. When a series is read for the first time, the history is asked once for all that its references can
want, and from then on what arrives keeps it complete. So it is right after a restart, too.

The history may be ahead: a batch of readings is in the store before the first of them is handed in. What has a higher
number than the last that arrived of its stream is left out; it is still to come, for readings arrive in order.

There is room for so many samples in all, and for one series whatever its size. When it is used up, series that nobody
touched lately are emptied, and the history is asked again when somebody does. Samples that no history has are lost
then; `evicted` counts all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from roost.machine import SECOND
from roost.process.reference import Reference
from roost.process.sample import Sample
from roost.process.series import Series

MAX_SAMPLES: Final = 1_000_000
FEW: Final = 64  # that a reference remembers to have taken, besides the series itself


class History(Protocol):
    """What was, as far as it is kept: looked up without waiting, changing nothing."""

    def latest(self, topic_filter: str, count: int) -> Sequence[Sample]:
        """Look up the newest samples of a filter, so many of them, the newest first."""


class View:
    """A reference of one macro to the window, with what reading it takes."""

    def __init__(self, reference: Reference, series: Series) -> None:
        self.reference: Final = reference
        self.series: Final = series
        self.count: Final = reference.count
        self.required: Final = reference.required
        self.cutoff: Final = round(reference.cutoff_s * SECOND)
        self.is_constant: Final = not self.cutoff  # what it gives depends on the samples alone
        self.seen: list[Sample] = []  # what it took the last time, while the series is of that version; bound: FEW
        self.version = -1


class Window:
    """All series."""

    def __init__(self, history: History, max_samples: int = MAX_SAMPLES) -> None:
        self.max_samples: Final = max_samples
        self.total = 0  # samples in memory, one counted again for each filter that stands for it
        self.evicted = 0
        self.loads = 0  # how often the history was asked
        self._history: Final = history
        self._series: Final[dict[str, Series]] = {}  # by filter; bound: the references of all macros

    def __len__(self) -> int:
        """How many filters are referred to."""
        return len(self._series)

    # -- who looks

    def open(self, reference: Reference) -> View:
        """Have a macro look at what a reference names."""
        series = self._series.get(reference.topic)
        if series is None:
            series = self._series[reference.topic] = Series(reference.topic)
        series.refer(reference)
        return View(reference, series)

    def close(self, view: View) -> None:
        """It looks no more; what nobody looks at is not kept."""
        series = view.series
        before = len(series.samples)
        if not series.release(view.reference):
            del self._series[series.filter]
            series.clear()
        self.total += len(series.samples) - before

    # -- what comes

    def expect(self, sample: Sample, filters: Sequence[str]) -> None:
        """This reading is about to arrive, and those behind it will: history is not to bring them first."""
        if sample.stream:
            for each in filters:
                series = self._series[each]
                if not series.is_loaded and sample.stream not in series.numbers:
                    series.reached(sample.stream, sample.number - 1)

    def arrived(self, sample: Sample, filters: Sequence[str]) -> None:
        """Put a sample into the series of the filters that stand for it."""
        for each in filters:
            series = self._series[each]
            before = len(series.samples)
            series.insert(sample)
            series.is_used = True
            self.total += len(series.samples) - before
            self._make_room(series)

    # -- what is seen

    def read(self, view: View, now: int) -> list[Sample]:
        """The samples that a reference takes at this time, the newest first; the same list while they are the same."""
        series = view.series
        if not series.is_loaded:
            self._load(series)
        series.is_used = True
        seen = view.seen
        if view.version != series.version:
            seen = series.samples[-view.count :]
            seen.reverse()
            if view.count <= FEW:
                view.seen, view.version = seen, series.version
        if view.cutoff and seen and seen[-1].time < now - view.cutoff:
            return seen[: _acceptable(seen, now - view.cutoff)]
        return seen

    def _load(self, series: Series) -> None:
        count = series.depth
        while True:
            self.loads += 1
            found = self._history.latest(series.filter, count)
            past = [sample for sample in found if not series.is_ahead(sample)]
            if len(found) < count or len(past) >= series.depth:
                break
            count *= 2  # the history is ahead, and what is still to come stood in the way
        before = len(series.samples)
        series.merge(past)
        series.is_loaded = True
        self.total += len(series.samples) - before
        self._make_room(series)

    def _make_room(self, spared: Series) -> None:
        """Empty series until there is room again, first those that nobody touched lately; one is needed now."""
        if self.total <= self.max_samples:
            return
        for series in list(self._series.values()) * 2:  # the second time nothing counts as touched lately
            if self.total <= self.max_samples - self.max_samples // 8:
                return
            if series is spared:
                continue
            if series.is_used:
                series.is_used = False
            else:
                self.total -= len(series.samples)
                self.evicted += len(series.samples)
                series.clear()


def _acceptable(seen: list[Sample], since: int) -> int:
    """How many of these, the newest first, are not older than that."""
    low, high = 0, len(seen)
    while low < high:
        middle = (low + high) // 2
        if seen[middle].time >= since:
            low = middle + 1
        else:
            high = middle
    return low
