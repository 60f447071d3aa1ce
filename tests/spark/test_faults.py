"""Whatever is killed in the middle of a batch: what is published in the end is what a run without faults publishes.

Here an executor of a cluster of two, and the repo in use; workers, the JVM and the driver are in `test_pipeline_verb`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.pipeline_world import ROOMS, World
from tests.spark import gated_job
from tests.spark.gated_house import said, settled
from tests.spark.gated_job import LIMIT_S, Gate

from roost.pipeline.cluster import Cluster
from roost.wire import Data

Gates = Callable[[int], Gate]


@pytest.fixture
def environment(gates: Path) -> dict[str, str]:
    return os.environ | {gated_job.FOLDER: str(gates)}


def _driver(told: dict[str, Any], environment: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, gated_job.__file__, json.dumps(told)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _end(driver: subprocess.Popen[str]) -> None:
    if driver.poll() is None:
        driver.kill()
    driver.communicate()


def test_an_executor_is_lost_in_mid_batch(
    house: World,
    packets: list[Data],
    expected: dict[str, bytes],
    tmp_path: Path,
    environment: dict[str, str],
    gate: Gates,
) -> None:
    with house.repo("Repo2") as repo, Cluster(workers=2) as cluster:
        house.insert(repo, packets)
        passed = gate(15)
        both = {"spark.cores.max": "2", "spark.scheduler.minRegisteredResourcesRatio": "1.0"}
        told = said(house, tmp_path, repo) | {"master": cluster.master, "conf": both}
        driver = _driver(told, environment)
        try:
            lost = os.getsid(passed.wait())  # a worker of the cluster has a session of its own
            passed.vanish()
            cluster.kill(lost)
            passed.open()
            out, _ = driver.communicate(timeout=LIMIT_S)
        finally:
            _end(driver)
        assert driver.returncode == 0, out
        assert house.published(repo) == expected


def test_the_repo_in_use_is_killed_in_mid_batch(
    spark: SparkSession, house: World, packets: list[Data], expected: dict[str, bytes], tmp_path: Path, gate: Gates
) -> None:
    with house.repo("Repo3") as used, house.repo("Repo4", [used.uri]) as other:
        house.insert(used, packets, copies=2)
        passed = gate(15)
        told = said(house, tmp_path, used, other)
        query = gated_job.start(spark, told)
        passed.wait()
        used.kill()
        passed.open()
        query.awaitTermination()
        used.start()  # it has what it had not handed on when it died, and lacks what was published since
        settled(
            house, (used, other), {name: wire for name, wire in expected.items() if name.startswith(str(ROOMS.name))}
        )
        gated_job.start(spark, told).awaitTermination()
        settled(house, (used, other), expected)
