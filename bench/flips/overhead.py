"""Control packets per content and subscriber, 2 to 20 subscribers, beside what the paper's design comes to.

The peer is the formula: on separate hosts each subscriber asks once for each content and once to begin, on one host all
ask as one. Interests are counted on the publisher's port of the switch. `deviation` is from the formula, of which at
most 2 % are expected; without loss, and with a processor for all of them, `tests/sim/test_flips.py` counts the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bench.figure import Figure, progress
from bench.flips._site import MOST, ONE, SEPARATE, Site

CONTENTS: Final = 100
INTERVAL_MS: Final = 60


def run() -> Iterator[Figure]:
    with Site(("flips",)) as site:
        for placement in (SEPARATE, ONE):
            for subscribers in range(2, MOST + 1, 2):
                progress(f"flips.overhead {placement} {subscribers}")
                found = site.run("flips", placement, subscribers, CONTENTS, INTERVAL_MS)
                each = found.questions / (CONTENTS * subscribers)
                formula = (CONTENTS + 1) / CONTENTS / (subscribers if placement == ONE else 1)
                name = f"overhead.{placement}.subscribers_{subscribers}"
                yield Figure(name, each, "interests/content", "formula", formula)
                yield Figure(f"{name}.deviation", 100 * (each / formula - 1), "%")
                delivered = len(found.ages_us) / (CONTENTS * subscribers)
                yield Figure(f"delivered.{placement}.subscribers_{subscribers}", 100 * delivered, "%")
