"""Spark reads groups and writes groups: the real thing, with a repo in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.pipeline_world import JOB, RAW, ROOMS, SECOND, RepoProcess, World

BEGIN = 1_700_000_040 * SECOND  # a whole minute


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def repo(world: World) -> Iterator[RepoProcess]:
    with world.repo() as repo:
        world.insert(
            repo,
            [
                world.reading(
                    f"P1/d{device}/power", number, 100.0 * device + number, BEGIN + (number - 1) * 10 * SECOND
                )
                for device in (1, 2)
                for number in range(1, 31)
            ],
        )
        yield repo


@pytest.fixture
def options(world: World, repo: RepoProcess) -> dict[str, str]:
    return {"group": str(RAW.name), "repos": repo.uri, "home": str(world.home(JOB))}


def test_a_batch_read_gives_every_reading_of_the_group(spark: SparkSession, options: dict[str, str]) -> None:
    rows = spark.read.format("roost").options(**options).load().orderBy("stream", "seq").collect()
    assert len(rows) == 60
    assert rows[0].stream == f"{RAW.name}/P1/d1/power"
    assert (rows[0].seq, rows[0].value, rows[0].unit, rows[0].quality) == (1, 101.0, "W", "good")
    assert (rows[0].panel, rows[0].device, rows[0].metric) == ("P1", "d1", "power")
    assert rows[0].signer == str(RAW.panel("P1").name)


def test_filters_subscriptions_and_times_leave_less_to_be_read(spark: SparkSession, options: dict[str, str]) -> None:
    group = spark.read.format("roost").options(**options)
    assert group.option("subscribe", "+/d1/#").load().count() == 30
    read = spark.read.format("roost").options(**options).load()
    assert read.where("device = 'd2' and event_time >= timestamp'2023-11-14 22:15:00Z'").count() == 24
    assert read.where(f.col("stream").isin(f"{RAW.name}/P1/d2/power")).count() == 30
    plain = spark.newSession()  # as anybody's session is who does not know of this
    plain.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    assert plain.read.format("roost").options(**options).load().where("device = 'd2'").count() == 30
    ended = spark.read.format("roost").options(**options, since="2023-11-14T22:15:00Z", until="2023-11-14T22:16:00Z")
    assert ended.load().count() == 12


def _run(stream: DataFrame, checkpoint: Path, **options: str) -> None:
    query = (
        stream.writeStream.format("roost")
        .options(**options)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def test_a_stateless_stage_keeps_numbers_times_and_lineage(
    spark: SparkSession, world: World, repo: RepoProcess, options: dict[str, str], tmp_path: Path
) -> None:
    read = spark.readStream.format("roost").options(**options, maxRowsPerTrigger="25").load()
    sink = {**options, "group": str(ROOMS.name), "panel": JOB, "job": "double@1"}
    _run(read.withColumn("value", f.col("value") * 2), tmp_path / "one", **sink)
    found = world.read(repo, ROOMS, f"{JOB}/P1-d1/power")
    assert [reading.number for reading in found] == list(range(1, 31))
    assert [reading.value for reading in found] == [2 * (100.0 + number) for number in range(1, 31)]
    assert found[4].event_time == BEGIN + 40 * SECOND
    assert found[4].reading is not None
    lineage = found[4].reading.lineage
    assert lineage is not None
    assert lineage.job == "double@1"
    assert [(str(each.stream), each.low, each.high) for each in lineage.ranges] == [(f"{RAW.name}/P1/d1/power", 5, 5)]
    before = {reading.number: reading.data.wire for reading in found}
    _run(read.withColumn("value", f.col("value") * 2), tmp_path / "another", **sink)  # the checkpoint is lost
    assert {reading.number: reading.data.wire for reading in world.read(repo, ROOMS, f"{JOB}/P1-d1/power")} == before


def test_windows_come_whole_with_what_they_should_contain(spark: SparkSession, options: dict[str, str]) -> None:
    rows = spark.read.format("roost").options(**options, window="1m", key="{panel}").load()
    counted = rows.groupBy("key", "window_start").agg(f.sum("expected").alias("e"), f.sum("received").alias("r"))
    assert [(row.key, row.e, row.r) for row in counted.orderBy("window_start").collect()] == [("P1", 12, 12)] * 5
