"""Windows computed exactly, first pass: what each stream has in each window, summed up in the task that has read it.

A window of a stream is read by one task and handed out in one piece, so nobody has to bring its rows together: Spark
gets one row for each, of quality `summed`, in place of thousands. That is small beside the readings, so the driver
takes it, joins keep it while they wait (`roost.pipeline.waiting`), and results are made of it
(`roost.pipeline.stages_keys`).

Sums are decimal, so that they are the same however rows were shared out. A value becomes one by way of its shortest
text, which loses nothing that was meant; one that is no number below 10^19 does not count, nor does one of which a
condition cannot say whether it holds: it is seen in `count` beside `received`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from roost.columns.readings import ABSENT, SUMMED, WINDOWED, WITH_SUMS
from roost.errors import BadConfig
from roost.pipeline.input import Input, Sums
from roost.pipeline.place import CORRECTIONS
from roost.pipeline.windowing import OPEN

_STREAM: Final = ("input", "key", "window", "window_start", "correction", "stream", "panel", "device", "metric")
_LIMIT: Final = "1e19"
_EXACT: Final = "decimal(28, 9)"  # holds what is below that; sums of as many as 10^10 of them fit decimal(38, 9)
_ABSENT: Final = f"quality in ({', '.join(repr(each) for each in sorted(ABSENT))})"
_SUMS: Final = {
    "seq": "coalesce(min(seq) filter (seq > 0), 0)",
    "arrival_time": "max(arrival_time)",
    "verified": "bool_and(verified)",
    "quality": f"'{SUMMED}'",
    "expected": "sum(expected)",
    "received": "sum(received)",
    "sum": "sum(exact)",
    "count": "count(exact)",
    "min": "min(value) filter (exact is not null)",
    "max": "max(value) filter (exact is not null)",
    "low": "min(seq) filter (seq > 0)",
    "high": "max(seq) filter (seq > 0)",
    "lost": f"coalesce(sum(expected) filter ({_ABSENT}), 0)",
    "open": f"count(*) filter (quality = '{OPEN}')",
    "doubtful": "count(*) filter (exact is not null and quality = 'uncertain')",
    "unit_low": "min(unit) filter (exact is not null)",
    "unit_high": "max(unit) filter (exact is not null)",
    "readings": "count(*) filter (seq > 0)",
}


def handed_out(batches: Iterable[pa.RecordBatch], inputs: Mapping[str, Input]) -> Iterator[pa.RecordBatch]:
    """Rows in windows, as their inputs wish for them: as they are, summed up, or both; a window is in one batch."""
    kinds: dict[Sums, list[str]] = {}
    for name, wanted in inputs.items():
        if wanted.sums is not None:
            kinds.setdefault(wanted.sums, []).append(name)
    summed = [name for sums, names in kinds.items() if not sums.rows for name in names]
    for batch in batches:
        rows = batch.filter(pc.invert(_of(batch, summed))) if summed else batch
        if len(rows):
            absent = [pa.nulls(len(rows), field.type) for field in list(WITH_SUMS)[len(WINDOWED) :]]
            yield pa.RecordBatch.from_arrays([*rows.columns, *absent], schema=WITH_SUMS)
        for sums, names in kinds.items():
            chosen = batch if len(names) == len(inputs) else batch.filter(_of(batch, names))
            if len(chosen):
                yield summed_up(chosen, sums)


def summed_up(rows: pa.RecordBatch, sums: Sums) -> pa.RecordBatch:
    """One row for each stream and window; each correction of one window is alone: they need not follow each other."""
    matched = [f"count(*) filter (exact is not null and try({condition}))" for condition in sums.conditions]
    absent = f"list_sort(list(seq) filter ({_ABSENT}))" if sums.names else "[]"
    made = _SUMS | {"absent": absent, "matches": f"[{', '.join(matched)}]"}
    columns = [made.get(name, f'"{name}"' if name in _STREAM else "null") for name in WITH_SUMS.names]
    keys = ", ".join(f'"{name}"' for name in _STREAM)
    usable = f"try({sums.usable}) and abs(value) < {_LIMIT}"
    exact = f"try_cast((case when {usable} then value end)::varchar as {_EXACT}) as exact"
    alone = f"case when ends_with(stream, '{CORRECTIONS}') then seq end as alone"
    # What is pasted in here is the pipeline's own text: its author may ask what he likes.
    inner = f"select *, {exact}, {alone} from rows"  # noqa: S608  as said
    query = f"select {', '.join(columns)} from ({inner}) group by {keys}, alone order by {keys}, alone"  # noqa: S608
    with _database().cursor() as cursor:
        cursor.register("rows", pa.table(rows))
        found: pa.Table = cursor.sql(query).to_arrow_table()
    table = found.rename_columns(WITH_SUMS.names).cast(WITH_SUMS).combine_chunks()
    return table.to_batches()[0] if len(table) else pa.RecordBatch.from_pylist([], schema=WITH_SUMS)


def check_sums(sums: Sums) -> None:
    """See that conditions can be asked; raises `BadConfig`."""
    try:
        summed_up(pa.RecordBatch.from_pylist([], schema=WINDOWED), sums)
    except duckdb.Error as error:
        said = ", ".join((sums.usable, *sums.conditions))
        raise BadConfig(f"a condition over readings ({said}) cannot be asked: {first_line(error)}") from None


def first_line(error: duckdb.Error) -> str:
    """What is wrong, without the query around it."""
    return str(error).partition("\n")[0]


def _of(batch: pa.RecordBatch, names: list[str]) -> pa.Array:
    return pc.is_in(batch.column("input"), pa.array(names, pa.string()))


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """In memory, for this process; one thread, because there is a task for every processor."""
    return duckdb.connect(config={"threads": 1})
