"""What a batch costs by the number of streams in the group: 100, 5,000 and 50,000.

A store has a few readings of each stream, and a query takes one of each in a batch (`all`), as many rows as there are
streams; then single readings of one panel's streams are published, and each is a batch (`few`). The rows go nowhere:
the source is measured, and what Spark does for every batch. `offset` is how long the driver's side takes to say how far
to go; the rest is the trigger as a whole. The first batch of each kind does not count.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from bench.figure import Figure, progress
from bench.pipeline._filled import HOUR_NS, Pretended, fill, reading
from bench.pipeline._site import PANELS_HOME, Site
from bench.repo._filled import filler_streams
from roost.pipeline.session import spark_session
from roost.sim.deployment import GROUP, streams

SIZES: Final = (100, 5_000, 50_000)
EACH: Final = 4  # readings of a stream in the store
FEW: Final = 5  # streams with news
BATCHES: Final = 8
PANEL: Final = "pi1"
_PATIENCE_S: Final = 120.0


def run() -> Iterator[Figure]:
    spark = spark_session("bench", progress=progress)
    for size in SIZES:
        with tempfile.TemporaryDirectory(prefix="roost-streams-") as folder:
            progress(f"pipeline.streams: {size} streams")
            yield from batches(spark, Site(Path(folder, "site")), size)


def batches(spark: SparkSession, site: Site, size: int) -> Iterator[Figure]:
    ours = streams(PANEL)
    signer = site.identities[GROUP.panel(PANEL).name].signer
    begin = time.time_ns() - HOUR_NS
    fill(site.store, [*ours, *filler_streams(size - len(ours))], EACH, lambda _: Pretended(signer), begin)
    with site.repo():
        rows = spark.readStream.format("roost").options(
            **site.bulk("never", group=str(GROUP.name), maxRowsPerTrigger=str(size))
        )
        query = rows.load().writeStream.format("noop").option("checkpointLocation", f"{site.folder}/checkpoint").start()
        try:
            few = whole = _awaited(query, size * EACH)
            with site.face(PANELS_HOME) as face, face.group(GROUP.name).inserter(PANEL) as inserter:
                for number in range(EACH + 1, EACH + 1 + BATCHES):
                    inserter.insert([reading(stream, number, time.time_ns(), signer) for stream in ours[:FEW]])
                    few = _awaited(query, size * EACH + (number - EACH) * FEW)
        finally:
            query.stop()
    for kind, found in (("all", whole), ("few", few)):
        some = [each for each in found if each["numInputRows"] >= (size if kind == "all" else 1)][1:] or found[-1:]
        yield Figure(f"streams.offset_{kind}_{size}", _median(some, "latestOffset"), "ms")
        yield Figure(f"streams.batch_{kind}_{size}", _median(some, "triggerExecution"), "ms")


def _awaited(query: StreamingQuery, rows: int) -> list[dict[str, Any]]:
    """Wait until a query has read so many rows in all: the batches that had some, as far as it remembers them."""
    until = time.monotonic() + _PATIENCE_S
    seen: dict[int, dict[str, Any]] = {}
    while time.monotonic() < until:
        if error := query.exception():
            raise error
        for each in query.recentProgress:
            seen[each["batchId"]] = each
        _totals[query.id] = _totals.get(query.id, {}) | {n: each["numInputRows"] for n, each in seen.items()}
        if sum(_totals[query.id].values()) >= rows:
            return [each for _, each in sorted(seen.items()) if each["numInputRows"]]
        time.sleep(0.05)
    raise TimeoutError(f"{sum(_totals[query.id].values())} of {rows} rows came within {_PATIENCE_S:g} s")


_totals: dict[str, dict[int, int]] = {}  # rows by query and batch: a query remembers its last batches only


def _median(batches: Sequence[dict[str, Any]], what: str) -> float:
    return statistics.median(float(each["durationMs"].get(what, 0)) for each in batches)
