"""SenML packs of the same records with other numbers, read all at once: a template in the sense of `template.py`.

The numbers of CBOR [RFC 8949 §3] are one head byte, and behind it a float of 2, 4 or 8 bytes or an integer of 1 to 8;
integers under 24 and truth values are in the head byte itself. The head byte is fixed, so widths are, except where it
is all there is. Packs with base fields, with more than 23 records or of indefinite length have no template.
"""

from __future__ import annotations

from io import BytesIO
from typing import Final

import cbor2
import numpy as np

from roost.columns.decoding_exact import COUNTS, MAX_COUNT, Meaning
from roost.columns.readings import EXPECTED, RECEIVED
from roost.columns.template import Column, Field, Fits, Matrix, Readout, Shape, unsigned
from roost.errors import BadPacket

_ARRAY: Final = 0x80
_MAP: Final = 0xA0
_FALSE: Final = 0xF4
_FLOATS: Final = {0xF9: ">f2", 0xFA: ">f4", 0xFB: ">f8"}
_NAME, _VALUE, _BOOLEAN = 0, 2, 4  # labels [RFC 8428 §6]


class SenmlTemplate:
    """Packs that mean what `meaning` says, but for the numbers."""

    def __init__(self, sample: bytes, meaning: Meaning) -> None:
        records = _records(sample)
        self.meaning: Final = meaning
        self._names: Final = [name for name, _ in records]
        self._numbers: Final = [_Number(sample, *field) for _, field in records]
        self._shape: Final = Shape(sample, [number.varying for number in self._numbers])

    @staticmethod
    def of(sample: bytes, meaning: Meaning) -> SenmlTemplate | None:
        """Take apart a pack that is known to have a value; None where it is too unusual."""
        try:
            return SenmlTemplate(sample, meaning)
        except BadPacket:
            return None

    def read(self, packs: Matrix) -> Readout:
        """Read packs of the sample's length."""
        fits = self._shape.fits(packs)
        columns: list[Column] = []
        counts: dict[str, Column] = {}
        for name, number in zip(self._names, self._numbers, strict=True):
            column, good = number.read(packs)
            columns.append(column)
            fits &= good
            if name in COUNTS:
                fits &= (column >= 0) & (column <= MAX_COUNT)
                counts[name] = column
        found = {name: column[fits] for name, column in counts.items()}
        return Readout(fits, columns[0][fits], found.get(EXPECTED), found.get(RECEIVED))


class _Number:
    """A number or truth value of a pack."""

    def __init__(self, sample: bytes, low: int, high: int) -> None:
        self._head: Final = sample[low]
        self._single: Final = high - low == 1
        self.varying: Final[Field] = (low, high) if self._single else (low + 1, high)
        if not (self._is_truth if self._single else self._head in _FLOATS) and self._head >= 0x40:
            raise BadPacket("a value is no plain number")

    @property
    def _is_truth(self) -> bool:
        return self._head in {_FALSE, _FALSE + 1}

    def read(self, packs: Matrix) -> tuple[Column, Fits]:
        """The numbers, and which of them are what the exact way takes; integers of 64 bits are left to it."""
        low, high = self.varying
        if not self._single and self._head in _FLOATS:
            with np.errstate(invalid="ignore"):  # a signalling NaN is no alarm, and is not finite
                floats = np.ascontiguousarray(packs[:, low:high]).view(_FLOATS[self._head])[:, 0].astype(np.float64)
            return floats, np.isfinite(floats)
        if not self._single:
            integers = unsigned(packs, self.varying).astype(np.int64)
            return (integers if self._head < 0x20 else ~integers), integers >= 0
        heads = packs[:, low].astype(np.int64)
        if self._is_truth:
            return heads - _FALSE, heads >> 1 == _FALSE >> 1
        return np.where(heads < 0x20, heads, 0x1F - heads), (heads < 0x40) & (heads & 0x1F < 24)


def _records(pack: bytes) -> list[tuple[str, Field]]:
    """The name of each record, and where its value is."""
    stream = BytesIO(pack)
    records: list[tuple[str, Field]] = []
    for _ in range(_size(stream, _ARRAY)):
        name = ""
        value: Field | None = None
        for _ in range(_size(stream, _MAP)):
            label = _item(stream)
            low = stream.tell()
            item = _item(stream)
            if isinstance(label, int) and label < 0:
                raise BadPacket("base fields reach into other records")
            if label == _NAME and isinstance(item, str):
                name = item
            elif label in {_VALUE, _BOOLEAN}:
                value = low, stream.tell()
        if value is None:
            raise BadPacket("a record has no number")
        records.append((name, value))
    return records


def _size(stream: BytesIO, kind: int) -> int:
    size = stream.read(1)[0] - kind
    if not 0 <= size < 24:
        raise BadPacket("a pack or a record is long, or of indefinite length")
    return size


def _item(stream: BytesIO) -> object:
    try:
        return cbor2.load(stream)
    except cbor2.CBORError:
        raise BadPacket("an item refers to others") from None
