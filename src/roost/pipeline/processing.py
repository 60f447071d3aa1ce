"""One batch of a pipeline: the rows of all inputs in, results in the columns of the sink out, in one write.

Windows are summed up in one pass for all stages; only stages of which something came go on from there. Their results
are numbered on the driver, where all of them pass: they are as many as windows and keys, not as readings. Results that
have the numbers of their inputs stay where they are made. A batch that is done again gives the same readings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

from roost.pipeline.archive.folder import Folder
from roost.pipeline.graph import Pipeline, Stage
from roost.pipeline.measuring import Batch
from roost.pipeline.origins import Origins
from roost.pipeline.stages import handed, needs_rows, waits, windowed
from roost.pipeline.stages_columns import RESULT, ids_of
from roost.pipeline.stages_windows import partials
from roost.pipeline.waiting import Kept, Waiting

_ANSI: Final = "spark.sql.ansi.enabled"  # off: a value that cannot be computed is null, and ends no query
_MICROSECONDS: Final = 1000  # ns

Write = Callable[[DataFrame], None]


class Processing:
    """Does batches of a pipeline; what joins keep is kept in `folder`."""

    def __init__(self, pipeline: Pipeline, origins: Origins, write: Write, folder: Folder | None) -> None:
        self._pipeline: Final = pipeline
        self._origins: Final = origins
        self._write: Final = write
        self._folder: Final = folder

    def run(self, batch: DataFrame, number: int | None, stages: Sequence[Stage]) -> dict[str, Batch]:
        """Do one batch for some stages; without a `number`, all there is comes at once."""
        spark = batch.sparkSession
        spark.conf.set(_ANSI, "false")
        in_windows = [stage for stage in stages if stage.window_ns]
        one_by_one = [stage for stage in stages if not stage.window_ns]
        looks = len(one_by_one) + sum(needs_rows(stage) for stage in in_windows) + bool(in_windows)
        done: dict[str, Batch] = {}
        with _held(batch, wanted=looks > 1):
            written: list[DataFrame] = []
            seen: dict[str, Observation] = {}
            for stage in one_by_one:
                seen[stage.name] = Observation()
                rows = handed(stage, batch, self._pipeline.tables)
                written.append(rows.observe(seen[stage.name], *_observed()))
            if in_windows:
                found = self._windows(batch, number, in_windows, done)
                if found.num_rows:
                    written.append(spark.createDataFrame(found))
            if written:
                self._write(reduce(DataFrame.unionByName, written))
        return done | {name: _batch_of(observation.get) for name, observation in seen.items()}

    def _windows(
        self, batch: DataFrame, number: int | None, stages: Sequence[Stage], done: dict[str, Batch]
    ) -> pa.Table:
        summed = partials(batch, stages)
        with _held(summed):
            told = {row["input"]: row.asDict() for row in summed.groupBy("input").agg(*_told()).collect()}
            active = [stage for stage in stages if told.keys() & {*ids_of([stage])}]
            made = [self._results(stage, summed, batch, number) for stage in active]
            results = [rows for rows in made if rows is not None]
            table = reduce(DataFrame.unionByName, results).toArrow().cast(RESULT) if results else RESULT.empty_table()
        numbered = self._origins.numbered(table)
        counts = {row["values"]: row["counts"] for row in pc.value_counts(numbered["stage"]).to_pylist()}
        for stage in active:
            rows = [told[each] for each in ids_of([stage]) if each in told]
            done[stage.name] = _summary(stage, rows, counts.get(stage.name, 0))
        return numbered

    def _results(self, stage: Stage, summed: DataFrame, batch: DataFrame, number: int | None) -> DataFrame | None:
        if not waits(stage):
            return windowed(stage, summed, batch, self._pipeline.tables)
        inputs = ids_of([stage])
        ours = summed.filter(F.col("input").isin(inputs)).toArrow()
        if self._folder is None or number is None:
            whole = Waiting(inputs).take(ours)
        else:
            whole = Kept(self._folder, stage.name, inputs).take(number, ours)
        if not whole.num_rows:
            return None
        parts = batch.sparkSession.createDataFrame(whole, summed.schema)
        return windowed(stage, parts, batch, self._pipeline.tables)


@contextmanager
def _held(rows: DataFrame, *, wanted: bool = True) -> Iterator[None]:
    """Keep rows while they are looked at several times: each look would fetch them again."""
    if wanted:
        rows.persist()
    try:
        yield
    finally:
        if wanted:
            rows.unpersist()


def _told() -> list[Column]:
    sums = [F.sum(name).alias(name) for name in ("readings", "expected", "received")]
    return [*sums, F.max("window").alias("window")]


def _observed() -> list[Column]:
    return [
        F.count("*").alias("rows"),
        F.sum(F.coalesce("expected", F.lit(1))).alias("expected"),
        F.sum(F.coalesce("received", F.lit(1))).alias("received"),
        F.max(F.unix_micros("event_time")).alias("newest_us"),
    ]


def _batch_of(told: Mapping[str, Any]) -> Batch:
    rows = told["rows"]
    newest = (told["newest_us"] or 0) * _MICROSECONDS
    return Batch(rows, rows, told["expected"] or 0, told["received"] or 0, newest)


def _summary(stage: Stage, told: Sequence[Mapping[str, Any]], results: int) -> Batch:
    end = (max(row["window"] for row in told) + 1) * stage.window_ns
    expected, received = (sum(row[name] for row in told) for name in ("expected", "received"))
    return Batch(sum(row["readings"] for row in told), results, expected, received, end if results else 0)
