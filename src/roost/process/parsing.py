"""A reading as a sample: the payload and its format give the value that macros see (`roost.process.sample`).

SenML is read by `roost.wire.values`; of several records each is a member by its name, and the worst quality is that of
all; a pack in JSON need not say that it is one. An object that is one value with its unit or quality, as
`{detail: true}` gives it, is that value. Other JSON is taken as it is; an object with a value and more gives its unit
and quality too. A payload that is not of its format is text, or bytes if it is not UTF-8. Nothing here raises: what a
sensor sends is what a macro gets.
"""

from __future__ import annotations

import json
import re
from typing import Final

from roost.errors import BadPacket
from roost.process.sample import GOOD, Plain, Sample
from roost.wire.reading import JSON, OCTET_STREAM, SENML_CBOR, SENML_JSON
from roost.wire.senml import Quality, Value
from roost.wire.values import NUMBER, values_of

_MAX_DIGITS: Final = 400
_FRACTION: Final = re.compile(rb"[.eE]")  # what an integer has not
_DETAIL: Final = frozenset({"value", "unit", "quality", "time", "topic"})
_QUALITIES: Final = {Quality.GOOD: GOOD, Quality.UNCERTAIN: "uncertain", Quality.BAD: "bad"}


def sample_of(topic: str, time: int, format_: int, payload: bytes, stream: bytes = b"", number: int = 0) -> Sample:
    """The sample of a reading."""
    unit, quality = "", GOOD
    value: Plain
    if format_ in {SENML_CBOR, SENML_JSON}:
        values = _values(format_, payload)
        if values:
            value, unit, quality = _measured(values)
        else:
            value = _text(payload)
    elif format_ == JSON:
        value = _json(payload)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            packed = _values(JSON, payload)
            if packed:
                value, unit, quality = _measured(packed)
        elif isinstance(value, dict) and "value" in value:
            said = _values(JSON, payload) if _is_detail(value) else []
            if len(said) == 1 and not said[0].name:  # what has a name is a member
                value, unit, quality = _measured(said)
            else:
                said_unit, said_quality = value.get("unit"), value.get("quality")
                unit = said_unit if isinstance(said_unit, str) else ""
                quality = said_quality if isinstance(said_quality, str) else GOOD
    elif len(payload) <= _MAX_DIGITS and NUMBER.fullmatch(payload):
        value = _number(payload)
    else:
        value = payload if format_ == OCTET_STREAM else _text(payload)
    return Sample(topic, time, value, unit, quality, stream, number)


def _values(format_: int, payload: bytes) -> list[Value]:
    try:
        return values_of(format_, payload)
    except BadPacket:
        return []


def _is_detail(value: dict[str, Plain]) -> bool:
    """Whether an object says nothing but a value, with its unit or quality."""
    return ("unit" in value or "quality" in value) and value.keys() <= _DETAIL


def _measured(values: list[Value]) -> tuple[Plain, str, str]:
    worst = _QUALITIES[max(each.quality for each in values)]
    if len(values) == 1:
        return _content(values[0]), values[0].unit, worst
    return {each.name: _content(each) for each in values}, "", worst


def _content(value: Value) -> Plain:
    return value.total if value.value is None else value.value


def _number(payload: bytes) -> Plain:
    return float(payload) if _FRACTION.search(payload) else int(payload)


def _json(payload: bytes) -> Plain:
    try:
        parsed: Plain = json.loads(payload, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return _text(payload)
    return parsed


def _no_constant(text: str) -> None:
    raise ValueError(text)  # NaN and Infinity, which Python reads and JSON does not have


def _text(payload: bytes) -> Plain:
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return payload
