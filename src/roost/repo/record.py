"""A repo's records: what it took in or dropped, batch by batch, for the other repos of its group [NDN-PS §III-C].

    Record = 150 { Cause 151, then any of  Held 152 { Name 7, Low 153, High 154 },  Name 7,  Data 6 }

| element | no. | value                                                                              |
| ------- | --- | ---------------------------------------------------------------------------------- |
| Cause   | 151 | NonNegativeInteger: why (`roost.repo.cause`)                                        |
| Held    | 152 | readings of one stream, low to high, both inclusive                                |
| Low     | 153 | NonNegativeInteger, from 1                                                         |
| High    | 154 | NonNegativeInteger                                                                 |
| Name    | 7   | a packet that is no reading                                                        |
| Data    | 6   | a whole packet, carried inside; it needs no other element beside it                |

It is the content of `<repo>/seq=<n>`. Both forms of the paper are here: a batch is carried inside if all of it fits
one record and `carry_bytes`, and named in as many records as it takes otherwise. One that names nothing says that its
repo is there. Numbers, signatures and who is told are `roost.pubsub.repos.recording`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from roost.errors import BadPacket
from roost.naming.name import Name
from roost.naming.number import read_nni
from roost.repo.cause import INSERT
from roost.repo.numbering import numbered
from roost.repo.store import Entry
from roost.wire import tlv
from roost.wire.data import Data

RECORD: Final = 150
CAUSE: Final = 151
HELD: Final = 152
LOW: Final = 153
HIGH: Final = 154

MAX_CONTENT_BYTES: Final = 7600
MAX_READINGS: Final = 1 << 16  # that one record may name: more than any batch has
_HEAD_BYTES: Final = 16  # the outermost element's head and the cause, at most
CARRY_BYTES: Final = MAX_CONTENT_BYTES - _HEAD_BYTES


class Held(NamedTuple):
    """Readings of one stream."""

    stream: Name
    low: int
    high: int


class Record(NamedTuple):
    """What one record says."""

    cause: int
    held: tuple[Held, ...] = ()
    names: tuple[Name, ...] = ()
    packets: tuple[Data, ...] = ()


def runs_of(names: Iterable[Name]) -> tuple[list[Held], list[Name]]:
    """Put readings together to runs without a hole, streams in the order they come first; and what is no reading."""
    numbers: dict[bytes, list[int]] = {}
    others: list[Name] = []
    for name in names:
        value, number = numbered(name)
        if number:
            numbers.setdefault(value, []).append(number)
        else:
            others.append(name)
    runs: list[Held] = []
    for value, found in numbers.items():
        stream = Name(value)
        found.sort()
        low = high = found[0]
        for number in found[1:]:
            if number > high + 1 or number - low >= MAX_READINGS:
                runs.append(Held(stream, low, high))
                low = number
            high = number
        runs.append(Held(stream, low, high))
    return runs, others


def encode_records(entries: Sequence[Entry], cause: int, carry_bytes: int = CARRY_BYTES) -> list[bytes]:
    """Write the contents of the records of a batch, carried inside if `carry_bytes` allows, else named.

    A name that is too long for a record is left out: no other repo could ask for it by a record anyway.
    """
    wires = [entry.wire for entry in entries]
    if all(wires) and sum(map(len, wires)) <= min(carry_bytes, CARRY_BYTES):
        return [_record(cause, wires)] if wires else []
    return encode_named(*runs_of([entry.name for entry in entries]), cause)


def encode_named(runs: Sequence[Held], names: Sequence[Name], cause: int) -> list[bytes]:
    """Write the contents of the records that name these."""
    parts = [(_encode_run(run), run.high - run.low + 1) for run in runs]
    parts += [(name.wire, 0) for name in names]
    contents: list[bytes] = []
    chosen: list[bytes] = []
    room, readings = CARRY_BYTES, 0
    for part, count in parts:
        if len(part) > CARRY_BYTES:
            continue
        if len(part) > room or readings + count > MAX_READINGS:
            contents.append(_record(cause, chosen))
            chosen = []
            room, readings = CARRY_BYTES, 0
        chosen.append(part)
        room -= len(part)
        readings += count
    return [*contents, _record(cause, chosen)] if chosen else contents


def encode_greeting() -> bytes:
    """Write the content of a record that names nothing."""
    return _record(INSERT, [])


def _encode_run(run: Held) -> bytes:
    return tlv.tlv(HELD, run.stream.wire + tlv.number(LOW, run.low) + tlv.number(HIGH, run.high))


def _record(cause: int, parts: list[bytes]) -> bytes:
    return tlv.tlv(RECORD, tlv.number(CAUSE, cause) + b"".join(parts))


def decode_record(content: bytes) -> Record:
    """Check and open the content of a record; raises `BadPacket` with the reason."""
    position, end = tlv.outer(content, RECORD)
    cause = -1
    held: list[Held] = []
    names: list[Name] = []
    packets: list[Data] = []
    while position < end:
        at = position
        type_, low, position = tlv.element(content, at, end)
        if type_ == CAUSE and cause < 0:
            cause = read_nni(content, low, position)
        elif cause < 0:
            raise BadPacket(f"a record begins with its cause, element {type_} is there")
        elif type_ == HELD:
            held.append(_held(content, low, position))
        elif type_ == tlv.NAME:
            names.append(Name.decode(content[low:position]))
        elif type_ == tlv.DATA:
            packets.append(Data.decode(content[at:position]))
        else:
            tlv.skip(type_, at, "Record")
    if cause < 0:
        raise BadPacket("a record without a cause says nothing")
    readings = sum([run.high - run.low + 1 for run in held])
    if readings > MAX_READINGS:
        raise BadPacket(f"a record of {readings} readings: {MAX_READINGS} is the limit")
    return Record(cause, tuple(held), tuple(names), tuple(packets))


def _held(content: bytes, position: int, end: int) -> Held:
    stream: Name | None = None
    low = high = -1
    while position < end:
        at = position
        type_, start, position = tlv.element(content, at, end)
        if type_ == tlv.NAME and stream is None:
            stream = Name.decode(content[start:position])
        elif type_ == LOW and stream is not None and low < 0:
            low = read_nni(content, start, position)
        elif type_ == HIGH and low >= 0 and high < 0:
            high = read_nni(content, start, position)
        else:
            tlv.skip(type_, at, "Held")
    if stream is None or not 1 <= low <= high:
        raise BadPacket("a run of readings has a stream, and numbers from low to high, at least 1, in this order")
    return Held(stream, low, high)
