"""Since when somebody wants the past: the user property `since`, and the topic form `$since/<when>/<filter>`.

| when                                    | means                                                                      |
| --------------------------------------- | -------------------------------------------------------------------------- |
| `24h`, `7d`, `10m`, `30s`               | so long ago                                                                |
| `2026-05-01`, `2026-05-01T08:00+02:00`  | from that time on, in UTC unless it says otherwise                         |
| `1`, `4711`                             | from that number on in each stream; 1 is all there is                      |

The topic form is for clients of 3.1.1, which have no properties; `/` in a time cannot be, so the second level is all of
it. A shared subscription has no past: it would be somebody else's.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from roost.broker.packets.reasons import TOPIC_FILTER_INVALID, Malformed
from roost.errors import BadConfig
from roost.machine.times import moment

PROPERTY: Final = b"since"
PREFIX: Final = b"$since/"
_MAX_DIGITS: Final = 19
_FORMS: Final = "write how long ago (24h, 7d), a time (2026-05-01T08:00), or a number (1: all there is)"


class Since(NamedTuple):
    """From a time (ns since 1970) or from a number on; the other is 0."""

    time: int = 0
    number: int = 0


def since_of(user: list[tuple[bytes, bytes]]) -> bytes | None:
    """What the user properties of a SUBSCRIBE say, None if nothing."""
    for name, value in user:
        if name == PROPERTY:
            return value
    return None


def split_since(filter_: bytes) -> tuple[bytes | None, bytes]:
    """Take `$since/<when>/<filter>` apart: when, and the filter; when is None for any other filter."""
    if not filter_.startswith(PREFIX):
        return None, filter_
    when, _, rest = filter_[len(PREFIX) :].partition(b"/")
    return when, rest


def read_since(when: bytes, now: int) -> Since:
    """Read when; raises `Malformed` with what to write."""
    text = when.decode(errors="replace")
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        return Since(number=max(1, int(text)))
    try:
        return Since(time=max(1, moment(text, now, "since", _FORMS)))
    except (BadConfig, OverflowError) as error:
        raise Malformed(TOPIC_FILTER_INVALID, str(error)) from None
