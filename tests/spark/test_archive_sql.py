"""The same question to DuckDB and to Spark: the same answer, of archive and repos."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.archive_world import DAY, GROUP, NOON, POWER, VOLTAGE, Repos, archive_in, fill

from roost.errors import BadConfig
from roost.machine import SECOND
from roost.pipeline.archive.folder import Folder
from roost.pipeline.archive.manifest import Archive
from roost.pipeline.archive.query import Asked
from roost.pipeline.archive.sql import Tables


def test_spark_and_duckdb_give_the_same_answer(spark: SparkSession, tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0, 2.0, 3.0)
    repos.publish(POWER, 4.0, time=NOON + DAY)
    fill(repos, archive_in(tmp_path))
    repos.publish(VOLTAGE, 9.0, time=NOON + 3 * SECOND)
    tables = Tables(Archive(Folder(tmp_path)), [], lambda _: repos, Asked(since=NOON + SECOND), lambda: NOON)
    query = f"""select metric, day, count(*) as n, sum(value) as total, max(event_time) as newest
                from "{GROUP}" where quality = 'good' group by metric, day order by metric"""
    by_spark, by_duckdb = tables.spark(query, spark).to_pylist(), tables.duckdb(query).to_pylist()
    assert by_spark == by_duckdb
    assert [(row["metric"], row["n"], row["total"]) for row in by_spark] == [("Power", 1, 4.0), ("Voltage", 3, 14.0)]
    with pytest.raises(BadConfig, match="there are electricity"):
        tables.spark("select * from gas", spark)
    with pytest.raises(BadConfig, match="colour"):
        tables.spark("select colour from electricity", spark)
    with pytest.raises(BadConfig, match="selec"):
        tables.spark("selec 1", spark)
