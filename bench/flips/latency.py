"""From making a content to having it, beside mosquitto at QoS 0, 1 and 2 in the same namespaces, on a shared medium.

Neither side keeps anything on disk but `durable`, where a content is forced there before it is sent. The slope is that
of the medians over the number of subscribers. The clients of mosquitto do nothing but read a blocking socket.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Final

from bench.figure import Figure, progress
from bench.flips._site import ONE, SEPARATE, Site
from bench.mqtt._brokers import has_mosquitto

CONTENTS: Final = 40
INTERVAL_MS: Final = 100
COUNTS: Final = (2, 10, 20)
ROUNDS: Final = 3
SCHEMES: Final = (("flips", 0), ("mqtt", 0), ("mqtt", 1), ("mqtt", 2))


def run() -> Iterator[Figure]:
    with Site(("flips", "durable", *(("mqtt",) if has_mosquitto() else ()))) as site:
        for placement in (SEPARATE, ONE):
            medians: dict[tuple[str, int], list[float]] = {}
            for subscribers in COUNTS:
                ages: dict[tuple[str, int], list[float]] = {}
                for turn in range(ROUNDS):
                    progress(f"flips.latency {placement} {subscribers} round {turn + 1}/{ROUNDS}")
                    for scheme, qos in SCHEMES if has_mosquitto() else SCHEMES[:1]:
                        found = site.run(scheme, placement, subscribers, CONTENTS, INTERVAL_MS, qos)
                        ages.setdefault((scheme, qos), []).extend(found.ages_us)
                for key, each in ages.items():
                    medians.setdefault(key, []).append(statistics.median(each))
                ours = medians["flips", 0][-1]
                for scheme, qos in SCHEMES[1:]:
                    if (scheme, qos) in medians:
                        name = f"latency.{placement}.subscribers_{subscribers}.beside_qos_{qos}"
                        yield Figure(name, ours, "us", "mosquitto", medians[scheme, qos][-1])
                if placement == SEPARATE:
                    kept = site.run("durable", placement, subscribers, CONTENTS, INTERVAL_MS)
                    name = f"latency.{placement}.subscribers_{subscribers}.durable"
                    yield Figure(name, statistics.median(kept.ages_us), "us")
            slopes = {key: statistics.linear_regression(COUNTS, each).slope for key, each in medians.items()}
            peer = slopes.get(("mqtt", 0))
            name = f"latency.{placement}.slope"
            yield Figure(name, slopes["flips", 0], "us/subscriber", "mosquitto" if peer is not None else None, peer)
