"""The numbers of a stream in names, as a store sees them: the last component `seq=<n>`, in its shortest form.

Names are kept by their bytes, whose order is canonical: the readings of a stream stand together, by number. Number 0
is no number of a stream, which counts from 1: a packet of that name is kept as any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.naming.name import Name
from roost.naming.number import nni, read_nni

MAX_NUMBER: Final = (1 << 64) - 1
_SEQUENCE: Final = 0x3A
BEHIND: Final = b"\xff"  # behind every component, so `prefix + BEHIND` is behind all names with this prefix


def key_of(stream: bytes, number: int) -> bytes:
    """The name of a reading."""
    value = nni(number)
    return stream + bytes((_SEQUENCE, len(value))) + value


def number_at(key: bytes, size: int) -> int:
    """The number in a name whose last component begins at `size`; 0 if it is no number of a stream."""
    count = len(key) - size - 2
    if not (count == 1 or count == 2 or count == 4 or count == 8):  # noqa: PLR1714  a tuple test is slower
        return 0
    if key[size] != _SEQUENCE or key[size + 1] != count:
        return 0
    number = read_nni(key, size + 2, len(key))
    return number if count == 1 or number >> (4 * count) else 0


def numbered(name: Name) -> tuple[bytes, int]:
    """The stream and number of a name; number 0, and no stream, for what is no reading."""
    cuts = name.cuts
    if len(cuts) < 3:  # a stream has a name
        return b"", 0
    size = cuts[-2]
    number = number_at(name.value, size)
    return (name.value[:size], number) if number else (b"", 0)


def latest_of(names: Iterable[Name]) -> dict[bytes, int]:
    """The highest number of each stream among some names, in the order in which the streams come."""
    latest: dict[bytes, int] = {}
    for name in names:
        stream, number = numbered(name)
        if number > latest.get(stream, 0):
            latest[stream] = number
    return latest
