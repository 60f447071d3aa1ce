"""The limit of what a panel and a repo can do: sign, verify and write the same readings, and nothing else.

One process does the three in turn, with the bare calls of `cryptography` and rocksdict, on packets that are there
already; batches are as large as the repo's were, and each is forced to the disk.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import rocksdict
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256

from bench.repo._child import END, Boss
from bench.repo._hall import Hall, readings
from roost.naming.building import numbered
from roost.sim.deployment import GROUP
from roost.wire import Data, make_data


def packets(hall: Hall, panel: str, count: int) -> list[Data]:
    """Readings as a panel signs them."""
    signer = hall.identities[GROUP.panel(panel).name].signer
    made = readings(panel, count, time.time_ns())
    streams = len({stream for stream, _ in made})
    return [
        make_data(numbered(stream, index // streams + 1), reading.encode(), signer, freshness_ms=1000)
        for index, (stream, reading) in enumerate(made)
    ]


async def bare(boss: Boss, hall: Hall, panel: str, count: int) -> None:
    """A child that says for (batch size, whether to sign) how many readings a second it signs, verifies and writes."""
    key = hall.identities[GROUP.panel(panel).name].key
    made = packets(hall, panel, count)
    private, public = key.raw, key.public.raw
    assert isinstance(private, EllipticCurvePrivateKey)
    assert isinstance(public, EllipticCurvePublicKey)
    sign_with, verify_with = ECDSA(SHA256(), deterministic_signing=True), ECDSA(SHA256())
    portions = [(data.name.value, data.signed_portion, data.wire) for data in made]
    values = [data.signature_value for data in made]
    folder = hall.folder / "bare"
    boss.say("ready")
    round_ = 0
    while (word := await boss.hear()) != END:
        size, signs = word
        round_ += 1
        database, durably = _open(folder / str(round_))
        began = time.perf_counter()
        for at in range(0, count, size):
            batch = rocksdict.WriteBatch(raw_mode=True)
            rows = portions[at : at + size]
            new = [private.sign(portion, sign_with) for _, portion, _ in rows] if signs else values[at : at + size]
            for value, (name, portion, wire) in zip(new, rows, strict=True):
                public.verify(value, portion, verify_with)
                batch.put(name, wire)
            database.write(batch, durably)
        boss.say(count / (time.perf_counter() - began))
        database.close()


def _open(path: Path) -> tuple[rocksdict.Rdict, rocksdict.WriteOptions]:
    path.parent.mkdir(exist_ok=True)
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(create_if_missing=True)
    durably = rocksdict.WriteOptions()
    durably.sync = True
    return rocksdict.Rdict(str(path), options), durably


def mean(sizes: Sequence[int]) -> int:
    """The mean size of the batches that had readings."""
    some = [size for size in sizes if size]
    return max(1, round(sum(some) / len(some))) if some else 1
