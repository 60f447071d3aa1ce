"""Readings that come late, or are no numbers: counted at every level, corrected when they come, harmless to the rest.

One job over one group: three streams that measure as they should but for holes and silence, and one that does not.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cbor2
import pytest
from pyspark.sql import SparkSession
from tests.pipeline_world import FLOORS, JOB, RAW, ROOMS, SECOND, RepoProcess, World

from roost.host import connect
from roost.host.keystore import KeyStore
from roost.naming.building import Group
from roost.pipeline.ancestry import trace
from roost.pipeline.ancestry_report import Ancestry
from roost.pipeline.graph import Pipeline
from roost.pipeline.running import Running
from roost.pubsub.consumers.arrival import Arrival
from roost.wire import Data
from roost.wire.reading import SENML_CBOR, Reading

BEGIN = 1_700_000_040 * SECOND  # a whole minute
COUNT = 25  # four minutes, and one reading that closes the last of them
LATE = {"P1/d2/power": (9, 14, 15), "P2/d3/power": tuple(range(13, COUNT + 1))}

PIPELINE = (
    Pipeline("house")
    .table("floor", {"d1": "f1", "d2": "f1", "d3": "f1"})
    .table("part", {"power_sum": "total", "power_count": "readings"})
    .stage("rooms")
    .read(str(RAW.name), "+/+/power", window="1m", key="{device}/{metric}", deadline="0s")
    .aggregate(sum="sum", count="count", names=True)
    .publish(str(ROOMS.name), JOB)
    .stage("floors")
    .read(str(ROOMS.name), "+/+/power_sum", "+/+/power_count", window="2m", key="{floor:device}")
    .aggregate(mean="total.sum / readings.sum", scope="{part:metric}", counted="readings")
    .publish(str(FLOORS.name), JOB, device="{floor}", metric="power_{output}")
    .stage("strong")
    .read(str(RAW.name), "P2/+/power")
    .map("value * 1e10")
    .publish(str(ROOMS.name), JOB, device="{panel}-{device}", metric="strong")
)


def _value(stream: str, number: int) -> float:
    return 100.0 * int(stream[4]) + number


def _time(number: int) -> int:
    return BEGIN + (number - 1) * 10 * SECOND


def _good(world: World, stream: str, *numbers: int) -> list[Data]:
    return [world.reading(stream, number, _value(stream, number), _time(number)) for number in numbers]


def _poisoned(world: World) -> list[Data]:
    """Number 1 and 8 to 13 are good; from 14 on, the sensor sends texts."""
    stream = "P2/p/power"

    def senml(number: int, payload: bytes) -> Data:
        return world.packet(stream, number, Reading(_time(number), SENML_CBOR, payload).encode())

    return [
        world.reading(stream, 1, 1.0, _time(1)),
        senml(2, cbor2.dumps([{1: "W", 2: math.nan}])),
        world.reading(stream, 3, "n/a", _time(3)),
        senml(4, b"\xff\x00 garbage"),
        world.reading(stream, 5, 1e300, _time(5)),
        world.reading(stream, 6, 7.0, _time(6), unit="mW"),
        world.packet(stream, 7, b"not even a reading"),
        *[world.reading(stream, number, float(number), _time(number)) for number in range(8, 14)],
        *[world.reading(stream, number, "off", _time(number)) for number in range(14, COUNT + 1)],
    ]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def repo(world: World) -> Iterator[RepoProcess]:
    with world.repo() as repo:
        for stream in ("P1/d1/power", "P1/d2/power", "P2/d3/power"):
            numbers = [number for number in range(1, COUNT + 1) if number not in LATE.get(stream, ())]
            world.insert(repo, _good(world, stream, *numbers))
        world.insert(repo, _poisoned(world))
        yield repo


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("job") / "checkpoint"


def _run(spark: SparkSession, world: World, repo: RepoProcess, checkpoint: Path, times: int = 2) -> None:
    options = {"repos": repo.uri, "home": str(world.home(JOB)), "onConflict": "fail", "timeout": "3"}
    running = Running(PIPELINE, checkpoint=str(checkpoint), options=options)
    for _ in range(times):  # once for each level
        running.start(spark, since="earliest", available_now=True).awaitTermination()


def _told(reading: Arrival) -> dict[str, Any]:
    """What a result says of itself; its value as `value`."""
    return {value.name or "value": value.value for value in reading.values}


def _results(world: World, repo: RepoProcess, group: Group, stream: str) -> list[dict[str, Any]]:
    return [_told(reading) for reading in world.read(repo, group, f"{JOB}/{stream}")]


def _counts(told: dict[str, Any]) -> tuple[int, int, int]:
    return told["expected"], told["received"], told.get("open", 0)


def _trace(world: World, repo: RepoProcess, name: str) -> Ancestry:
    async def ask() -> Ancestry:
        verifier = KeyStore(world.home(JOB)).verifier(time.time_ns())
        face = await connect(repo.uri, verifier=verifier)
        try:
            return await trace(face, name)
        finally:
            await face.close()

    return asyncio.run(ask())


def test_what_is_late_is_counted_named_and_corrected_at_every_level(
    spark: SparkSession, world: World, repo: RepoProcess, checkpoint: Path
) -> None:
    _run(spark, world, repo, checkpoint)
    second, third = _results(world, repo, ROOMS, "d2/power_sum")[1:3]
    assert (_counts(second), second["missing_names"]) == ((6, 5, 0), "P1/d2/power 9")
    assert (_counts(third), third["missing_names"]) == ((6, 4, 0), "P1/d2/power 14-15")
    assert third["value"] == sum(_value("P1/d2/power", number) for number in (13, 16, 17, 18))
    silent = _results(world, repo, ROOMS, "d3/power_sum")
    assert [_counts(each) for each in silent[:4]] == [(6, 6, 0), (6, 6, 1), (0, 0, 1), (0, 0, 1)]
    assert "value" not in silent[3]
    floors = _results(world, repo, FLOORS, "f1/power_mean")
    assert [_counts(each)[:2] for each in floors] == [(36, 35), (24, 22)]
    name = f"{FLOORS.name}/{JOB}/f1/power_mean/seq=1"
    found = _trace(world, repo, name)
    assert not found.is_whole
    assert [origin.missing for origin in found.levels[-1] if origin.missing] == [(9,)]
    assert found.raw == 35
    before = world.published(repo)

    world.insert(repo, _good(world, "P1/d2/power", 9))
    _run(spark, world, repo, checkpoint)
    (first,) = _results(world, repo, ROOMS, "d2/power_sum.corrections")
    assert (_counts(first), first["corrects"], "missing_names" in first) == ((6, 6, 0), 2, False)
    (above,) = _results(world, repo, FLOORS, "f1/power_mean.corrections")
    assert (_counts(above), above["corrects"]) == ((36, 36, 0), 1)
    total = sum(_value(stream, number) for stream in ("P1/d1", "P1/d2", "P2/d3") for number in range(1, 13))
    assert above["value"] == pytest.approx(total / 36)

    world.insert(repo, [*_good(world, "P1/d2/power", 14, 15), *_good(world, "P2/d3/power", *LATE["P2/d3/power"])])
    _run(spark, world, repo, checkpoint)
    corrections = _results(world, repo, ROOMS, "d2/power_sum.corrections")
    assert [(each["corrects"], _counts(each)) for each in corrections] == [(2, (6, 6, 0)), (3, (6, 6, 0))]
    corrections = _results(world, repo, ROOMS, "d3/power_sum.corrections")
    ended = {each["corrects"]: _counts(each) for each in corrections}
    assert [ended[number] for number in (2, 3, 4)] == [(6, 6, 0)] * 3
    highest = world.read(repo, FLOORS, f"{JOB}/f1/power_mean.corrections")
    last = [each for each in highest if _told(each)["corrects"] == 2][-1]
    above = _told(last)
    assert _counts(above) == (36, 36, 0)
    total = sum(_value(stream, number) for stream in ("P1/d1", "P1/d2", "P2/d3") for number in range(13, 25))
    assert above["value"] == pytest.approx(total / 36)

    after = world.published(repo)
    assert before.items() <= after.items()  # nothing that was published is anything else now
    found = _trace(world, repo, str(last.data.name))
    assert found.is_whole
    assert found.raw == 36
    assert {maker.job for level in found.levels for each in level for maker in each.makers} == {
        "house/floors@1",
        "house/rooms@1",
    }
    assert {str(signer) for each in found.levels[-1] for signer in each.signers} == {
        str(RAW.panel(panel).name) for panel in ("P1", "P2")
    }


def test_poison_is_counted_and_leaves_everything_else_as_it_is(
    spark: SparkSession, world: World, repo: RepoProcess, checkpoint: Path
) -> None:
    _run(spark, world, repo, checkpoint, times=1)
    sums = world.read(repo, ROOMS, f"{JOB}/p/power_sum")[:4]
    assert [_counts(_told(reading)) for reading in sums] == [(6, 6, 0)] * 4
    assert [_told(reading).get("value") for reading in sums] == [8.0, 8.0 + 9 + 10 + 11 + 12, 13.0, None]
    assert [reading.values[0].unit for reading in sums[:2]] == ["", "W"]
    counts = _results(world, repo, ROOMS, "p/power_count")
    assert [each["value"] for each in counts[:4]] == [2, 5, 1, 0]
    strong = world.read(repo, ROOMS, f"{JOB}/P2-p/strong")
    assert [reading.number for reading in strong] == list(range(1, COUNT + 1))
    values = {reading.number: reading.value for reading in strong if reading.values}
    assert values == {1: 1e10, 6: 7e10} | {number: number * 1e10 for number in range(8, 14)}


def test_a_stream_that_is_new_begins_with_its_own_first_window(
    spark: SparkSession, world: World, repo: RepoProcess, checkpoint: Path
) -> None:
    world.insert(
        repo,
        [world.reading("P2/n/power", number, float(number), _time(number + 12), unit="kW") for number in range(1, 14)],
    )
    _run(spark, world, repo, checkpoint, times=1)
    found = world.read(repo, ROOMS, f"{JOB}/n/power_sum")
    assert [(reading.number, reading.event_time) for reading in found] == [
        (1, _time(13)),
        (2, _time(19)),
        (3, _time(25)),
    ]
    assert [_told(reading)["value"] for reading in found] == [21.0, 57.0, 13.0]
    assert found[0].values[0].unit == "kW"
