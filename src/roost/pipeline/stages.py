"""A stage as Spark runs it: from the rows of its inputs (`WINDOWED`) to results in the columns of the sink.

Two ways lead there. Where readings are handed on one by one (`handed`), results have their numbers at once, and never
leave the executors. Results of windows (`windowed`) are few, and are numbered by the driver: their number is that of
the window, counted from where their stream begins (`roost.pipeline.origins`).
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

from roost.pipeline.graph import Stage
from roost.pipeline.operations import Aggregate, Filter, Function, Map, Sql
from roost.pipeline.results import Tables
from roost.pipeline.stages_function import of_rows, of_windows
from roost.pipeline.stages_keys import aggregated, completed
from roost.pipeline.stages_rows import handed_on, named_rows
from roost.pipeline.stages_sql import completed_rows, in_windows, selected
from roost.pipeline.stages_windows import waits


def windowed(stage: Stage, parts: pa.Table, rows: DataFrame, tables: Tables) -> pa.Table:
    """The results of a stage in windows, from its partial rows; `number` still is the window."""
    if isinstance(stage.operation, Aggregate):
        return aggregated(parts, stage, tables)
    if isinstance(stage.operation, Function):
        made = of_windows(rows, stage)
    else:
        made = selected(None if waits(stage) else rows, rows.sparkSession.createDataFrame(parts), stage)
    return completed(in_windows(made, stage), parts, stage, tables)


def handed(stage: Stage, rows: DataFrame, tables: Tables) -> DataFrame:
    """The results of a stage without windows."""
    if isinstance(stage.operation, Filter | Map):
        return handed_on(rows, stage, tables)
    if isinstance(stage.operation, Function):
        return named_rows(of_rows(rows, stage), stage, tables, F.col("said_value"))
    assert isinstance(stage.operation, Sql)  # noqa: S101  the last there is
    return completed_rows(selected(rows, None, stage), rows, stage, tables)
