"""Corrections of a virtual stream: which reading each of them takes the place of.

A correction says which number it corrects, and for which time. Later ones win. One of a window from before the first
that had a number (`corrects` is 0) stands for itself, in the order of times before all that have one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from roost.errors import BadPacket
from roost.pipeline.virtual import CORRECTS
from roost.wire.data import decode_data
from roost.wire.reading import SENML_CBOR, decode_reading
from roost.wire.senml import decode_values

_TIMES: Final = 1 << 64  # more than any time has


class Correction(NamedTuple):
    """The last word on a number: its own number, its packet, its event time in ns."""

    number: int
    wire: bytes
    time_ns: int
    verified: bool


def corrected(packets: Iterable[tuple[int, bytes, bool]]) -> dict[int, Correction]:
    """By the number that is corrected, the last correction of it; what cannot be read corrects nothing.

    Where there is no such number, by one below 1 that rises with the time.
    """
    found: dict[int, Correction] = {}
    for number, wire, verified in packets:
        try:
            reading = decode_reading(decode_data(wire).content)
            values = decode_values(reading.payload) if reading.format == SENML_CBOR else []
        except BadPacket:
            continue
        for value in values:
            if value.name == CORRECTS and isinstance(value.value, int):
                at = value.value if value.value >= 1 else reading.time - _TIMES
                found[at] = Correction(number, wire, reading.time, verified)
    return found
