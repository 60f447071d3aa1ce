"""What goes into macros on Spark and what comes out, as rows: readings, and one row for each run.

A row of `READING` is a reading as a node hands it to its macros; streams are the bytes of their names, and empty for
what belongs to no group; `unit` and `quality` are there if they were said beside the payload. A row of `RUN` says what
a run was given and what it brought: a payload, nothing (a filter), or a failure. The replay order of readings is
`ORDER`: event time, stream, number; where there is no stream, what is left of a reading decides, so that the order is
one whoever sorts. A row of `TOLD` has all that people are told of a run, too; the order of runs is `IN_TURN`, which is
that of `roost.process.replay` over readings of groups.

The topic of a reading is the one that MQTT clients know: what stands behind the panel if it came over MQTT (it has a
posting), the whole name of its stream if a sensor published it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from roost.broker.macros.macros import sample_of_message
from roost.broker.readable import message_of
from roost.naming import Name
from roost.process.parsing import sample_of
from roost.process.sample import Sample
from roost.wire.values import format_of

READING: Final = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("time", pa.int64()),  # event time, ns since 1970
        pa.field("stream", pa.binary()),
        pa.field("number", pa.int64()),
        pa.field("format", pa.int32()),
        pa.field("payload", pa.binary()),
        pa.field("unit", pa.string()),
        pa.field("quality", pa.string()),
    ]
)
ORDER: Final = ("time", "stream", "number", "topic", "format", "payload", "unit", "quality")
_USED: Final = pa.struct([pa.field("stream", pa.binary()), pa.field("number", pa.int64())])
RUN: Final = pa.schema(
    [
        pa.field("name", pa.string()),
        pa.field("topic", pa.string()),
        pa.field("time", pa.int64()),
        pa.field("payload", pa.binary()),  # null where a run brought none
        pa.field("format", pa.int32()),
        pa.field("stream", pa.binary()),  # of the result, and its number there, if it has them
        pa.field("number", pa.int64()),
        pa.field("cause_topic", pa.string()),  # the reading that activated it; no topic if it was due
        pa.field("cause_stream", pa.binary()),
        pa.field("cause_number", pa.int64()),
        pa.field("inputs", pa.list_(_USED)),
        pa.field("program", pa.binary()),
        pa.field("version", pa.int32()),
        pa.field("kind", pa.string()),  # of a failure, empty if there is none
        pa.field("message", pa.string()),
        pa.field("line", pa.int32()),
        pa.field("column", pa.int32()),
        pa.field("log", pa.list_(pa.string())),
    ]
)


TOLD: Final = pa.schema(
    [
        *RUN,
        pa.field("origin_stream", pa.binary()),  # of the reading that set it off, empty if it was due
        pa.field("origin_number", pa.int64()),
        pa.field("rank", pa.int32()),  # among all that the same reading set off
        pa.field("told", pa.string()),  # JSON in ASCII, `roost.process.telling.replayed_told`
    ]
)
IN_TURN: Final = ("time", "origin_stream", "origin_number", "rank", "name")


class Read(NamedTuple):
    """A row of `READING`."""

    topic: str
    time: int
    stream: bytes
    number: int
    format: int
    payload: bytes
    unit: str = ""
    quality: str = ""

    @property
    def order(self) -> tuple[int | bytes | str, ...]:
        """Its place in the replay order."""
        return self.time, self.stream, self.number, self.topic, self.format, self.payload, self.unit, self.quality

    def sample(self) -> Sample:
        """What macros see of it."""
        sample = sample_of(self.topic, self.time, self.format, self.payload, self.stream, self.number)
        if not self.unit and not self.quality:
            return sample
        return sample._replace(unit=self.unit or sample.unit, quality=self.quality or sample.quality)


class Made(NamedTuple):
    """A row of `RUN`."""

    name: str
    topic: str
    time: int
    payload: bytes | None
    format: int
    stream: bytes
    number: int
    cause_topic: str
    cause_stream: bytes
    cause_number: int
    inputs: tuple[tuple[bytes, int], ...]
    program: bytes
    version: int
    kind: str
    message: str
    line: int
    column: int
    log: tuple[str, ...]
    origin_stream: bytes = b""  # from here on, only where runs are told
    origin_number: int = 0
    rank: int = 0
    told: str = ""


def read(batch: pa.RecordBatch) -> Iterator[Read]:
    """Read rows."""
    columns = [batch.column(name).to_pylist() for name in READING.names]
    for topic, time, stream, number, format_, payload, unit, quality in zip(*columns, strict=True):
        yield Read(topic, time, stream or b"", number or 0, format_ or 0, payload or b"", unit or "", quality or "")


def readings(rows: Sequence[Read]) -> pa.RecordBatch:
    """Write rows."""
    columns = list(zip(*rows, strict=True)) or [()] * len(READING)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, READING, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=READING)


def runs(made: Sequence[Made]) -> list[pa.Array]:
    """The columns of `TOLD`."""
    columns: list[Any] = list(zip(*made, strict=True)) or [()] * len(TOLD)
    at = RUN.get_field_index("inputs")
    columns[at] = [[{"stream": stream, "number": number} for stream, number in used] for used in columns[at]]
    return [pa.array(column, field.type) for column, field in zip(columns, TOLD, strict=True)]


def reading_of(group: int, stream: Name, number: int, wire: bytes) -> Read | None:
    """The reading in a packet of a stream whose group's name has so many parts; None if nobody could be handed it."""
    message = message_of(group, stream, number, wire)
    if message is None:
        return None
    sample = sample_of_message(message, stream.value, number)
    format_, payload = format_of(message.payload), message.payload
    return Read(sample.topic, sample.time, stream.value, number, format_, payload, sample.unit, sample.quality)
