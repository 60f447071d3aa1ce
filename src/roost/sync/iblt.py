"""The invertible Bloom lookup table: a sketch of a set of 32-bit keys from which two parties read their difference.

A table of N cells is three parts of N/3, and each key is in one cell of each part. A cell holds how many keys it has,
the xor of them and the xor of their checksums. Subtracting a received table leaves the difference alone: a cell with
one key shows it, the key is taken out of its other cells, and so on until nothing is left or nothing shows [PSync §2].
The cost depends on the number of cells and of differing keys, never on how many keys the two sets have in common.

`expected` differing keys fix the size: N = expected + ⌊expected / 2⌋, rounded up to a multiple of 3. Several values
give the same N; what two tables must share is N, and a decoded table has the largest value that gives it.

A received table may be a lie. An honest difference has no more keys than cells and none in an empty cell, so taking
keys out ends there: a forged table costs no more than an honest one. Two elements with the same key hide each other in
a difference that has both; it is incomplete then.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import Final

from mypy_extensions import i64, mypyc_attr

from roost.errors import BadConfig, BadPacket
from roost.sync.murmur import murmur3_key

CELL_BYTES: Final = 12
MAX_CELLS: Final = 3072  # far beyond what an Interest holds, even compressed

_CHECK_SEED: Final = 11


def cells_for(expected: int) -> int:
    """How many cells a table for `expected` differing keys has."""
    cells = expected + expected // 2
    return cells + -cells % 3


def expected_for(cells: int) -> int:
    """Return the largest number of expected keys that gives this many cells."""
    return cells * 2 // 3


class Difference:
    """What one table has and the other has not; only a part of it unless `complete`."""

    __slots__ = ("complete", "negative", "positive")

    def __init__(self, positive: list[int], negative: list[int], *, complete: bool) -> None:
        self.positive: Final = positive  # keys that only our table has
        self.negative: Final = negative  # keys that only the received table has
        self.complete: Final = complete

    @property
    def size(self) -> int:
        """How many differing keys were found."""
        return len(self.positive) + len(self.negative)

    def __repr__(self) -> str:
        return f"Difference(positive={self.positive}, negative={self.negative}, complete={self.complete})"


@mypyc_attr(acyclic=True)  # no work for the garbage collector
class _Cell:
    """What one cell holds."""

    __slots__ = ("checks", "count", "keys")

    def __init__(self, count: i64, keys: i64, checks: i64) -> None:
        self.count = count
        self.keys = keys  # the xor of them
        self.checks = checks  # the xor of their checksums


class Iblt:
    """One table: cells to work on, or the bytes it came as until somebody changes it."""

    __slots__ = ("_cells", "_encoded", "cells", "expected")

    def __init__(self, expected: int, encoded: bytes = b"") -> None:
        cells = cells_for(expected)
        if expected < 1 or cells > MAX_CELLS:
            raise BadConfig(f"expected={expected} makes no IBLT: it lies in 1..{expected_for(MAX_CELLS)}")
        self.expected: Final = expected
        self.cells: Final = cells
        self._encoded = encoded or bytes(CELL_BYTES * cells)  # empty when outdated
        self._cells: list[_Cell] = []  # empty until needed

    def insert(self, key: int) -> None:
        """Put a key in."""
        self._change(key, 1)

    def erase(self, key: int) -> None:
        """Take a key out."""
        self._change(key, -1)

    def copy(self) -> Iblt:
        """Return a table with the same content."""
        return Iblt(self.expected, self.encode())

    def encode(self) -> bytes:
        """Write the cells, 12 bytes each, big endian."""
        if not self._encoded:
            numbers: list[int] = []
            for cell in self._cells:
                numbers.append(cell.count)
                numbers.append(cell.keys)
                numbers.append(cell.checks)
            self._encoded = _layout(self.cells).pack(*numbers)
        return self._encoded

    def difference(self, other: Iblt) -> Difference:
        """Return the keys that only we have, and those that only the other has."""
        if self.cells != other.cells:
            raise BadPacket(f"an IBLT of {other.cells} cells was received, ours has {self.cells}")
        raw = other.encode()
        if raw == self._encoded:  # the usual case among members that agree
            return Difference([], [], complete=True)
        showing: list[_Cell] = []
        left = _subtract(self._opened(), raw, showing)
        return _peel(left, showing)

    def _opened(self) -> list[_Cell]:
        if not self._cells:
            raw = self._encoded
            self._cells = [
                _Cell(_signed(raw, at), _unsigned(raw, at + 4), _unsigned(raw, at + 8))
                for at in range(0, len(raw), CELL_BYTES)
            ]
        return self._cells

    def _change(self, key: i64, sign: i64) -> None:
        cells = self._opened()
        self._encoded = b""
        part: i64 = self.cells // 3
        check: i64 = murmur3_key(key, _CHECK_SEED)
        number: i64 = 0
        while number < 3:
            cell = cells[number * part + murmur3_key(key, number) % part]
            cell.count += sign
            cell.keys ^= key
            cell.checks ^= check
            number += 1


def decode_iblt(raw: bytes, max_cells: int = MAX_CELLS) -> Iblt:
    """Read a table, of the size that the bytes give it."""
    cells = len(raw) // CELL_BYTES
    if not raw or len(raw) % (3 * CELL_BYTES):
        raise BadPacket(f"an IBLT has a multiple of {3 * CELL_BYTES} bytes, this one has {len(raw)}")
    if cells > min(max_cells, MAX_CELLS):
        raise BadPacket(f"an IBLT of {cells} cells was received, the limit here is {min(max_cells, MAX_CELLS)}")
    return Iblt(expected_for(cells), raw)


def _unsigned(raw: bytes, at: i64) -> i64:
    first: i64 = raw[at]
    second: i64 = raw[at + 1]
    third: i64 = raw[at + 2]
    fourth: i64 = raw[at + 3]
    return first << 24 | second << 16 | third << 8 | fourth


def _signed(raw: bytes, at: i64) -> i64:
    number = _unsigned(raw, at)
    return number - ((number & 0x80000000) << 1)


@lru_cache(maxsize=16)
def _layout(cells: int) -> Struct:
    return Struct(">" + "iII" * cells)


def _subtract(own: list[_Cell], raw: bytes, showing: list[_Cell]) -> list[_Cell | None]:
    """Return what is left of our cells without the other's, None where nothing is; those of one key go to `showing`."""
    left: list[_Cell | None] = [None] * len(own)
    for index, cell in enumerate(own):
        at: i64 = index * CELL_BYTES
        count: i64 = cell.count - _signed(raw, at)
        keys: i64 = cell.keys ^ _unsigned(raw, at + 4)
        checks: i64 = cell.checks ^ _unsigned(raw, at + 8)
        if count != 0 or keys != 0 or checks != 0:
            rest = _Cell(count, keys, checks)
            left[index] = rest
            if count == 1 or count == -1:  # noqa: PLR1714  a set test is slower
                showing.append(rest)
    return left


