"""Packets of a stream as rows: many readings at once, because those of one stream look alike.

Packets of equal length become one matrix of bytes, which is read by templates (`decoding_alike.py`); payloads are read
in the same way, one level below.

Nothing is fetched or verified here: `verified` is what the fetcher says. Numbers have 63 bits, and a batch stays under
2 GB of packets, the limit of an Arrow column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from roost.columns.decoding_alike import Payloads, Places, Readable, chosen, read_all
from roost.columns.decoding_exact import read_packet
from roost.columns.decoding_rows import Rows
from roost.columns.readings import READINGS
from roost.columns.template import Fits, Matrix, PacketTemplate
from roost.columns.template_senml import SenmlTemplate
from roost.columns.template_text import TextTemplate
from roost.naming import Name

MAX_TEMPLATES: Final = 8  # of one matrix


def decode(stream: Name, packets: Sequence[tuple[int, bytes]], *, arrival_us: int, verified: bool) -> pa.RecordBatch:
    """Make a batch of `READINGS` of numbers and Data packets of one stream, in their order."""
    if not packets:
        return empty_batch()
    numbers = np.fromiter([number for number, _ in packets], np.int64, len(packets))
    rows = Rows(stream, numbers, arrival_us)
    for matrix, places in _matrices([wire for _, wire in packets]):
        read_all(_Packets(stream, matrix, numbers[places], rows, places, verified=verified), MAX_TEMPLATES)
    return rows.batch()


def empty_batch() -> pa.RecordBatch:
    """A batch of `READINGS` without rows."""
    return pa.RecordBatch.from_pylist([], schema=READINGS)


def _matrices(wires: list[bytes]) -> Iterator[tuple[Matrix, Places]]:
    """Packets of equal length, one in a row, and where they were in the list."""
    packed = pa.array(wires, pa.binary())  # the quickest way to all lengths, and to all bytes in one place
    lengths = np.diff(_cuts(packed))
    places = np.argsort(lengths, kind="stable")
    changes = np.flatnonzero(np.diff(lengths[places])) + 1
    if changes.size:
        packed = packed.take(pa.array(places))
    cuts = _cuts(packed)
    everything = np.frombuffer(packed.buffers()[2] or b"", np.uint8)
    for group in np.split(np.arange(len(wires)), changes):
        low, high = int(group[0]), int(group[-1]) + 1
        yield everything[cuts[low] : cuts[high]].reshape(high - low, lengths[places[low]]), places[low:high]


def _cuts(packed: pa.Array) -> NDArray[np.int32]:
    return np.frombuffer(packed.buffers()[1], np.int32, len(packed) + 1)


class _Packets:
    """Data packets."""

    def __init__(
        self, stream: Name, matrix: Matrix, numbers: Places, rows: Rows, places: Places, *, verified: bool
    ) -> None:
        self.matrix: Final = matrix
        self._stream: Final = stream
        self._numbers: Final = numbers.astype(np.uint64)
        self._rows: Final = rows
        self._places: Final = places
        self._verified: Final = verified

    def read_one(self, at: int, *, wanted: bool) -> PacketTemplate | None:
        number, wire, place = int(self._numbers[at]), self.matrix[at].tobytes(), int(self._places[at])
        row = read_packet(self._stream, number, wire)
        self._rows.put_packet(place, row.time_us, row.signer, verified=self._verified and row.named)
        self._rows.put_payload(place, row.payload)
        self._rows.put_meaning(place, row.meaning)
        return PacketTemplate.of(wire, number, row.signer) if wanted and row.time_us is not None else None

    def read_many(self, template: PacketTemplate, left: Places, rows: Matrix) -> Fits:
        fits = template.fits(rows, self._numbers[left])
        places = self._places[left[fits]]
        if places.size:
            fitting = chosen(rows, np.flatnonzero(fits))
            self._rows.put_packet(places, template.times_us(fitting), template.signer, verified=self._verified)
            payloads = template.payloads(fitting)
            self._rows.put_payloads(places, payloads)
            inside: Readable[SenmlTemplate | TextTemplate] = Payloads(payloads, template.format, self._rows, places)
            read_all(inside, MAX_TEMPLATES)
        return fits
