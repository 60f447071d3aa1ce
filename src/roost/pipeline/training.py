"""Trains the class archive: runs once what pipelines do, and lets the JVM write down which classes that took.

`python -m roost.pipeline.training` does it, at the lowest priority and only once at a time; about half a minute of one
core. It gives the archive's path, or says in a note beside it why there is none.
"""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from roost.pipeline import class_archive
from roost.pipeline.java import Java, find_java
from roost.pipeline.session import end_jvm, spark_session


def main() -> int:
    """Train if there is no archive yet and nobody else is training."""
    java = find_java()
    if found := class_archive.existing(java):
        print(found)  # noqa: T201
        return 0
    folder = class_archive.writable()
    if folder is None:
        return _say("no folder for it can be written")
    with (folder / "training.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return _say("another process is training")
        print("roost: building the class archive of Spark, which takes half a minute", file=sys.stderr)  # noqa: T201
        os.nice(19)
        return _train(java, folder)


def _train(java: Java, folder: Path) -> int:
    archive = folder / class_archive.file_name(java)
    draft = archive.with_stem(f"{archive.stem}-{os.getpid()}")
    note = archive.with_name(f"{archive.name}.failed")
    for left in [note, *folder.glob(f"{archive.stem}-*")]:  # also drafts of a training that was killed
        left.unlink(missing_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="roost-training-") as work:
            spark = spark_session(
                "training",
                master="local[2]",
                conf={"spark.driver.extraJavaOptions": class_archive.draft_options(draft)},
            )
            exercise(spark, Path(work))
            end_jvm(spark)
        draft.chmod(0o600)
        draft.replace(archive)
    except Exception as error:  # noqa: BLE001 - whatever it was, the note says so and Spark goes on without
        draft.unlink(missing_ok=True)
        note.write_text(f"{error}\n", encoding="utf-8")
        return _say(str(error))
    print(archive)  # noqa: T201
    return 0


def exercise(spark: SparkSession, work: Path) -> None:
    """Do what pipelines do: SQL, Parquet, Arrow functions, a streaming query with foreachBatch."""
    numbers = spark.range(1000).withColumn("key", sql.col("id") % 7).withColumn("time", sql.timestamp_seconds("id"))
    numbers.write.partitionBy("key").parquet(str(work / "numbers"))
    stored = spark.read.parquet(str(work / "numbers"))
    stored.createOrReplaceTempView("numbers")
    spark.sql(
        "select key, count(*), sum(cast(id as decimal(20, 6))), collect_list(id) from numbers group by key"
    ).collect()
    stored.join(numbers.groupBy("key").agg(sql.max("id").alias("top")), "key").filter("top > 3").orderBy("id").toArrow()
    stored.mapInArrow(_unchanged, stored.schema).count()

    def take(batch: DataFrame, _: int) -> None:
        batch.groupBy(sql.window("time", "1 minute"), "key").agg(sql.sum("id")).collect()

    stream = spark.readStream.schema(stored.schema).parquet(str(work / "numbers"))
    query = stream.writeStream.foreachBatch(take).option("checkpointLocation", str(work / "checkpoint"))
    query.trigger(availableNow=True).start().awaitTermination()


def _unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _say(reason: str) -> int:
    print(f"roost: no class archive for Spark: {reason}", file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
