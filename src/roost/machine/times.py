"""Times as people write them: how long something is, and when something was."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from roost.errors import BadConfig
from roost.machine.contract import MS, SECOND

_LENGTH: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[smhdw])")
_NS: Final = {
    "ms": MS,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
    "d": 86_400 * SECOND,
    "w": 7 * 86_400 * SECOND,
}


def duration(text: str, what: str) -> int:
    """Read how long something is, in ns: `250ms`, `10s`, `1m`, `24h`, `7d`; `what` is its name, for the error."""
    found = _LENGTH.fullmatch(text.strip())
    try:
        if found is not None:
            return round(float(found[1]) * _NS[found[2]])
    except OverflowError:
        raise BadConfig(f"{what} {text!r} is longer than there is time") from None
    raise BadConfig(f"{what} {text!r} is no length of time: write 250ms, 10s, 1m, 24h or 7d")


def moment(text: str, now: int, what: str, forms: str) -> int:
    """Read when something was, in ns: a date, in UTC unless it says otherwise, or how long ago; `forms` is advice."""
    if _LENGTH.fullmatch(text.strip()):
        return now - duration(text, what)
    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadConfig(f"{what} {text!r} is no time: {forms}") from None
    return round((when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp() * SECOND)
