"""The sink without Spark running: what it asks of rows, and when writing them has been in vain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql.types import DoubleType, StructField, StructType

from roost.errors import BadConfig
from roost.pipeline.report import Report
from roost.pipeline.sink import BatchWriter, StreamWriter, Told


def schema(*names: str) -> StructType:
    return StructType([StructField(name, DoubleType()) for name in names])


WHOLE = schema("device", "seq", "event_time", "value")


@pytest.fixture
def options(tmp_path: Path) -> dict[str, str]:
    repos = "unix:///nowhere.sock"
    return {"group": "/Company/Building/Rooms", "panel": "Job", "output": "{device}/Mine", "repos": repos} | {
        "home": str(tmp_path)
    }


def test_all_columns_that_rows_lack_are_told_before_anything_runs(options: dict[str, str]) -> None:
    told = r"no column number \(or seq\), event_time; there are device, value: .* append mode"
    with pytest.raises(BadConfig, match=told):
        BatchWriter(options, schema("device", "value"), overwrite=False)
    with pytest.raises(BadConfig, match="no column event_time; there are"):
        StreamWriter(options, schema("device", "value"), overwrite=True)


IN_VAIN = Report(rows=2, poison=2, alarms=["poison: one", "poison: two"])


def test_a_batch_of_which_no_row_can_be_a_reading_is_an_error(options: dict[str, str]) -> None:
    writer = BatchWriter(options, WHOLE, overwrite=False)
    with pytest.raises(BadConfig, match="none of 2 rows can be a reading: poison: one; poison: two"):
        writer.commit([Told(IN_VAIN), None])


def test_a_batch_with_a_reading_or_without_rows_is_none(options: dict[str, str]) -> None:
    writer = BatchWriter(options, WHOLE, overwrite=False)
    writer.commit([Told(IN_VAIN), Told(Report(rows=1, kept=1))])
    writer.commit([Told(Report())])


def test_a_query_goes_on_all_the_same(options: dict[str, str]) -> None:
    StreamWriter(options, WHOLE, overwrite=False).commit([Told(IN_VAIN)], 1)
    of_a_pipeline = {"targets": json.dumps({"stage": {"group": options["group"], "panel": "Job"}})}
    for query in ({"changes": "true"}, of_a_pipeline):
        BatchWriter({**options, **query}, WHOLE, overwrite=False).commit([Told(IN_VAIN)])
