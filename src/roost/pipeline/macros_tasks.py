"""What Spark's workers do with macros: hand readings to the parts that want them, look at slices, and run.

All three take Arrow batches and give some. The last two get the readings of whole parts, one part after the other, each
in replay order; they hold one part's macros and what these look back on, however long the history is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Final

import cbor2
import numpy as np
import pyarrow as pa

from roost.pipeline.macros_past import Left
from roost.pipeline.macros_plan import Tail, Together
from roost.pipeline.macros_replay import Replay
from roost.pipeline.macros_rows import READING, TOLD, Made, Read, read, runs

PART: Final = "part"
ENDED: Final = "ended"  # what is said about a part that is done, in CBOR; such a row is no run
ROUTED: Final = pa.schema([*READING, pa.field(PART, pa.int32())])
RAN: Final = pa.schema([*TOLD, pa.field(PART, pa.int32()), pa.field(ENDED, pa.binary())])
FILTER: Final = "filter"
SEEN: Final = pa.schema([*ROUTED, pa.field(FILTER, pa.string()), pa.field(ENDED, pa.binary())])
_AT_ONCE: Final = 2000  # rows of a batch that is given


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done: sets of macros in order, what they go on from, where results go.

    With `stays`, something will go on from where this ends: nothing that is due is done before its time, and each part
    says what it left.
    """

    sets: tuple[Together, ...]
    left: Mapping[int, Left] = field(default_factory=dict)  # by part
    streams: Mapping[str, bytes] = field(default_factory=dict)  # of results, by topic
    remember: bool = False
    stays: bool = False
    tells: bool = False  # rows say all that people are told of a run

    @property
    def firsts(self) -> list[int]:
        """The number of the first part of each set, and behind them that of all parts."""
        return [0, *accumulate(together.parts for together in self.sets)]

    def of(self, part: int) -> Together:
        """The set of a part."""
        return self.sets[next(at for at, first in enumerate(self.firsts[1:]) if part < first)]


def routed(work: Work, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Hand readings to the parts that want them, each to as many as do."""
    firsts = work.firsts

    @lru_cache(65_536)
    def wanting(topic: str) -> tuple[int, ...]:
        return tuple(at for at, together in enumerate(work.sets) if together.takes(topic))

    for batch in batches:
        chosen = batch.select(READING.names).cast(READING)
        coded = chosen.column("topic").dictionary_encode()
        users = [set(wanting(topic)) for topic in coded.dictionary.to_pylist()]
        codes = coded.indices.to_numpy(zero_copy_only=False)
        times = chosen.column("time").to_numpy(zero_copy_only=False)
        for at, together in enumerate(work.sets):
            wanted = np.array([at in each for each in users], np.bool_)
            rows = np.flatnonzero(wanted[codes]) if users else np.array([], np.int64)
            if rows.size:
                slices = np.searchsorted(np.array(together.bounds, np.int64), times[rows], "right") + firsts[at]
                taken = chosen.take(pa.array(rows))
                yield pa.RecordBatch.from_arrays([*taken.columns, pa.array(slices, pa.int32())], schema=ROUTED)


def seen(work: Work, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What each slice leaves to look back on, by filter, and a last row with what shows whether it may be a slice."""
    for part, reads in _parts(batches):
        tail = Tail(work.of(part).wanted)
        for each in reads():
            tail.add(each)
        left = [(entry, each) for each, entries in tail.newest.items() for entry in entries]
        columns = [*zip(*[entry for entry, _ in left], strict=True)] or [()] * len(READING)
        ends = [*[[*column, None] for column in columns], [part] * (len(left) + 1)]
        ends += [[*[each for _, each in left], None], [*[None] * len(left), cbor2.dumps(tail.numbers)]]
        arrays = [pa.array(column, field_.type) for column, field_ in zip(ends, SEEN, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=SEEN)


def ran(work: Work, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A row for each run, and a last one for each part."""
    for part, reads in _parts(batches):
        together = work.of(part)
        streams = work.streams if together.parts == 1 else {}  # slices cannot know how many results came before them
        replay = Replay(
            together.definitions, streams=streams, left=work.left.get(part), remember=work.remember, tells=work.tells
        )
        made: list[Made] = []
        for each in reads():
            made += replay.take(each)
            if len(made) >= _AT_ONCE:
                yield written(made, part)
                made = []
        if not work.stays:
            made += replay.finish()
        left = replay.left().encode() if work.stays else b""
        counts = replay.taken, replay.results, replay.newest, replay.counts()
        ended = (replay.is_stateful, replay.found(), *counts, left)
        yield written(made, part, cbor2.dumps(ended))


def written(made: Sequence[Made], part: int, ended: bytes | None = None) -> pa.RecordBatch:
    """Runs of a part as rows; one more, without a run, if it has ended."""
    columns = [pa.concat_arrays([column, pa.nulls(int(ended is not None), column.type)]) for column in runs(made)]
    count = len(columns[0])
    parts = pa.array([part] * count, pa.int32())
    ends = pa.array([*[None] * len(made), *([] if ended is None else [ended])], pa.binary())
    return pa.RecordBatch.from_arrays([*columns, parts, ends], schema=RAN)


def _parts(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Callable[[], Iterator[Read]]]]:
    """The parts of rows that are in their order; the readings of one are to be taken before the next part."""
    rows = (
        (part, each)
        for batch in batches
        for part, each in zip(batch.column(PART).to_pylist(), read(batch), strict=True)
    )
    ahead = next(rows, None)
    while ahead is not None:
        part = ahead[0]

        def reads() -> Iterator[Read]:
            nonlocal ahead
            while ahead is not None and ahead[0] == part:  # noqa: B023  taken before the next part
                yield ahead[1]
                ahead = next(rows, None)

        yield part, reads
