"""From sending a reading to having the result it triggers, at a steady rate that is moderate for the slowest of them.

`added_latency` is what a macro adds: the median of ours less that of the same readings when they are relayed as they
are, by the same broker in the same minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from bench.figure import Figure
from bench.mqtt._generator import OURS, Rounds, figures, generator, running
from bench.process._arrangements import arrangements, asked
from bench.process._macros import all_macros

ROUNDS: Final = 3
SECONDS: Final = 1.0
LEAST: Final = 100  # readings of a round
RATES: Final = {  # readings per second
    "conversion": 2000,
    "average3": 2000,
    "average50": 500,
    "localization4": 40,
    "localization8": 20,
}


def run() -> Iterator[Figure]:
    rounds = Rounds(ROUNDS)
    with generator("bench.process._load") as load:
        for bench in all_macros():
            rate = RATES[bench.name]
            count = max(LEAST, int(SECONDS * rate))
            with running(arrangements(bench)) as brokers:
                prove = partial(asked, load, brokers, "prove", flow=bench.name)
                right = Rounds(1).medians(f"process.latency.{bench.name} proof", list(brokers), prove)
                measure = partial(asked, load, brokers, "latency", flow=bench.name, rate=rate, count=count)
                medians = rounds.medians(f"process.latency.{bench.name}", list(right), measure)
                for quantile in ("p50", "p99"):
                    yield from figures(f"latency.{bench.name}.{quantile}", quantile, "us", medians)
                bare = partial(asked, load, brokers, "latency", flow=f"relayed.{bench.name}", rate=rate, count=count)
                relayed = rounds.medians(f"process.latency.relayed.{bench.name}", [OURS], bare)
                if OURS in medians and OURS in relayed:
                    added = medians[OURS]["p50"] - relayed[OURS]["p50"]
                    yield Figure(f"added_latency.{bench.name}", added, "us")
    rounds.end()
