"""Stages that are functions of Python's: named by their import path, so that every worker can load them.

In windows, the function gets the rows of one key's window by stream and number (a pandas DataFrame, or an Arrow table)
without the time of their arrival, which is another one when a batch is done again; it gives

    a number, or None                      the value of this window
    {"low": 1.5, "high": 2.5}              several, by their outputs; the metric's template has `{output}`
    a DataFrame or table                   with `value`, and `output`, `unit`, `quality` if they are to be said;
                                           one row for each output

Without windows it gets readings as they come, many at a time, and gives one value for each, in order: a series, an
array or a list; None is an empty marker. The same rows have to give the same values, whatever else is in the batch:
a batch may be done again, and cut otherwise.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from roost.columns.readings import ARRIVAL, WINDOWED
from roost.errors import BadConfig
from roost.pipeline.graph import ONLY, Stage
from roost.pipeline.operations import PANDAS, Function
from roost.pipeline.results import ids_of

_KEYS = pa.schema([("key", pa.string()), ("window", pa.int64()), ("correction", pa.int64())])
_MADE = pa.schema(
    [
        *_KEYS,
        ("output", pa.string()),
        ("value", pa.float64()),
        ("unit", pa.string()),
        ("quality", pa.string()),
    ]
)
_ORDER = [(name, "ascending") for name in ("input", "stream", "seq")]
_ROWS = pa.schema([*WINDOWED, ("said_value", pa.float64())])


def of_windows(rows: DataFrame, stage: Stage) -> DataFrame:
    """What the function makes of each key's window; to be completed as what SQL selects is."""
    operation = _function(stage)
    ours = rows.filter(F.col("input").isin(ids_of([stage])))
    path, form = operation.path, operation.form
    named = "{output}" in stage.device + stage.metric

    def window(table: pa.Table) -> pa.Table:  # Spark looks at these types
        return _window(path, form, table, named=named)

    made: DataFrame = ours.groupBy(*_KEYS.names).applyInArrow(window, schema=from_arrow_schema(_MADE))
    # An output that is not said would be looked for in the rows of every window.
    return made if named else made.drop("output")


def of_rows(rows: DataFrame, stage: Stage) -> DataFrame:
    """The readings with what the function makes of them as `said_value`."""
    operation = _function(stage)
    ours = rows.filter(F.col("input").isin(ids_of([stage])))
    mapped: DataFrame = ours.mapInArrow(partial(_rows, operation.path, operation.form), from_arrow_schema(_ROWS))
    return mapped


def _function(stage: Stage) -> Function:
    assert isinstance(stage.operation, Function)  # noqa: S101  others have a way of their own
    return stage.operation


# -- on the workers


@lru_cache(maxsize=64)
def loaded(path: str) -> Callable[[Any], Any]:
    """The function of this path."""
    module, _, name = path.partition(":")
    try:
        found: Callable[[Any], Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise BadConfig(f"function {path!r}: {error}; it has to be installed here, and on every worker") from None
    return found


def _window(path: str, form: str, table: pa.Table, *, named: bool) -> pa.Table:
    """What a function makes of a window; outputs that are not `named` in the stream's name are one and the same."""
    made = loaded(path)(_formed(table.sort_by(_ORDER), form))  # whatever order Spark had them in
    entries = _entries(made)
    outputs = Counter([entry.get("output") if named else None for entry in entries])
    for output, count in outputs.items():
        if count > 1:
            which = f"one output ({output})" if output else "one output"
            begin, key = (table.column(name)[0].as_py() for name in ("window_start", "key"))
            raise BadConfig(
                f"function {path!r} returned {count} rows for {which} of the window of {key} at {begin}: give one "
                "value, or name outputs, and have {output} in the metric"
            )
    keys = {name: [table.column(name)[0].as_py()] * len(entries) for name in _KEYS.names}
    columns = {name: [entry.get(name) for entry in entries] for name in ("output", "value", "unit", "quality")}
    return pa.table({**keys, **columns}, schema=_MADE)


def _entries(made: Any) -> list[dict[str, Any]]:  # noqa: ANN401  whatever a function gave
    if hasattr(made, "to_pylist"):
        return [dict(entry) for entry in made.to_pylist()]
    if hasattr(made, "to_dict") and hasattr(made, "columns"):
        return _entries(pa.Table.from_pandas(made, preserve_index=False))
    if isinstance(made, Mapping):
        return [{"output": str(output), "value": _number(value)} for output, value in made.items()]
    return [{"output": ONLY, "value": _number(made)}]


def _rows(path: str, form: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if not len(batch):
            continue
        made = loaded(path)(_formed(pa.Table.from_batches([batch]), form))
        values = [_number(value) for value in (made.to_pylist() if hasattr(made, "to_pylist") else made)]
        if len(values) != len(batch):
            raise BadConfig(f"function {path!r} gave {len(values)} values for {len(batch)} readings: give one for each")
        yield pa.RecordBatch.from_arrays([*batch.columns, pa.array(values, pa.float64())], schema=_ROWS)


def _formed(table: pa.Table, form: str) -> Any:  # noqa: ANN401  a DataFrame or a table
    table = table.drop_columns([ARRIVAL])
    return table.to_pandas() if form == PANDAS else table


def _number(value: Any) -> float | None:  # noqa: ANN401  whatever a function gave
    return None if value is None or value != value else float(value)  # noqa: PLR0124  pandas says nothing as nan
