"""How far streams have come in time: the last window that each of them has closed, found with few questions.

A question about a time is answered for all streams at once, so what counts is how many different times are asked for:
the last windows first, where most streams are, and then halfway between what is known of those that are left. A stream
that has not moved is not asked about again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

MAX_QUESTIONS: Final = 64  # in one step
_LAST: Final = 3
_NEVER: Final = -1

Known = dict[str, tuple[int, int]]  # by stream: its number, and what it had closed then


def last_closed(
    known: Known,
    there: Mapping[str, int],
    top: int,
    before: Callable[[str], int],
    lows: Callable[[int], Mapping[str, int]],
) -> dict[str, int]:
    """By stream, the last window up to `top` that it has closed; what is found out goes into `known`.

    `there` is the highest number of each stream; `before` what a stream had closed of which nothing is known, and
    `lows` each stream's lowest number that closes a window, or the one behind its highest.
    """
    found: dict[str, int] = {}
    unsure: dict[str, list[int]] = {}  # the last one known to be closed, the first one known not to be
    for stream, number in there.items():
        at, closed = known.get(stream, (0, _NEVER))
        if at == 0:
            closed = before(stream)
        if closed >= top or at == number:
            found[stream] = min(closed, top)
        else:
            unsure[stream] = [closed, top + 1]
    for attempt in range(MAX_QUESTIONS):
        if not unsure:
            break
        guess = _guess(unsure, top, attempt)
        told = lows(guess)
        for stream, bounds in list(unsure.items()):
            side = 0 if told.get(stream, there[stream] + 1) <= there[stream] else 1
            bounds[side] = max(bounds[side], guess) if side == 0 else min(bounds[side], guess)
            if bounds[1] - bounds[0] <= 1:
                found[stream] = unsure.pop(stream)[0]
    found.update((stream, bounds[0]) for stream, bounds in unsure.items())
    for stream, closed in found.items():
        known[stream] = (there[stream], closed) if stream not in unsure else (0, _NEVER)
    return found


def _guess(unsure: Mapping[str, list[int]], top: int, attempt: int) -> int:
    """Where to ask: mostly it is one of the last windows, and else somewhere in the middle."""
    if attempt < _LAST:
        return top - attempt
    low, high = max(unsure.values(), key=lambda bounds: bounds[1] - bounds[0])
    return (low + high) // 2
