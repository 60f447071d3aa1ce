"""Templates and results as columns of Spark's."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

from roost.pipeline.results import RESULT, Tables
from roost.pipeline.stages_names import FIELD


def filled_column(template: str, known: Mapping[str, Column], tables: Tables) -> Column:
    """A template as a column; its fields are columns by name, or looked up in a table."""
    pieces: list[Column] = []
    at = 0
    for found in FIELD.finditer(template):
        if found.start() > at:
            pieces.append(F.lit(template[at : found.start()]))
        table, part = found.groups()
        pieces.append(_looked_up(known[part], tables[table]) if table and table in tables else known[table or part])
        at = found.end()
    if at < len(template) or not pieces:
        pieces.append(F.lit(template[at:]))
    return F.concat(*pieces)


def own_columns() -> dict[str, Column]:
    """The fields of a stream's own name."""
    return {part: F.col(part) for part in ("panel", "device", "metric")}


def finite(value: Column) -> Column:
    """A number as a double; null where it is none, which is an empty marker or a count of nothing."""
    number = value.cast("double")
    return F.when(~F.isnan(number) & (F.abs(number) < float("inf")), number)


def in_order(rows: DataFrame) -> DataFrame:
    """The columns of a result, in the order and of the types of `RESULT`."""
    return rows.select([F.col(field.name).cast(_types()[field.name]).alias(field.name) for field in RESULT])


def _types() -> dict[str, str]:
    ranges = "array<struct<stream: string, low: bigint, high: bigint>>"
    words = {"int64": "bigint", "double": "double", "string": "string", "timestamp[us, tz=UTC]": "timestamp"}
    return {field.name: words.get(str(field.type), ranges) for field in RESULT}


def _looked_up(part: Column, table: Mapping[str, str]) -> Column:
    pairs = [F.lit(each) for entry in sorted(table.items()) for each in entry]
    return F.create_map(*pairs)[part] if pairs else F.lit(None).cast("string")
