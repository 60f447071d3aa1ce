"""What a result is as a payload: the text that JavaScript would print, so that both languages give the same bytes.

| value                        | payload                        | format |
| ---------------------------- | ------------------------------ | ------ |
| number                       | as `String(n)` prints it       | 0      |
| text                         | itself, in UTF-8               | 0      |
| truth value, list, mapping   | as `JSON.stringify` prints it  | 50     |
| bytes                        | themselves                     | 42     |

Integers beyond 2^53 keep their digits. Numbers have the fewest digits that read back to the bit; of some powers of two
quickjs-ng prints one more.
"""

from __future__ import annotations

import json
import math
import re
from typing import Final

from roost.wire.reading import JSON, OCTET_STREAM, TEXT

_HALF: Final = re.compile("[\ud800-\udfff]")
_INDEX: Final = re.compile(r"0|[1-9]\d{0,9}")
_MAX_INDEX: Final = 2**32 - 2
_MAX_POINT: Final = 21  # digits before the point that a number has without an exponent
_MIN_POINT: Final = -6


def payload_of(value: object) -> tuple[bytes, int]:
    """The payload of a result and its format; raises `TypeError` for what is no value."""
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value).encode(), TEXT
    if isinstance(value, (bytes, bytearray)):
        return bytes(value), OCTET_STREAM
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number_text(value).encode(), TEXT
    return json_text(value).encode(), JSON


def json_text(value: object) -> str:
    """A value as `JSON.stringify` writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number_text(value) if math.isfinite(value) else "null"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, (list, tuple)):
        return f"[{','.join([json_text(each) for each in value])}]"
    if isinstance(value, dict):
        members = {str(name): each for name, each in value.items()}
        return f"{{{','.join([f'{_quoted(name)}:{json_text(members[name])}' for name in _ordered(members)])}}}"
    raise TypeError(f"a macro gives a value, not a {type(value).__name__}")


def number_text(number: float) -> str:
    """A number as `String(n)` writes it."""
    if isinstance(number, int):
        return str(number)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0"
    text = repr(number)
    if "e" not in text:
        return text.removesuffix(".0")
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = text.removeprefix("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent)
    digits = (whole + fraction).rstrip("0")
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.lstrip("0")
    if len(digits) <= point <= _MAX_POINT:
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    if 0 < point <= _MAX_POINT:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if _MIN_POINT < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"


def _ordered(members: dict[str, object]) -> list[str]:
    """The names as JavaScript has them: those that are indices first, by number."""
    indices = {name: int(name) for name in members if _INDEX.fullmatch(name) and int(name) <= _MAX_INDEX}
    return [*sorted(indices, key=indices.__getitem__), *[name for name in members if name not in indices]]


def _quoted(text: str) -> str:
    return _HALF.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
