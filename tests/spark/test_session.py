"""The session: its settings, what its workers import, and that it starts whatever state the class archive is in."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from roost.errors import BadConfig
from roost.pipeline.session import TRIES, cores, settings, spark_session


def test_a_process_has_one_session(spark: SparkSession) -> None:
    assert spark_session("again") is spark
    with pytest.raises(BadConfig, match="cannot on spark://elsewhere:7077"):
        spark_session(master="spark://elsewhere:7077")


def test_tasks_are_tried_again(spark: SparkSession, tmp_path: Path) -> None:
    marker = tmp_path / "failed"

    def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not marker.exists():
            marker.touch()
            raise OSError("the first attempt fails")
        yield from batches

    numbers = spark.range(10, numPartitions=1)
    assert numbers.mapInArrow(fail_once, numbers.schema).count() == 10
    assert marker.exists()


def test_workers_import_what_is_installed_and_not_the_zip(spark: SparkSession) -> None:
    def where(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyspark as seen

        import roost

        yield pa.RecordBatch.from_pylist([{"spark": seen.__file__, "roost": roost.__file__}])

    import pyspark

    import roost

    row: Any = spark.range(1).mapInArrow(where, "spark string, roost string").first()
    assert (row.spark, row.roost) == (pyspark.__file__, roost.__file__)


def test_times_are_utc_and_nothing_listens_beyond_loopback(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.shuffle.partitions") == str(cores())
    assert spark.conf.get("spark.driver.host") == spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None


def test_what_the_caller_wants_wins_and_java_options_add_up() -> None:
    wanted = {"spark.sql.session.timeZone": "Europe/Lisbon", "spark.driver.extraJavaOptions": "-Dmine=1"}
    found = settings("local[2,4]", wanted, None)
    assert found["spark.sql.session.timeZone"] == "Europe/Lisbon"
    assert found["spark.driver.extraJavaOptions"].startswith("-Dlog4j2.configurationFile=file:")
    assert found["spark.driver.extraJavaOptions"].endswith(" -Dmine=1")


def test_a_cluster_elsewhere_is_not_told_about_this_machine() -> None:
    found = settings("spark://elsewhere:7077", {}, None)
    assert not {"spark.driver.host", "spark.executor.extraJavaOptions", "spark.sql.shuffle.partitions"} & found.keys()


# A JVM that starts with a damaged archive.
DAMAGED = """
import sys
from pathlib import Path
from roost.pipeline import class_archive
from roost.pipeline.java import find_java
from roost.pipeline.session import end_jvm, spark_session

archive = class_archive.existing(find_java())
damaged = Path(sys.argv[1], class_archive.file_name(find_java()))
damage = bytearray(archive.read_bytes() if archive else b"no archive")
half = len(damage) // 2
damage[half : half + 4096] = bytes(4096)
damaged.write_bytes(damage)
class_archive.folders = lambda: [damaged.parent]
spark = spark_session(progress=print)
print(spark.range(10).selectExpr("sum(id)").first()[0])
end_jvm(spark)
"""


def test_a_damaged_archive_is_survived(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DAMAGED, str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    said, total = done.stdout.splitlines()
    assert said.startswith("starting Spark ")
    assert f" on local[{cores()},{TRIES}] " in said
    assert total == "45"
