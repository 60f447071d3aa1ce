"""From publishing a reading to a subscriber of the next group having what a pipeline made of it, verified.

One panel, one repo, a query that is triggered as soon as the last batch is done, and a subscriber here. `stateless` is
a stage that hands on every reading, through source and sink alone; `window` a pipeline with windows of one second: from
the reading that closes one to its mean. Readings come one at a time, a little after the result of the one before.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bench.figure import Figure, progress
from bench.pipeline._filled import HOUR_NS, reading
from bench.pipeline._site import PANELS_HOME, ROOMS, Site
from roost.machine import SECOND
from roost.pipeline.graph import Pipeline
from roost.pipeline.running import Running
from roost.pipeline.session import spark_session
from roost.sim.deployment import GROUP, JOB, streams

SAMPLES: Final = 120
WARM_UP: Final = 10
PANEL: Final = "pi1"
STREAM: Final = streams(PANEL)[0]
_PATIENCE_S: Final = 60.0
_PAUSE_S: Final = 0.05


def run() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="roost-latency-") as folder:
        spark = spark_session("bench", progress=progress)
        for name, query, behind in (("stateless", stateless, 0), ("window", window, 1)):
            site = Site(Path(folder, name))
            with site.repo(), query(spark, site):
                progress(f"pipeline.latency {name}: {SAMPLES} readings, one after the other")
                delays = measured(site, behind)
            yield Figure(f"latency.{name}_p50", statistics.median(delays), "ms")
            yield Figure(f"latency.{name}_p99", statistics.quantiles(delays, n=100)[-1], "ms")


@contextmanager
def stateless(spark: SparkSession, site: Site) -> Iterator[None]:
    """Every reading doubled."""
    rows = spark.readStream.format("roost").options(**site.options(group=str(GROUP.name))).load()
    writer = rows.withColumn("value", f.col("value") * 2).writeStream.format("roost")
    writer = writer.options(**site.options(group=str(ROOMS.name), panel=JOB))
    query = writer.option("checkpointLocation", f"{site.folder}/checkpoint").start()
    try:
        yield
    finally:
        query.stop()


@contextmanager
def window(spark: SparkSession, site: Site) -> Iterator[None]:
    """Means of every second; no window is given up, for the readings are from an hour ago."""
    draft = Pipeline("bench").stage("seconds").read(str(GROUP.name), window="1s", deadline="1d")
    job = draft.aggregate(mean="mean").publish(str(ROOMS.name), JOB)
    query = Running(job, checkpoint=f"{site.folder}/checkpoint", options=site.options()).start(spark, since="earliest")
    try:
        yield
    finally:
        query.stop()


def measured(site: Site, behind: int) -> list[float]:
    """Milliseconds, one for each reading but the first ones; results have the reading's number, or one so far behind.

    Readings are a second apart in their own time.
    """
    begin, signer = time.time_ns() - HOUR_NS, site.identities[GROUP.panel(PANEL).name].signer
    delays: list[float] = []
    with (
        site.face(PANELS_HOME) as face,
        face.group(GROUP.name).inserter(PANEL) as inserter,
        face.group(ROOMS.name).subscribe(since=1) as subscription,
    ):
        for number in range(1, 1 + behind + WARM_UP + SAMPLES):
            began = time.perf_counter()
            inserter.insert([reading(STREAM, number, begin + number * SECOND, signer)])
            if number <= behind:
                continue
            arrival = subscription.take(timeout_s=_PATIENCE_S)
            if arrival is None or arrival.number != number - behind:
                raise TimeoutError(f"of reading {number} came {arrival and arrival.number} within {_PATIENCE_S:g} s")
            delays.append((time.perf_counter() - began) * 1000)
            time.sleep(random.uniform(0, _PAUSE_S))  # or every reading would come at the same point of a round
    return delays[WARM_UP:]
