"""Readings in a file of one's own, CSV or Parquet, row by row: when, which stream, what, in which unit.

    time,stream,value,unit
    2026-05-01T08:00:00Z,hall/room1/temp,21.5,Cel

Columns may be called something else (`Columns`), and a file of one stream needs no column that says which. A time is
ISO 8601, in UTC unless it says otherwise, or a number since 1970, whose unit is said; a timestamp in Parquet is itself.
A row without a value is no reading, and passed over. What is wrong is told with its row.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

from roost.errors import BadConfig
from roost.wire.values import NUMBER

TIME_UNITS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
PARQUET: Final = (".parquet", ".pq")
_MOST: Final = 1 << 63
_ROWS: Final = 8_192  # of Parquet, at a time
_EPOCHS: Final = re.compile(r"-?\d{1,30}(\.\d{0,30})?([eE][+-]?\d{1,2})?", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WORDS: Final = {"true": True, "false": False}


def _quietly() -> None:
    """Count nothing."""


class Row(NamedTuple):
    """One reading of a file."""

    time: int  # ns since 1970
    stream: str
    value: float | int | str | bool
    unit: str


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns are called; without a column of streams, all rows are of `all_of`."""

    time: str = "time"
    stream: str = ""  # stream, or topic, whichever is there
    value: str = "value"
    unit: str = "unit"
    all_of: str = ""
    only_unit: str = ""  # where no column says it
    time_unit: str = "ns"


def read_rows(path: Path, columns: Columns, passed_over: Callable[[], None] = _quietly) -> Iterator[Row]:
    """Read a file; raises `BadConfig` with the row and what to write. Who counts hears of each row without a value."""
    rows = _parquet(path) if path.suffix.lower() in PARQUET else _csv(path)
    named: Columns | None = None
    for number, said in rows:
        named = named or _fitted(columns, said, path)
        if _is_empty(said[named.value]):
            passed_over()
            continue
        try:
            yield _row(said, named)
        except BadConfig as error:
            raise BadConfig(f"{path}, row {number}: {error}") from None


def _fitted(columns: Columns, said: Mapping[str, object], path: Path) -> Columns:
    """The same with the columns that this file has."""
    there = ", ".join(said)
    for flag, name in (("--time", columns.time), ("--value", columns.value)):
        if name not in said:
            raise BadConfig(f"{path}: there is no column {name!r}, it has {there}; say which one it is with {flag}")
    stream = columns.stream or next((each for each in ("stream", "topic") if each in said), "")
    if columns.all_of:
        stream = ""
    elif stream not in said:
        raise BadConfig(
            f"{path}: no column says which stream a reading is of, it has {there}; name one with --stream, or with "
            "--as the stream that all of them are of"
        )
    unit = columns.unit if columns.unit in said and not columns.only_unit else ""
    return Columns(columns.time, stream, columns.value, unit, columns.all_of, columns.only_unit, columns.time_unit)


def _row(said: Mapping[str, object], columns: Columns) -> Row:
    stream = str(said[columns.stream] or "") if columns.stream else columns.all_of
    if not stream.strip("/"):
        raise BadConfig(f"{columns.stream} is empty: a reading is of a stream such as hall/room1/temp")
    unit = columns.only_unit or str(said[columns.unit] or "" if columns.unit else "")
    return Row(_time(said[columns.time], columns.time_unit), stream.strip("/"), _value(said[columns.value]), unit)


def _is_empty(said: object) -> bool:
    """Whether there is no value: nothing, blanks, or what pandas writes for nothing."""
    return said is None or (isinstance(said, str) and not said.strip()) or said != said  # noqa: PLR0124  NaN is not


def _value(said: object) -> float | int | str | bool:
    if isinstance(said, bool | int | float):
        if isinstance(said, float) and not math.isfinite(said):
            raise BadConfig(f"the value {said} is no number: leave the row out")
        return said
    text = str(said).strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if not NUMBER.fullmatch(text.encode()):
        return text
    return float(text) if any(each in text for each in ".eE") else int(text)


def _time(said: object, unit: str) -> int:
    if isinstance(said, datetime):
        return _nanoseconds(said)
    text = str(said if said is not None else "").strip()
    if _EPOCHS.fullmatch(text):
        time = int(Decimal(text) * TIME_UNITS[unit])
    else:
        try:
            time = _nanoseconds(datetime.fromisoformat(text))
        except ValueError:
            raise BadConfig(f"time {text!r:.40} is none: write 2026-05-01T08:00:00Z, or a number since 1970") from None
    if not 0 < time < _MOST:
        raise BadConfig(f"time {text!r:.40} is before 1970 or too far ahead; numbers are in {unit}: see --time-unit")
    return time


def _nanoseconds(when: datetime) -> int:
    passed = (when if when.tzinfo is not None else when.replace(tzinfo=UTC)) - _EPOCH
    return ((passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds) * 1_000


def _csv(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from _dicts(file, path)
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadConfig(f"{path} is not UTF-8, as CSV has to be here") from None


def _dicts(lines: Iterable[str], path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    reader = csv.DictReader(lines, strict=True)
    try:
        header = reader.fieldnames or ()
        if len(header) == 1 and ";" in header[0]:
            raise BadConfig(f"{path}: its columns are separated by semicolons; write commas, and numbers with a point")
        for said in reader:
            if None in said or None in said.values():
                raise BadConfig(f"{path}, row {reader.line_num}: it has not as many columns as the header")
            yield reader.line_num, said
    except csv.Error as error:
        raise BadConfig(f"{path}, row {reader.line_num}: it is no CSV: {error}") from None


def _parquet(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    import pyarrow as pa
    from pyarrow import parquet

    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_ROWS):
                for said in _in_microseconds(batch).to_pylist():
                    number += 1
                    yield number, said
    except (OSError, pa.ArrowException) as error:
        raise BadConfig(f"{path} cannot be read as Parquet: {error}") from None


def _in_microseconds(batch: Any) -> Any:  # noqa: ANN401  Arrow has no types
    """The batch with times that Python can have: finer ones are cut off."""
    import pyarrow as pa

    found = batch
    for at, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            micro = pa.timestamp("us", field.type.tz)
            found = found.set_column(at, field.name, batch.column(at).cast(micro, safe=False))
    return found
