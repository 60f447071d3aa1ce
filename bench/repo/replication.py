"""From one repo to the others: how far they are behind, and how fast one that has nothing catches up.

Three repos, each a process with RocksDB, linked pairwise by Unix sockets; a panel sends one of them 1,000 signed
readings a second. The lag of a reading is from when it is on the disk of the first, which is when it is confirmed,
until it is on the disks of both others, by the clock that all processes share.

Then another first repo takes in readings alone, and an empty one joins it. The rate is from its first reading on the
disk to its last. Beside it the limit: bare verify and RocksDB write of as many readings, with batches of the size it
had.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.figure import Figure, progress
from bench.repo._bare import bare, mean
from bench.repo._child import Child
from bench.repo._hall import Hall, make_hall, panel, repo
from roost.sim.deployment import REPOS

PACE = 1000  # readings a second
SECONDS = 6
WARM_UP = 2000  # readings
BACKLOG = 12_000
PATIENCE_S = 60


def run() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="roost-lag-") as folder:
        yield from lag(make_hall(Path(folder)))
    with tempfile.TemporaryDirectory(prefix="roost-catch-up-") as folder:
        yield from catch_up(make_hall(Path(folder)))


def lag(hall: Hall) -> Iterator[Figure]:
    children = [Child(repo, hall, name, [peer for peer in REPOS if peer != name]) for name in REPOS]
    with children[0] as first, children[1] as second, children[2] as third:
        for child in (first, second, third):
            child.hear()
        with Child(panel, hall, "pi1", REPOS[0]) as source:
            source.hear()
            source.ask((WARM_UP, PACE))
            _wait(WARM_UP, (first, second, third))
            for child in (first, second, third):
                child.ask("kept")
            source.ask((PACE * SECONDS, PACE))
        _wait(PACE * SECONDS, (first, second, third))
        confirmed, *copies = [child.ask("kept")[0] for child in (first, second, third)]
    delays = sorted(max(copy[name] for copy in copies) - when for name, when in confirmed.items())
    yield Figure("replication_lag_median", statistics.median(delays) / 1e6, "ms")
    yield Figure("replication_lag_p99", delays[len(delays) * 99 // 100] / 1e6, "ms")


def catch_up(hall: Hall) -> Iterator[Figure]:
    with Child(repo, hall, "repo1") as full:
        full.hear()
        with Child(panel, hall, "pi1", "repo1") as source:
            source.hear()
            source.ask((BACKLOG, 0))
        began = time.time_ns()
        with Child(repo, hall, "repo2", ["repo1"]) as empty, Child(bare, hall, "pi1", BACKLOG) as limit:
            empty.hear()
            limit.hear()
            _wait(BACKLOG, (empty,))
            kept, sizes = empty.ask("kept")
            peer = limit.ask((mean(sizes), False))
    times = sorted(kept.values())
    progress(f"repo.catch_up: first reading after {(times[0] - began) / 1e9:.2f} s, {mean(sizes)} readings in a batch")
    after_first = sum(when > times[0] for when in times)
    yield Figure("catch_up", after_first * 1e9 / (times[-1] - times[0]), "readings/s", "verify+rocksdb", peer)


def _wait(count: int, repos: Sequence[Child]) -> None:
    """Wait until each of these has so many readings."""
    until = time.monotonic() + PATIENCE_S
    while (counts := [child.ask("count") for child in repos]) and min(counts) < count:
        if time.monotonic() > until:
            raise TimeoutError(f"{count} readings are to be at each repo, after {PATIENCE_S} s there are {counts}")
        time.sleep(0.05)
