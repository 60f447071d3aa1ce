"""The rows that a sink writes, from Arrow: columns by name.

| column                            | type                                      | where it is null, or absent       |
| --------------------------------- | ----------------------------------------- | --------------------------------- |
| output, number, event_time        | string, integer, timestamp                | poison; absent: raises            |
| value                             | double, decimal, integer, string, boolean | marker, or counts; absent: raises |
| inputs                            | list of struct<stream, low, high>         | poison; absent: of no group       |
| unit, quality, missing_names      | string                                    | none, good, none                  |
| correction                        | integer                                   | it is no correction               |
| expected, received, missing, open | integer                                   | not known                         |
| window_s                          | integer, double or decimal                | not known                         |
| content                           | binary                                    | it is made of the others          |

Other columns are not looked at. A column that is absent or of a wrong type is the fault of whoever wrote the stage, and
raises; a row whose cells are wrong is poison, which is found when its packet is made (`roost.pipeline.virtual`). Rows
without a column `inputs` are data from elsewhere: their lineage is of no inputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, TypeAlias

import pyarrow as pa

from roost.columns.readings import EXPECTED, GOOD, RECEIVED
from roost.errors import BadConfig, InvalidInput
from roost.naming import Name
from roost.wire.lineage import InputRange

MISSING: Final = "missing"
OPEN: Final = "open"
WINDOW_S: Final = "window_s"
MISSING_NAMES: Final = "missing_names"

Number: TypeAlias = int | float | Decimal
_IsOf: TypeAlias = Callable[[pa.DataType], bool]
_FIELD: Final = re.compile(r"\{(\w+)\}")


class PoisonRow(InvalidInput):
    """A row that cannot be a reading; says which column is wrong, and what to do."""

    def __init__(self, column: str, reason: str, row: str = "a row") -> None:
        super().__init__(f"{row}, column {column}: {reason}")
        self.column = column
        self.reason = reason


@dataclass(frozen=True, slots=True)
class VirtualRow:
    """One result of a stage; `correction` is the number of a correction, which corrects `number`.

    `inputs` is None where no group is what it is made of; none of them at all is poison.
    """

    output: str
    number: int
    event_time_ns: int
    value: Number | str | bool | None
    inputs: tuple[InputRange, ...] | None
    unit: str = ""
    quality: str = GOOD
    correction: int | None = None
    expected: int | None = None
    received: int | None = None
    missing: int | None = None
    open: int | None = None
    window_s: Number | None = None
    missing_names: str = ""
    content: bytes | None = None  # the reading as it stands, whatever else the row says


def check_columns(names: Collection[str], template: str = "") -> None:
    """Raise `BadConfig` that says all columns that rows to publish lack.

    With a template for `output`, the columns that it needs will do, and `seq` in place of `number`.
    """
    absent: list[str] = []
    if "output" not in names:
        needed = [f"{field} (for {template!r})" for field in _FIELD.findall(template) if field not in names]
        absent += needed if template else ["output"]
    if "number" not in names and not (template and "seq" in names):
        absent.append("number (or seq)" if template else "number")
    absent += [name for name in ("event_time", "value") if name not in names]
    if absent:
        raise BadConfig(
            f"the rows have no column {', '.join(absent)}; there are {', '.join(names)}: add what is absent"
        )


def read_rows(batch: pa.RecordBatch) -> Iterator[VirtualRow]:
    """Read the rows of a batch; raises `InvalidInput` where a column is absent or of a wrong type."""
    check_columns(batch.schema.names)
    has_inputs = "inputs" in batch.schema.names
    columns = [_column(batch, name) for name in _COLUMNS]
    for output, number, time, value, inputs, unit, quality, *rest, names, content in zip(*columns, strict=True):
        correction, expected, received, missing, still_open, window_s = rest
        yield VirtualRow(
            output or "",
            number or 0,
            -1 if time is None else time,
            value,
            _ranges(inputs or ()) if has_inputs else None,
            unit or "",
            quality or GOOD,
            correction,
            expected,
            received,
            missing,
            still_open,
            window_s,
            names or "",
            content,
        )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_value(kind: pa.DataType) -> bool:
    return _is_number(kind) or _is_text(kind) or bool(pa.types.is_boolean(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind)) and pa.types.is_struct(kind.value_type)


# In the order of `VirtualRow`: of which type, and that as people say it.
_COLUMNS: Final[dict[str, tuple[_IsOf, str]]] = {
    "output": (_is_text, "a string"),
    "number": (pa.types.is_integer, "an integer"),
    "event_time": (pa.types.is_timestamp, "a timestamp"),
    "value": (_is_value, "a number, string or boolean"),
    "inputs": (_is_list, "a list of struct<stream, low, high>"),
    "unit": (_is_text, "a string"),
    "quality": (_is_text, "a string"),
    "correction": (pa.types.is_integer, "an integer"),
    EXPECTED: (pa.types.is_integer, "an integer"),
    RECEIVED: (pa.types.is_integer, "an integer"),
    MISSING: (pa.types.is_integer, "an integer"),
    OPEN: (pa.types.is_integer, "an integer"),
    WINDOW_S: (_is_number, "a number"),
    MISSING_NAMES: (_is_text, "a string"),
    "content": (pa.types.is_binary, "binary"),
}


def _column(batch: pa.RecordBatch, name: str) -> list[Any]:
    is_of, kind = _COLUMNS[name]
    if name not in batch.schema.names:
        return [None] * batch.num_rows
    column = batch.column(name)
    if pa.types.is_null(column.type):
        return [None] * batch.num_rows
    if not is_of(column.type):
        raise InvalidInput(f"column {name} is {kind}, not {column.type}: cast it")
    if pa.types.is_timestamp(column.type):
        return _nanoseconds(column)
    cells: list[Any] = column.to_pylist()
    return cells


def _nanoseconds(column: pa.Array) -> list[int | None]:
    per_unit = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[column.type.unit]
    return [None if count is None else count * per_unit for count in column.cast(pa.int64()).to_pylist()]


def _ranges(structs: list[dict[str, Any]] | tuple[()]) -> tuple[InputRange, ...]:
    """The inputs of a row; none, which is poison, where one of them is no range of readings."""
    try:
        return tuple([InputRange(_name(each["stream"]), each["low"], each["high"]) for each in structs])
    except (InvalidInput, KeyError, TypeError, AttributeError):
        return ()


@lru_cache(maxsize=65_536)
def _name(uri: str) -> Name:
    return Name.parse(uri)
