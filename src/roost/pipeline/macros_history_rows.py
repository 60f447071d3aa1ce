"""Past readings that macros are tried on as rows on Spark: `roost.pipeline.macros_rows.READING`.

Executors read the archive's files and fetch their own stretches from the repos, each piece once: the rows are held on
the disk for as long as they are used, because a replay goes over them several times. The driver gets counts alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.storagelevel import StorageLevel

from roost.host.stretch_access import Access
from roost.host.stretches import Stretch, StretchReader
from roost.naming import Name
from roost.pipeline.archive.folder import Folder
from roost.pipeline.archive.layout import WIRE, folder_of
from roost.pipeline.macros_history import Lying, Wanted
from roost.pipeline.macros_rows import READING, Read, reading_of, readings

PIECE: Final = 16_384  # numbers of a stretch that a task fetches at once
_TALLY: Final = ("unreadable", "lost", "dropped")
_TALLIES: Final = [pa.field(name, pa.int64()) for name in _TALLY]
_PACKETS: Final = pa.schema(
    [
        pa.field("group", pa.string()),
        pa.field("stream", pa.string()),
        pa.field("seq", pa.int64()),
        pa.field(WIRE, pa.binary()),  # null where a row only counts what there is not
        *_TALLIES,
    ]
)
_COUNTED: Final = pa.schema([*READING, *_TALLIES])  # a row without a topic only counts


@dataclass(frozen=True, slots=True)
class Held:
    """Rows, how many, and what of the history they lack."""

    counted: DataFrame  # with what they lack
    count: int
    unreadable: int  # sealed, or no readings
    lost: int  # at no repo that can be reached
    dropped: int  # dropped by the repos since it was looked where readings lie

    @property
    def rows(self) -> DataFrame:
        """The rows."""
        return self.counted.filter(F.col("topic").isNotNull()).select(*READING.names)

    def release(self) -> None:
        """Let go of what is on the disk."""
        self.counted.unpersist()


def held(spark: SparkSession, folder: Folder, places: Sequence[Lying], access: Access, wanted: Wanted) -> Held:
    """Read all of it, now; raises `FileNotFoundError` if the archive was compacted meanwhile."""
    packets = [part for each in places for part in _packets(spark, folder, each, access, wanted)]
    every = reduce(DataFrame.unionByName, packets, spark.createDataFrame(_PACKETS.empty_table()))
    counted = every.mapInArrow(partial(_read, wanted), from_arrow_schema(_COUNTED)).persist(StorageLevel.DISK_ONLY)
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in _TALLY]
    try:
        told = counted.agg(F.count("topic").alias("count"), *sums).collect()[0]
    except Exception as error:
        counted.unpersist()
        if "FileNotFoundException" in str(error) or "FILE_NOT_EXIST" in str(error):
            raise FileNotFoundError(str(error).partition("\n")[0]) from None
        raise
    return Held(counted, told["count"], *[told[name] for name in _TALLY])


def _packets(spark: SparkSession, folder: Folder, place: Lying, access: Access, wanted: Wanted) -> Iterator[DataFrame]:
    group = str(place.group)
    if place.files:
        paths = [folder.where(f"{folder_of(place.group)}/{path}") for path in place.files]
        files = spark.read.option("basePath", folder.where("")).parquet(*paths)
        since = F.timestamp_micros(F.lit(wanted.since // 1000))
        asked = files.filter((F.col("event_time") >= since) & F.col("stream").isin(list(place.streams)))
        nothing = [F.lit(0).cast("long").alias(name) for name in _TALLY]
        yield asked.select(F.lit(group).alias("group"), "stream", "seq", WIRE, *nothing)
    if place.stretches:
        cut = [
            (str(stream), at, min(high, at + PIECE - 1))
            for stream, low, high in place.stretches
            for at in range(low, high + 1, PIECE)
        ]
        pieces = pa.table(dict(zip(("stream", "low", "high"), map(list, zip(*cut, strict=True)), strict=True)))
        tasks = min(len(cut), spark.sparkContext.defaultParallelism)
        reach = replace(access, group=group)
        stretches = spark.createDataFrame(pieces).repartition(tasks)
        yield stretches.mapInArrow(partial(_fetched, reach), from_arrow_schema(_PACKETS))


def _fetched(access: Access, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with StretchReader(access) as reader:
        for batch in batches:
            rows = zip(*[batch.column(name).to_pylist() for name in ("stream", "low", "high")], strict=True)
            for piece in reader.read([Stretch(Name.parse(stream), low, high) for stream, low, high in rows]):
                numbers, wires = [*zip(*piece.packets, strict=True)] or ((), ())
                dropped = sum(high - low + 1 for low, high in piece.dropped)
                count = len(numbers) + 1  # and one that counts what there is not
                yield pa.RecordBatch.from_arrays(
                    [
                        pa.array([access.group] * count, pa.string()),
                        pa.array([str(piece.stream)] * count, pa.string()),
                        pa.array([*numbers, None], pa.int64()),
                        pa.array([*wires, None], pa.binary()),
                        pa.array([0] * count, pa.int64()),
                        pa.array([0] * (count - 1) + [len(piece.missing) + len(piece.refused)], pa.int64()),
                        pa.array([0] * (count - 1) + [dropped], pa.int64()),
                    ],
                    schema=_PACKETS,
                )


def _read(wanted: Wanted, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    @lru_cache(65_536)
    def named(text: str) -> Name:
        return Name.parse(text)

    @lru_cache(65_536)
    def names(topic: str) -> bool:
        return wanted.names(topic)

    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("group", "stream", "seq", WIRE)]
        found: list[Read] = []
        unreadable = 0
        for group, stream, number, wire in zip(*columns, strict=True):
            if wire is None:
                continue
            each = reading_of(len(named(group)), named(stream), number, wire)
            if each is None:
                unreadable += 1
            elif each.time >= wanted.since and names(each.topic):
                found.append(each)
        sums = {name: sum(batch.column(name).to_pylist()) for name in _TALLY}
        yield from _counted(found, {**sums, "unreadable": unreadable})


def _counted(found: Sequence[Read], sums: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
    """Readings, and one row more that counts."""
    rows = readings(found)
    columns = [pa.concat_arrays([column, pa.nulls(1, column.type)]) for column in rows.columns]
    tallies = [pa.array([*[0] * len(found), sums[name]], pa.int64()) for name in _TALLY]
    yield pa.RecordBatch.from_arrays([*columns, *tallies], schema=_COUNTED)
