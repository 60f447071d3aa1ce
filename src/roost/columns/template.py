"""What packets of one stream have in common: fixed bytes, and a few fields that vary, read from all of them at once.

A template is made of one sample that was read the exact way (`roost.columns.decoding_exact`). A row of a matrix of
packets fits it if all bytes but those of the varying fields are the sample's, and what stands in the fields passes the
checks that the exact way makes of them. So whatever fits reads as the sample does, but for the fields. To fit is a
promise, not to fit is none: in doubt a template says no, and the exact way decides.

In a packet the number in the name, event time, payload, the lineage's numbers and digest, and the signature value vary.
Lengths never do: packets of another length make another matrix. For payloads see `template_senml.py`
and `template_text.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roost.errors import BadPacket
from roost.naming.component import DIGEST_BYTES, SEQUENCE
from roost.naming.name import Name
from roost.naming.number import nni, read_nni
from roost.wire import tlv
from roost.wire.elsewhere import ELSEWHERE
from roost.wire.lineage import HIGH, INPUT_DIGEST, INPUT_RANGES, LINEAGE, LOW
from roost.wire.reading import CONTENT_FORMAT, EVENT_TIME, PAYLOAD

Matrix: TypeAlias = NDArray[np.uint8]  # a row is a packet
Fits: TypeAlias = NDArray[np.bool_]  # of each row
Column: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
Field: TypeAlias = tuple[int, int]  # where it starts, and the byte behind it

_ABOVE: Final = {1: -1, 2: 0xFF, 4: 0xFFFF, 8: 0xFFFFFFFF}  # a number of so many bytes, in its shortest form
_BLOCK_BYTES: Final = 1 << 17  # compared at a time: stays in the cache, and needs no new pages of memory


class Readout(NamedTuple):
    """Which payloads fit, and the numbers of those; None for counts that they do not have."""

    fits: Fits
    value: Column
    expected: Column | None = None
    received: Column | None = None


class Shape:
    """The fixed bytes of a sample."""

    def __init__(self, sample: bytes, varying: Iterable[Field]) -> None:
        self._sample: Final = np.frombuffer(sample, np.uint8)
        self._varying: Final = np.zeros(len(sample), np.bool_)
        for low, high in varying:
            self._varying[low:high] = True

    def fits(self, rows: Matrix) -> Fits:
        """Which rows have the fixed bytes."""
        fits = np.empty(len(rows), np.bool_)
        step = max(1, _BLOCK_BYTES // max(1, len(self._sample)))
        for low in range(0, len(rows), step):
            same = rows[low : low + step] == self._sample
            same |= self._varying
            fits[low : low + step] = same.all() or same.all(axis=1)  # all of them is the rule, and quicker to see
        return fits


def unsigned(rows: Matrix, field: Field) -> NDArray[np.uint64]:
    """The big-endian integers of a field that is 1, 2, 4 or 8 bytes wide."""
    low, high = field
    return np.ascontiguousarray(rows[:, low:high]).view(f">u{high - low}").astype(np.uint64)[:, 0]


class PacketTemplate:
    """The Data packets of one stream that hold a reading."""

    def __init__(self, sample: bytes, number: int, signer: str | None) -> None:
        self.signer: Final = signer
        parts = _parts(sample, *tlv.outer(sample, tlv.DATA))
        (envelope,) = tlv.elements(sample, *parts[tlv.CONTENT])
        reading = _parts(sample, *envelope[1:])
        if ELSEWHERE in reading:
            raise BadPacket("the payload is elsewhere")
        width = len(nni(number))
        name_end = parts[tlv.NAME][1]
        self._number: Final = (name_end - width, name_end)
        self._above: Final = _ABOVE[width]
        self._time: Final = reading[EVENT_TIME]
        self._payload: Final = reading[PAYLOAD]
        self.format: Final = read_nni(sample, *reading[CONTENT_FORMAT])
        lineage = _lineage(sample, reading[LINEAGE]) if LINEAGE in reading else _Lineage([], [])
        varying = [self._number, self._time, self._payload, parts[tlv.SIGNATURE_VALUE], *lineage.free]
        self._ordered: Final = lineage.ordered
        self._shape: Final = Shape(sample, varying + [field for pair in lineage.ordered for field in pair])

    @staticmethod
    def of(sample: bytes, number: int, signer: str | None) -> PacketTemplate | None:
        """Take apart a packet that is known to hold reading `number`; None where it is too unusual."""
        try:
            return PacketTemplate(sample, number, signer)
        except BadPacket:
            return None

    def fits(self, rows: Matrix, numbers: NDArray[np.uint64]) -> Fits:
        """Which rows are such packets, each with its number in its name."""
        fits = self._shape.fits(rows)
        fits &= unsigned(rows, self._number) == numbers
        if self._above >= 0:
            fits &= numbers > self._above
        for low, high in self._ordered:
            first = unsigned(rows, low)
            fits &= (first > 0) & (first <= unsigned(rows, high))
        return fits

    def times_us(self, rows: Matrix) -> NDArray[np.int64]:
        """The event times."""
        return (unsigned(rows, self._time) // 1000).astype(np.int64)

    def payloads(self, rows: Matrix) -> Matrix:
        """The payloads."""
        low, high = self._payload
        return np.ascontiguousarray(rows[:, low:high])


class _Lineage(NamedTuple):
    free: list[Field]  # any bytes do
    ordered: list[tuple[Field, Field]]  # numbers, 0 < first <= second


def _lineage(sample: bytes, lineage: Field) -> _Lineage:
    found = _Lineage([], [])
    inside = tlv.elements(sample, *lineage)
    types = [type_ for type_, _, _ in inside]
    if types != sorted(types):
        raise BadPacket("an element of the lineage is out of order, and was passed over")
    for type_, low, high in inside:
        if type_ == tlv.NAME and low < high:
            last = Name(sample[low:high]).at(-1)
            if last.type == SEQUENCE:
                found.free.append((high - len(last.value), high))
    parts = _parts(sample, *lineage)
    if INPUT_RANGES in parts:
        for _, low, high in tlv.elements(sample, *parts[INPUT_RANGES])[1:]:
            stretch = _parts(sample, low, high)
            found.ordered.append((stretch[LOW], stretch[HIGH]))
    if INPUT_DIGEST in parts:
        low, high = parts[INPUT_DIGEST]
        count = (low + DIGEST_BYTES, high)
        found.free.append((low, low + DIGEST_BYTES))
        found.ordered.append((count, count))
    return found


def _parts(sample: bytes, low: int, high: int) -> dict[int, Field]:
    """Where the first element of each type has its value: one that is repeated is critical, or means nothing."""
    return {type_: (start, end) for type_, start, end in reversed(tlv.elements(sample, low, high))}
