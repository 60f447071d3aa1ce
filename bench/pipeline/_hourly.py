"""The job that is measured: hourly windows of every stream of the hall, published to the group of rooms.

It is the same whether rows come from the source or from Parquet: the aggregation and the sink of the product do it.
Each run publishes under names of its own, so that none finds its results there already.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Final

from pyspark.sql import SparkSession

from bench.pipeline._site import ROOMS
from roost.pipeline.graph import Pipeline
from roost.pipeline.running import Running
from roost.sim.deployment import GROUP, JOB

_runs: Final = count(1)


def hourly(options: Mapping[str, str]) -> Running:
    """The job, for one run of it."""
    draft = Pipeline("bench").stage("hourly").read(str(GROUP.name), window="1h").aggregate(mean="mean", max="max")
    device = f"run{next(_runs)}-{{panel}}-{{device}}"
    return Running(draft.publish(str(ROOMS.name), JOB, device=device), options=options)


def rows_of(spark: SparkSession, path: str, options: Mapping[str, str]) -> None:
    """Write what the source gives to such a job, column for column, as Parquet."""
    inputs = hourly(options)._read(hourly(options).pipeline.stages)
    spark.read.format("roost").options(**inputs).load().write.mode("overwrite").parquet(path)
