"""Decimal numbers as text, with other digits, read all at once: a template in the sense of `template.py`.

The digits vary; sign, point and space around are fixed. Up to 15 digits make an integer that a double holds exactly,
and so are the powers of ten it is divided by; one division of the two rounds as reading the text does. Longer numbers
and such with an exponent have no template.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from roost.columns.decoding_exact import Meaning
from roost.columns.template import Matrix, Readout, Shape

_MAX_DIGITS: Final = 15
_ZERO: Final = ord("0")


class TextTemplate:
    """Texts that mean what `meaning` says, but for the number."""

    def __init__(self, sample: bytes, digits: list[int], meaning: Meaning) -> None:
        self.meaning: Final = meaning
        self._digits: Final = digits  # where they are
        point = sample.find(b".")
        self._divisor: Final = 10.0 ** sum(at > point for at in digits) if point >= 0 else 1.0
        self._sign: Final = -1.0 if b"-" in sample else 1.0
        self._shape: Final = Shape(sample, [(at, at + 1) for at in digits])

    @staticmethod
    def of(sample: bytes, meaning: Meaning) -> TextTemplate | None:
        """Take apart a text that is known to be a number; None where it is too unusual."""
        digits = [at for at, byte in enumerate(sample) if _ZERO <= byte < _ZERO + 10]
        if len(digits) > _MAX_DIGITS or b"e" in sample.lower():
            return None
        return TextTemplate(sample, digits, meaning)

    def read(self, texts: Matrix) -> Readout:
        """Read texts of the sample's length."""
        fits = self._shape.fits(texts)
        number = np.zeros(len(texts), np.int64)
        for at in self._digits:
            digit = texts[:, at] - np.uint8(_ZERO)  # what is below '0' comes out above 9
            fits &= digit < 10
            number = number * 10 + digit
        return Readout(fits, (number / self._divisor * self._sign)[fits])
