"""One measured number beside its peer's, how it is printed, and how the two are measured fairly.

Fair means in the same process and minute: rounds alternate between ours and the peer's, so that a busy neighbour on the
machine disturbs both, and the median of the rounds counts; where a call takes a microsecond the best round counts, for
there a neighbour's burst is larger than what is measured. Nothing here judges a figure; that is for whoever reads it.
"""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of ours, and the same number of a peer where there is one."""

    name: str  # within the area: "codec.data_decode"
    value: float
    unit: str  # one word: "1/s", "us", "bytes"
    peer: str | None = None
    peer_value: float | None = None

    def __post_init__(self) -> None:
        if (self.peer is None) != (self.peer_value is None):
            raise ValueError(f"figure {self.name}: a peer and its value come together")
        for word in (self.name, self.unit, self.peer or "-"):
            if not word or word.split() != [word]:
                raise ValueError(f"figure {self.name}: {word!r} must be one word, for a line is split at spaces")

    @property
    def ratio(self) -> float | None:
        """Ours over the peer's, whichever of the two is better; None without a peer or when its value is zero."""
        return self.value / self.peer_value if self.peer_value else None

    def line(self, area: str) -> str:
        return (
            f"figure {area}.{self.name} {_number(self.value)} {self.unit}"
            f" peer={self.peer or '-'} peer_value={_number(self.peer_value)} ratio={_number(self.ratio)}"
        )


class Pair(NamedTuple):
    """The medians of ours and the peer's."""

    ours: float
    peer: float


def alternate(
    ours: Callable[[], float],
    peer: Callable[[], float],
    *,
    rounds: int = 5,
    label: str = "",
    pick: Callable[[list[float]], float] = statistics.median,
) -> Pair:
    """Measure ours and the peer's in turns, each call returning one measured number; who goes first alternates too."""
    our_numbers: list[float] = []
    peer_numbers: list[float] = []
    for number in range(rounds):
        progress(f"{label} round {number + 1}/{rounds}".strip())
        turns = [(ours, our_numbers), (peer, peer_numbers)]
        for measure, numbers in turns if number % 2 == 0 else reversed(turns):
            numbers.append(measure())
    return Pair(pick(our_numbers), pick(peer_numbers))


def rate(action: Callable[[], object], *, seconds: float = 0.2) -> float:
    """Calls of `action` per second, from a batch that is doubled until it takes at least `seconds`."""
    calls = 1
    while True:
        began = time.perf_counter()
        for _ in range(calls):
            action()
        took = time.perf_counter() - began
        if took >= seconds:
            return calls / took
        calls *= 2


def progress(sentence: str) -> None:
    """Tell whoever waits what is being measured; standard output is for figures only."""
    print(f"bench: {sentence}", file=sys.stderr, flush=True)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
