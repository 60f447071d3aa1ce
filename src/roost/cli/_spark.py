"""Spark for as long as a verb runs: quiet, what goes wrong in it told in one sentence, and ended with its JVM.

A JVM that outlives the verb would call into a Python that is going away, and have it complain of what it cannot free.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def spark_for(app: str, master: str | None) -> Iterator[Callable[[], SparkSession]]:
    """Give what starts Spark, or another one should its JVM have died."""
    from roost.cli import note
    from roost.pipeline.reasons import one_sentence
    from roost.pipeline.session import end_jvm, spark_session

    started: list[SparkSession] = []  # bound: the newest

    def start() -> SparkSession:
        spark = spark_session(app, master=master, progress=note)
        if not os.environ.get("ROOST_DEBUG"):
            _hush(spark)
        started[:] = [spark]
        return spark

    try:
        with one_sentence():
            yield start
    finally:
        for spark in started:
            with suppress(Exception):  # what does not end any more has ended
                end_jvm(spark)


def _hush(spark: SparkSession) -> None:
    """Leave out what Spark logs about errors: they come as exceptions, too."""
    import logging

    from pyspark.logger import PySparkLogger

    spark.sparkContext.setLogLevel("OFF")
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)
