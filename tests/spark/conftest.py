"""One Spark session for all tests of this folder, run one after the other: a JVM takes seconds and both cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.gated_job import FOLDER

from roost.pipeline.session import end_jvm, spark_session


@pytest.fixture(scope="session")
def gates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of gates (`gated_job`), which all processes that Spark starts from here on look into."""
    folder = tmp_path_factory.mktemp("gates")
    os.environ[FOLDER] = str(folder)
    return folder


@pytest.fixture(scope="session")
def spark(gates: Path) -> Iterator[SparkSession]:
    """Local Spark with the settings of the product; tests leave no query running in it."""
    assert gates.is_dir()
    session = spark_session("tests")
    yield session
    end_jvm(session)
