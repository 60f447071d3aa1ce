"""From publishing a message to having it, in memory; messages leave one at a time, evenly, as many for all brokers.

`latency` is at a moderate load (`_scenarios.PATTERNS`). `latency_light` is at 2,000 messages a second, to twenty
subscribers 200: the broker sleeps before every one of them, and what is measured is how it wakes up.

Whoever else uses the machine makes a p99: it is ten times as long with one busy core as with none. So a round in which
others used more than a tenth of a core is measured again, some times, for all brokers alike, and the quietest counts;
`others` tells what is left. `mosquitto_again` is a second mosquitto: how far the ratios of the two are apart is how far
any ratio can be trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from bench.figure import Figure
from bench.mqtt._brokers import has_mosquitto, mosquitto, peers, roost
from bench.mqtt._generator import OURS, Answer, Rounds, figures, generator, running
from bench.mqtt._scenarios import SIZES_BYTES, Scenario, scenarios

ROUNDS: Final = 5
SECONDS: Final = 0.5
MESSAGES: Final = 1000  # of one round, at least, but not for longer than that:
MOST_SECONDS: Final = 2.0
RATE: Final = 2000  # to warm up
QUIET: Final = 0.1  # of a core
TRIES: Final = 6


def run() -> Iterator[Figure]:
    rounds = Rounds(ROUNDS)
    again = {"mosquitto_again": mosquitto} if has_mosquitto() else {}
    with generator() as load, running({OURS: roost} | peers() | again) as brokers:

        def measured(name: str, scenario: Scenario, rate: int) -> Answer:
            broker = brokers[name]
            seconds = min(max(SECONDS, MESSAGES / rate), MOST_SECONDS)
            settings = {"port": broker.port, "pid": broker.pid, "rate": rate, "seconds": seconds}
            quietest: Answer | None = None
            for _ in range(TRIES):
                answer = load.ask("latency", **scenario.load(), **settings)
                if quietest is None or answer["others"] < quietest["others"]:
                    quietest = answer
                if quietest["others"] <= QUIET:
                    break
            assert quietest is not None
            return quietest

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
