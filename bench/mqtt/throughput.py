"""Messages delivered per second, in memory, in a closed loop: as fast as each broker can without having to drop one.

The first figure is the load generator's own: through a relay that reads nothing. What is told on the way: messages per
second of processor time of the broker, which a busy machine disturbs less, and the shares of a core that broker and
load generator used, by which one sees which of the two was the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from bench.figure import Figure
from bench.mqtt._brokers import peers, relay, roost
from bench.mqtt._generator import OURS, Answer, Rounds, figures, generator, running
from bench.mqtt._scenarios import Scenario, scenarios

ROUNDS: Final = 3
SECONDS: Final = 0.5


def run() -> Iterator[Figure]:
    rounds = Rounds(ROUNDS)
    with generator() as load, running({"relay": relay, OURS: roost} | peers()) as brokers:

        def measured(name: str, scenario: Scenario) -> Answer:
            broker = brokers[name]
            settings = {"port": broker.port, "pid": broker.pid, "window": scenario.window, "seconds": SECONDS}
            return load.ask("throughput", **scenario.load(), **settings)

        bare = next(scenarios())
        most = rounds.medians("mqtt.throughput generator", ["relay"], partial(measured, scenario=bare))
        yield Figure(f"throughput.generator.{bare.name}", most["relay"]["rate"], "1/s")
        names = [name for name in brokers if name != "relay"]
        Rounds(1).medians("mqtt.throughput warm-up", names, partial(measured, scenario=bare))
        for scenario in scenarios():
            label = f"throughput.{scenario.name}"
            medians = rounds.medians(f"mqtt.{label}", names, partial(measured, scenario=scenario))
            yield from figures(label, "rate", "1/s", medians)
    rounds.end()
