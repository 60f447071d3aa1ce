"""Windows computed exactly: first per stream, in one pass over the rows of all stages, then per key.

Sums are decimal, so that they are the same however rows were shared out; what is derived from them is computed in
doubles, once. A value that is no decimal of nine places below 10^19 (not a number, infinite) does not count: it is seen
in `count` beside `received`.

The first pass gives a row per input, key, window and stream (`PARTIAL`): how much there is, its sum, its stretch of
numbers. It is small beside the readings, so it is what joins keep while they wait (`roost.pipeline.waiting`). The
second gives what the outputs of an `Aggregate` are computed of; see `roost.pipeline.operations` for the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

from roost.machine import SECOND
from roost.pipeline.columns import ABSENT, GOOD, UNCERTAIN
from roost.pipeline.graph import Stage
from roost.pipeline.operations import USABLE, WORDS, Aggregate, Expressions
from roost.pipeline.place import CORRECTIONS
from roost.pipeline.stages_columns import (
    Tables,
    by_stage,
    filled_column,
    finite,
    ids_of,
    in_order,
    is_unit_of_inputs,
    key_columns,
    only_unit,
    own_columns,
    quoted,
)
from roost.pipeline.stages_names import OUTPUT, filled
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


def aggregated(parts: DataFrame, stage: Stage, tables: Tables) -> DataFrame:
    """The second pass of a stage that aggregates: from its partial rows to its results, not yet numbered."""
    operation = stage.operation
    assert isinstance(operation, Aggregate)  # noqa: S101  others have a way of their own
    expressions, outputs = expressions_of(stage)
    keyed = totals(parts, stage, tables, expressions)
    known = key_columns(stage)
    for name, column in known.items():
        keyed = keyed.withColumn(name, column) if name != "key" else keyed
    made = [
        F.struct(
            filled_column(filled(f"{stage.device}/{stage.metric}", {OUTPUT: output}), known, tables).alias("output"),
            finite(F.expr(text)).alias("value"),
            _unit(stage.unit_of(output)).alias("unit"),
        )
        for output, text in outputs.items()
    ]
    results = keyed.select("*", F.explode(F.array(*made)).alias("made")).select(
        *WINDOW, *_COUNTS, "quality", "inputs", "missing_names", "made.output", "made.value", "made.unit"
    )
    return numbered_later(results, stage)


def totals(parts: DataFrame, stage: Stage, tables: Tables, expressions: Expressions | None = None) -> DataFrame:
    """What each key's window has: aggregates, those of its parts, counts, and what it is made of."""
    operation = stage.operation
    expressions = expressions or Expressions()
    scope, counted = ("{metric}", "") if not isinstance(operation, Aggregate) else (operation.scope, operation.counted)
    known = own_columns() | {"input": F.substr("input", F.lit(len(stage.name) + 2))}
    scoped = parts.withColumn("scope", filled_column(scope, known, tables))
    counts = (F.col("scope") == counted) if counted else F.lit(True)  # noqa: FBT003  a literal of Spark's
    made = [*_words("", F.lit(True)), *_units("", F.lit(True))]  # noqa: FBT003  as above
    for part in expressions.parts:
        is_of = F.col("scope") == part
        made += [*_words(f"{part}__", is_of), *_units(f"{part}__", is_of)]
    made += [F.sum(f"where_{at}").alias(f"where_{at}") for at in range(len(expressions.conditions))]
    made += [
        F.sum(F.when(counts, F.col("expected")).otherwise(F.col("lost"))).alias("expected"),
        F.sum(F.when(counts, F.col("received")).otherwise(0)).alias("received"),
        F.sum("open").alias("open"),
        F.sum("doubtful").alias("doubtful"),
        F.array_sort(F.collect_list(F.when(F.col("low").isNotNull(), F.struct("stream", "low", "high")))).alias(
            "inputs"
        ),
        F.array_sort(F.collect_list(F.when(F.size("absent") > 0, _missing()))).alias("absent"),
    ]
    keyed = scoped.groupBy(*WINDOW).agg(*made)
    for part in expressions.parts:
        keyed = keyed.withColumn(part, F.struct(*[_word(f"{part}__", word).alias(word) for word in WORDS]))
    length_s = stage.window_ns / SECOND
    derived = {word: _word("", word) for word in WORDS} | {
        "missing": F.col("expected") - F.col("received"),
        "window_s": F.lit(length_s),
        "hours": F.lit(length_s / 3600),
        "interval_s": F.lit(stage.interval_ns / SECOND),
        "energy": F.col("sum").cast("double") * (stage.interval_ns / SECOND) / 3600,
        "missing_names": F.when(F.size("absent") > 0, F.concat_ws("; ", "absent")),
        "quality": F.expr(
            f"case when expected = received and open = 0 and doubtful = 0 then '{GOOD}' else '{UNCERTAIN}' end"
        ),
    }
    return keyed.withColumns(derived)


def numbered_later(results: DataFrame, stage: Stage) -> DataFrame:
    """Results in the columns of the sink; `number` holds the window until it is known where its stream begins."""
    return in_order(
        results.withColumns(
            {
                "stage": F.lit(stage.name),
                "number": F.col("window"),
                "event_time": F.col("window_start"),
                "window_s": F.lit(stage.window_ns / SECOND),
            }
        )
    )


def _words(prefix: str, is_of: Column) -> list[Column]:
    made = {"sum": F.sum, "count": F.sum, "min": F.min, "max": F.max}
    return [function(F.when(is_of, F.col(word))).alias(f"{prefix}{word}") for word, function in made.items()]


def _units(prefix: str, is_of: Column) -> list[Column]:
    return [
        F.min(F.when(is_of, F.col("unit_low"))).alias(f"{prefix}unit_low"),
        F.max(F.when(is_of, F.col("unit_high"))).alias(f"{prefix}unit_high"),
    ]


def _word(prefix: str, word: str) -> Column:
    """An aggregate as expressions see it: a double, but for counts."""
    total, count = F.col(f"{prefix}sum").cast("double"), F.coalesce(F.col(f"{prefix}count"), F.lit(0))
    if word == "mean":
        return F.when(count > 0, total / count)
    return {"sum": total, "count": count}.get(word, F.col(f"{prefix}{word}"))


def _unit(unit: str) -> Column:
    if not is_unit_of_inputs(unit):
        return F.lit(unit)
    part = unit.partition(":")[2]
    prefix = f"{part}__" if part else ""
    return only_unit(F.col(f"{prefix}unit_low"), F.col(f"{prefix}unit_high"))


def _names(stage: Stage) -> bool:
    return isinstance(stage.operation, Aggregate) and stage.operation.names


def _missing() -> Column:
    """`Panel1/Heater/Voltage 101-103 107`: what is missing of one stream."""
    runs = F.expr(
        "aggregate(absent, cast(array() as array<struct<low: bigint, high: bigint>>), (runs, number) -> "
        "case when size(runs) > 0 and element_at(runs, -1).high = number - 1 "
        "then concat(slice(runs, 1, size(runs) - 1), "
        "array(named_struct('low', element_at(runs, -1).low, 'high', number))) "
        "else concat(runs, array(named_struct('low', number, 'high', number))) end)"
    )
    texts = F.transform(
        runs,
        lambda run: F.when(run["low"] == run["high"], run["low"].cast("string")).otherwise(
            F.concat_ws("-", run["low"].cast("string"), run["high"].cast("string"))
        ),
    )
    return F.concat(F.concat_ws("/", "panel", "device", "metric"), F.lit(" "), F.concat_ws(" ", texts))
