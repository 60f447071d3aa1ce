"""Triggers per second, end to end: readings in over one connection, results out over another, both QoS 0.

As fast as each arrangement can with 256 readings under way, on one core, which all processes of an arrangement share;
the load generator has another. Before anything is measured, every result of two cycles of readings is compared with
what it has to be, and so are all results of what is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from bench.figure import Figure
from bench.mqtt._generator import Rounds, figures, generator, running
from bench.process._arrangements import arrangements, asked
from bench.process._macros import all_macros

ROUNDS: Final = 3
SECONDS: Final = 1.0


def run() -> Iterator[Figure]:
    rounds = Rounds(ROUNDS)
    with generator("bench.process._load") as load:
        for bench in all_macros():
            label = f"triggers.{bench.name}"
            with running(arrangements(bench)) as brokers:
                prove = partial(asked, load, brokers, "prove", flow=bench.name)
                right = Rounds(1).medians(f"process.{label} proof", list(brokers), prove)
                measure = partial(asked, load, brokers, "throughput", flow=bench.name, seconds=SECONDS)
                medians = rounds.medians(f"process.{label}", list(right), measure)
                yield from figures(label, "rate", "1/s", medians)
    rounds.end()
