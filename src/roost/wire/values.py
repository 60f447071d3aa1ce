"""The values of a payload, whatever format it has: SenML as it is, and what ordinary devices send, read as SenML.

| format                  | read as                                                                                   |
| ----------------------- | ----------------------------------------------------------------------------------------- |
| 112 SenML in CBOR       | itself (`roost.wire.senml`)                                                               |
| 110 SenML in JSON       | the same records                                                                          |
| 50 JSON                 | a number, text or truth value; `{"value": …, "unit": …, "quality": …}`; of any other      |
|                         | object each member that is one of these, by its name                                      |
| 0 text, 42 bytes        | a decimal number in ASCII; other text as text                                             |

The payload itself stays what it was: this is a way to read it. `format_of` guesses the format of what has none.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

import cbor2

from roost.errors import BadPacket
from roost.wire.reading import JSON, OCTET_STREAM, SENML_CBOR, SENML_JSON, TEXT
from roost.wire.senml import MAX_RECORDS, Quality, Scalar, Value, decode_values

NUMBER: Final = re.compile(rb"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")

# Behind ASCII what is no UTF-8: most that is binary is known by that, which is sooner than to catch an exception.
_BINARY: Final = re.compile(
    rb"[\x00-\x7f]*+(?!\Z|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})"
)
_MAX_INTEGER: Final = 1 << 64
_MAX_DIGITS: Final = 400  # of a number as text: beyond it none is finite, or says more
_LABELS: Final = {
    "bver": -1,
    "bn": -2,
    "bt": -3,
    "bu": -4,
    "bv": -5,
    "bs": -6,
    "n": 0,
    "u": 1,
    "v": 2,
    "vs": 3,
    "vb": 4,
    "s": 5,
    "t": 6,
    "ut": 7,
    "vd": 8,
}  # [RFC 8428 §6]
_QUALITIES: Final = {"good": Quality.GOOD, "uncertain": Quality.UNCERTAIN, "bad": Quality.BAD}
_MEDIA_TYPES: Final = {
    b"text/plain": TEXT,
    b"application/octet-stream": OCTET_STREAM,
    b"application/json": JSON,
    b"application/senml+json": SENML_JSON,
    b"application/senml+cbor": SENML_CBOR,
}


def format_of(payload: bytes, media_type: bytes = b"") -> int:
    """The content format of a payload: what its media type says, or else what it looks like."""
    if media_type:
        said = _MEDIA_TYPES.get(media_type.partition(b";")[0].strip().lower())
        if said is not None:
            return said
    if payload.startswith((b"{", b"[")):
        return JSON
    if not payload:
        return OCTET_STREAM
    if payload.isascii():  # as most are; to decode is to copy
        return TEXT
    if _BINARY.match(payload):
        return OCTET_STREAM
    try:
        payload.decode()
    except UnicodeDecodeError:
        return OCTET_STREAM
    return TEXT


def values_of(format_: int, payload: bytes) -> list[Value]:
    """The values of a payload, none if the format has none; raises `BadPacket` if it is not of its format."""
    if format_ == SENML_CBOR:
        return decode_values(payload)
    if format_ in {TEXT, OCTET_STREAM}:
        return _plain(format_, payload)
    if format_ == JSON:
        return _json(_parsed(payload))
    if format_ == SENML_JSON:
        return _senml(_parsed(payload))
    return []


def _plain(format_: int, payload: bytes) -> list[Value]:
    if len(payload) <= _MAX_DIGITS and NUMBER.fullmatch(payload):
        number = _number(payload)
        return [] if number is None else [Value(number)]
    if format_ == OCTET_STREAM:
        return []
    try:
        return [Value(payload.decode())]
    except UnicodeDecodeError:
        raise BadPacket("a text is in UTF-8, this one is not") from None


def _number(text: bytes) -> int | float | None:
    try:
        number: int | float = int(text)
    except ValueError:
        number = float(text)
    return number if _is_scalar(number) else None


def _parsed(payload: bytes) -> Any:  # noqa: ANN401  whatever JSON has
    try:
        content = json.loads(payload, parse_constant=_no_constant)
        if b"\\" in payload or not payload.isascii():  # else there is no half of a surrogate pair, which has no UTF-8
            json.dumps(content, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise BadPacket("it should be JSON, and is not") from None
    return content


def _no_constant(text: str) -> None:
    raise ValueError(text)  # NaN and Infinity, which Python reads and JSON does not have


def _json(content: object) -> list[Value]:
    if isinstance(content, dict):
        if _is_scalar(content.get("value")):
            unit, quality = content.get("unit", ""), content.get("quality", "good")
            known = _QUALITIES.get(quality, Quality.GOOD) if isinstance(quality, str) else Quality.GOOD
            return [Value(content["value"], unit if isinstance(unit, str) else "", known)]
        members = [Value(value, name=name) for name, value in content.items() if _is_scalar(value)]
        return members[:MAX_RECORDS]
    if isinstance(content, list) and content and isinstance(content[0], dict) and _LABELS.keys() & content[0].keys():
        try:
            return _senml(content)
        except BadPacket:
            return []
    return [Value(_scalar(content))] if _is_scalar(content) else []


def _is_scalar(value: object) -> bool:
    """Whether SenML has such values: its integers have 64 bits, its numbers are finite."""
    if isinstance(value, int):
        return -_MAX_INTEGER <= value < _MAX_INTEGER
    return isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))


def _scalar(value: object) -> Scalar:
    assert isinstance(value, (bool, int, float, str))  # noqa: S101  `_is_scalar` has looked
    return value


def _senml(records: object) -> list[Value]:
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise BadPacket("a SenML pack in JSON is an array of objects")
    return decode_values(cbor2.dumps([{_LABELS.get(key, key): record[key] for key in record} for record in records]))
