"""Questions to an archive: the hourly mean of every panel for one day, by DuckDB and by Spark.

The archive is a week of the hall's temperatures, ten seconds apart, as the archiver lays it out: 1.8 million readings
with their packets, a file a day. Packets are of one stream throughout, because nobody looks at them here.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa

from bench.figure import Figure, alternate, progress
from bench.pipeline._filled import STEP_NS, Pretended, reading
from roost.columns.decoding import decode
from roost.naming import Name
from roost.pipeline.archive.folder import Folder
from roost.pipeline.archive.layout import ARCHIVED, WIRE
from roost.pipeline.archive.manifest import Archive
from roost.pipeline.archive.query import Asked
from roost.pipeline.archive.sql import Tables
from roost.pipeline.archive.writing import open_writer
from roost.pipeline.session import spark_session
from roost.sim.deployment import GROUP, all_streams, identities

DAYS: Final = 7
DAY_NS: Final = 86_400_000_000_000
ROUNDS: Final = 5
_QUERY: Final = (
    "select panel, date_trunc('hour', event_time) as hour, avg(value) as mean from env where day = '{day}' "
    "group by panel, date_trunc('hour', event_time) order by 1, 2"
)


def run() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="roost-archive-") as folder:
        archive = Archive(Folder(folder))
        began = (time.time_ns() // DAY_NS - DAYS - 1) * DAY_NS
        progress("pipeline.history: a week of readings into an archive")
        wanted = [stream for stream in all_streams() if str(stream.at(-1)) == "temp"]
        took = time.perf_counter()
        count = archived(archive, wanted, began)
        yield Figure("history.archived", count / (time.perf_counter() - took), "rows/s")
        tables = Tables(archive, [], lambda _: None, Asked(), time.time_ns)
        day = time.strftime("%Y-%m-%d", time.gmtime((began + 3 * DAY_NS) // 1_000_000_000))
        query = _QUERY.format(day=day)
        spark = spark_session("bench", progress=progress)
        by_spark, by_duckdb = tables.spark(query, spark), tables.duckdb(query)
        if by_spark.num_rows != by_duckdb.num_rows or not by_duckdb.num_rows:
            raise ValueError(f"Spark has {by_spark.num_rows} rows, DuckDB {by_duckdb.num_rows}")
        both = alternate(
            lambda: _ms(lambda: tables.spark(query, spark)),
            lambda: _ms(lambda: tables.duckdb(query)),
            rounds=ROUNDS,
            label="pipeline.history",
        )
        yield Figure("history.duckdb", both.peer, "ms")
        yield Figure("history.spark", both.ours, "ms", "duckdb", both.peer)


def archived(archive: Archive, streams: list[Name], began_ns: int) -> int:
    """Write all days of all streams; how many readings."""
    identity = identities(lambda count: bytes(range(count)), time.time_ns())[streams[0].prefix(-2)]
    signer, per_day, count = Pretended(identity.signer), DAY_NS // STEP_NS, 0
    with open_writer(archive.group(GROUP.name)) as writer:
        for day in range(DAYS):
            numbers = range(day * per_day + 1, (day + 1) * per_day + 1)
            packets = [(n, reading(streams[0], n, began_ns + (n - 1) * STEP_NS, signer).wire) for n in numbers]
            rows = decode(streams[0], packets, arrival_us=began_ns // 1000, verified=True)
            rows = rows.append_column(WIRE, pa.array([wire for _, wire in packets], pa.binary()))
            count += writer.add(pa.Table.from_batches([_as(rows, stream) for stream in streams]))
    return count


def _as(rows: pa.RecordBatch, stream: Name) -> pa.RecordBatch:
    """The same readings, of another stream."""
    *_, panel, device, metric = str(stream).split("/")
    texts = {"stream": str(stream), "panel": panel, "device": device, "metric": metric}
    columns = [
        pa.repeat(pa.scalar(texts[name], pa.string()), len(rows)) if name in texts else rows.column(name)
        for name in ARCHIVED.names
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ARCHIVED)


def _ms(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000
