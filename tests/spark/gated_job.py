"""A job that can be stopped in the middle of a batch: a pipeline one stage of which waits at a gate.

    gate = Gate(folder, 10)            the reading number 10 of `STOPPED` will not pass
    pid = gate.wait()                  a worker stands at it, and its batch is in the middle
    gate.open()                        from now on it lets everybody pass

A gate is two FIFOs: one in which the worker says who it is, one in which it waits to be let go. As a program, this is
the job's driver on a cluster, supervised as by `roost pipeline run`: `python gated_job.py '{"master": …}'`. Workers
import it too, by the name of the file alone, so nothing of the tests is imported here.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from roost.machine import SECOND
from roost.pipeline.graph import Pipeline
from roost.pipeline.restarts import Restarts
from roost.pipeline.running import Running
from roost.pipeline.session import end_jvm, spark_session
from roost.pipeline.supervisor import Query, Supervised, Supervisor

FOLDER = "ROOST_TEST_GATES"
STOPPED = "P1/d1/power"
LIMIT_S = 180
LEVELS = 2  # what is published meanwhile is not of "available now": a round for each
NEVER = "20000d"  # windows come whole or not at all, so that results do not depend on when the job was killed


def pipeline(raw: str, rooms: str, floors: str, panel: str) -> Pipeline:
    """Readings one by one through the gate, windows of them, and windows of those."""
    return (
        Pipeline("gated")
        .table("floor", {"d1": "f1", "d2": "f1"})
        .table("part", {"power_sum": "total", "power_count": "readings"})
        .stage("doubled")
        .read(raw, "+/+/power")
        .function(f"{Path(__file__).stem}:doubled")
        .publish(rooms, panel, device="{panel}-{device}", metric="doubled")
        .stage("rooms")
        .read(raw, "+/+/power", window="1m", key="{device}/{metric}", deadline=NEVER)
        .aggregate(mean="mean", sum="sum", count="count")
        .publish(rooms, panel)
        .stage("floors")
        .read(rooms, "+/+/power_sum", "+/+/power_count", window="2m", key="{floor:device}", deadline=NEVER)
        .aggregate(mean="total.sum / readings.sum", scope="{part:metric}", counted="readings")
        .publish(floors, panel, device="{floor}", metric="power_{output}")
    )


def doubled(rows: pd.DataFrame) -> pd.Series[float]:
    """Twice the value, if there is no gate, or when it opens."""
    for number in rows["seq"][rows["stream"].str.endswith(STOPPED)]:
        gate = Path(os.environ[FOLDER], str(number))
        with contextlib.suppress(FileNotFoundError):
            told = os.open(gate, os.O_WRONLY)  # `open` would make a file where there is no gate
            os.write(told, f"{os.getpid()}\n".encode())
            Path(f"{gate}.go").read_text()
            os.close(told)
    return rows["value"] * 2


class Gate:
    """The test's side."""

    def __init__(self, folder: Path, number: int) -> None:
        self._path = folder / str(number)
        os.mkfifo(f"{self._path}.go")
        os.mkfifo(self._path)
        self._ends = [os.open(path, os.O_RDWR) for path in (self._path, f"{self._path}.go")]

    def wait(self) -> int:
        """Wait until somebody stands at it; its process id."""
        assert select.select(self._ends[:1], [], [], LIMIT_S)[0], f"nobody came to the gate {self._path.name}"
        return int(os.read(self._ends[0], 100).split()[0])

    def vanish(self) -> None:
        """Let everybody pass who comes from now on."""
        self._path.unlink(missing_ok=True)

    def open(self) -> None:
        """Let also him go who stands here, if he still does."""
        self.vanish()
        while self._ends:
            os.close(self._ends.pop())


def start(spark: SparkSession, said: dict[str, Any]) -> StreamingQuery:
    """Start the job, as far as there is something to do."""
    spark.sparkContext.addPyFile(__file__)
    options = {"repos": said["repos"], "home": said["home"], "maxRowsPerTrigger": "20", "onConflict": "fail"}
    running = Running(pipeline(*said["groups"]), checkpoint=said["checkpoint"], options=options)
    return running.start(spark, since="earliest", available_now=True)


def supervised(said: dict[str, Any]) -> Supervisor:
    """The job as it is run."""

    def begin() -> Query:
        return start(spark_session("gated", master=said["master"], conf=said["conf"]), said)

    restarts = Restarts(first=SECOND // 10)
    return Supervisor(
        [Supervised("gated", said["checkpoint"], begin)], Path(said["folder"], "status"), restarts=lambda: restarts
    )


def main(said: dict[str, Any]) -> None:
    """Run the job to its end."""
    for _ in range(LEVELS):
        supervised(said).run()
    end_jvm(spark_session("gated", master=said["master"]))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
