"""How often a number that nobody has is tried, and when what waits behind it goes on without it.

    later each time    up to a tenth of the time for which nothing of its stream came (`longest_ms`), and at once when
                       something does, or something new of it is announced
    put off            after `STUBBORN` times it holds up no others: it takes no place in a line's window, only its span
    passed over        what its producer has no more, and nobody carries; and what is `hopeless`

Nothing is hopeless while nothing behind it came: whoever has it may be out of reach. Then a number of the past (of what
there was when a line began), and every number of version 2, whose producers do not say what they have no more, is
waited for as long as the subscription has patience; but the latest of a name only until it was tried by all ways.
As they come, nothing is held up, so nothing is hopeless before there is no room for more of its stream.
"""

from __future__ import annotations

from typing import Final

from roost.machine import MS
from roost.pubsub.blobs.line import SPAN, Line, Open

STUBBORN: Final = 2
_ALL_WAYS: Final = 4  # as often the producer and those who carry were asked, twice each
_LOW_MS: Final = 100
_HIGH_MS: Final = 5000
_HIGHEST_MS: Final = 300_000
_SHARE: Final = 10


def longest_ms(tries: int, silent: int) -> int:
    """How long to wait at most before it is tried again, if the stream was silent for so many nanoseconds."""
    return min(_LOW_MS << min(tries + 1, 12), max(_HIGH_MS, min(silent // _SHARE // MS, _HIGHEST_MS)))


def was_silent(line: Line, now: int) -> bool:
    """Whether numbers may wait longer than is good for who is heard again."""
    return now - line.heard_at > _HIGH_MS * MS


def is_hopeless(line: Line, each: Open, version: int, now: int) -> bool:
    """Whether what waits behind a number goes on without it."""
    wanted = line.wanted
    if line.best <= each.number or each.tries < _ALL_WAYS:
        return False
    if wanted.latest and each.number <= line.past:
        return True
    if not wanted.patience_ms or (version != 2 and each.number > line.past):
        return False
    held_up = wanted.in_order or len(line.open) >= SPAN
    return held_up and each.missed_at > 0 and now - each.missed_at >= wanted.patience_ms * MS
