"""From publishing a message to having it, in memory, at a moderate load: 2,000 messages a second, for all brokers.

To twenty subscribers it is 200 a second, which makes 4,000 deliveries. Messages leave one at a time, evenly.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from bench.figure import Figure
from bench.mqtt._brokers import peers, roost
from bench.mqtt._generator import OURS, Answer, Rounds, figures, generator, running
from bench.mqtt._scenarios import Scenario, scenarios

ROUNDS: Final = 3
SECONDS: Final = 0.5


def run() -> Iterator[Figure]:
    rounds = Rounds(ROUNDS)
    with generator() as load, running({OURS: roost} | peers()) as brokers:

        def measured(name: str, scenario: Scenario) -> Answer:
            broker = brokers[name]
            settings = {"port": broker.port, "pid": broker.pid, "rate": scenario.pattern.rate, "seconds": SECONDS}
            return load.ask("latency", **scenario.load(), **settings)

        Rounds(1).medians("mqtt.latency warm-up", list(brokers), partial(measured, scenario=next(scenarios())))
        for scenario in scenarios():
            label = f"latency.{scenario.name}"
            medians = rounds.medians(f"mqtt.{label}", list(brokers), partial(measured, scenario=scenario))
            for quantile in ("p50", "p99"):
                yield from figures(f"{label}.{quantile}", quantile, "us", medians)
    rounds.end()
