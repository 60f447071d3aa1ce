"""The job that is measured: hourly means of every stream of the hall, published to the group of rooms.

`plain` is the same for rows that any of Spark's sources gives: Spark sums them up, and the sink of the product
publishes. Each run publishes under names of its own, so that none finds its results there already.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import count
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bench.pipeline._filled import HOUR_NS, STEP_NS, Pretended, fill
from bench.pipeline._site import ROOMS, Site
from roost.pipeline.graph import Pipeline
from roost.pipeline.running import Running
from roost.sim.deployment import GROUP, JOB, all_streams

_runs: Final = count(1)


def filled(site: Site, readings: int, *, signed: bool) -> int:
    """Give a site about so many readings, the newest from an hour ago; how many they are."""
    streams = all_streams()
    each = readings // len(streams)
    begin = (time.time_ns() - each * STEP_NS) // HOUR_NS * HOUR_NS - HOUR_NS
    signers = {name: identity.signer for name, identity in site.identities.items()}
    panels = {stream: signers[stream.prefix(-2)] for stream in streams}
    fill(site.store, streams, each, lambda stream: panels[stream] if signed else Pretended(panels[stream]), begin)
    return each * len(streams)


def hourly(options: Mapping[str, str]) -> Running:
    """The job, for one run of it."""
    draft = Pipeline("bench").stage("hourly").read(str(GROUP.name), window="1h").aggregate(mean="mean")
    device = f"run{next(_runs)}-{{panel}}-{{device}}"
    return Running(draft.publish(str(ROOMS.name), JOB, device=device), options=options)


def plain(rows: DataFrame, first: int, options: Mapping[str, str]) -> None:
    """The same of rows in windows, the first of which is `first`, without anything of ours before the sink."""
    run = next(_runs)
    there = rows.filter("seq > 0")  # a stream that has nothing in a window has a row for that
    sums = there.groupBy("stream", "panel", "device", "metric", "unit", "window", "window_start").agg(
        f.expr("sum(cast(value as decimal(28, 9)))").alias("sum"),
        f.expr("count(value)").alias("count"),
        f.expr("min(seq)").alias("low"),
        f.expr("max(seq)").alias("high"),
        *[f.expr(f"sum({name})").alias(name) for name in ("expected", "received")],
    )
    results = sums.select(
        f.format_string(f"run{run}-%s-%s/%s_mean", "panel", "device", "metric").alias("output"),
        (f.col("window") - first + 1).alias("number"),
        f.col("window_start").alias("event_time"),
        f.expr("cast(sum / count as double)").alias("value"),
        *("unit", "expected", "received"),
        f.expr("array(named_struct('stream', stream, 'low', low, 'high', high))").alias("inputs"),
    )
    writer = results.write.format("roost").options(group=str(ROOMS.name), panel=JOB, **options)
    writer.mode("append").save()


def rows_of(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """All readings, in windows of an hour."""
    return spark.read.format("roost").options(group=str(GROUP.name), window="1h", deadline="1d", **options).load()
