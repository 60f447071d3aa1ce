"""Units as rows: what a task of Spark's does. Fetch the stretches, decode them, and say in which windows they are.

Every number of a unit becomes one row, whatever became of it, but those that retention has dropped where there are no
windows. A reading that was published, that nobody is known to lack, and that cannot be had now, is an error: the task
is tried again, and nothing is skipped. With `lost="missing"` it is a row without a value instead.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from roost.errors import BadConfig, Unreachable
from roost.host.stretches import Fetched, Stretch
from roost.naming import Name
from roost.pipeline.columns import DROPPED, MISSING, READINGS, REFUSED, WINDOWED
from roost.pipeline.decoding import absent, decode, empty_batch
from roost.pipeline.input import Input
from roost.pipeline.place import CORRECTIONS, Run, without
from roost.pipeline.units import Unit
from roost.pipeline.windowing import Numbers, assigned, silences
from roost.wire import tlv
from roost.wire.tlv import element, elements

FAIL: Final = "fail"
_ROWS_PER_BATCH: Final = 50_000


class Reader(Protocol):
    """What reads stretches: `roost.host.stretches.StretchReader`."""

    def read(self, stretches: Sequence[Stretch]) -> Iterator[Fetched]:
        """What there is of each, in order, in pieces."""
        ...


@dataclass(frozen=True, slots=True)
class Rows:
    """Makes rows of units of some inputs; `windowed` says whether they have the columns of windows."""

    inputs: Mapping[str, Input]
    windowed: bool
    lost: str = FAIL

    def __post_init__(self) -> None:
        if self.lost not in (FAIL, MISSING):
            raise BadConfig(
                f"lost={self.lost!r} is unknown: {FAIL} stops the query, {MISSING} makes a row without value"
            )

    def read(self, units: Iterable[Unit], reader: Reader) -> Iterator[pa.RecordBatch]:
        """The rows of some units, in batches."""
        several: list[pa.RecordBatch] = []
        for batch in self._batches(list(units), reader):
            several.append(batch)
            if sum(len(each) for each in several) >= _ROWS_PER_BATCH:
                yield _one(several)
                several = []
        if several:
            yield _one(several)

    def _batches(self, units: list[Unit], reader: Reader) -> Iterator[pa.RecordBatch]:
        wanted = [(unit, self._stretches(unit)) for unit in units]
        pieces = iter(reader.read([stretch for _, stretches in wanted for stretch in stretches]) if units else ())
        for unit, stretches in wanted:
            stream = self._name(unit)
            batches = [batch for stretch in stretches for batch in self._fetched(pieces, stretch)]
            now = time.time_ns() // 1000
            if unit.missing:
                numbers = [number for low, high in unit.missing for number in range(low, high + 1)]
                batches.append(absent(stream, numbers, MISSING, arrival_us=now))
            if self.windowed:
                yield self._in_windows(unit, stream, batches, reader)
            else:
                yield from batches

    def _stretches(self, unit: Unit) -> list[Stretch]:
        runs: list[Run] = [(unit.low, unit.high)] if unit.low <= unit.high else []
        return [Stretch(self._name(unit), *run) for run in without(runs, unit.missing)]

    def _name(self, unit: Unit) -> Name:
        return stream_name(self.inputs[unit.input], unit.stream)

    def _fetched(self, pieces: Iterator[Fetched], stretch: Stretch) -> Iterator[pa.RecordBatch]:
        """The rows of one stretch: the next pieces, until all its numbers have been told of."""
        left = stretch.high - stretch.low + 1
        while left > 0:
            piece = next(pieces)
            left -= len(piece.packets) + len(piece.refused) + len(piece.missing)
            left -= sum(high - low + 1 for low, high in piece.dropped)
            yield from self._rows(piece)

    def _rows(self, piece: Fetched) -> Iterator[pa.RecordBatch]:
        now = time.time_ns() // 1000
        packets = piece.packets
        if piece.opened:
            packets = [
                (number, _opened(wire, piece.opened[number]) if number in piece.opened else wire)
                for number, wire in packets
            ]
        yield decode(piece.stream, packets, arrival_us=now, verified=piece.verified)
        if piece.missing and self.lost == FAIL:
            raise Unreachable(
                f"{piece.stream}: no repo gives {len(piece.missing)} readings, the first one seq={piece.missing[0]}, "
                "that were announced; the query goes on when one does. If they are lost for good, set lost=missing"
            )
        dropped = [number for low, high in piece.dropped for number in range(low, high + 1)] if self.windowed else []
        refused = [number for number, _ in piece.refused]
        for numbers, quality in ((piece.missing, MISSING), (dropped, DROPPED), (refused, REFUSED)):
            if numbers:
                yield absent(piece.stream, numbers, quality, arrival_us=now)

    # -- windows

    def _in_windows(self, unit: Unit, stream: Name, batches: list[pa.RecordBatch], reader: Reader) -> pa.RecordBatch:
        wanted = self.inputs[unit.input]
        rows = _one([batch for batch in batches if len(batch)] or [empty_batch()])
        if not wanted.window_ns:
            return _windowed(rows, unit, rows.column("seq").to_numpy(), rows.column("event_time"))
        rows = rows.take(pc.sort_indices(rows.column("seq"))) if len(batches) > 1 else rows
        windows = assigned(unit, _times(rows), wanted.window_ns // 1000)
        inside = windows >= unit.first  # what is older came before the beginning
        if not inside.all():
            rows, windows = rows.filter(pa.array(inside)), windows[inside]
        if unit.corrections:
            rows, windows = self._corrected(unit, stream, rows, windows, reader)
        made_up = silences(unit, windows)
        if made_up:
            silent = _silent(stream, [quality for _, quality in made_up])
            rows = _one([rows, silent])
            windows = np.concatenate([windows, np.array([window for window, _ in made_up], np.int64)])
        starts = pa.array(windows * (wanted.window_ns // 1000)).cast(WINDOWED.field("window_start").type)
        return _windowed(rows, unit, windows, starts)

    def _corrected(
        self, unit: Unit, stream: Name, rows: pa.RecordBatch, windows: Numbers, reader: Reader
    ) -> tuple[pa.RecordBatch, Numbers]:
        """Put the last correction of a reading in its place: under the correction's own name, for lineage."""
        corrections = stream.prefix(-1) / (str(stream.at(-1).value, "utf-8") + CORRECTIONS)
        pieces = reader.read([Stretch(corrections, 1, unit.corrections)])
        found = _one([batch for piece in pieces for batch in self._rows(piece)])
        metric = pa.array([stream.at(-1).value.decode()] * len(found), pa.string())
        found = found.set_column(found.schema.get_field_index("metric"), READINGS.field("metric"), metric)
        last = {at: row for row, at in enumerate(_times(found).tolist()) if at >= 0}  # later ones win
        order = list(range(len(rows)))
        for row, at in enumerate(_times(rows).tolist()):
            if at in last:
                order[row] = len(rows) + last.pop(at)
        length = self.inputs[unit.input].window_ns // 1000
        # What came before the first window that had a number has no reading to be put in place of.
        alone = {row: at // length for at, row in last.items() if unit.first <= at // length <= unit.last}
        both = _one([rows, found]).take(pa.array(order + [len(rows) + row for row in alone], pa.int64()))
        return both, np.concatenate([windows, np.array(list(alone.values()), np.int64)])


def _times(rows: pa.RecordBatch) -> Numbers:
    times: Numbers = rows.column("event_time").cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return times


def stream_name(wanted: Input, stream: str) -> Name:
    """The whole name of a stream."""
    return Name.parse(f"{wanted.group}/{stream}")


def _windowed(rows: pa.RecordBatch, unit: Unit, windows: Numbers, starts: pa.Array) -> pa.RecordBatch:
    size = len(rows)
    added = [
        pa.array([unit.input], pa.string()).take(pa.array(np.zeros(size, np.int64))),
        pa.array([unit.key or unit.stream], pa.string()).take(pa.array(np.zeros(size, np.int64))),
        pa.array(windows, pa.int64()),
        starts,
        pa.array([unit.correction or None], pa.int64()).take(pa.array(np.zeros(size, np.int64))),
    ]
    return pa.RecordBatch.from_arrays([*rows.columns, *added], schema=WINDOWED)


def _silent(stream: Name, qualities: list[str]) -> pa.RecordBatch:
    rows = absent(stream, [0] * len(qualities), MISSING, arrival_us=time.time_ns() // 1000)
    zeros = pa.array(np.zeros(len(qualities), np.int64))
    for name, column in (("quality", pa.array(qualities, pa.string())), ("expected", zeros), ("received", zeros)):
        rows = rows.set_column(rows.schema.get_field_index(name), READINGS.field(name), column)
    return rows


def _one(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0] if batches else empty_batch()


def _opened(wire: bytes, content: bytes) -> bytes:
    """A sealed packet with its plain content in its place; it is decoded only, its signature was checked before."""
    _, start, end = element(wire, 0, len(wire))
    parts = [
        tlv.tlv(type_, content if type_ == tlv.CONTENT else wire[low:high])
        for type_, low, high in elements(wire, start, end)
    ]
    return tlv.tlv(tlv.DATA, b"".join(parts))
