"""Rows of one's own to publish: all columns that they lack are told at once, and what the sink fills in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from roost.errors import BadConfig
from roost.pipeline.publishing import shaped
from roost.pipeline.virtual_rows import check_columns, read_rows

OUTPUT = "{device}/Mine"


def own(**columns: Any) -> pa.RecordBatch:  # noqa: ANN401  cells
    row = {"device": "Heater1", "seq": 3, "value": 1.5, "event_time": datetime(2026, 5, 1, tzinfo=UTC)}
    return pa.RecordBatch.from_pylist([row | columns])


def test_rows_of_ones_own_need_no_inputs() -> None:
    (row,) = read_rows(shaped(own(), OUTPUT))
    assert (row.output, row.number, row.value, row.inputs) == ("Heater1/Mine", 3, 1.5, None)


def test_rows_of_a_source_are_their_own_inputs() -> None:
    (row,) = read_rows(shaped(own(stream="/Company/Building/Raw/P1/Heater1/Power"), OUTPUT))
    assert row.inputs is not None
    assert [(str(each.stream), each.low, each.high) for each in row.inputs] == [
        ("/Company/Building/Raw/P1/Heater1/Power", 3, 3)
    ]


def test_inputs_that_are_there_and_null_are_not_of_no_group() -> None:
    (row,) = read_rows(shaped(own(inputs=None), OUTPUT))
    assert row.inputs == ()


@pytest.mark.parametrize(
    ("names", "template", "absent"),
    [
        ([], OUTPUT, ["device (for '{device}/Mine')", "number (or seq)", "event_time", "value"]),
        (["device", "seq"], "{panel}-{device}/{metric}", ["panel (for", "metric (for", "event_time", "value"]),
        (["seq", "value"], "", ["output", "number", "event_time"]),
    ],
    ids=range(3),
)
def test_all_columns_that_are_absent_are_told_at_once(names: list[str], template: str, absent: list[str]) -> None:
    with pytest.raises(BadConfig, match="the rows have no column") as error:
        check_columns(names, template)
    told = str(error.value).partition("; there are ")[0]
    assert [each for each in absent if each not in told] == []
    assert told.count(",") == len(absent) - 1


def test_rows_that_lack_columns_are_not_shaped() -> None:
    with pytest.raises(BadConfig, match=r"no column number \(or seq\), event_time; there are device, value"):
        shaped(own().drop_columns(["event_time", "seq"]), OUTPUT)
