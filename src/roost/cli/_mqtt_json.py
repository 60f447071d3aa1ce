r"""JSON as `mosquitto_sub` prints it for %j and %J: the layout and the numbers of its library, cJSON.

Members keep their order and may repeat, numbers are doubles with 15 digits where those are exact enough, else 17, and
text stays UTF-8. Bytes that are no UTF-8 come out as they came in. One difference is meant: a NUL is `\u0000`, where
mosquitto leaves out the rest of the text.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from typing import NoReturn

from roost.errors import InvalidInput


class Members(list[tuple[str, object]]):
    """The members of an object, in their order."""


def read(payload: bytes) -> object:
    """Parse JSON; raises `InvalidInput` for anything else."""
    try:
        return json.loads(
            payload.decode(errors="surrogateescape"),
            object_pairs_hook=Members,
            parse_int=float,
            parse_constant=_refuse,
        )
    except (ValueError, RecursionError):
        raise InvalidInput("that is no JSON") from None


def write(value: object, *, pretty: bool = False, depth: int = 0) -> str:
    """Print a value; `pretty` puts each member of an object on a line of its own."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return _number(float(value))
    if isinstance(value, Members):
        return _object(value, pretty=pretty, depth=depth)
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [write(item, pretty=pretty, depth=depth + 1) for item in value]
        return f"[{(', ' if pretty else ',').join(items)}]"
    return json.dumps(value, ensure_ascii=False)


def _object(members: Members, *, pretty: bool, depth: int) -> str:
    parts = [
        (json.dumps(key, ensure_ascii=False), write(item, pretty=pretty, depth=depth + 1)) for key, item in members
    ]
    if not pretty:
        return f"{{{','.join(f'{key}:{item}' for key, item in parts)}}}"
    tabs = "\t" * depth
    lines = ",\n".join(f"{tabs}\t{key}:\t{item}" for key, item in parts)
    return f"{{\n{lines}\n{tabs}}}" if lines else f"{{\n{tabs}}}"


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "null"
    short = f"{value:.15g}"
    exact = abs(float(short) - value) <= max(abs(float(short)), abs(value)) * sys.float_info.epsilon
    return short if exact else f"{value:.17g}"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
