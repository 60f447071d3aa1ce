"""Figure 18 of the Noctua paper: the time of a localization against the number of beacons, and how linear it is.

The macro of figure 15 runs in the processor alone, over a walk of 40 points. Its work is 100 densities and 100
products for each beacon, so the time grows by as much with each; `linear_r2` is the square of the correlation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import correlation
from typing import Final

from bench.figure import Figure, progress, rate
from bench.process._macros import BEACONS, localization
from bench.process._pure import Pure

LEAST: Final = 2
ROUNDS: Final = 5


def run() -> Iterator[Figure]:
    counts = range(LEAST, len(BEACONS) + 1)
    feeds = {count: _Walk(count) for count in counts}
    best = dict.fromkeys(counts, float("inf"))
    for _ in range(ROUNDS):  # in turns, so that a busy neighbour disturbs all of them
        for count in counts:
            progress(f"beacons.{count}")
            best[count] = min(best[count], feeds[count].run_us())
    for count in counts:
        yield Figure(f"beacons.{count}", best[count], "us")
    yield Figure("beacons.linear_r2", r_squared(list(counts), [best[count] for count in counts]), "of_1")


def r_squared(counts: Sequence[float], times: Sequence[float]) -> float:
    """How much of what times differ by a straight line explains."""
    return correlation(counts, times) ** 2


class _Walk:
    """A processor with the macro for so many beacons, and the readings of the walk."""

    def __init__(self, count: int) -> None:
        bench = localization(count)
        self._pure = Pure([bench.definition])
        self._readings = bench.cycle

    def run_us(self) -> float:
        return 1e6 / (rate(lambda: self._pure.feed(self._readings)) * len(self._readings))
