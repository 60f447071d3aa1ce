"""Rows of bytes that look alike, read many at once.

The first row of a matrix is read the exact way (`decoding_exact.py`) and makes a template; the rows that fit it
(`template.py`) are read at once, column by column; the first of those that do not makes the next template, and so on.
After so many templates, and where few rows are left, the rest is read the exact way: the outcome is the same, whatever
the bytes are.
"""

from __future__ import annotations

from typing import Final, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from roost.columns.decoding_exact import read_payload
from roost.columns.decoding_rows import Rows
from roost.columns.template import Fits, Matrix
from roost.columns.template_senml import SenmlTemplate
from roost.columns.template_text import TextTemplate
from roost.wire.reading import OCTET_STREAM, SENML_CBOR, TEXT

WORTHWHILE: Final = 8  # rows: fewer are read sooner than a template is made

Places: TypeAlias = NDArray[np.int64]
Template = TypeVar("Template")


class Readable(Protocol[Template]):
    """Rows of bytes, of equal length, that are read one by one or by a template."""

    @property
    def matrix(self) -> Matrix: ...

    def read_one(self, at: int, *, wanted: bool) -> Template | None:
        """Read row `at` the exact way; make a template of it if one is wanted and can be."""

    def read_many(self, template: Template, left: Places, rows: Matrix) -> Fits:
        """Read those of the rows that fit, `left` says where they are; returns which these were."""


def read_all(source: Readable[Template], most: int) -> None:
    """Read all rows, with at most so many templates."""
    left = np.arange(len(source.matrix))
    templates = 0
    while left.size:
        at, left = int(left[0]), left[1:]
        template = source.read_one(at, wanted=templates < most and left.size >= WORTHWHILE)
        if template is not None:
            templates += 1
            fits = source.read_many(template, left, chosen(source.matrix, left))
            left = left[~fits]


class Payloads:
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
        if self._format == SENML_CBOR:
            return SenmlTemplate.of(payload, meaning)
        return TextTemplate.of(payload, meaning) if self._format in {TEXT, OCTET_STREAM} else None

    def read_many(self, template: SenmlTemplate | TextTemplate, left: Places, rows: Matrix) -> Fits:
        read = template.read(rows)
        places = self._places[left[read.fits]]
        self._rows.put_meaning(places, template.meaning)
        self._rows.put_numbers(places, read)
        return read.fits


def chosen(matrix: Matrix, rows: Places) -> Matrix:
    """Some rows, in ascending order; without a copy where they follow each other."""
    low, high = int(rows[0]), int(rows[-1])
    return matrix[low : high + 1] if high - low + 1 == rows.size else matrix[rows]
