"""Rows a second from source to window to sink, beside the same job on Spark's Parquet source, and beside bare P-256.

One repo on this machine holds `ROOST_BENCH_ROWS` readings (a million, unless it is set) of the hall's 90 streams, ten
seconds apart. `unverified` reads them through the bulk door, makes hourly means of every stream and publishes them;
its peer reads a Parquet file of the same rows and columns, and does the same by plain Spark. `source` is the rows as
they come, summed up by Spark and thrown away, beside the same of Parquet. `verified` checks every signature; its peer
verifies the same packets with one process per core, and nothing else.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bench.figure import Figure, alternate, progress
from bench.pipeline._bare import limit
from bench.pipeline._filled import reading
from bench.pipeline._hourly import filled, hourly, plain, rows_of
from bench.pipeline._site import Site
from roost.pipeline.session import cores, spark_session
from roost.sim.deployment import all_streams

ROWS: Final = int(os.environ.get("ROOST_BENCH_ROWS", "1_000_000"))
SIGNED: Final = 200_000
BARE: Final = 15_000  # of each process, in a round
ROUNDS: Final = 2


def run() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="roost-pipeline-") as folder:
        spark = spark_session("bench", progress=progress)
        yield from unverified(spark, Site(Path(folder, "plain")))
        yield from verified(spark, Site(Path(folder, "signed")))


def unverified(spark: SparkSession, site: Site) -> Iterator[Figure]:
    progress(f"pipeline.throughput: a store with {ROWS} readings")
    count = filled(site, ROWS, signed=False)
    options, path = site.bulk("never"), str(site.folder / "parquet")
    with site.repo():
        progress("pipeline.throughput: the same rows as Parquet")
        rows_of(spark, options).write.parquet(path)
        first = spark.read.parquet(path).agg(f.min("window")).collect()[0][0]

        def ours() -> float:
            return count / seconds(lambda: hourly(options).backfill(spark, since="earliest"))

        def parquet() -> float:
            return count / seconds(lambda: plain(spark.read.parquet(path), first, options))

        ours(), parquet()
        whole = alternate(ours, parquet, rounds=ROUNDS, label="pipeline.throughput unverified")
        yield Figure("throughput.unverified", whole.ours, "rows/s", "parquet", whole.peer)
        read = alternate(
            lambda: count / seconds(lambda: summed(rows_of(spark, options))),
            lambda: count / seconds(lambda: summed(spark.read.parquet(path))),
            rounds=ROUNDS,
            label="pipeline.throughput source",
        )
        yield Figure("throughput.source", read.ours, "rows/s", "parquet", read.peer)


def verified(spark: SparkSession, site: Site) -> Iterator[Figure]:
    progress(f"pipeline.throughput: a store with {SIGNED} readings that are signed")
    count = filled(site, SIGNED, signed=True)
    options = site.bulk("always")
    stream = all_streams()[0]
    identity = site.identities[stream.prefix(-2)]
    packets = [reading(stream, number, time.time_ns(), identity.signer) for number in range(1, 1001)]
    signed = [(packet.signature_value, packet.signed_portion) for packet in packets]
    with site.repo(), limit(identity.key.public.spki, signed, cores(), BARE) as bare:

        def ours() -> float:
            return count / seconds(lambda: hourly(options).backfill(spark, since="earliest"))

        ours()
        both = alternate(ours, bare.rate, rounds=ROUNDS, label="pipeline.throughput verified")
        yield Figure("throughput.verified", both.ours, "rows/s", "p256", both.peer)


def summed(rows: DataFrame) -> None:
    """What a window is computed of, by stream and hour, thrown away."""
    sums = {name: f"sum({name})" for name in ("expected", "received")} | {
        "total": "sum(cast(value as decimal(28, 9)))",
        "count": "count(value)",
        "least": "min(value)",
        "most": "max(value)",
    }
    grouped = rows.groupBy("key", "window_start").agg(*[f.expr(text).alias(name) for name, text in sums.items()])
    grouped.write.format("noop").mode("overwrite").save()


def seconds(action: Callable[[], object]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began
