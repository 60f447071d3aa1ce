"""One packet as a row, the exact way: what `decoding` means, in the plainest code; templates only repeat it faster.

| packet                                                | quality            | value, payload                        |
| ----------------------------------------------------- | ------------------ | ------------------------------------- |
| no Data                                               | unreadable         | null, null                            |
| a Data of another name, or whose Content is no reading | unreadable        | null, the Content                     |
| encrypted Content (`roost.trust.access`)              | sealed             | null, null                            |
| a reading whose payload is a number                   | as its SenML says  | the number, the payload               |
| a reading with an empty payload of format 42          | empty              | null, b""                             |
| a reading whose payload is elsewhere, in parts        | unreadable         | null, null                            |
| any other reading                                     | unreadable         | null, the payload                     |

A number is a SenML value (a truth value is 1 or 0), text or bytes (formats 0 and 42) that are a decimal number in
ASCII, or the first value of JSON (`roost.wire.values`). Records named `expected` and `received` are the counts of a
window; a pack that begins with one of them is that of a window without a value, and the row is empty. Whether a
signature is good is not asked here.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

from roost.columns.readings import BAD, EMPTY, EXPECTED, GOOD, RECEIVED, SEALED, UNCERTAIN, UNREADABLE
from roost.errors import BadName, BadPacket
from roost.naming import Name
from roost.naming.conventions import sequence
from roost.trust.access import parse_sealed
from roost.wire.certificate import key_name_of
from roost.wire.data import decode_data
from roost.wire.reading import JSON, OCTET_STREAM, SENML_CBOR, SENML_JSON, TEXT, decode_reading
from roost.wire.senml import Quality, Scalar, Value, decode_values
from roost.wire.values import NUMBER, values_of

COUNTS: Final = (EXPECTED, RECEIVED)

_QUALITY: Final = {Quality.GOOD: GOOD, Quality.UNCERTAIN: UNCERTAIN, Quality.BAD: BAD}
_REMEMBERED: Final = 1024  # signers, whose names repeat
MAX_COUNT: Final = (1 << 32) - 1  # of readings behind one: sums of what many say stay numbers


class Meaning(NamedTuple):
    """What a payload says."""

    value: float | None = None
    unit: str | None = None
    quality: str = UNREADABLE
    expected: int = 1
    received: int = 1


class Row(NamedTuple):
    """What a packet says; `time_us` is None where it holds no reading."""

    meaning: Meaning = Meaning()
    time_us: int | None = None
    payload: bytes | None = None
    signer: str | None = None
    named: bool = False  # it is the packet of its number, so that its signature vouches for this row


def read_packet(stream: Name, number: int, wire: bytes) -> Row:
    """Read the packet that was found as `number` of the stream."""
    try:
        data = decode_data(wire)
    except BadPacket:
        return Row()
    signer = _signer(data.signature.key_name)
    if data.value != stream.value + sequence(number).wire:
        return Row(payload=data.content, signer=signer)
    try:
        reading = decode_reading(data.content)
    except BadPacket:
        if _is_sealed(data.content):
            return Row(Meaning(quality=SEALED, received=0), signer=signer, named=True)
        return Row(payload=data.content, signer=signer, named=True)
    if reading.elsewhere is not None:
        return Row(time_us=reading.time // 1000, signer=signer, named=True)
    return Row(read_payload(reading.format, reading.payload), reading.time // 1000, reading.payload, signer, named=True)


def read_payload(format_: int, payload: bytes) -> Meaning:
    """Read the payload of a reading."""
    if format_ == SENML_CBOR:
        try:
            return _senml(payload)
        except BadPacket:
            return Meaning()
    if format_ == OCTET_STREAM and not payload:
        return Meaning(quality=EMPTY)
    if format_ in {TEXT, OCTET_STREAM} and NUMBER.fullmatch(payload):
        value = float(payload)
        if math.isfinite(value):
            return Meaning(value, quality=GOOD)
    if format_ in {JSON, SENML_JSON}:
        try:
            return _first(values_of(format_, payload))
        except BadPacket:
            return Meaning()
    return Meaning()


def _senml(payload: bytes) -> Meaning:
    values = decode_values(payload)
    counts = {value.name: value.value for value in values if value.name in COUNTS}
    expected, received = (_count(counts.get(name, 1)) for name in COUNTS)
    if values[0].name in COUNTS:
        return Meaning(None, None, EMPTY, expected, received)
    return _first(values)._replace(expected=expected, received=received)


def _first(values: list[Value]) -> Meaning:
    if not values or not isinstance(values[0].value, int | float):
        raise BadPacket("the first value is no number")
    first = values[0]
    return Meaning(float(values[0].value), first.unit or None, _QUALITY[first.quality])


def _count(value: Scalar | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
        raise BadPacket("a count is an integer from 0 on, of 63 bits")
    return value


def _is_sealed(content: bytes) -> bool:
    try:
        parse_sealed(content)
    except BadPacket:
        return False
    return True


@lru_cache(_REMEMBERED)
def _signer(locator: Name | None) -> str | None:
    if locator is None:
        return None
    try:
        return str(key_name_of(locator).prefix(-2))
    except BadName:
        return str(locator)
