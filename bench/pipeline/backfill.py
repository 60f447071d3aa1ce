"""The past done again: hourly means of ten million readings, as `roost pipeline backfill` does it, and its memory.

`ROOST_BENCH_BACKFILL` says how many readings, if not ten million. They are unverified and come through the bulk door;
the job is that of `throughput.py`, run once before on a hundredth of them. Memory is measured during it, and at rest
before.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from bench.figure import Figure, progress
from bench.pipeline._hourly import filled, hourly
from bench.pipeline._memory import Peak, megabytes
from bench.pipeline._site import Site
from roost.pipeline.session import spark_session

ROWS: Final = int(os.environ.get("ROOST_BENCH_BACKFILL", "10_000_000"))


class Done(NamedTuple):
    """How many readings, how long it took, and megabytes by kind of process: before it began, and at most."""

    readings: int
    seconds: float
    rest: Counter[str]
    most: Counter[str]


def run() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="roost-backfill-") as folder:
        spark = spark_session("bench", progress=progress)
        backfilled(spark, Site(Path(folder, "warm")), ROWS // 100)
        done = backfilled(spark, Site(Path(folder, "whole")), ROWS)
    yield Figure(f"backfill.rows_{done.readings}", done.readings / done.seconds, "rows/s")
    yield Figure(f"backfill.seconds_{done.readings}", done.seconds, "s")
    for kind, size in done.rest.items():
        yield Figure(f"memory.{kind}", size, "MB")
        yield Figure(f"memory.{kind}_peak", done.most[kind], "MB")


def backfilled(spark: SparkSession, site: Site, rows: int) -> Done:
    """Do it once, of a store that is made for it."""
    progress(f"pipeline.backfill: a store with {rows} readings")
    count = filled(site, rows, signed=False)
    with site.repo():
        rest = megabytes()
        began = time.perf_counter()
        with Peak() as peak:
            told = hourly(site.bulk("never")).backfill(spark, since="earliest")
        took = time.perf_counter() - began
    received = told["stages"]["hourly"]["received"]
    if received != count:
        raise ValueError(f"{received} of {count} readings were received")
    return Done(count, took, rest, peak.most)
