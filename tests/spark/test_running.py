"""A whole pipeline on real Spark, from a repo in a process of its own and back into it.

What becomes of late readings at the levels above is in `test_late_and_poison`, a lost checkpoint in
`test_interleavings`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.pipeline_world import FLOORS, JOB, RAW, ROOMS, SECOND, RepoProcess, World

from roost.naming import Name
from roost.naming.building import Group
from roost.pipeline.graph import Pipeline
from roost.pipeline.running import Running

BEGIN = 1_700_000_040 * SECOND  # a whole minute
LATE = 9  # the number of a reading that comes when its window has been published

PIPELINE = (
    Pipeline("house")
    .table("floor", {"d1": "f1", "d2": "f1"})
    .table("part", {"power_sum": "total", "power_count": "readings"})
    .stage("rooms")
    .read(str(RAW.name), "+/+/power", window="1m", key="{device}/{metric}")
    .aggregate(mean="mean", sum="sum", count="count", energy="energy", interval="10s", names=True)
    .publish(str(ROOMS.name), JOB)
    .stage("floors")
    .read(str(ROOMS.name), "+/+/power_sum", "+/+/power_count", window="2m", key="{floor:device}", deadline="20s")
    .aggregate(mean="total.sum / readings.sum", scope="{part:metric}", counted="readings")
    .publish(str(FLOORS.name), JOB, device="{floor}", metric="power_{output}")
    .stage("strong")
    .read(str(RAW.name), "+/+/power")
    .filter("value > 203")
    .publish(str(ROOMS.name), JOB, device="{panel}-{device}", metric="strong")
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "world")


@pytest.fixture
def repo(world: World) -> Iterator[RepoProcess]:
    with world.repo() as repo:
        world.insert(
            repo,
            [
                world.reading(f"P1/d{device}/power", number, _value(device, number), BEGIN + (number - 1) * 10 * SECOND)
                for device in (1, 2)
                for number in range(1, 25)
                if (device, number) != (2, LATE)
            ],
        )
        yield repo


def _value(device: int, number: int) -> float:
    return 100.0 * device + number


def _run(spark: SparkSession, world: World, repo: RepoProcess, checkpoint: Path, times: int = 1) -> Running:
    running = Running(PIPELINE, checkpoint=str(checkpoint), options=_options(world, repo))
    for _ in range(times):  # once for each level: what is published meanwhile is not of "available now"
        query = running.start(spark, since="earliest", available_now=True)
        query.awaitTermination()
    return running


def _options(world: World, repo: RepoProcess) -> dict[str, str]:
    return {"repos": repo.uri, "home": str(world.home(JOB)), "onConflict": "fail"}


def _published(world: World, repo: RepoProcess) -> dict[str, bytes]:
    return {
        str(reading.data.name): bytes(reading.data.wire)
        for group in (ROOMS, FLOORS)
        for stream in _streams(world, repo, group)
        for reading in world.read(repo, group, stream)
    }


def _streams(world: World, repo: RepoProcess, group: Group) -> list[str]:
    found = world.streams(repo, group)
    relative = [str(name)[len(str(group.name)) + 1 :] for name in found if name.starts_with(group.panel(JOB).name)]
    return [stream for stream in relative if not stream.endswith("strong")]  # it lacks what its input lacks


def _values(world: World, repo: RepoProcess, group: Group, stream: str) -> list[object]:
    return [reading.value for reading in world.read(repo, group, stream)]


def test_a_pipeline_publishes_every_level_once_and_corrects_it(
    spark: SparkSession, world: World, repo: RepoProcess, tmp_path: Path
) -> None:
    running = _run(spark, world, repo, tmp_path / "one", times=2)
    assert _values(world, repo, ROOMS, f"{JOB}/d1/power_mean") == [103.5, 109.5, 115.5, 121.5]
    rest = [_value(2, number) for number in range(7, 13) if number != LATE]
    assert _values(world, repo, ROOMS, f"{JOB}/d2/power_mean")[1] == sum(rest) / 5
    assert _values(world, repo, ROOMS, f"{JOB}/d1/power_energy")[0] == 621 * 10 / 3600
    second = world.read(repo, ROOMS, f"{JOB}/d2/power_mean")[1]
    told = {value.name: value.value for value in second.values if value.name}
    assert told == {
        "expected": 6,
        "received": 5,
        "missing": 1,
        "window_s": 60,
        "missing_names": f"P1/d2/power {LATE}",
    }
    total = sum(_value(device, number) for device in (1, 2) for number in range(1, 13)) - _value(2, LATE)
    assert _values(world, repo, FLOORS, f"{JOB}/f1/power_mean")[0] == pytest.approx(total / 23)
    floor = world.read(repo, FLOORS, f"{JOB}/f1/power_mean")[0]
    assert {value.name: value.value for value in floor.values}["received"] == 23
    assert floor.reading is not None
    assert floor.reading.lineage is not None
    assert floor.reading.lineage.job == "house/floors@1"
    assert Name.parse(f"{ROOMS.name}/{JOB}/d1/power_sum") in [each.stream for each in floor.reading.lineage.ranges]
    assert running.status()["stages"]["floors"]["completeness"] is not None

    before = _published(world, repo)
    Running(PIPELINE, options=_options(world, repo)).backfill(spark, since="earliest")
    assert _published(world, repo) == before

    world.insert(repo, [world.reading("P1/d2/power", LATE, _value(2, LATE), BEGIN + (LATE - 1) * 10 * SECOND)])
    _run(spark, world, repo, tmp_path / "one")
    after = _published(world, repo)
    assert before.items() <= after.items()
    (correction,) = world.read(repo, ROOMS, f"{JOB}/d2/power_mean.corrections")
    assert (correction.number, correction.value) == (1, 209.5)
    assert {value.name: value.value for value in correction.values}["corrects"] == 2
    strong = {reading.number: reading.value for reading in world.read(repo, ROOMS, f"{JOB}/P1-d2/strong")}
    assert strong == {number: _value(2, number) if number > 3 else None for number in range(1, 25)}
