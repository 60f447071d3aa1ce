"""Rows while they are decoded, in any order; then an Arrow batch in the order in which they were announced.

One row, or many at once, are written in the same way: an index is an integer or an array of them. In the arrays, a time
below zero and a value that is no number stand for null: neither can be read off a packet.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from roost.columns.decoding_exact import Meaning
from roost.columns.readings import EXPECTED, READINGS, RECEIVED, UNREADABLE
from roost.columns.template import Column, Readout
from roost.naming import Component, Name
from roost.naming.component import GENERIC

Index: TypeAlias = int | NDArray[np.int64]
Texts: TypeAlias = tuple[str | None, ...]

TIME: Final = READINGS.field("event_time").type
_REMEMBERED: Final = 65_536  # streams


class Words:
    """A column of text in which few different words occur; at first all are the same."""

    def __init__(self, count: int, word: str | None) -> None:
        self._codes: Final = np.zeros(count, np.int64)
        self._known: Final[dict[str | None, int]] = {word: 0}

    def put(self, where: Index, word: str | None) -> None:
        """Write a word into one row or many."""
        self._codes[where] = self._known.setdefault(word, len(self._known))

    def column(self) -> pa.Array:
        """As Arrow has it."""
        words = pa.array(self._known, pa.string())
        first = self._codes[0]
        if (self._codes == first).all():
            return pa.repeat(words[first], len(self._codes))
        return words.take(pa.array(self._codes))


class Rows:
    """As many rows as there are numbers, of one stream or each of its own, whose name and levels are given then."""

    def __init__(self, stream: Name | Sequence[Texts], numbers: NDArray[np.int64], arrival_us: int) -> None:
        count = len(numbers)
        self._stream: Final = stream
        self._numbers: Final = numbers
        self._arrival_us: Final = arrival_us
        self._time: Final = np.full(count, -1, np.int64)
        self._value: Final = np.full(count, np.nan)
        self._unit: Final = Words(count, None)
        self._quality: Final = Words(count, UNREADABLE)
        self._signer: Final = Words(count, None)
        self._verified: Final = np.zeros(count, np.bool_)
        self._expected: Final = np.ones(count, np.int64)
        self._received: Final = np.ones(count, np.int64)
        self._single: Final[list[bytes | None]] = [None] * count  # payloads that were written one by one
        self._blocks: Final[list[tuple[NDArray[np.int64], pa.Array]]] = []  # and many at once

    def put_packet(
        self,
        where: Index,
        time_us: NDArray[np.int64] | int | None,
        signer: str | None,
        *,
        verified: bool | NDArray[np.bool_],
    ) -> None:
        """Write what is around the payload."""
        self._time[where] = -1 if time_us is None else time_us
        self._signer.put(where, signer)
        self._verified[where] = verified

    def put_signer(self, where: NDArray[np.int64], signer: str | None) -> None:
        """Write over who signed, where rows share all but that."""
        self._signer.put(where, signer)

    def put_meaning(self, where: Index, meaning: Meaning) -> None:
        """Write what the payload says."""
        self._value[where] = np.nan if meaning.value is None else meaning.value
        self._unit.put(where, meaning.unit)
        self._quality.put(where, meaning.quality)
        self._expected[where] = meaning.expected
        self._received[where] = meaning.received

    def put_numbers(self, where: NDArray[np.int64], read: Readout) -> None:
        """Write over the numbers of a meaning that many rows share."""
        self._value[where] = read.value
        if read.expected is not None:
            self._expected[where] = read.expected
        if read.received is not None:
            self._received[where] = read.received

    def put_payload(self, row: int, payload: bytes | None) -> None:
        """Write the payload of one row."""
        self._single[row] = payload

    def put_payloads(self, where: NDArray[np.int64], payloads: NDArray[np.uint8]) -> None:
        """Write payloads of equal length."""
        count, size = payloads.shape
        cuts = pa.py_buffer(np.arange(count + 1, dtype=np.int32) * np.int32(size))
        self._blocks.append((where, pa.Array.from_buffers(pa.binary(), count, [None, cuts, pa.py_buffer(payloads)])))

    def batch(self) -> pa.RecordBatch:
        """All rows; each has been written."""
        count = len(self._numbers)
        stream, panel, device, metric = self._text_columns()
        columns = {
            "stream": stream,
            "seq": pa.array(self._numbers),
            "event_time": _nullable(self._time, self._time < 0).cast(TIME),
            "arrival_time": pa.repeat(pa.scalar(self._arrival_us, TIME), count),
            "value": _nullable(self._value, np.isnan(self._value)),
            "payload": self._payload_column(),
            "unit": self._unit.column(),
            "quality": self._quality.column(),
            "panel": panel,
            "device": device,
            "metric": metric,
            "signer": self._signer.column(),
            "verified": pa.array(self._verified),
            EXPECTED: pa.array(self._expected),
            RECEIVED: pa.array(self._received),
        }
        return pa.RecordBatch.from_arrays([columns[name] for name in READINGS.names], schema=READINGS)

    def _text_columns(self) -> list[pa.Array]:
        """Name, panel, device and metric."""
        if isinstance(self._stream, Name):
            return [pa.repeat(pa.scalar(text, pa.string()), len(self._numbers)) for text in texts(self._stream)]
        return [pa.array(column, pa.string()) for column in zip(*self._stream, strict=True)]

    def _payload_column(self) -> pa.Array:
        alone = np.ones(len(self._numbers), np.bool_)
        for where, _ in self._blocks:
            alone[where] = False
        rest = np.flatnonzero(alone)
        blocks = [(rest, pa.array([self._single[row] for row in rest.tolist()], pa.binary())), *self._blocks]
        order = np.concatenate([where for where, _ in blocks])
        payloads = pa.concat_arrays([block for _, block in blocks])
        in_order = (order[:-1] < order[1:]).all()  # so it is where one template fits all
        return payloads if in_order else payloads.take(pa.array(np.argsort(order)))


def _nullable(column: Column, null: NDArray[np.bool_]) -> pa.Array:
    return pa.array(column, mask=null if null.any() else None)  # without a mask, nothing is copied


@lru_cache(_REMEMBERED)
def texts(stream: Name) -> Texts:
    """The name, then panel, device and metric: its last components, None where there is none or it is no text."""
    levels = [_text(stream[at]) if len(stream) >= -at else None for at in (-3, -2, -1)]
    return str(stream), *levels


def _text(component: Component) -> str | None:
    if component.type != GENERIC:
        return None
    try:
        return component.value.decode()
    except UnicodeDecodeError:
        return None
