"""Packets of a stream as rows: many readings at once, because those of one stream look alike.

Packets of equal length become one matrix of bytes. Its first row is read the exact way (`decoding_exact.py`) and makes
a template; the rows that fit it (`template.py`) are read at once, column by column; the first of those that do not
makes the next template, and so on. Payloads are read in the same way, one level below. After so many templates, and
where few rows are left, the rest is read the exact way: the outcome is the same, whatever the bytes are.

Nothing is fetched or verified here: `verified` is what the fetcher says. Numbers have 63 bits, and a batch stays under
2 GB of packets, the limit of an Arrow column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from roost.naming import Name
from roost.pipeline.columns import ABSENT, READINGS
from roost.pipeline.decoding_exact import Meaning, read_packet, read_payload
from roost.pipeline.decoding_rows import Rows
from roost.pipeline.template import Fits, Matrix, PacketTemplate
from roost.pipeline.template_senml import SenmlTemplate
from roost.pipeline.template_text import TextTemplate
from roost.wire.reading import SENML_CBOR

MAX_TEMPLATES: Final = 8  # of one matrix
WORTHWHILE: Final = 8  # rows: fewer are read sooner than a template is made

Places: TypeAlias = NDArray[np.int64]
Template = TypeVar("Template")


def decode(stream: Name, packets: Sequence[tuple[int, bytes]], *, arrival_us: int, verified: bool) -> pa.RecordBatch:
    """Make a batch of `READINGS` of numbers and Data packets of one stream, in their order."""
    if not packets:
        return empty_batch()
    numbers = np.fromiter([number for number, _ in packets], np.int64, len(packets))
    rows = Rows(stream, numbers, arrival_us)
    for matrix, places in _matrices([wire for _, wire in packets]):
        _read_all(_Packets(stream, matrix, numbers[places], rows, places, verified=verified))
    return rows.batch()


def absent(stream: Name, numbers: Sequence[int], quality: str, *, arrival_us: int) -> pa.RecordBatch:
    """Make a batch of `READINGS` for numbers of which there is no packet to show; `quality` says why."""
    if quality not in ABSENT:
        raise ValueError(f"{quality!r} is no reason for a reading to be absent")
    if not numbers:
        return empty_batch()
    rows = Rows(stream, np.array(numbers, np.int64), arrival_us)
    rows.put_meaning(np.arange(len(numbers)), Meaning(quality=quality, received=0))
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


class _Readable(Protocol[Template]):
    """Rows of bytes, of equal length, that are read one by one or by a template."""

    @property
    def matrix(self) -> Matrix: ...

    def read_one(self, at: int, *, wanted: bool) -> Template | None:
        """Read row `at` the exact way; make a template of it if one is wanted and can be."""

    def read_many(self, template: Template, left: Places, rows: Matrix) -> Fits:
        """Read those of the rows that fit, `left` says where they are; returns which these were."""


def _read_all(source: _Readable[Template]) -> None:
    left = np.arange(len(source.matrix))
    templates = 0
    while left.size:
        at, left = int(left[0]), left[1:]
        template = source.read_one(at, wanted=templates < MAX_TEMPLATES and left.size >= WORTHWHILE)
        if template is not None:
            templates += 1
            fits = source.read_many(template, left, _chosen(source.matrix, left))
            left = left[~fits]


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
            fitting = _chosen(rows, np.flatnonzero(fits))
            self._rows.put_packet(places, template.times_us(fitting), template.signer, verified=self._verified)
            payloads = template.payloads(fitting)
            self._rows.put_payloads(places, payloads)
            inside: _Readable[SenmlTemplate | TextTemplate] = _Payloads(payloads, template.format, self._rows, places)
            _read_all(inside)
        return fits


class _Payloads:
    """Payloads of one content format."""

    def __init__(self, matrix: Matrix, format_: int, rows: Rows, places: Places) -> None:
        self.matrix: Final = matrix
        self._format: Final = format_
        self._rows: Final = rows
        self._places: Final = places

    def read_one(self, at: int, *, wanted: bool) -> SenmlTemplate | TextTemplate | None:
        payload = self.matrix[at].tobytes()
        meaning = read_payload(self._format, payload)
        self._rows.put_meaning(int(self._places[at]), meaning)
        if not wanted or meaning.value is None:
            return None
        return (SenmlTemplate if self._format == SENML_CBOR else TextTemplate).of(payload, meaning)

    def read_many(self, template: SenmlTemplate | TextTemplate, left: Places, rows: Matrix) -> Fits:
        read = template.read(rows)
        places = self._places[left[read.fits]]
        self._rows.put_meaning(places, template.meaning)
        self._rows.put_numbers(places, read)
        return read.fits


def _chosen(matrix: Matrix, rows: Places) -> Matrix:
    """Some rows, in ascending order; without a copy where they follow each other."""
    low, high = int(rows[0]), int(rows[-1])
    return matrix[low : high + 1] if high - low + 1 == rows.size else matrix[rows]
