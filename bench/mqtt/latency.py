"""From publishing a message to having it, in memory; messages leave one at a time, evenly, as many for all brokers.

`latency` is at a moderate load (`_scenarios.PATTERNS`). `latency_light` is at 2,000 messages a second, to twenty
subscribers 200: the broker sleeps before every one of them, and what is measured is how it wakes up.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from bench.figure import Figure
from bench.mqtt._brokers import peers, roost
from bench.mqtt._generator import OURS, Answer, Rounds, figures, generator, running
from bench.mqtt._scenarios import SIZES_BYTES, Scenario, scenarios

ROUNDS: Final = 5
SECONDS: Final = 0.5
RATE: Final = 2000  # to warm up


def run() -> Iterator[Figure]:
    rounds = Rounds(ROUNDS)
    with generator() as load, running({OURS: roost} | peers()) as brokers:

        def measured(name: str, scenario: Scenario, rate: int) -> Answer:
            broker = brokers[name]
            return load.ask("latency", **scenario.load(), port=broker.port, pid=broker.pid, rate=rate, seconds=SECONDS)

        def quantiles(label: str, scenario: Scenario, rate: int) -> Iterator[Figure]:
            measure = partial(measured, scenario=scenario, rate=rate)
            medians = rounds.medians(f"mqtt.{label}", list(brokers), measure)
            for quantile in ("p50", "p99"):
                yield from figures(f"{label}.{quantile}", quantile, "us", medians)

        first = next(scenarios())
        Rounds(1).medians("mqtt.latency warm-up", list(brokers), partial(measured, scenario=first, rate=RATE))
        for scenario in scenarios():
            yield from quantiles(f"latency.{scenario.name}", scenario, scenario.pattern.rates[scenario.qos])
            if scenario.payload_bytes == SIZES_BYTES[0]:
                yield from quantiles(f"latency_light.{scenario.name}", scenario, scenario.pattern.light_rate)
    rounds.end()
