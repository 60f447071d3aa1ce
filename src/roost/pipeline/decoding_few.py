"""A few packets each of many streams as rows: what a batch of a large building is between two seconds.

A template (`decoding.py`) pays from a handful of packets of one stream on, and a batch of its own for every stream
costs more than its rows. Here all streams share one. The rows are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from roost.naming import Name
from roost.pipeline.columns import ABSENT, READINGS
from roost.pipeline.decoding_exact import Meaning, Row, read_packet
from roost.pipeline.decoding_rows import texts

_ABSENT: Final = {quality: Row(Meaning(quality=quality, received=0)) for quality in ABSENT}


class Entry(NamedTuple):
    """One number of a stream: its packet, or why there is none."""

    stream: Name
    number: int
    wire: bytes | None
    quality: str = ""
    verified: bool = False
    like: Name | None = None  # whose panel, device and metric are shown, if not its own


def decode_few(entries: Sequence[Entry], *, arrival_us: int) -> pa.RecordBatch:
    """Make a batch of `READINGS`, in the order of the entries."""
    columns: list[list[object]] = [[] for _ in READINGS]
    for stream, number, wire, quality, verified, like in entries:
        row = _ABSENT[quality] if wire is None else read_packet(stream, number, wire)
        meaning = row.meaning
        _, panel, device, metric = texts(like or stream)
        cells = (
            *(
                texts(stream)[0],
                number,
                row.time_us,
                arrival_us,
                meaning.value,
                row.payload,
                meaning.unit,
                meaning.quality,
            ),
            *(panel, device, metric, row.signer, verified and row.named, meaning.expected, meaning.received),
        )
        for column, cell in zip(columns, cells, strict=True):
            column.append(cell)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, READINGS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=READINGS)
