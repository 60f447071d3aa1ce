"""Whatever is killed in the middle of a batch: what is published in the end is what a run without faults publishes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.pipeline_world import FLOORS, JOB, RAW, ROOMS, SECOND, RepoProcess, World
from tests.spark import gated_job
from tests.spark.gated_job import LEVELS, LIMIT_S, Gate

from roost.errors import BadConfig
from roost.pipeline.cluster import Cluster
from roost.wire import Data

BEGIN = 1_700_000_040 * SECOND  # a whole minute
COUNT = 26
STREAMS = ("P1/d1/power", "P2/d2/power")
Gates = Callable[[int], Gate]
GROUPS = [str(RAW.name), str(ROOMS.name), str(FLOORS.name), JOB]


def _value(stream: str, number: int) -> float:
    return 100.0 * STREAMS.index(stream) + number


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"), ("Unharmed", "Repo1", "Repo2", "Repo3", "Repo4"))


@pytest.fixture(scope="module")
def packets(world: World) -> list[Data]:
    return [
        world.reading(stream, number, _value(stream, number), BEGIN + (number - 1) * 10 * SECOND)
        for stream in STREAMS
        for number in range(1, COUNT + 1)
    ]


def _said(world: World, folder: Path, *repos: RepoProcess) -> dict[str, Any]:
    return {
        "repos": ",".join(repo.uri for repo in repos),
        "home": str(world.home(JOB)),
        "checkpoint": str(folder / "checkpoint"),
        "folder": str(folder),
        "groups": GROUPS,
    }


@pytest.fixture(scope="module")
def expected(
    spark: SparkSession, world: World, packets: list[Data], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    """What a run without faults publishes, down to the signatures; it is complete."""
    folder = tmp_path_factory.mktemp("unharmed")
    with world.repo("Unharmed") as repo:
        world.insert(repo, packets)
        for _ in range(LEVELS):
            gated_job.start(spark, _said(world, folder, repo)).awaitTermination()
        published = world.published(repo)
        windows = (COUNT - 1) // 6  # a window is over when a reading of a later one is there
        for stream in STREAMS:
            panel, device, _ = stream.split("/")
            values = [reading.value for reading in world.read(repo, ROOMS, f"{JOB}/{panel}-{device}/doubled")]
            assert values == [2 * _value(stream, number) for number in range(1, COUNT + 1)]
            sums = [reading.value for reading in world.read(repo, ROOMS, f"{JOB}/{device}/power_sum")]
            numbers = [range(6 * window + 1, 6 * window + 7) for window in range(windows)]
            assert sums == [sum(_value(stream, number) for number in some) for some in numbers]
        means = [reading.value for reading in world.read(repo, FLOORS, f"{JOB}/f1/power_mean")]
        assert means == [56.5 + 12 * window for window in range(windows // 2)]
    assert len(published) == 2 * COUNT + 2 * 3 * windows + windows // 2
    return published


@pytest.fixture
def environment(gates: Path) -> dict[str, str]:
    return os.environ | {gated_job.FOLDER: str(gates)}


def _driver(said: dict[str, Any], environment: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, gated_job.__file__, json.dumps(said)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _end(driver: subprocess.Popen[str]) -> None:
    if driver.poll() is None:
        driver.kill()
    driver.communicate()


@pytest.fixture
def gate(gates: Path) -> Iterator[Gates]:
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


def test_workers_the_jvm_and_the_driver_are_killed_in_mid_batch(
    world: World,
    packets: list[Data],
    expected: dict[str, bytes],
    tmp_path: Path,
    environment: dict[str, str],
    gate: Gates,
) -> None:
    said = _said(world, tmp_path, RepoProcess(world, "Repo1", (), ()))
    with world.repo("Repo1") as repo:
        world.insert(repo, packets)
        first, second, third = (gate(number) for number in (5, 15, 25))
        driver = _driver(said, environment)
        try:
            worker = first.wait()
            first.vanish()
            os.kill(worker, signal.SIGKILL)

            second.wait()
            with pytest.raises(BadConfig, match=f"is in use by process {driver.pid} "):
                gated_job.supervised(said | {"folder": str(tmp_path / "another")}).run()
            second.vanish()
            jvm = int((tmp_path / "jvm").read_text())
            os.kill(jvm, signal.SIGKILL)

            third.wait()
            assert int((tmp_path / "jvm").read_text()) != jvm
            assert json.loads((tmp_path / "status").read_text())["queries"]["gated"]["restarts"] == 1
            third.vanish()
            driver.kill()
            before = world.published(repo)
            assert before
            assert before.items() < expected.items()
        finally:
            _end(driver)
        for each in (first, second, third):
            each.open()
        again = _driver(said, environment)
        try:
            out, _ = again.communicate(timeout=LIMIT_S)
        finally:
            _end(again)
        assert again.returncode == 0, out
        assert world.published(repo) == expected


def test_an_executor_is_lost_in_mid_batch(
    world: World,
    packets: list[Data],
    expected: dict[str, bytes],
    tmp_path: Path,
    environment: dict[str, str],
    gate: Gates,
) -> None:
    with world.repo("Repo2") as repo, Cluster(workers=2) as cluster:
        world.insert(repo, packets)
        passed = gate(15)
        said = _said(world, tmp_path, repo) | {"master": cluster.master, "conf": {"spark.cores.max": "2"}}
        driver = _driver(said, environment)
        try:
            lost = os.getsid(passed.wait())  # a worker of the cluster has a session of its own
            passed.vanish()
            cluster.kill(lost)
            passed.open()
            out, _ = driver.communicate(timeout=LIMIT_S)
        finally:
            _end(driver)
        assert driver.returncode == 0, out
        assert world.published(repo) == expected


def test_the_repo_in_use_is_killed_in_mid_batch(
    spark: SparkSession, world: World, packets: list[Data], expected: dict[str, bytes], tmp_path: Path, gate: Gates
) -> None:
    with world.repo("Repo3") as used, world.repo("Repo4", [used.uri]) as other:
        world.insert(used, packets, copies=2)
        passed = gate(15)
        said = _said(world, tmp_path, used, other)
        query = gated_job.start(spark, said)
        passed.wait()
        used.kill()
        passed.open()
        query.awaitTermination()
        used.start()  # it has what it had not handed on when it died, and lacks what was published since
        _settled(world, (used, other), {name: wire for name, wire in expected.items() if name.startswith(GROUPS[1])})
        gated_job.start(spark, said).awaitTermination()
        _settled(world, (used, other), expected)


def _settled(world: World, repos: tuple[RepoProcess, ...], expected: dict[str, bytes]) -> None:
    """Wait until each of them has everything, and in the same form, after which nobody can tell them apart."""
    until = time.monotonic() + LIMIT_S
    for repo in repos:
        while (found := world.published(repo)) != expected and time.monotonic() < until:
            time.sleep(0.2)
        assert found == expected