def _peel(left: list[_Cell | None], showing: list[_Cell]) -> Difference:
    """Take keys out of the cells that show one, until none does."""
    positive: list[int] = []
    negative: list[int] = []
    part: i64 = len(left) // 3
    turn: i64 = 0
    while turn < len(showing):
        cell = showing[turn]
        turn += 1
        sign: i64 = cell.count
        key: i64 = cell.keys
        check: i64 = cell.checks
        if (sign != 1 and sign != -1) or check != murmur3_key(key, _CHECK_SEED):  # noqa: PLR1714  as above
            continue
        if len(positive) + len(negative) == len(left):
            break
        (positive if sign == 1 else negative).append(key)
        number: i64 = 0
        while number < 3:
            other = left[number * part + murmur3_key(key, number) % part]
            if other is None:
                return Difference(positive, negative, complete=False)
            count: i64 = other.count - sign
            other.count = count
            other.keys ^= key
            other.checks ^= check
            if count == 1 or count == -1:  # noqa: PLR1714  as above
                showing.append(other)
            number += 1
    return Difference(positive, negative, complete=_all_empty(left))


def _all_empty(cells: list[_Cell | None]) -> bool:
    return all(cell is None or (cell.count == 0 and cell.keys == 0 and cell.checks == 0) for cell in cells)
