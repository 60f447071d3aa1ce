"""However a query's batches are cut, and wherever it starts anew: it publishes what one batch over everything does.

Many more ways of this, without Spark, are in tests/property/test_pipeline_interleavings.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.pipeline_world import JOB, RAW, ROOMS, SECOND, RepoProcess, World

from roost.pipeline.graph import Pipeline
from roost.pipeline.running import Running

BEGIN = 1_700_000_040 * SECOND  # a whole minute
COUNT = 25
STREAMS = ("P1/d1/power", "P1/d2/power", "P2/d3/power")

PIPELINE = (
    Pipeline("cut")
    .stage("panels")
    .read(str(RAW.name), window="1m", key="{panel}", deadline="20000d")
    .aggregate(mean="mean", max="max")
    .publish(str(ROOMS.name), JOB, device="{panel}", metric="{output}")
    .stage("high")
    .read(str(RAW.name))
    .filter("value > 10")
    .publish(str(ROOMS.name), JOB, device="{panel}-{device}", metric="high")
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"), ("Whole", "Cut"))


@pytest.fixture(scope="module")
def whole(world: World) -> Iterator[RepoProcess]:
    with world.repo("Whole") as repo:
        yield repo


@pytest.fixture(scope="module")
def cut(world: World) -> Iterator[RepoProcess]:
    with world.repo("Cut") as repo:
        yield repo


class Died(Exception):
    """What happens to a driver."""


def _run(spark: SparkSession, world: World, repo: RepoProcess, checkpoint: Path, rows: int, dies_at: int = -1) -> None:
    """Run until all is done, or the write of one batch is; that one has to be done again."""
    options = {"repos": repo.uri, "home": str(world.home(JOB)), "onConflict": "fail", "maxRowsPerTrigger": str(rows)}
    running = Running(PIPELINE, checkpoint=str(checkpoint), options=options)

    def process(batch: DataFrame, number: int) -> None:
        running.process(batch, number)
        if number == dies_at:
            raise Died

    read = spark.readStream.format("roost").options(**running._read(PIPELINE.stages, since="earliest")).load()
    writer = read.writeStream.foreachBatch(process).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except Exception as error:
        if dies_at < 0 or "Died" not in str(error):
            raise


def test_any_cut_and_any_restart_publish_what_one_batch_does(
    spark: SparkSession, world: World, whole: RepoProcess, cut: RepoProcess, tmp_path: Path
) -> None:
    packets = [
        [world.reading(stream, number, float(number), BEGIN + (number - 1) * 10 * SECOND) for stream in STREAMS]
        for number in range(1, COUNT + 1)
    ]
    world.insert(whole, [data for some in packets for data in some])
    _run(spark, world, whole, tmp_path / "whole", rows=10_000)
    expected = world.published(whole)
    assert len(expected) == len(STREAMS) * COUNT + 2 * 2 * ((COUNT - 1) // 6)

    world.insert(cut, [data for some in packets[:15] for data in some])
    _run(spark, world, cut, tmp_path / "first", rows=20, dies_at=1)
    assert len(world.published(cut)) < len(expected)
    _run(spark, world, cut, tmp_path / "lost", rows=31, dies_at=0)
    world.insert(cut, [data for some in packets[15:] for data in some])
    _run(spark, world, cut, tmp_path / "first", rows=11)
    assert world.published(cut) == expected
    _run(spark, world, cut, tmp_path / "lost", rows=10_000)
    assert world.published(cut) == expected
