"""Questions to any repo of a group, ours: what is newest, what is missing, where a time begins, readings in bundles.

    /<service or repo>/32=ask/<question>                    Interest, CanBePrefix, MustBeFresh
    /<service or repo>/32=ask/<question>/v=<ms>/seg=0       Data, signed by the repo; one segment, always

| question | no. | holds               | its answer                                                                  |
| -------- | --- | ------------------- | --------------------------------------------------------------------------- |
| Latest   | 180 | Name, [Time],       | Streams: those at or below the name, each with its highest number, held or  |
|          |     | [After]             | dropped; with Time, when it was asked, no cache has the answer to it yet    |
| Since    | 181 | Name, Time, [After] | Streams: each with its lowest number whose event time is at or after Time,  |
|          |     |                     | or the one behind its highest if there is none                              |
| Bundle   | 182 | Name, Low, High     | Bundled: the readings of that stream, from Low upwards, as many as fit      |
| Gaps     | 193 | Name, [After,       | Gapped: those at or below the name that lack numbers below their highest,   |
|          |     | [Low]]              | held or dropped; with Low also the stream After itself, from Low upwards    |

| element | no. | value                                                                                    |
| ------- | --- | ---------------------------------------------------------------------------------------- |
| After   | 183 | a Name's TLV-VALUE: only streams behind it, to go on where the last answer ended         |
| Time    | 184 | NonNegativeInteger: nanoseconds since 1970                                               |
| Low     | 185 | NonNegativeInteger, from 1                                                               |
| High    | 186 | NonNegativeInteger, at least Low                                                         |
| Streams | 187 | [More], Stream …, in canonical order                                                     |
| More    | 188 | empty: there are more, behind the last one                                               |
| Stream  | 189 | Name, Number                                                                             |
| Number  | 190 | NonNegativeInteger                                                                       |
| Bundled | 191 | Dropped …, Data (6) …, each with rising numbers                                          |
| Dropped | 192 | Low, High: numbers that were dropped on purpose (retention, a delete) and never come;    |
|         |     | the last of them may reach further than was asked                                        |

A question is the value of one generic component. A number that a bundle neither holds nor calls dropped may come later,
may be elsewhere, or may be too large to be bundled: ask for it by name. Every type is critical, as in all of the repo's
protocols (`roost.repo.fields`). Whether an answer is true is for whoever verified it. Gapped is in `roost.repo.gaps`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from roost.errors import BadPacket
from roost.naming import Component, Name
from roost.naming.building import numbered
from roost.naming.component import GENERIC
from roost.naming.conventions import keyword
from roost.naming.name import NAME_TYPE
from roost.repo.fields import Fields, only
from roost.wire import Data, tlv
from roost.wire.data import decode_data
from roost.wire.tlv import element, elements

ASK: Final = keyword("ask")

LATEST: Final = 180
SINCE: Final = 181
BUNDLE: Final = 182
AFTER: Final = 183
TIME: Final = 184
LOW: Final = 185
HIGH: Final = 186
STREAMS: Final = 187
MORE: Final = 188
STREAM: Final = 189
NUMBER: Final = 190
BUNDLED: Final = 191
DROPPED: Final = 192
GAPS: Final = 193

MAX_CONTENT_BYTES: Final = 7600
MAX_NAME_BYTES: Final = 2000  # longer ones are not asked about, nor listed
MAX_DROPPED: Final = 64  # runs in one answer; what lies behind them is asked for again
_HEAD_BYTES: Final = 8  # of the outermost element, and More

Run: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Latest:
    """Ask for the highest number of each stream below a prefix; with the time of asking, a repo and no cache."""

    prefix: Name
    after: Name | None = None
    time: int = 0


@dataclass(frozen=True, slots=True)
class Since:
    """Ask from which number on each stream below a prefix is as new as this time (ns)."""

    prefix: Name
    time: int
    after: Name | None = None


@dataclass(frozen=True, slots=True)
class Bundle:
    """Ask for the readings low to high of a stream."""

    stream: Name
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """Ask what is missing of each stream below a prefix, behind a place: a stream, or a number of it."""

    prefix: Name
    after: Name | None = None
    low: int = 0


Asked: TypeAlias = Latest | Since | Bundle | Gaps


@dataclass(frozen=True, slots=True)
class Streams:
    """Streams with a number each; `more` if there are others behind the last one."""

    entries: tuple[tuple[Name, int], ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Bundled:
    """Readings of one stream with their numbers, and the numbers that were dropped on purpose."""

    readings: tuple[tuple[int, Data], ...]
    dropped: tuple[Run, ...] = ()


# -- questions


def encode_question(question: Asked) -> Component:
    """Write a question as a name component."""
    if isinstance(question, Bundle):
        body = question.stream.wire + tlv.number(LOW, question.low) + tlv.number(HIGH, question.high)
        return Component(tlv.tlv(BUNDLE, body))
    after = b"" if question.after is None else tlv.tlv(AFTER, question.after.value)
    if isinstance(question, Latest):
        time = tlv.number(TIME, question.time) if question.time else b""
        return Component(tlv.tlv(LATEST, question.prefix.wire + time + after))
    if isinstance(question, Gaps):
        return Component(tlv.tlv(GAPS, question.prefix.wire + encode_place(question.after, question.low)))
    return Component(tlv.tlv(SINCE, question.prefix.wire + tlv.number(TIME, question.time) + after))


def decode_question(component: Component) -> Asked:
    """Read a question from the network."""
    if component.type != GENERIC:
        raise BadPacket(f"a question is a generic component, not one of type {component.type}")
    raw = component.value
    type_, start, end = element(raw, 0, len(raw))
    if end != len(raw):
        raise BadPacket(f"{len(raw) - end} bytes follow the question")
    if type_ == LATEST:
        fields = Fields(raw, start, end, (NAME_TYPE, TIME, AFTER), "Latest")
        return Latest(_name(fields), _after(fields), fields.number(TIME) or 0)
    if type_ == SINCE:
        fields = Fields(raw, start, end, (NAME_TYPE, TIME, AFTER), "Since")
        return Since(_name(fields), fields.required(TIME), _after(fields))
    if type_ == BUNDLE:
        fields = Fields(raw, start, end, (NAME_TYPE, LOW, HIGH), "Bundle")
        return Bundle(_name(fields), *decode_run(fields, "Bundle"))
    if type_ == GAPS:
        fields = Fields(raw, start, end, (NAME_TYPE, AFTER, LOW), "Gaps")
        after = _after(fields)
        return Gaps(_name(fields), after, decode_low(fields.number(LOW), after))
    raise BadPacket(f"element {type_} is no question: those are {LATEST} to {BUNDLE} and {GAPS}")


# -- answers


def encode_streams(streams: Streams) -> bytes:
    """Write the answer to Latest or Since."""
    body = tlv.tlv(MORE, b"") if streams.more else b""
    return tlv.tlv(STREAMS, body + b"".join([_stream(stream, number) for stream, number in streams.entries]))


def decode_streams(content: bytes) -> Streams:
    """Read the answer to Latest or Since; the bound is the packet's."""
    start, end = only(content, STREAMS, "an answer about streams")
    found: list[tuple[Name, int]] = []
    more = False
    for position, (type_, low, high) in enumerate(elements(content, start, end)):
        if type_ == MORE and position == 0 and low == high:
            more = True
            continue
        if type_ != STREAM:
            raise BadPacket(f"element {type_} before byte {low} has no place in an answer about streams")
        fields = Fields(content, low, high, (NAME_TYPE, NUMBER), "Stream")
        stream = _name(fields)
        if found and stream <= found[-1][0]:
            raise BadPacket(f"{stream} is not in canonical order in the answer")
        found.append((stream, fields.required(NUMBER)))
    if more and not found:
        raise BadPacket("the answer says that there is more, but not behind what")
    return Streams(tuple(found), more)


