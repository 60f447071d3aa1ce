"""The job that is measured: hourly means of every stream of the hall, published to the group of rooms.

It is the same whether rows come from the source or from Parquet: the aggregation and the sink of the product do it.
Each run publishes under names of its own, so that none finds its results there already.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import count
from typing import Final

from pyspark.sql import DataFrame, SparkSession

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


def rows_of(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """What the source gives to such a job."""
    job = hourly(options)
    return spark.read.format("roost").options(**job._read(job.pipeline.stages)).load()  # as `Running.backfill` does
