"""Two versions of macros over one history on Spark: what `roost.process.comparing` finds, by its rules.

Runs of both are rows of `TOLD`, joined where they have the same macro, time, cause and reading that set them off. What
there is of each kind is counted where the rows are; the driver gets the counts, and as many differences as it asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.storagelevel import StorageLevel

from roost.process.comparing import EQUAL, Brought, Comparison, verdict

_KEY: Final = ("time", "origin_stream", "origin_number", "name", "cause_topic")
_SIDE: Final = ("rank", "payload", "format", "kind", "message", "told")
_TYPES: Final = {"rank": pa.int32(), "payload": pa.binary(), "format": pa.int32()}  # the others are text
_JOINED: Final = pa.schema(
    [
        pa.field("time", pa.int64()),
        pa.field("origin_stream", pa.binary()),
        pa.field("origin_number", pa.int64()),
        pa.field("name", pa.string()),
        *[pa.field(f"old_{each}", _TYPES.get(each, pa.string())) for each in _SIDE],
        *[pa.field(f"new_{each}", _TYPES.get(each, pa.string())) for each in _SIDE],
    ]
)
_JUDGED: Final = pa.schema(
    [
        *[_JOINED.field(name) for name in ("time", "origin_stream", "origin_number", "name")],
        pa.field("is_new", pa.bool_()),  # whether the old version did not run
        pa.field("rank", pa.int32()),
        pa.field("verdict", pa.string()),
        pa.field("old_failed", pa.bool_()),
        pa.field("new_failed", pa.bool_()),
        pa.field("old_told", pa.string()),  # null where it did not run, and where nothing differs
        pa.field("new_told", pa.string()),
    ]
)
_IN_TURN: Final = ("time", "origin_stream", "origin_number", "is_new", "rank", "name")


class Told(NamedTuple):
    """An activation that the versions make different things of, as JSON tells of it; None stands for no run."""

    kind: str
    macro: str
    time: int
    old: str | None
    new: str | None


def compare_on_spark(
    old: DataFrame, new: DataFrame, called: Mapping[str, str], show: int
) -> tuple[Comparison, list[Told]]:
    """Compare runs; `called` are the names of new macros by those of the old ones they replace."""
    if called:
        names = F.create_map(*[F.lit(each) for pair in called.items() for each in pair])
        old = old.withColumn("name", F.coalesce(names[F.col("name")], F.col("name")))
    both = _side(old, "old").join(_side(new, "new"), list(_KEY), "full_outer").select(*_JOINED.names)
    judged = both.mapInArrow(_judged, from_arrow_schema(_JUDGED)).persist(StorageLevel.DISK_ONLY)
    try:
        result = Comparison()
        failed = [F.sum(F.col(name).cast("long")).alias(name) for name in ("old_failed", "new_failed")]
        for row in judged.groupBy("verdict").agg(F.count("*").alias("count"), *failed).collect():
            result.count(row["verdict"], row["count"])
            result.old_failures += row["old_failed"]
            result.new_failures += row["new_failed"]
        first = judged.filter(F.col("verdict") != EQUAL).orderBy(*_IN_TURN).limit(show)
        return result, [Told(*row) for row in first.select("verdict", "name", "time", "old_told", "new_told").collect()]
    finally:
        judged.unpersist()


def _side(runs: DataFrame, side: str) -> DataFrame:
    return runs.select(*_KEY, *[F.col(each).alias(f"{side}_{each}") for each in _SIDE])


def _judged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        old, new = _brought(columns, "old"), _brought(columns, "new")
        found = [verdict(*each) for each in zip(old, new, strict=True)]
        is_told = [each != EQUAL for each in found]
        ranks = zip(columns["old_rank"], columns["new_rank"], strict=True)
        made: list[Sequence[Any]] = [
            *[columns[name] for name in ("time", "origin_stream", "origin_number", "name")],
            [each is None for each in columns["old_told"]],
            [one if other is None else other for other, one in ranks],
            found,
            [bool(each.kind) for each in old],
            [bool(each.kind) for each in new],
            *[
                [text if told else None for text, told in zip(columns[f"{side}_told"], is_told, strict=True)]
                for side in ("old", "new")
            ],
        ]
        arrays = [pa.array(column, field.type) for column, field in zip(made, _JUDGED, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=_JUDGED)


def _brought(columns: Mapping[str, Sequence[Any]], side: str) -> list[Brought]:
    rows = zip(*[columns[f"{side}_{each}"] for each in ("payload", "format", "kind", "message")], strict=True)
    return [
        Brought(payload, 0 if payload is None else format_, kind or "", message or "")
        for payload, format_, kind, message in rows
    ]
