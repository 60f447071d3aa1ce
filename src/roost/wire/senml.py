"""Sensor values: SenML in CBOR, content format 112 [RFC 8428 §6], with a quality flag.

A pack is an array of records. We write one record per value, without base fields, keys in the order of deterministic
CBOR (RFC 8949 §4.2.1), so equal values are equal bytes. We read base fields, decimal fractions and indefinite lengths.

- Quality is an additional label (RFC 8428 §4.4 allows them, receivers that do not know it ignore it because it does not
  end in '_'): the text label `quality` with 1 = uncertain or 2 = bad; absent means good.
- The name may be left out, the Data that carries the pack has one. A time under 2^28 s is relative to the event time of
  the reading, as RFC 8428 §4.5.3 has it relative to now. Staleness: another value is due within `update_s` seconds.

Units are not checked against the registry. Labels ending in '_' and `bver` above 10 are refused, as the RFC demands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from io import BytesIO
from typing import Any, Final, TypeAlias

import cbor2

from roost.errors import BadPacket

MAX_RECORDS: Final = 1024
MAX_TEXT: Final = 255  # of names and units
VERSION: Final = 10
_MAX_DEPTH: Final = 8
_MAX_INTEGER: Final = 1 << 64

_BASE_VERSION, _BASE_NAME, _BASE_TIME, _BASE_UNIT, _BASE_VALUE, _BASE_SUM = -1, -2, -3, -4, -5, -6
_NAME, _UNIT, _VALUE, _STRING, _BOOLEAN, _SUM, _TIME, _UPDATE, _DATA = range(9)
_QUALITY: Final = "quality"

Scalar: TypeAlias = int | float | str | bool | bytes


class Quality(IntEnum):
    """How far a value can be relied on."""

    GOOD = 0
    UNCERTAIN = 1
    BAD = 2


@dataclass(frozen=True, slots=True)
class Value:
    """One value with its unit and quality; `value` may be None only where there is a `total` (SenML's sum)."""

    value: Scalar | None
    unit: str = ""
    quality: Quality = Quality.GOOD
    name: str = ""
    time_s: int | float = 0
    update_s: int | float = 0
    total: int | float | None = None


def encode_values(values: Sequence[Value]) -> bytes:
    """Write a pack; the same values give the same bytes."""
    if not 1 <= len(values) <= MAX_RECORDS:
        raise BadPacket(f"a pack has 1 to {MAX_RECORDS} records, not {len(values)}")
    return cbor2.dumps([_record(value) for value in values], canonical=True)


def decode_values(payload: bytes) -> list[Value]:
    """Check and read a pack, base fields resolved; raises `BadPacket` with the reason."""
    stream = BytesIO(payload)  # not `loads`, which passes over what follows the first item
    try:
        pack = cbor2.load(stream, max_depth=_MAX_DEPTH, allow_duplicate_keys=False)
    except (cbor2.CBORError, ValueError, OverflowError, RecursionError) as error:
        raise BadPacket(f"the SenML pack is not CBOR: {error}") from None
    if stream.tell() != len(payload):
        raise BadPacket(f"{len(payload) - stream.tell()} bytes follow the SenML pack")
    if not isinstance(pack, list) or not 1 <= len(pack) <= MAX_RECORDS:
        raise BadPacket(f"a SenML pack is an array of 1 to {MAX_RECORDS} records")
    base: dict[int, Any] = {}
    values: list[Value] = []
    for record in pack:
        if not isinstance(record, dict):
            raise BadPacket("a SenML record is a map")
        _check_labels(record)
        base.update({label: record[label] for label in record if isinstance(label, int) and label < 0})
        if len(record) > sum(isinstance(label, int) and label < 0 for label in record):
            values.append(_value(record, base))
    if not values:
        raise BadPacket("the SenML pack has base fields only, and no value")
    return values


def _record(value: Value) -> dict[int | str, Any]:
    record: dict[int | str, Any] = {}
    if value.name:
        record[_NAME] = _short(value.name)
    if value.unit:
        record[_UNIT] = _short(value.unit)
    content = value.value
    if isinstance(content, bool):
        record[_BOOLEAN] = content
    elif isinstance(content, int | float):
        record[_VALUE] = _number(content)
    elif isinstance(content, str):
        record[_STRING] = _utf8(content)
    elif isinstance(content, bytes):
        record[_DATA] = content
    elif value.total is None:
        raise BadPacket("a SenML record has a value or a sum")
    if value.total is not None:
        record[_SUM] = _number(value.total)
    if value.time_s:
        record[_TIME] = _number(value.time_s)
    if value.update_s:
        record[_UPDATE] = _number(value.update_s)
    if value.quality:
        record[_QUALITY] = int(value.quality)
    return record


def _value(record: dict[Any, Any], base: dict[int, Any]) -> Value:
    present = [label for label in (_VALUE, _STRING, _BOOLEAN, _DATA) if label in record]
    if len(present) > 1:
        raise BadPacket("a SenML record has one value, this one has several")
    content: Scalar | None = None
    if not present or present[0] == _VALUE:
        if present or _BASE_VALUE in base:
            content = _plus(base, _BASE_VALUE, record, _VALUE)
    else:
        content = record[present[0]]
        if not isinstance(content, {_STRING: str, _BOOLEAN: bool, _DATA: bytes}[present[0]]):
            raise BadPacket(f"SenML label {present[0]} holds a {type(content).__name__}")
    total = _plus(base, _BASE_SUM, record, _SUM) if _SUM in record or _BASE_SUM in base else None
    if content is None and total is None:
        raise BadPacket("a SenML record has a value or a sum, this one has neither")
    quality = record.get(_QUALITY, 0)
    if isinstance(quality, bool) or quality not in (0, 1, 2):
        raise BadPacket("SenML label 'quality' is 0 (good), 1 (uncertain) or 2 (bad)")
    return Value(
        content,
        unit=_text(record.get(_UNIT, base.get(_BASE_UNIT, ""))),
        quality=Quality(quality),
        name=_short(_text(base.get(_BASE_NAME, "")) + _text(record.get(_NAME, ""))),
        time_s=_plus(base, _BASE_TIME, record, _TIME),
        update_s=_number(record.get(_UPDATE, 0)),
        total=total,
    )


def _check_labels(record: dict[Any, Any]) -> None:
    for label in record:
        if isinstance(label, bool) or not isinstance(label, int | str):
            raise BadPacket("a SenML label is an integer or text")
        if isinstance(label, str) and label.endswith("_"):
            raise BadPacket(f"SenML label {label!r} must be understood, and is not")
    if _BASE_VERSION in record:
        version = _number(record[_BASE_VERSION])
        if version > VERSION:
            raise BadPacket(f"SenML version {version} is newer than {VERSION}, the one that is known here")


def _plus(base: dict[int, Any], base_label: int, record: dict[Any, Any], label: int) -> int | float:
    if base_label not in base:
        return _number(record.get(label, 0))  # nothing is added, so that −0.0 stays what it is
    return _number(_number(base[base_label]) + _number(record.get(label, 0)))


def _number(number: object) -> int | float:
    if isinstance(number, Decimal):
        number = float(number)
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise BadPacket(f"SenML has a {type(number).__name__} where a number belongs")
    if isinstance(number, int) and not -_MAX_INTEGER <= number < _MAX_INTEGER:
        raise BadPacket("a SenML integer lies between −2^64 and 2^64")
    if isinstance(number, float) and not math.isfinite(number):
        raise BadPacket("SenML numbers are finite; leave the value out, or mark its quality as bad")
    return number


def _text(text: object) -> str:
    if not isinstance(text, str):
        raise BadPacket(f"SenML has a {type(text).__name__} where text belongs")
    return _short(text)


def _short(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise BadPacket(f"a SenML name or unit has at most {MAX_TEXT} characters, this one has {len(text)}")
    return _utf8(text)


def _utf8(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadPacket(f"{text!r} holds half a surrogate pair, which has no UTF-8 form") from None
    return text
