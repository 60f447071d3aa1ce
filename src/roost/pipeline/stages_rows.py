"""Readings handed on one by one: filter and map. Results have the numbers of their inputs.

A reading without a result is an empty marker, so that numbers stay dense; one that was expected and never received
(sealed, refused) is a count of nothing received. What has no event time stays missing in the next group, too: it may
still come, and there is nothing that could be said about it. A reading that is there, and is none, will never be one:
its marker has the time 0, which repos take for none.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

from roost.pipeline.graph import Stage
from roost.pipeline.operations import Filter, Map
from roost.pipeline.results import Tables, ids_of, is_unit_of_inputs
from roost.pipeline.stages_columns import filled_column, finite, in_order, own_columns


def handed_on(batch: DataFrame, stage: Stage, tables: Tables) -> DataFrame:
    """The results of a stage that filters or maps."""
    operation = stage.operation
    if isinstance(operation, Filter):
        value = F.expr(f"case when {operation.where} then value end")
    else:
        assert isinstance(operation, Map)  # noqa: S101  others have a way of their own
        value = F.expr(operation.value)
    return named_rows(batch.filter(F.col("input").isin(ids_of([stage]))), stage, tables, value)


def named_rows(rows: DataFrame, stage: Stage, tables: Tables, value: Column) -> DataFrame:
    """Rows of the source with a new value, as results."""
    unit = stage.unit_of(stage.outputs[0])
    is_plain = (F.col("expected") == 1) & (F.col("received") == 1)
    output = filled_column(f"{stage.device}/{stage.metric}", own_columns(), tables)
    made = {
        "stage": F.lit(stage.name),
        "output": output,
        "number": F.col("seq"),
        "correction": F.lit(None),
        "value": finite(value),
        "unit": F.col("unit") if is_unit_of_inputs(unit) else F.lit(unit),
        "quality": F.expr("case when quality in ('good', 'uncertain', 'bad') then quality else 'good' end"),
        "missing": F.when(~is_plain, F.col("expected") - F.col("received")),
        "open": F.lit(None),
        "window_s": F.lit(None),
        "missing_names": F.lit(None),
        "inputs": F.expr("array(named_struct('stream', stream, 'low', seq, 'high', seq))"),
    }
    counts = {name: F.when(~is_plain, F.col(name)) for name in ("expected", "received")}
    present = rows.filter("(event_time is not null or quality = 'unreadable') and seq > 0")
    timed = present.withColumn("event_time", F.coalesce("event_time", F.timestamp_seconds(F.lit(0))))
    return in_order(timed.withColumns(made).withColumns(counts))
