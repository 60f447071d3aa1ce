"""A real query that fails once is restarted by the supervisor and goes on from its checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from roost.machine import SECOND
from roost.pipeline.restarts import Restarts
from roost.pipeline.supervisor import Query, Supervised, Supervisor


def test_a_query_that_fails_once_goes_on_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    batches: list[int] = []
    failures: list[int] = []

    def take(_: DataFrame, batch: int) -> None:
        if batch == 1 and not failures:
            failures.append(batch)
            raise ValueError("poison")
        batches.append(batch)
        if batch == 2:
            supervisor.stop()

    def start() -> Query:
        rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
        checkpoint = rows.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "checkpoint"))
        return checkpoint.trigger(processingTime="0 seconds").start()

    supervisor = Supervisor(
        [Supervised("rates", str(tmp_path / "checkpoint"), start)],
        tmp_path / "status.json",
        restarts=lambda: Restarts(first=SECOND // 100),
    )
    supervisor.run()
    assert failures == [1]
    assert batches[:3] == [0, 1, 2]
    status = json.loads((tmp_path / "status.json").read_text())["queries"]["rates"]
    assert status["state"] == "stopped"
    assert status["restarts"] == 1
    assert "poison" in status["last_error"]
    assert spark.streams.active == []
