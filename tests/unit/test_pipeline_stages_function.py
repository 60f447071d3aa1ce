"""What a function may make of a window: one value for each output."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from roost.columns.readings import WINDOWED
from roost.errors import BadConfig
from roost.pipeline.operations import ARROW
from roost.pipeline.stages_function import _window

BEGIN = datetime(2026, 5, 1, tzinfo=UTC)


def window(count: int = 20) -> pa.Table:
    said: dict[str, Any] = {"input": "i", "key": "Heater1", "window": 7, "window_start": BEGIN, "stream": "/s"}
    said |= {"arrival_time": BEGIN, "quality": "good", "verified": True, "expected": 1, "received": 1}
    return pa.Table.from_pylist([said | {"seq": at + 1, "value": float(at)} for at in range(count)], schema=WINDOWED)


def each_row(table: pa.Table) -> pa.Table:
    """One value for each reading, which is too many."""
    return table.select(["value"])


def twice(table: pa.Table) -> pa.Table:
    """Three rows, two of which are for the same output."""
    return pa.table({"output": ["low", "high", "high"], "value": [0.0, 1.0, float(len(table))]})


def low_and_high(table: pa.Table) -> dict[str, float]:
    """Two outputs."""
    values = table.column("value").to_pylist()
    return {"low": min(values), "high": max(values)}


def _made(function: str, *, named: bool) -> pa.Table:
    return _window(f"{__name__}:{function}", ARROW, window(), named=named)


@pytest.mark.parametrize("named", [False, True])
def test_several_rows_for_one_output_of_a_window_are_refused(*, named: bool) -> None:
    told = r"returned 20 rows for one output of the window of Heater1 at 2026-05-01 .*: give one value, or name outputs"
    with pytest.raises(BadConfig, match=told):
        _made("each_row", named=named)


def test_the_output_that_has_several_is_named() -> None:
    with pytest.raises(BadConfig, match=r"returned 2 rows for one output \(high\)"):
        _made("twice", named=True)


def test_several_outputs_are_fine_where_the_streams_name_says_which() -> None:
    made = _made("low_and_high", named=True)
    assert dict(zip(made["output"].to_pylist(), made["value"].to_pylist(), strict=True)) == {"low": 0.0, "high": 19.0}
    with pytest.raises(BadConfig, match=r"returned 2 rows .*\{output\} in the metric"):
        _made("low_and_high", named=False)
