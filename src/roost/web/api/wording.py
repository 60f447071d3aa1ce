"""A value as people read it in a list: short, with its unit."""

from __future__ import annotations

import json
from typing import Final

MAX_TEXT: Final = 48
_UNITS: Final = {  # of SenML [RFC 8428 §12.1], as they are written elsewhere
    "Cel": "°C",
    "%RH": "% RH",
    "/": "",
    "m/s2": "m/s²",
    "m2": "m²",
    "m3": "m³",
    "W/m2": "W/m²",
    "Ohm": "Ω",
    "lx": "lx",
    "ug/m3": "µg/m³",
}


def measured(value: object) -> object:
    """What was measured: the number `value` of an object, as windows of pipelines have it; else all of it."""
    said = value.get("value") if isinstance(value, dict) else None
    return value if isinstance(said, bool) or not isinstance(said, int | float) else said


def wording(value: object, unit: str) -> str:
    """Write a value and its unit; a dash for none."""
    value = measured(value)
    if value is None:
        return "–"
    if isinstance(value, bool):
        text = "yes" if value else "no"
    elif isinstance(value, int | float):
        text = f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
    elif isinstance(value, bytes):
        return f"{len(value):,} bytes"
    elif isinstance(value, str):
        text = " ".join(value.split())
    else:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    if len(text) > MAX_TEXT:
        text = text[: MAX_TEXT - 1] + "…"
    said = _UNITS.get(unit, unit)
    return f"{text} {said}" if said and said != "%" else f"{text}{said}"
