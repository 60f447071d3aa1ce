"""One batch of a pipeline: the rows of all inputs in, results in the columns of the sink out, in one write.

Windows come summed up (`roost.pipeline.sums`); results are made of that and numbered on the driver: they are as many as
windows and keys, not as readings. A few of them are written from here, for that is done before Spark has begun; those
that have the numbers of their inputs stay where they are made. A batch that is done again gives the same readings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

from roost.pipeline.archive.folder import Folder
from roost.pipeline.graph import Pipeline, Stage
from roost.pipeline.macros_stage import MacroStages
from roost.pipeline.measuring import Batch
from roost.pipeline.operations import Macro
from roost.pipeline.origins import Ask, Origins
from roost.pipeline.results import RESULT, ids_of
from roost.pipeline.stages import handed, windowed
from roost.pipeline.stages_windows import needs_rows, partials, rows_of, waits
from roost.pipeline.waiting import Kept, Waiting

_ANSI: Final = "spark.sql.ansi.enabled"  # off: a value that cannot be computed is null, and ends no query
_MICROSECONDS: Final = 1000  # ns

_FEW: Final = 500  # results, which take less time to sign than a job of Spark's takes to start

Write = Callable[[DataFrame | pa.Table], None]


class Processing:
    """Does batches of a pipeline; what joins and macros keep is kept in `folder`."""

    def __init__(self, pipeline: Pipeline, origins: Origins, ask: Ask, write: Write, folder: Folder | None) -> None:
        self._pipeline: Final = pipeline
        self._origins: Final = origins
        self._write: Final = write
        self._folder: Final = folder
        self._macros: Final = MacroStages(folder, ask, write)

    def run(self, batch: DataFrame, number: int | None, stages: Sequence[Stage]) -> dict[str, Batch]:
        """Do one batch for some stages; without a `number`, all there is comes at once."""
        spark = batch.sparkSession
        spark.conf.set(_ANSI, "false")
        in_windows = [stage for stage in stages if stage.window_ns]
        macros = [stage for stage in stages if isinstance(stage.operation, Macro)]
        one_by_one = [stage for stage in stages if not stage.window_ns and stage not in macros]
        looks = len(one_by_one) + sum(needs_rows(stage) for stage in in_windows) + bool(in_windows) + len(macros)
        done: dict[str, Batch] = {}
        with _held(batch, wanted=looks > 1):
            written: list[DataFrame] = []
            seen: dict[str, Observation] = {}
            rows = rows_of(batch) if in_windows else batch
            for stage in one_by_one:
                seen[stage.name] = Observation()
                results = handed(stage, rows, self._pipeline.tables)
                written.append(results.observe(seen[stage.name], *_observed()))
            if in_windows:
                found = self._windows(partials(batch), rows, number, in_windows, done)
                if found.num_rows and (written or found.num_rows > _FEW):
                    written.append(spark.createDataFrame(found))
                elif found.num_rows:
                    self._write(found)
            if written:
                self._write(reduce(DataFrame.unionByName, written))
            done |= {stage.name: self._macros.run(stage, rows, number) for stage in macros}
        return done | {name: _batch_of(observation.get) for name, observation in seen.items()}

    def _windows(
        self, summed: pa.Table, rows: DataFrame, number: int | None, stages: Sequence[Stage], done: dict[str, Batch]
    ) -> pa.Table:
        made: list[pa.Table] = []
        told: dict[str, Batch] = {}
        for stage in stages:
            parts = summed.filter(pc.is_in(summed["input"], pa.array(ids_of([stage]))))
            if parts.num_rows:
                whole = self._whole(stage, parts, number)
                told[stage.name] = _summary(stage, parts)
                if whole.num_rows:
                    made.append(windowed(stage, whole, rows, self._pipeline.tables))
        numbered = self._origins.numbered(pa.concat_tables(made) if made else RESULT.empty_table())
        counts = {row["values"]: row["counts"] for row in pc.value_counts(numbered["stage"]).to_pylist()}
        done |= {name: replace(batch, results=counts.get(name, 0)) for name, batch in told.items()}
        return numbered

    def _whole(self, stage: Stage, parts: pa.Table, number: int | None) -> pa.Table:
        """The partial rows of windows that all inputs have released."""
        if not waits(stage):
            return parts
        inputs = ids_of([stage])
        if self._folder is None or number is None:
            return Waiting(inputs).take(parts)
        return Kept(self._folder, stage.name, inputs).take(number, parts)


@contextmanager
def _held(rows: DataFrame, *, wanted: bool) -> Iterator[None]:
    """Keep rows while they are looked at several times: each look would fetch them again."""
    if wanted:
        rows.persist()
    try:
        yield
    finally:
        if wanted:
            rows.unpersist()


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


def _summary(stage: Stage, parts: pa.Table) -> Batch:
    sums = {name: int(pc.sum(parts[name]).as_py()) for name in ("readings", "expected", "received")}
    end = (int(pc.max(parts["window"]).as_py()) + 1) * stage.window_ns
    return Batch(sums["readings"], 0, sums["expected"], sums["received"], end)
