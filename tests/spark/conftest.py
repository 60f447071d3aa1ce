"""One Spark session for all tests of this folder, and one worker (tests/conftest.py): a JVM takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from roost.pipeline.session import end_jvm, spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Local Spark with the settings of the product; tests leave no query running in it."""
    session = spark_session("tests")
    yield session
    end_jvm(session)
