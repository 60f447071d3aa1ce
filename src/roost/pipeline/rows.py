"""Units as rows: what a task of Spark's does. Fetch the stretches, decode them, and say in which windows they are.

Every number of a unit becomes one row, whatever became of it, but those that retention has dropped where there are no
windows. A reading that was published, that nobody is known to lack, and that cannot be had now, is an error: the task
is tried again, and nothing is skipped. With `lost="missing"` it is a row without a value instead.

Many units are handled at once, because there may be tens of thousands with one reading each.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Final, Protocol

import pyarrow as pa

from roost.columns.decoding import decode, empty_batch
from roost.columns.decoding_alike import WORTHWHILE
from roost.columns.readings import DROPPED, MISSING, REFUSED
from roost.errors import Unreachable
from roost.host.stretches import Fetched, Stretch
from roost.naming import Name
from roost.pipeline.corrections import corrected
from roost.pipeline.decoding_few import Entry, decode_few
from roost.pipeline.input import Input
from roost.pipeline.place import CORRECTIONS, Run, count, within, without
from roost.pipeline.rows_windowed import in_windows
from roost.pipeline.units import Unit
from roost.wire import tlv
from roost.wire.tlv import element, elements

FAIL: Final = "fail"
_ROWS_AT_ONCE: Final = 50_000
_REMEMBERED: Final = 65_536  # names of streams: a worker of Spark's reads the same ones again and again


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

    def read(self, units: Iterable[Unit], reader: Reader) -> Iterator[pa.RecordBatch]:
        """The rows of some units, in batches."""
        wanted = [(part, *self._stretches(part)) for unit in units for part in self._parts(unit)]
        pieces = iter(reader.read([stretch for *_, stretches in wanted for stretch in stretches]) if wanted else ())
        made = _Batches()
        done: list[tuple[Unit, int]] = []  # with how many rows each
        for unit, name, stretches in wanted:
            before = made.rows
            found = [piece for stretch in stretches for piece in _of(stretch, pieces)]
            self._add(unit, name, found, reader, made)
            if self.inputs[unit.input].packets:
                made.keep(before, found)
            done.append((unit, made.rows - before))
            if made.rows >= _ROWS_AT_ONCE:
                yield in_windows(self.inputs, done, made.whole()) if self.windowed else made.whole()
                made, done = _Batches(), []
        if done:
            yield in_windows(self.inputs, done, made.whole()) if self.windowed else made.whole()

    def _parts(self, unit: Unit) -> Iterator[Unit]:
        """A long unit in parts, so that few readings are in memory; in windows it stays whole."""
        if self.inputs[unit.input].window_ns or unit.rows <= _ROWS_AT_ONCE:
            yield unit
            return
        for low in range(unit.low, unit.high + 1, _ROWS_AT_ONCE):
            high = min(unit.high, low + _ROWS_AT_ONCE - 1)
            yield unit._replace(low=low, high=high, missing=within(unit.missing, low, high))

    def _stretches(self, unit: Unit) -> tuple[Name, list[Stretch]]:
        name = _parsed(f"{self.inputs[unit.input].group}/{unit.stream}")
        runs: list[Run] = [(unit.low, unit.high)] if unit.low <= unit.high else []
        return name, [Stretch(name, *run) for run in (without(runs, unit.missing) if unit.missing else runs)]

    def _add(self, unit: Unit, name: Name, pieces: Sequence[Fetched], reader: Reader, made: _Batches) -> None:
        """Add the rows of one unit, in windows by number."""
        if len(pieces) == 1 and len(pieces[0].packets) == unit.rows and not unit.corrections:  # as nearly all are
            made.add(name, _packets(pieces[0]), verified=pieces[0].verified)
            return
        absent = {number: MISSING for low, high in unit.missing for number in range(low, high + 1)}
        for piece in pieces:
            absent.update(self._absent(piece))
        if not (self.windowed and (absent or unit.corrections)):
            for verified, alike in groupby(pieces, attrgetter("verified")):  # the more at once, the less each costs
                made.add(name, [packet for piece in alike for packet in _packets(piece)], verified=verified)
            made.add_few([Entry(name, number, None, quality) for number, quality in absent.items()])
            return
        entries = {number: Entry(name, number, None, quality) for number, quality in absent.items()}
        for piece in pieces:
            entries |= {each: Entry(name, each, wire, "", piece.verified) for each, wire in _packets(piece)}
        if unit.corrections:
            self._correct(unit, name, entries, reader)
        made.add_few([entries[number] for number in sorted(entries)])

    def _correct(self, unit: Unit, name: Name, entries: dict[int, Entry], reader: Reader) -> None:
        """Put the last correction of a reading in its place: under the correction's own name, for lineage."""
        stream = name.prefix(-1) / (name.at(-1).value.decode() + CORRECTIONS)
        found: list[tuple[int, bytes, bool]] = []
        for piece in reader.read([Stretch(stream, 1, unit.corrections)]):
            self._require(piece)  # or a batch that is done again could give something else
            found += [(number, wire, piece.verified) for number, wire in _packets(piece)]
        length = self.inputs[unit.input].window_ns
        for corrects, (number, wire, time_ns, verified) in corrected(found).items():
            is_alone = corrects < 1 and unit.first <= time_ns // length <= unit.last
            if corrects in entries or is_alone:
                entries[corrects] = Entry(stream, number, wire, "", verified, name)

    def _require(self, piece: Fetched) -> None:
        if piece.missing and self.lost == FAIL:
            raise Unreachable(
                f"{piece.stream}: no repo gives {len(piece.missing)} readings, the first one seq={piece.missing[0]}, "
                "that were announced; the query goes on when one does. If they are lost for good, set lost=missing"
            )

    def _absent(self, piece: Fetched) -> Iterator[tuple[int, str]]:
        self._require(piece)
        yield from ((number, MISSING) for number in piece.missing)
        yield from ((number, REFUSED) for number, _ in piece.refused)
        if self.windowed:
            yield from ((number, DROPPED) for low, high in piece.dropped for number in range(low, high + 1))


