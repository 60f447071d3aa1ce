"""Stages in SQL: each input is a table by its name, with the columns of `roost.pipeline.columns`.

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

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

from roost.errors import BadConfig
from roost.pipeline.graph import ONLY, Stage
from roost.pipeline.operations import Sql
from roost.pipeline.stages_columns import (
    Tables,
    filled_column,
    finite,
    ids_of,
    is_unit_of_inputs,
    key_columns,
    only_unit,
)
from roost.pipeline.stages_names import OUTPUT
from roost.pipeline.stages_rows import named_rows
from roost.pipeline.stages_windows import numbered_later, totals

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


def completed(result: DataFrame, parts: DataFrame, stage: Stage, tables: Tables) -> DataFrame:
    """The results of windows, with names, counts and lineage; also for functions."""
    _require(result, (*_WINDOW, "value"), stage)
    said = {name: f"said_{name}" for name in (*_WINDOW, *_SAID, "value")}
    made = _with_said(result).select([F.col(name).alias(other) for name, other in said.items()])
    keyed = totals(parts, stage, tables)
    on = (F.col("key") == F.col("said_key")) & (F.col("window") == F.col("said_window"))
    on &= F.col("correction").eqNullSafe(F.col("said_correction"))
    # A window without a row is a result without a value; where values have names of their own, nobody knows which.
    both = keyed.join(made, on, "inner" if "output" in result.columns else "left")
    unit = stage.unit_of(ONLY)
    named = filled_column(
        f"{stage.device}/{stage.metric}", key_columns(stage) | {OUTPUT: F.coalesce("said_output", F.lit(ONLY))}, tables
    )
    follows = only_unit(F.col("unit_low"), F.col("unit_high")) if is_unit_of_inputs(unit) else F.lit(unit)
    return numbered_later(
        both.withColumns(
            {
                "output": named,
                "value": finite(F.col("said_value")),
                "unit": F.coalesce("said_unit", follows),
                "quality": F.coalesce("said_quality", "quality"),
            }
        ),
        stage,
    )


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
