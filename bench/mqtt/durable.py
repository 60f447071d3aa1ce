"""QoS 1 to persistent sessions, on disk: messages delivered per second.

Ours acknowledges a message when it is on the disk (fsync, many messages at a time). mosquitto acknowledges at once and
saves its whole database now and then: every half hour as it comes (`mosquitto`), or after every change when told to
(`mosquitto_each`); it never waits for the disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from bench.figure import Figure
from bench.mqtt._brokers import Start, has_mosquitto, mosquitto, roost
from bench.mqtt._generator import OURS, Answer, Rounds, figures, generator, running
from bench.mqtt._scenarios import PATTERNS, Scenario

ROUNDS: Final = 3
SECONDS: Final = 0.7
EACH: Final = "autosave_on_changes true\nautosave_interval 1\n"  # changes, where it would be seconds


def run() -> Iterator[Figure]:
    rounds, starts = Rounds(ROUNDS), dict[str, Start]({OURS: partial(roost, disk=True)})
    if has_mosquitto():
        starts["mosquitto"] = partial(mosquitto, disk=True)
        starts["mosquitto_each"] = partial(mosquitto, disk=True, autosave=EACH)
    with generator() as load, running(starts) as brokers:

        def measured(name: str, scenario: Scenario) -> Answer:
            broker, window = brokers[name], scenario.window
            settings = {"port": broker.port, "pid": broker.pid, "window": window, "seconds": SECONDS}
            return load.ask("throughput", persistent=True, **scenario.load(), **settings)

        for pattern in PATTERNS:
            scenario = Scenario(pattern, 1, 16)
            label = f"durable.{scenario.name}"
            medians = rounds.medians(f"mqtt.{label}", list(brokers), partial(measured, scenario=scenario))
            yield from figures(label, "rate", "1/s", medians)
    rounds.end()