class _Batches:
    """Rows in the order in which they are added: long runs of one stream by template, the rest together."""

    def __init__(self) -> None:
        self.rows = 0
        self._batches: Final[list[pa.RecordBatch]] = []
        self._few: list[Entry] = []
        self._whole: Final[list[tuple[int, int, dict[int, bytes]]]] = []  # rows whose payloads are packets, by number
        self._arrival_us: Final = time.time_ns() // 1000

    def add(self, stream: Name, packets: Sequence[tuple[int, bytes]], *, verified: bool) -> None:
        """Add packets of a stream."""
        if len(packets) < WORTHWHILE:
            self.add_few([Entry(stream, number, wire, "", verified) for number, wire in packets])
            return
        self._flush()
        self._batches.append(decode(stream, packets, arrival_us=self._arrival_us, verified=verified))
        self.rows += len(packets)

    def add_few(self, entries: list[Entry]) -> None:
        """Add rows one by one."""
        self._few += entries
        self.rows += len(entries)

    def keep(self, first: int, pieces: Sequence[Fetched]) -> None:
        """Have the packets of the rows from this one on in place of their payloads."""
        self._whole.append((first, self.rows, {number: wire for piece in pieces for number, wire in _packets(piece)}))

    def whole(self) -> pa.RecordBatch:
        """All of them."""
        self._flush()
        batch = self._batches[0] if self._batches else empty_batch()
        if len(self._batches) > 1:
            batch = pa.Table.from_batches(self._batches).combine_chunks().to_batches()[0]
        if not self._whole:
            return batch
        payloads, numbers = batch.column("payload").to_pylist(), batch.column("seq").to_pylist()
        for first, last, wires in self._whole:
            payloads[first:last] = [wires.get(number) for number in numbers[first:last]]
        at = batch.schema.get_field_index("payload")
        return batch.set_column(at, batch.schema.field(at), pa.array(payloads, pa.binary()))

    def _flush(self) -> None:
        if self._few:
            self._batches.append(decode_few(self._few, arrival_us=self._arrival_us))
            self._few = []


@lru_cache(_REMEMBERED)
def _parsed(name: str) -> Name:
    return Name.parse(name)


def _of(stretch: Stretch, pieces: Iterator[Fetched]) -> Iterator[Fetched]:
    """The pieces of one stretch: the next ones, until all its numbers have been told of."""
    left = stretch.high - stretch.low + 1
    while left > 0:
        piece = next(pieces)
        left -= len(piece.packets) + len(piece.refused) + len(piece.missing) + count(piece.dropped)
        yield piece


def _packets(piece: Fetched) -> list[tuple[int, bytes]]:
    if not piece.opened:
        return piece.packets
    return [(n, _opened(wire, piece.opened[n]) if n in piece.opened else wire) for n, wire in piece.packets]


def _opened(wire: bytes, content: bytes) -> bytes:
    """A sealed packet with its plain content in its place; it is decoded only, its signature was checked before."""
    _, start, end = element(wire, 0, len(wire))
    parts = [
        tlv.tlv(type_, content if type_ == tlv.CONTENT else wire[low:high])
        for type_, low, high in elements(wire, start, end)
    ]
    return tlv.tlv(tlv.DATA, b"".join(parts))
