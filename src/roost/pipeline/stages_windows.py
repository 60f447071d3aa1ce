"""Windows computed exactly, first pass: what each stream has in each window, for all stages at once, by Spark.

Sums are decimal, so that they are the same however rows were shared out. A value that is no decimal of nine places
below 10^19 (not a number, infinite) does not count: it is seen in `count` beside `received`.

This gives a row per input, key, window and stream: how much there is, its sum, its stretch of numbers. That is small
beside the readings, so the driver takes it, joins keep it while they wait (`roost.pipeline.waiting`), and results are
made of it (`roost.pipeline.stages_keys`). Conditions over readings are SQL of Spark's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

from roost.pipeline.columns import ABSENT
from roost.pipeline.graph import Stage
from roost.pipeline.operations import USABLE, Aggregate, Expressions
from roost.pipeline.place import CORRECTIONS
from roost.pipeline.stages_columns import (
    by_stage,
    ids_of,
    quoted,
)
from roost.pipeline.windowing import OPEN

WINDOW: Final = ("key", "window", "window_start", "correction")
STREAM: Final = ("input", *WINDOW, "stream", "panel", "device", "metric")
_EXACT: Final = "decimal(28,9)"  # sums of as many as 10^10 of them fit Spark's decimal(38,9)
_COUNTS: Final = ("expected", "received", "missing", "open")


def expressions_of(stage: Stage) -> tuple[Expressions, dict[str, str]]:
    """The outputs of a stage as plain SQL; none if it does not aggregate."""
    expressions = Expressions()
    outputs = stage.operation.outputs if isinstance(stage.operation, Aggregate) else {}
    return expressions, {output: expressions.plain(text) for output, text in outputs.items()}


def partials(batch: DataFrame, stages: Sequence[Stage]) -> DataFrame:
    """The first pass, for all stages in windows at once."""
    usable = by_stage(stages, lambda stage: stage.operation.where if isinstance(stage.operation, Aggregate) else USABLE)
    conditions = {stage.name: expressions_of(stage)[0].conditions for stage in stages}
    rows = (
        batch.filter(F.col("input").isin(ids_of(stages)))
        .withColumn("exact", F.expr(f"try_cast(case when {usable} then value end as {_EXACT})"))
        .withColumn("usable", F.expr("case when exact is not null then value end"))
        # Corrections of one window need not follow each other: each is a stretch of its own.
        .withColumn("alone", F.when(F.col("stream").endswith(CORRECTIONS), F.col("seq")))
    )
    absent = ", ".join(quoted(quality) for quality in sorted(ABSENT))
    named = by_stage(stages, lambda stage: str(_names(stage)).lower())
    made: dict[str, str] = {
        "sum": "sum(exact)",
        "count": "count(exact)",
        "min": "min(usable)",
        "max": "max(usable)",
        "low": "min(case when seq > 0 then seq end)",
        "high": "max(case when seq > 0 then seq end)",
        "expected": "sum(expected)",
        "received": "sum(received)",
        "lost": f"sum(case when quality in ({absent}) then expected else 0 end)",
        "open": f"count_if(quality = {quoted(OPEN)})",
        "doubtful": "count_if(exact is not null and quality = 'uncertain')",
        "unit_low": "min(case when exact is not null then unit end)",
        "unit_high": "max(case when exact is not null then unit end)",
        "readings": "count_if(seq > 0)",
        "absent": f"sort_array(collect_list(case when {named} and quality in ({absent}) then seq end))",
    }
    for at in range(max(map(len, conditions.values()), default=0)):
        condition = by_stage(stages, lambda stage: dict(enumerate(conditions[stage.name])).get(at, "false"))  # noqa: B023
        made[f"where_{at}"] = f"count_if(exact is not null and {condition})"
    return rows.groupBy(*STREAM, "alone").agg(*[F.expr(text).alias(name) for name, text in made.items()]).drop("alone")


def _names(stage: Stage) -> bool:
    return isinstance(stage.operation, Aggregate) and stage.operation.names
