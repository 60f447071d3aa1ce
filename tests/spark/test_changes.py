"""Complete and update mode: results that are told anew with every batch are published when they have changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.pipeline_world import JOB, RAW, ROOMS, SECOND, RepoProcess, World

from roost.pipeline.sink import publish_changes

BEGIN = 1_700_000_040 * SECOND


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("changes"))


@pytest.fixture(scope="module")
def repo(world: World) -> Iterator[RepoProcess]:
    with world.repo() as repo:
        yield repo


def _insert(world: World, repo: RepoProcess, device: str, *numbers: int) -> None:
    world.insert(
        repo, [world.reading(f"P1/{device}/power", each, float(each), BEGIN + each * SECOND) for each in numbers]
    )


def _totals(spark: SparkSession, options: dict[str, str], metric: str) -> DataFrame:
    rows = spark.readStream.format("roost").options(**options).load()
    totals = rows.groupBy("stream", "device").agg(
        f.sum("value").alias("value"),
        f.max("event_time").alias("event_time"),
        f.min("seq").alias("low"),
        f.max("seq").alias("high"),
    )
    inputs = f.array(f.struct("stream", "low", "high")).alias("inputs")
    return totals.select(f.concat("device", f.lit(f"/{metric}")).alias("output"), "value", "event_time", inputs)


@pytest.mark.parametrize("mode", ["complete", "update"])
def test_only_what_has_changed_is_published(
    spark: SparkSession, world: World, repo: RepoProcess, tmp_path: Path, mode: str
) -> None:
    options = {
        "group": str(RAW.name),
        "repos": repo.uri,
        "home": str(world.home(JOB)),
        "subscribe": f"P1/{mode}1, P1/{mode}2",
    }
    sink = {**options, "group": str(ROOMS.name), "panel": JOB}
    _insert(world, repo, f"{mode}1", 1, 2)
    _insert(world, repo, f"{mode}2", 1)

    def run() -> None:
        writing = _totals(spark, options, "total").writeStream.outputMode(mode)
        if mode == "complete":
            writing = writing.format("roost").options(**sink)
        else:
            writing = writing.foreachBatch(publish_changes(**sink))
        writing.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(
            availableNow=True
        ).start().awaitTermination()

    run()
    _insert(world, repo, f"{mode}1", 3)
    run()  # of the second device, nothing is new
    found = {
        device: [(each.number, each.value) for each in world.read(repo, ROOMS, f"{JOB}/{device}/total")]
        for device in (f"{mode}1", f"{mode}2")
    }
    assert found == {f"{mode}1": [(1, 3.0), (2, 6.0)], f"{mode}2": [(1, 1.0)]}


def test_rows_without_a_number_are_refused_in_append_mode(spark: SparkSession, world: World, repo: RepoProcess) -> None:
    options = {"group": str(ROOMS.name), "panel": JOB, "repos": repo.uri, "home": str(world.home(JOB))}
    rows = spark.createDataFrame([("d/m", 1.0)], "output string, value double")
    with pytest.raises(Exception, match="the rows have no column number"):
        rows.write.format("roost").options(**options).mode("append").save()
