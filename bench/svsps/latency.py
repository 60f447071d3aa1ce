"""From `publish` to the item at a subscriber: over loopback beside a plain round trip, and simulated, in round trips.

Over loopback, a node is a process of its own and both members are in one, over Unix sockets, so that one clock
measures; nothing is kept on the disk. In simulation the slope of latency over the round trip time is fitted, beside
the poster's.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import roost
from bench.figure import Figure, progress
from bench.repo._child import Child
from bench.svsps import _street
from bench.svsps._slopes import slope
from roost.wire import Data, DigestSigner, Interest, make_data

COUNT = 400
PAUSE_S = 0.002  # before each, so that what went before is done, and all begin alike
POSTER = {"published": 1.5, "queried": 2.5, "prefetched": 0.5}


def run() -> Iterable[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "node.sock"
        with Child(_street.node, socket) as node:
            node.hear()
            for way in ("published", "prefetched"):
                progress(f"latency over loopback, {way}")
                ours, bare = asyncio.run(loopback(socket, prefetch=4 if way == "prefetched" else 0))
                yield Figure(f"latency.loopback_{way}", ours, "us", "round-trip", bare)
    for way, poster in POSTER.items():
        progress(f"latency in simulation, {way}")
        yield Figure(f"latency.simulated_{way}", slope(way), "round_trips", "poster", poster)


async def loopback(socket: Path, *, prefetch: int) -> tuple[float, float]:
    """The medians of publications and of fetches of one Data over the same node, in turns."""
    uri = f"unix://{socket}"
    took: list[float] = []
    bare: list[float] = []
    async with (
        _street.join(socket, "/radar") as radar,
        _street.join(socket, "/desk") as desk,
        roost.connect(uri, verifier=roost.ACCEPT_ANY, signer=DigestSigner()) as producer,
        roost.connect(uri, verifier=roost.ACCEPT_ANY, signer=DigestSigner()) as consumer,
        producer.serve("/echo", echo),
    ):
        feed = desk.subscribe_to_producer("/radar", prefetch=prefetch) if prefetch else desk.subscribe("/position")
        await radar.publish("/position/first", b"x")
        await anext(feed)
        for number in range(COUNT):
            await asyncio.sleep(PAUSE_S)
            began = time.perf_counter()
            publishing = asyncio.ensure_future(radar.publish(f"/position/{number}", b"x"))
            item = await anext(feed)
            took.append(time.perf_counter() - began)
            assert str(item.name) == f"/position/{number}", item.name
            await publishing
            await asyncio.sleep(PAUSE_S)
            began = time.perf_counter()
            await consumer.fetch(f"/echo/{prefetch}/{number}")
            bare.append(time.perf_counter() - began)
    return 1e6 * statistics.median(took), 1e6 * statistics.median(bare)


def echo(interest: Interest) -> Data:
    return make_data(interest.name, b"x", DigestSigner())
