"""Virtual readings: what a stage computed becomes a signed packet, and the same row becomes the same packet, always.

Nothing in it comes from a clock, a counter or chance: the name is a function of the row, the Content too, and keys sign
deterministically. So whoever tries a batch again makes the packets that are there already. A row that has a whole
`content`, as results of macros do, says the content itself, and in `output` the topic behind the panel.

| part of the packet | from                                                                                           |
| ------------------ | ---------------------------------------------------------------------------------------------- |
| name               | panel, `output` (`device/metric`), `number`; a correction: `metric.corrections`, its own number |
| event time         | `event_time_ns`: that of the input, or where the window begins                                 |
| payload            | SenML: value, unit, quality; then `expected received missing open window_s missing_names`      |
| lineage            | the input ranges, or that there are none; the digest of the program, the job                   |

A row without value and without counts is an empty marker (format 42, no payload): it fills a number where a stage
dropped its input. A window without a value has its counts all the same. A correction also says which number it
`corrects`. Integers stay integers; a decimal is an integer if it is one, else the nearest float.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Final, NamedTuple

import pyarrow as pa

from roost.columns.readings import BAD, EXPECTED, GOOD, RECEIVED, UNCERTAIN
from roost.errors import BadName, BadPacket, BadTopic
from roost.naming import Name, building
from roost.naming.building import numbered
from roost.naming.topic import name_of_topic, topic_of_name
from roost.pipeline.place import CORRECTIONS
from roost.pipeline.virtual_rows import (
    MISSING,
    MISSING_NAMES,
    OPEN,
    WINDOW_S,
    Number,
    PoisonRow,
    VirtualRow,
    read_rows,
)
from roost.pubsub.panels.dispatch import MAX_READING_BYTES
from roost.wire import Data, Signer, make_data
from roost.wire.lineage import lineage_of
from roost.wire.reading import OCTET_STREAM, SENML_CBOR, Reading
from roost.wire.senml import MAX_TEXT, Quality, Scalar, Value, encode_values

FRESHNESS_MS: Final = 1000
CORRECTS: Final = "corrects"
MAX_MISSING_NAMES: Final = 2000  # characters; the rest is cut off

AROUND_BYTES: Final = 1500  # at most, of name and signature around the content
_MAX_STREAMS: Final = 65_536  # whose signers are remembered
_MAX_NUMBER: Final = (1 << 63) - 1
_MAX_INTEGER: Final = 1 << 64  # SenML's
_QUALITIES: Final = {GOOD: Quality.GOOD, UNCERTAIN: Quality.UNCERTAIN, BAD: Quality.BAD}
_WILDCARDS: Final = ("+", "#")


class Sifted(NamedTuple):
    """The packets of good rows, and the poison ones: the number of the row in its batch, from 0, and what is wrong."""

    packets: list[Data]
    poison: list[tuple[int, PoisonRow]]


class VirtualPanel:
    """Makes the packets of one panel: `job` is what runs, as `pipeline/stage@version`, `program` its SHA-256."""

    def __init__(
        self, place: building.Panel, signer_for: Callable[[Name], Signer], *, job: str, program: bytes
    ) -> None:
        self.place: Final = place
        self._signer_for: Final = signer_for
        self._job: Final = job
        self._program: Final = program
        self._streams: Final[dict[tuple[str, bool], tuple[Name, Signer]]] = {}  # by output; bound: _MAX_STREAMS

    def packet(self, row: VirtualRow) -> Data:
        """Make the packet of a row; raises `PoisonRow`, and `NoKey` where no key may sign it."""
        number = row.number if row.correction is None else row.correction
        if not 1 <= number <= _MAX_NUMBER:
            column = "number" if row.correction is None else "correction"
            raise PoisonRow(column, f"{number} is no number of a reading: they count from 1; see `origin`")
        is_whole = row.content is not None
        stream, signer = self._stream(row.output, is_correction=row.correction is not None, is_whole=is_whole)
        content = self._reading(row).encode() if row.content is None else row.content
        size = len(content) + (0 if is_whole else AROUND_BYTES)
        if size <= MAX_READING_BYTES:
            data = make_data(numbered(stream, number), content, signer, freshness_ms=FRESHNESS_MS)
            size = len(data.wire)
            if size <= MAX_READING_BYTES:
                return data
        reason = f"the reading has about {size} bytes, {MAX_READING_BYTES} is the limit: publish a shorter text"
        raise PoisonRow("value", reason)

    def packets(self, batch: pa.RecordBatch) -> list[Data]:
        """Make the packets of all rows; raises `PoisonRow` at the first that cannot be a reading."""
        sifted = self.sift(batch)
        if sifted.poison:
            raise sifted.poison[0][1]
        return sifted.packets

    def sift(self, batch: pa.RecordBatch) -> Sifted:
        """Make the packets of all good rows, and set the others aside."""
        sifted = Sifted([], [])
        for index, row in enumerate(read_rows(batch)):
            try:
                sifted.packets.append(self.packet(row))
            except PoisonRow as poison:
                where = f"row {index} ({row.output} {row.number})"
                sifted.poison.append((index, PoisonRow(poison.column, poison.reason, where)))
        return sifted

    def _reading(self, row: VirtualRow) -> Reading:
        if row.inputs == () and row.expected != 0:  # of a window in which nobody spoke it says just that
            reason = (
                "there are none, or none with a stream and numbers from 1: a virtual reading says what it is made of; "
                "leave out the column for data that comes from no group"
            )
            raise PoisonRow("inputs", reason)
        if not 0 <= row.event_time_ns <= _MAX_NUMBER:
            raise PoisonRow("event_time", "it is null, before 1970 or too far ahead: correct it, or filter the row out")
        values = _values(row)
        try:
            lineage = lineage_of(self._program, ranges=row.inputs or (), job=self._job)
            payload = encode_values(values) if values else b""
        except BadPacket as error:
            raise PoisonRow("value", str(error)) from None
        return Reading(row.event_time_ns, SENML_CBOR if values else OCTET_STREAM, payload, lineage)

    def _stream(self, output: str, *, is_correction: bool, is_whole: bool) -> tuple[Name, Signer]:
        found = self._streams.get((output, is_correction))
        if found is None:
            stream = self._topic(output) if is_whole else self._named(output, CORRECTIONS if is_correction else "")
            found = (stream, self._signer_for(numbered(stream, 1)))
            if len(self._streams) >= _MAX_STREAMS:
                self._streams.clear()
            self._streams[output, is_correction] = found
        return found

    def _topic(self, output: str) -> Name:
        """The stream of a whole reading, which says its topic, of however many levels."""
        try:
            return self.place.name + name_of_topic(output)
        except BadTopic as error:
            raise PoisonRow("output", f"{output!r} names no stream: {error}") from None

    def _named(self, output: str, ending: str) -> Name:
        levels = output.split("/")
        if len(levels) != 2:
            raise PoisonRow("output", f"{output!r} has {len(levels)} levels, and has to have two: device/metric")
        device, metric = levels
        if metric.endswith(CORRECTIONS):
            raise PoisonRow("output", f"{output!r} ends as the stream of corrections does: call it otherwise")
        if any(sign in output for sign in _WILDCARDS):
            raise PoisonRow("output", f"{output!r} has a wildcard in it, and could not be subscribed to: leave it out")
        try:
            name = self.place.group.stream(self.place.panel, device, metric + ending).name
            topic_of_name(name)
        except (BadName, BadTopic, UnicodeEncodeError) as error:
            raise PoisonRow("output", f"{output!r} names no stream: {error}") from None
        return name


def _values(row: VirtualRow) -> list[Value]:
    """The records of a reading: its value first, then what is known about its window; none for a marker."""
    counts = {EXPECTED: row.expected, RECEIVED: row.received, MISSING: row.missing, OPEN: row.open or None}
    for column, count in counts.items():
        if count is not None and not 0 <= count <= _MAX_NUMBER:
            raise PoisonRow(column, f"{count} is no count: correct the stage that counts")
    known: dict[str, Scalar | None] = dict(counts)
    if row.value is None and row.expected is None:
        if row.correction is None:
            return []
        raise PoisonRow("expected", "it is null, and so is the value: a correction has a value, or counts")
    known[WINDOW_S] = None if row.window_s is None else _number(row.window_s, WINDOW_S)
    known[MISSING_NAMES] = _cut(row.missing_names) or None
    known[CORRECTS] = None if row.correction is None else row.number
    records = [Value(value, name=name) for name, value in known.items() if value is not None]
    return records if row.value is None else [_first(row), *records]


def _first(row: VirtualRow) -> Value:
    quality = _QUALITIES.get(row.quality)
    if quality is None:
        words = ", ".join(_QUALITIES)
        raise PoisonRow("quality", f"{row.quality!r} is no quality of a value: use {words}, or null as the value")
    if len(row.unit) > MAX_TEXT:
        raise PoisonRow("unit", f"it has {len(row.unit)} characters, {MAX_TEXT} is the limit: use a shorter one")
    value = row.value
    if not isinstance(value, (int, float, Decimal, str)):
        raise PoisonRow("value", f"a {type(value).__name__} is no value: cast it to a number, text or boolean")
    scalar = value if isinstance(value, (bool, str)) else _number(value, "value")
    return Value(scalar, row.unit, quality)


def _number(number: Number, column: str) -> int | float:
    if isinstance(number, int):
        if -_MAX_INTEGER <= number < _MAX_INTEGER:
            return number
        raise PoisonRow(column, f"{number} is too large, integers lie between −2^64 and 2^64: scale it, or cast it")
    if math.isfinite(number) and math.isfinite(float(number)):
        is_whole = isinstance(number, Decimal) and abs(number) < _MAX_INTEGER and number == number.to_integral_value()
        return int(number) if is_whole else float(number)
    raise PoisonRow(column, f"{number} is no value: filter the row out, or make it null for an empty marker")


def _cut(text: str) -> str:
    return text if len(text) <= MAX_MISSING_NAMES else text[:MAX_MISSING_NAMES] + " …"
