"""The ring of content numbers: 100 to 1 500 000 000 and round again, 1 499 999 901 values [FLIPS §III-A, E2, E3].

Comparison is modular: of two numbers the later one is less than half a ring ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.pubsub.flips.identifiers import FIRST_CONTENT, LAST_CONTENT

SIZE: Final = LAST_CONTENT - FIRST_CONTENT + 1


def at(counter: int) -> int:
    """The number of a topic's content with this counter, the first being 0."""
    return FIRST_CONTENT + counter % SIZE


def step(number: int, by: int = 1) -> int:
    """So many numbers further, or back."""
    return FIRST_CONTENT + (number - FIRST_CONTENT + by) % SIZE


def distance(low: int, high: int) -> int:
    """How far `high` is ahead of `low`; negative if it is behind."""
    ahead = (high - low) % SIZE
    return ahead if ahead <= SIZE // 2 else ahead - SIZE


def run(low: int, high: int) -> Iterator[int]:
    """All numbers from low to high, both included; none if high is behind."""
    for by in range(distance(low, high) + 1):
        yield step(low, by)
