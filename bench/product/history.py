"""The past over HTTP: a day of one stream, and of all 90 of the hall, ten seconds between readings: 777,600 of them."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from bench.figure import Figure, progress
from bench.pipeline._filled import STEP_NS, Pretended, fill
from bench.product._verb import Verb, running
from roost.host.joining import group_file
from roost.host.making import new_store
from roost.naming import Name
from roost.sim import deployment

DAY: Final = 86_400 * 1_000_000_000 // STEP_NS  # readings
ROUNDS: Final = 3
POINTS: Final = 1_000
ARROW: Final = "application/vnd.apache.arrow.stream"


def run() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="roost-product-") as folder:
        home = Path(folder)
        config = _site(home)
        progress(f"product.history: {90 * DAY:,} readings are there")
        with running(home, "up", "-c", str(config)) as up:
            up.until("ready")
            up.until("the page is at")
            streams = [str(stream) for stream in deployment.all_streams()]
            one, all_of = streams[:1], streams
            yield Figure("history.day_of_one_drawn", _asked(up, one, points=POINTS), "ms")
            yield Figure("history.day_of_90_drawn", _asked(up, all_of, points=POINTS), "ms")
            yield Figure("history.day_of_one_arrow", _asked(up, one, limit=DAY, accept=ARROW), "ms")


def _asked(up: Verb, streams: list[str], *, accept: str = "application/json", **more: int) -> float:
    query = urlencode([*(("stream", stream) for stream in streams), ("since", "25h"), *more.items()])
    request = urllib.request.Request(f"{up.url()}/history?{query}", headers={"Accept": accept})
    took: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        with urllib.request.urlopen(request, timeout=300) as answer:
            body = answer.read()
        took.append(1000 * (time.perf_counter() - began))
        if accept != ARROW and len(json.loads(body)["streams"]) != len(streams):
            raise RuntimeError("not all streams were in the answer")
    return statistics.median(took)


def _site(home: Path) -> Path:
    """A node's home with keys, a store with a day in it, and a configuration."""
    identities = deployment.identities(os.urandom, time.time_ns(), centre=True)
    root, group, centre = deployment.COMPANY.root.name, deployment.GROUP, deployment.CENTRE
    with new_store(home / "roost") as keys:
        keys.save_anchor(identities[root].certificate)
        for place in (group.panel(centre), group.repo(centre)):
            keys.save_identity(identities[place.name])
        for name in (deployment.COMPANY.building("Hall").name, group.name):
            keys.save_certificate(identities[name].certificate)
        keys.save_schema(deployment.rules())

    def signer(stream: Name) -> Pretended:
        return Pretended(identities[stream.prefix(-2)].signer)

    store = group_file(home / "store" / "repos", group.repo(centre).name, "rocks")
    fill(store, deployment.all_streams(), DAY, signer, time.time_ns() - DAY * STEP_NS)
    config = home / "roost.yaml"
    said = {
        "listeners": [{"tcp": "127.0.0.1:0"}],
        "http": "127.0.0.1:0",
        "store": "store",
        "trees": [{"filter": "hall/#", "group": str(group.name)}],
        "groups": [{"name": str(group.name), "panel": centre, "repo": centre}],
    }
    config.write_text(json.dumps(said), encoding="utf-8")
    return config
