"""One Spark session for all tests of this folder: a JVM takes seconds of both cores, so there is one in a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from roost.pipeline.session import end_jvm, spark_session

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep these tests on one worker of pytest-xdist (`--dist loadgroup`), so that they share the session."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Local Spark with the settings of the product; tests leave no query running in it."""
    session = spark_session("tests")
    yield session
    end_jvm(session)