def fitting(entries: Iterable[tuple[Name, int]], max_bytes: int) -> list[tuple[Name, int]]:
    """The first of these streams, as many as an answer of `max_bytes` can hold; the others are not looked at."""
    found: list[tuple[Name, int]] = []
    left = max_bytes - _HEAD_BYTES
    for stream, number in entries:
        left -= len(_stream(stream, number))
        if left < 0:
            break
        found.append((stream, number))
    return found


def encode_bundle(readings: Sequence[bytes], dropped: Sequence[Run] = ()) -> bytes:
    """Write the answer to Bundle, of whole packets."""
    runs = b"".join([encode_run(DROPPED, run) for run in dropped])
    return tlv.tlv(BUNDLED, runs + b"".join(readings))


def decode_bundle(content: bytes, asked: Bundle) -> Bundled:
    """Read the answer to a Bundle question."""
    start, end = only(content, BUNDLED, "a bundle")
    readings: list[tuple[int, Data]] = []
    dropped: list[Run] = []
    for type_, low, high in elements(content, start, end):
        if type_ == tlv.DATA:
            data = decode_data(content[low - _head(high - low) : high])
            readings.append((_number_of(data, asked, readings), data))
        elif type_ == DROPPED and not readings and len(dropped) < MAX_DROPPED:
            run = decode_run(Fields(content, low, high, (LOW, HIGH), "Dropped"), "Dropped")
            if dropped and run[0] <= dropped[-1][1]:
                raise BadPacket(f"the dropped numbers from {run[0]} on are out of order")
            dropped.append(run)
        else:
            raise BadPacket(f"element {type_} before byte {low} has no place in a bundle")
    return Bundled(tuple(readings), tuple(dropped))


