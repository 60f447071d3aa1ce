"""One Spark session for all tests of this folder, run one after the other: a JVM takes seconds and both cores.

And one house, for all tests that kill something in the middle of a batch (`gated_job`): what is published in it without
any fault is what has to be published whatever is killed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.pipeline_world import FLOORS, JOB, ROOMS, World
from tests.spark import gated_job
from tests.spark.gated_house import COUNT, REPOS, STREAMS, readings, said, value
from tests.spark.gated_job import FOLDER, LEVELS, Gate

from roost.pipeline.session import cores, end_jvm, spark_session
from roost.wire import Data


@pytest.fixture(scope="session")
def gates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of gates (`gated_job`), which all processes that Spark starts from here on look into."""
    folder = tmp_path_factory.mktemp("gates")
    os.environ[FOLDER] = str(folder)
    return folder


@pytest.fixture(scope="session")
def spark(gates: Path) -> Iterator[SparkSession]:
    """Local Spark with the settings of the product, but that what fails is tried once more, and not three times.

    Tests leave no query running in it.
    """
    assert gates.is_dir()
    session = spark_session("tests", master=f"local[{cores()},2]")
    yield session
    end_jvm(session)


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("house"), REPOS)


@pytest.fixture(scope="session")
def packets(house: World) -> list[Data]:
    return readings(house)


@pytest.fixture(scope="session")
def expected(
    spark: SparkSession, house: World, packets: list[Data], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    """What a run without faults publishes, down to the signatures; it is complete."""
    folder = tmp_path_factory.mktemp("unharmed")
    with house.repo("Unharmed") as repo:
        house.insert(repo, packets)
        for _ in range(LEVELS):
            gated_job.start(spark, said(house, folder, repo)).awaitTermination()
        published = house.published(repo)
        windows = (COUNT - 1) // 6  # a window is over when a reading of a later one is there
        for stream in STREAMS:
            panel, device, _ = stream.split("/")
            values = [reading.value for reading in house.read(repo, ROOMS, f"{JOB}/{panel}-{device}/doubled")]
            assert values == [2 * value(stream, number) for number in range(1, COUNT + 1)]
            sums = [reading.value for reading in house.read(repo, ROOMS, f"{JOB}/{device}/power_sum")]
            numbers = [range(6 * window + 1, 6 * window + 7) for window in range(windows)]
            assert sums == [sum(value(stream, number) for number in some) for some in numbers]
        means = [reading.value for reading in house.read(repo, FLOORS, f"{JOB}/f1/power_mean")]
        assert means == [56.5 + 12 * window for window in range(windows // 2)]
    assert len(published) == 2 * COUNT + 2 * 3 * windows + windows // 2
    return published


@pytest.fixture
def gate(gates: Path) -> Iterator[Callable[[int], Gate]]:
    """Makes gates, and leaves none."""
    made: list[Gate] = []

    def make(number: int) -> Gate:
        made.append(Gate(gates, number))
        return made[-1]

    yield make
    for each in made:
        each.open()
    for path in gates.iterdir():
        path.unlink()
