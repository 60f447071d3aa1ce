"""Signed readings from one panel into one repo, each on the panel's disk and then on the repo's, and confirmed.

Two processes and a Unix socket: the panel signs, saves, sends batches, verifies receipts; the repo verifies commands
and readings, writes them and its record of them to RocksDB, forces each batch to the disk and signs the receipt. Beside
it the limit: bare sign, verify and RocksDB write of the same readings, in turn in one process, with batches of the size
that the repo's had. Rounds alternate.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure, alternate, progress
from bench.repo._bare import bare, mean
from bench.repo._child import Child
from bench.repo._hall import make_hall, panel, repo

COUNT = 6000  # readings of a round
ROUNDS = 5


def run() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="roost-ingest-") as folder:
        hall = make_hall(Path(folder))
        sizes: list[int] = []
        with Child(repo, hall, "repo1") as keeper:
            keeper.hear()
            with Child(panel, hall, "pi1", "repo1") as source, Child(bare, hall, "pi1", COUNT) as limit:
                source.hear()
                limit.hear()

                def ours() -> float:
                    rate = source.ask((COUNT, 0))
                    sizes.extend(keeper.ask("kept")[1])
                    return float(rate)

                ours()
                pair = alternate(ours, lambda: limit.ask((mean(sizes), True)), rounds=ROUNDS, label="repo.ingest")
                shares = {name: child.ask("cpu") for name, child in (("panel", source), ("repo", keeper))}
        used = ", ".join(f"{name} {1e6 * seconds / COUNT / (ROUNDS + 1):.0f}" for name, seconds in shares.items())
        progress(f"CPU us per reading: {used}; {mean(sizes)} readings in a batch")
        yield Figure("ingest", pair.ours, "readings/s", "sign+verify+rocksdb", pair.peer)