def dropped_bytes(dropped: Sequence[Run]) -> int:
    """How much of a bundle these take, and its outermost element."""
    return _HEAD_BYTES + sum(len(encode_run(DROPPED, run)) for run in dropped)


def _stream(stream: Name, number: int) -> bytes:
    return tlv.tlv(STREAM, stream.wire + tlv.number(NUMBER, number))


def encode_run(type_: int, run: Run) -> bytes:
    """Write an element that is a run."""
    return tlv.tlv(type_, tlv.number(LOW, run[0]) + tlv.number(HIGH, run[1]))


def encode_place(after: Name | None, low: int) -> bytes:
    """Write where to go on."""
    place = b"" if after is None else tlv.tlv(AFTER, after.value)
    return place + tlv.number(LOW, low) if low else place


def decode_low(low: int | None, after: Name | None) -> int:
    """Read from which number on; 0 for all."""
    if low is None:
        return 0
    if low < 1 or after is None:
        raise BadPacket(f"a place behind number {low} has a stream and a number of at least 1")
    return low


def _head(length: int) -> int:
    """How many bytes stand before the value of a Data of this length."""
    return 2 if length < 253 else 4


def _name(fields: Fields) -> Name:
    name = fields.name()
    if name is None:
        raise BadPacket("a Name is missing")
    return bounded(name)


def _after(fields: Fields) -> Name | None:
    value = fields.value(AFTER)
    return None if value is None else bounded(Name.decode(value))


def bounded(name: Name) -> Name:
    """Refuse a name that is too long."""
    if len(name.value) > MAX_NAME_BYTES:
        raise BadPacket(f"a name of {len(name.value)} bytes is too long here, {MAX_NAME_BYTES} is the limit")
    return name


def decode_run(fields: Fields, where: str) -> Run:
    """Read Low and High."""
    low, high = fields.required(LOW), fields.required(HIGH)
    if not 1 <= low <= high:
        raise BadPacket(f"{where} goes from a number of at least 1 upwards, not from {low} to {high}")
    return low, high


def _number_of(data: Data, asked: Bundle, before: list[tuple[int, Data]]) -> int:
    """Which reading of the stream this is; they rise, and lie in what was asked for."""
    number = -1
    if len(data.name) == len(asked.stream) + 1 and data.name.starts_with(asked.stream):
        number = int.from_bytes(data.name.at(-1).value, "big")
    lowest = before[-1][0] + 1 if before else asked.low
    if not lowest <= number <= asked.high or data.name != numbered(asked.stream, number):
        raise BadPacket(f"{data.name} is none of the readings {lowest} to {asked.high} of {asked.stream}")
    return number
