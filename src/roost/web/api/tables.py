"""Readings as a table for other programs: CSV [RFC 4180], or an Arrow stream with one batch."""

from __future__ import annotations

import csv as comma
import json
from collections.abc import Sequence
from io import StringIO
from typing import Final

import pyarrow as pa
from aiohttp import web

from roost.host.http.answers import dressed
from roost.web.index_reading import Shown

CSV: Final = "text/csv"
ARROW: Final = "application/vnd.apache.arrow.stream"
COLUMNS: Final = ("stream", "number", "time", "value", "unit", "quality")
_SCHEMA: Final = pa.schema(
    [
        ("stream", pa.dictionary(pa.int32(), pa.string())),
        ("number", pa.uint64()),
        ("time", pa.timestamp("ns", "UTC")),
        ("value", pa.float64()),
        ("text", pa.string()),
        ("unit", pa.dictionary(pa.int32(), pa.string())),
        ("quality", pa.dictionary(pa.int32(), pa.string())),
    ]
)


def csv(found: Sequence[Shown], name: str) -> web.Response:
    """A line for each reading, below a line of what they are; a value that is no number or text is JSON."""
    out = StringIO(newline="")
    writer = comma.writer(out)
    writer.writerow(COLUMNS)
    for each in found:
        writer.writerow([_plain(each[column]) for column in COLUMNS])
    return _file(web.Response(text=out.getvalue(), content_type=CSV, charset="utf-8"), f"{name}.csv")


def arrow(found: Sequence[Shown], name: str) -> web.Response:
    """One record batch; a value that is no number stands in `text`."""
    rows = [
        {
            **{column: each[column] for column in COLUMNS},
            "value": number_of(each["value"]),
            "text": _text(each["value"]),
            "unit": _encodable(str(each["unit"])),
        }
        for each in found
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _SCHEMA) as writer:
        writer.write_batch(batch)
    return _file(web.Response(body=sink.getvalue().to_pybytes(), content_type=ARROW), f"{name}.arrows")


def _file(response: web.Response, name: str) -> web.Response:
    """Have a browser save it."""
    safe = "".join([letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_" for letter in name])
    response.headers["Content-Disposition"] = f'attachment; filename="{safe}"'
    return dressed(response)


def _plain(value: object) -> object:
    """What may stand in a cell: no text begins like a formula, which spreadsheets would carry out."""
    if value is None:
        return ""
    if isinstance(value, bool | dict | list):
        return _encodable(json.dumps(value, ensure_ascii=False, default=repr))
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str):
        return _encodable("'" + value if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value)
    return value


def _encodable(text: str) -> str:
    """Without halves of surrogate pairs, which a sensor's JSON may hold and which have no UTF-8 form."""
    return text.encode(errors="replace").decode()


def number_of(value: object) -> float | None:
    """A value as a number of 64 bits; None if it is no number, or an integer that is larger than all of these."""
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def _text(value: object) -> str | None:
    return None if value is None or number_of(value) is not None else str(_plain(value))
