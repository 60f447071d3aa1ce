"""A group behind the broker: every message a signed reading on the disk, at QoS 1; beside bare sign and write.

The bare limit signs and writes in one process and one thread, and does nothing else: no sockets, no MQTT, no routing.
Ours has a signing process beside the broker where there is a second core (`roost.host.signing`): on such a machine the
ratio compares two cores, which the load generator also runs on, with one.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.figure import Figure, progress
from bench.mqtt._generator import generator
from bench.mqtt._group import bare_rate, with_group
from bench.mqtt._scenarios import PATTERNS, Scenario

ROUNDS: Final = 5
SECONDS: Final = 1.0
BARE: Final = 10_000


def run() -> Iterator[Figure]:
    with TemporaryDirectory(prefix="roost-mqtt-") as folder, with_group(Path(folder)) as broker, generator() as load:
        for pattern in PATTERNS:
            for size in (16, 1350):
                scenario = Scenario(pattern, 1, size)
                if pattern.subscribers == 20 and size > 16:
                    continue
                ours: list[float] = []
                bare: list[float] = []
                for number in range(ROUNDS):
                    progress(f"mqtt.group.{scenario.name} round {number + 1}/{ROUNDS}")
                    settings = {"port": broker.port, "pid": broker.pid, "window": scenario.window, "seconds": SECONDS}
                    answer = load.ask("throughput", **scenario.load(), **settings)
                    copies = pattern.subscribers if pattern.publishers != pattern.subscribers else 1
                    ours.append(answer["rate"] / copies)
                    bare.append(bare_rate(Path(folder), size, BARE))
                name = f"group.{scenario.name}"
                yield Figure(name, statistics.median(ours), "1/s", "bare_sign_and_write", statistics.median(bare))
