"""A job on a standalone cluster of two workers survives the loss of one. Drivers run in processes of their own."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from roost.errors import BadConfig
from roost.pipeline.cluster import Cluster

LIMIT_S = 120

# Two tasks, one on each worker: at the first attempt each says that it runs, and waits to be let go.
DRIVER = """
import sys
from pathlib import Path
from pyspark import TaskContext
from roost.pipeline.session import spark_session

both = {"spark.cores.max": "2", "spark.scheduler.minRegisteredResourcesRatio": "1.0"}
spark = spark_session("cluster test", master=sys.argv[1], conf=both)
folder = Path(sys.argv[2])

def work(number):
    attempt = TaskContext.get().attemptNumber()
    if attempt == 0:
        (folder / "running").write_text("x")
        (folder / "go").read_text()
    return number, attempt

print(sorted(spark.sparkContext.parallelize(range(2), 2).map(work).collect()))
"""


def test_a_job_on_two_workers_ends_with_the_right_result_when_one_is_lost(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "running")
    os.mkfifo(tmp_path / "go")
    running = os.open(tmp_path / "running", os.O_RDWR)
    with Cluster(workers=2) as cluster:
        driver = subprocess.Popen(
            [sys.executable, "-c", DRIVER, cluster.master, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            for _ in cluster.workers:
                assert select.select([running], [], [], LIMIT_S)[0], "the tasks did not start"
                os.read(running, 1)
            cluster.kill(cluster.workers[0])
            (tmp_path / "go").write_text("")
            out, err = driver.communicate(timeout=LIMIT_S)
        finally:
            driver.kill()
            driver.communicate()
            os.close(running)
    assert out in {"[(0, 0), (1, 1)]\n", "[(0, 1), (1, 0)]\n"}, err


def test_only_a_worker_of_the_cluster_can_be_killed() -> None:
    with pytest.raises(BadConfig, match="is no worker of this cluster"):
        Cluster().kill(1)
