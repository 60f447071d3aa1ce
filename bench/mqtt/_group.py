"""Ours with a group behind it, and the limit of that: signing and writing the same readings, and nothing else.

The limit is that of one thread. Ours signs in a process of its own where there is a second core.
"""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import rocksdict
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.hashes import SHA256

from bench.mqtt._brokers import Broker, roost
from roost.cli import main
from roost.host.keystore import KeyStore
from roost.naming import Name
from roost.naming.building import numbered
from roost.wire import make_data
from roost.wire.posting import Posting
from roost.wire.reading import TEXT, Reading

GROUP: Final = "/BigCompany/Building1/Electricity"
PANEL: Final = f"{GROUP}/Gate1"
BATCH: Final = 500


@contextlib.contextmanager
def with_group(folder: Path) -> Iterator[Broker]:
    """Ours, every topic of which is a stream of a group; a message is on the disk before it is acknowledged."""
    make_keys(folder / "home")
    more = (
        f"trees: [{{filter: '#', group: {GROUP}}}]\n"
        f"groups: [{{name: {GROUP}, panel: Gate1, repo: Repo1}}]\n"
        f"node: {{unix: {folder / 'node.sock'}}}\n"
    )
    with roost(folder, disk=True, more=more, home=folder / "home") as broker:
        yield broker


def make_keys(home: Path) -> None:
    before = os.environ.get("ROOST_HOME")
    os.environ["ROOST_HOME"] = str(home)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            main(["init", "--company", "BigCompany", "--building", "Building1", "--repo", "Repo1"])
            main(["keys", "make", PANEL])
    finally:
        if before is None:
            del os.environ["ROOST_HOME"]
        else:
            os.environ["ROOST_HOME"] = before


def bare_rate(folder: Path, payload_bytes: int, count: int) -> float:
    """Readings a second: signed with the panel's key by bare calls, written in batches that are forced to the disk."""
    keys = KeyStore(folder / "home")
    identity = next(each for each in keys.identities() if each.name == Name.parse(PANEL))
    private = identity.key.raw
    assert isinstance(private, EllipticCurvePrivateKey)
    reading = Reading(time.time_ns(), TEXT, b"7" * payload_bytes, posting=Posting(1, client=b"pub0000"))
    made = [
        make_data(numbered(Name.parse(f"{PANEL}/b/0000"), number), reading.encode(), identity.signer, freshness_ms=1000)
        for number in range(1, BATCH + 1)
    ]
    portions = [data.signed_portion for data in made]
    algorithm = ECDSA(SHA256(), deterministic_signing=True)
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)  # noqa: FBT003  rocksdict's own
    database = rocksdict.Rdict(str(folder / f"bare{time.monotonic_ns()}"), options)
    durably = rocksdict.WriteOptions()
    durably.sync = True
    began = time.perf_counter()
    for low in range(0, count, BATCH):
        batch = rocksdict.WriteBatch(raw_mode=True)
        for at, portion in enumerate(portions):
            private.sign(portion, algorithm)
            batch.put((low + at).to_bytes(8, "big"), made[at].wire)
        database.write(batch, durably)
    took = time.perf_counter() - began
    database.close()
    return count / took
