"""MapReduce over a group, in three lines [NDN-PS §V].

    def room(reading): yield reading["device"], reading["value"]
    def warmest(room, values): return max(values)
    map_reduce(spark, "/Campus/Hall/Env", map=room, reduce=warmest, since="24h")      # {"room1": 23.5, …}

`map` gets each reading as a mapping of the columns of `roost.columns.readings`, and yields pairs; `reduce` gets a key
and all its values, in the order of their streams and numbers. Readings without a value are left out. Keys and values
are whatever Python can pickle; both functions travel to the workers. For what fits SQL, stages are quicker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from pyspark.sql import DataFrame, SparkSession

from roost.pipeline.source import FORMAT

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")

Reading = Mapping[str, Any]
_ORDER: Final = ("stream", "seq")


def map_reduce(
    spark: SparkSession,
    group: str | DataFrame,
    *,
    map: Callable[[Reading], Iterable[tuple[K, V]]],  # noqa: A002  as it is called everywhere
    reduce: Callable[[K, list[V]], R],
    **options: str,
) -> dict[K, R]:
    """Map readings to pairs, reduce the values of each key; `group` may be rows that were read already."""
    rows = group if isinstance(group, DataFrame) else spark.read.format(FORMAT).options(group=group, **options).load()

    def mapped(row: Any) -> list[tuple[K, tuple[tuple[Any, ...], V]]]:  # noqa: ANN401  a Row of Spark's
        reading = row.asDict()
        place = tuple(reading[name] for name in _ORDER)
        return [(key, (place, value)) for key, value in map(reading)]

    def reduced(entry: tuple[K, Iterable[tuple[tuple[Any, ...], V]]]) -> tuple[K, R]:
        key, pairs = entry
        return key, reduce(key, [value for _, value in sorted(pairs, key=lambda pair: pair[0])])

    return dict(rows.filter("value is not null").rdd.flatMap(mapped).groupByKey().map(reduced).collect())
