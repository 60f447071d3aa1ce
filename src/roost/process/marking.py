"""How values go into JavaScript: JSON, and marks around what JSON does not have (NaN, infinities, bytes).

A marked value is `[value]` for what JSON has, text for a number, `{"b": hex}` for bytes, `{"a": […]}` and `{"o": {…}}`
for arrays and objects of marked values. Integers become the nearest double, as all numbers of JavaScript are doubles.
"""

from __future__ import annotations

import json
import math

from roost.process.sample import Plain


def written(values: list[Plain]) -> tuple[int, str]:
    """A list of values as JSON text: −1 and plain, or −2 and marked."""
    try:
        return -1, json.dumps(values, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        return -2, json.dumps([_marked(value) for value in values], separators=(",", ":"))


def double(number: float) -> float:
    """The nearest double, infinite if there is none."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _marked(value: Plain) -> object:
    if isinstance(value, bytes):
        return {"b": value.hex()}
    if isinstance(value, list):
        return {"a": [_marked(each) for each in value]}
    if isinstance(value, dict):
        return {"o": {name: _marked(each) for name, each in value.items()}}
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return [value]
    number = double(value)
    if math.isnan(number):
        return "NaN"
    return repr(number) if math.isfinite(number) else "Infinity" if number > 0 else "-Infinity"
