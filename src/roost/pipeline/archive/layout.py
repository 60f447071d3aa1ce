"""What an archived reading is as a row, and where it lies.

    <archive>/group=%2FBigCompany%2FBuilding1%2FElectricity/_archive.json           what counts: `manifest`
    <archive>/group=…/day=2026-05-01/part-<digest>.parquet                          readings of that day, UTC
    <archive>/certificates/<id>.cert                                                see `certificates`

The columns are those of the source (`roost.columns.readings`), and `wire`, the whole Data packet: with it a reading can
be verified for ever. A file is sorted by stream and number, so a filter on streams skips row groups; streams, units and
signers are dictionaries, numbers and times deltas, all of it zstd. The day is that of the event time, or of the arrival
where a reading does not say. A file is named by what is in it: who writes the same readings again writes the same file.

Tools that read folders (Spark, DuckDB, pandas) find `group` and `day` as columns. While files are being compacted they
may see readings twice; who reads what the manifest lists never does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from hashlib import sha256
from typing import Final, TypeAlias
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from roost.columns.readings import READINGS
from roost.errors import BadConfig
from roost.naming import Name

WIRE: Final = "wire"
ARCHIVED: Final = pa.schema([*READINGS, pa.field(WIRE, pa.binary(), nullable=False)])

MANIFEST: Final = "_archive.json"
CONFIRMED: Final = "_confirmed.json"
LOCK: Final = "_lock"
CERTIFICATES: Final = "certificates"

ROWS_PER_GROUP: Final = 65_536  # a filter skips so many at once; DuckDB and Spark share them out to their threads
_GROUP: Final = "group="
_MAX_NAME: Final = 250  # bytes; file systems end at 255
_REPEATED: Final = ["stream", "unit", "quality", "panel", "device", "metric", "signer"]
_RISING: Final = {"seq": "DELTA_BINARY_PACKED", "event_time": "DELTA_BINARY_PACKED"}
_EPOCH: Final = date(1970, 1, 1)

Runs: TypeAlias = list[tuple[str, int, int]]


def folder_of(group: Name) -> str:
    """The folder of a group."""
    folder = _GROUP + quote(str(group), safe="")
    if len(folder) > _MAX_NAME:
        raise BadConfig(f"the name {group} is too long for a folder: it would have {len(folder)} characters")
    return folder


def group_of(folder: str) -> Name | None:
    """The group that a folder belongs to, None if it is no group's."""
    return Name.parse(unquote(folder.removeprefix(_GROUP))) if folder.startswith(_GROUP) else None


def day_of(path: str) -> str:
    """The day that a file's path says."""
    return path.rpartition("day=")[2].partition("/")[0]


def sorted_rows(rows: pa.Table) -> pa.Table:
    """Rows in their order, by stream and number, each number once."""
    rows = rows.sort_by([("stream", "ascending"), ("seq", "ascending")]).combine_chunks()
    streams, numbers = _keys(rows)
    if len(numbers) < 2:
        return rows
    again = (streams[1:] == streams[:-1]) & (numbers[1:] == numbers[:-1])
    return rows.filter(pa.array(np.concatenate([[True], ~again]))) if again.any() else rows


def runs_of(rows: pa.Table) -> Runs:
    """The numbers in sorted rows: stream, low, high."""
    streams, numbers = _keys(rows)
    if not len(numbers):
        return []
    ends = np.flatnonzero((streams[1:] != streams[:-1]) | (numbers[1:] != numbers[:-1] + 1))
    starts = np.concatenate([[0], ends + 1])
    stops = np.concatenate([ends, [len(numbers) - 1]])
    texts = rows.column("stream")
    lows, highs = numbers[starts].tolist(), numbers[stops].tolist()
    return [(texts[start].as_py(), low, high) for start, low, high in zip(starts.tolist(), lows, highs, strict=True)]


def by_day(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Sorted rows, apart by their days."""
    moments = pc.coalesce(rows.column("event_time"), rows.column("arrival_time"))
    days = pc.cast(pc.cast(moments, pa.timestamp("us")), pa.date32()).combine_chunks().cast(pa.int32()).to_numpy()
    for day in np.unique(days).tolist():
        yield (_EPOCH + timedelta(days=day)).isoformat(), rows.filter(pa.array(days == day))


def path_of(group: Name, day: str, runs: Iterable[tuple[str, int, int]]) -> str:
    """Where readings of a day go, below the group's folder: the same readings always to the same file."""
    digest = sha256(f"{group} {day}\n".encode())
    for stream, low, high in runs:
        digest.update(f"{stream} {low} {high}\n".encode())
    return f"day={day}/part-{digest.hexdigest()[:32]}.parquet"


def encoded(rows: pa.Table) -> bytes:
    """Rows as a Parquet file."""
    into = pa.BufferOutputStream()
    pq.write_table(
        rows,
        into,
        row_group_size=ROWS_PER_GROUP,
        compression="zstd",
        use_dictionary=_REPEATED,
        column_encoding=_RISING,
        sorting_columns=[pq.SortingColumn(ARCHIVED.get_field_index(name)) for name in ("stream", "seq")],
        write_page_index=True,
    )
    content: bytes = into.getvalue().to_pybytes()
    return content


def _keys(rows: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Streams as numbers, in no order that means something, and the numbers of readings."""
    streams = rows.column("stream").combine_chunks().dictionary_encode()
    if isinstance(streams, pa.ChunkedArray):
        streams = streams.unify_dictionaries().combine_chunks()
    return streams.indices.to_numpy(), rows.column("seq").to_numpy()
