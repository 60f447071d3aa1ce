"""FLIPS over NDN names beside FLIPS over hICN: the same machine, the same hosts, one subscriber on each."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Final

from bench.figure import Figure, progress
from bench.flips._site import SEPARATE, Site

CONTENTS: Final = 40
INTERVAL_MS: Final = 100


def run() -> Iterator[Figure]:
    with Site(("flips", "ndn")) as site:
        for subscribers in (2, 10, 20):
            progress(f"flips.binding {subscribers}")
            hicn = site.run("flips", SEPARATE, subscribers, CONTENTS, INTERVAL_MS)
            ndn = site.run("ndn", SEPARATE, subscribers, CONTENTS, INTERVAL_MS)
            name = f"binding.subscribers_{subscribers}"
            over = statistics.median(ndn.ages_us), statistics.median(hicn.ages_us)
            yield Figure(f"{name}.latency", over[0], "us", "hicn", over[1])
            each = [found.questions / CONTENTS / subscribers for found in (ndn, hicn)]
            yield Figure(f"{name}.overhead", each[0], "interests/content", "hicn", each[1])
