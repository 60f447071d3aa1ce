"""Stages in SQL: each input is a table by its name, with the columns of `roost.columns.readings`.

In windows, the query selects `key, window, correction` and `value`, one row for each; where it leaves one out, the
result has no value, and counts what was there. It may select `output` too, for several values of a window; then the
metric's template has `{output}`. Beside each table `x` there is `x_streams`: what each stream has in each window, exact
(`sum count min max expected received open`). Where there are several inputs, these are all there is: windows wait for
each other, and only what has been summed up can wait.

Without windows, it selects `stream, seq` and `value`; a reading that it leaves out becomes an empty marker. `unit` and
`quality` may be selected in both. Names, counts and lineage are added here: they follow from the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

from roost.errors import BadConfig
from roost.pipeline.graph import Stage
from roost.pipeline.operations import Sql
from roost.pipeline.results import Tables, ids_of
from roost.pipeline.stages_rows import named_rows

STREAMS: Final = "_streams"
_WINDOW: Final = ("key", "window", "correction")
_ROW: Final = ("stream", "seq")
_SAID: Final = ("unit", "quality", "output")


def selected(rows: DataFrame | None, parts: DataFrame | None, stage: Stage) -> DataFrame:
    """What the query of a stage selects from the rows of its inputs, and from what has been summed up of them."""
    operation = stage.operation
    assert isinstance(operation, Sql)  # noqa: S101  others have a way of their own
    tables: dict[str, DataFrame] = {}
    for wanted in stage.inputs:
        identifier = stage.input_id(wanted)
        if rows is not None:
            tables[wanted.name] = rows.filter(F.col("input") == identifier)
        if parts is not None:
            tables[wanted.name + STREAMS] = parts.filter(F.col("input") == identifier)
    for name, table in tables.items():
        table.createOrReplaceTempView(name)
    return next(iter(tables.values())).sparkSession.sql(operation.text)


def in_windows(result: DataFrame, stage: Stage) -> pa.Table:
    """What a query selected, or a function made, of windows: to be completed with names, counts and lineage."""
    _require(result, (*_WINDOW, "value"), stage)
    said = [F.col(name).cast("string").alias(name) for name in _SAID if name in result.columns]
    return result.select(*_WINDOW, F.col("value").cast("double").alias("value"), *said).toArrow()


def completed_rows(result: DataFrame, rows: DataFrame, stage: Stage, tables: Tables) -> DataFrame:
    """The results of readings as they come: each of the inputs has one."""
    _require(result, (*_ROW, "value"), stage)
    made = _with_said(result).select(
        *_ROW,
        F.col("value").alias("said_value"),
        F.col("unit").alias("said_unit"),
        F.col("quality").alias("said_quality"),
    )
    both = rows.filter(F.col("input").isin(ids_of([stage]))).join(made, list(_ROW), "left")
    both = both.withColumns({"unit": F.coalesce("said_unit", "unit"), "quality": F.coalesce("said_quality", "quality")})
    return named_rows(both, stage, tables, F.col("said_value"))


def _with_said(result: DataFrame) -> DataFrame:
    absent = {name: F.lit(None).cast("string") for name in _SAID if name not in result.columns}
    return result.withColumns(absent) if absent else result


def _require(result: DataFrame, columns: Sequence[str], stage: Stage) -> None:
    missing = [name for name in columns if name not in result.columns]
    if missing:
        raise BadConfig(
            f"stage {stage.name}: its result has no column {', '.join(missing)}; it needs {', '.join(columns)}"
        )
