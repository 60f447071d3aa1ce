"""A stretch of a stream's past: which of its numbers lie in a time, and their readings, piece by piece.

Event times need not rise with the numbers: a device may tell late. So a stretch begins at the lowest number that is not
before its beginning, and ends where a whole piece lies behind its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from roost.broker.message import Message
from roost.web.index_reading import IndexReader
from roost.web.index_rows import StreamRow

PIECE: Final = 64  # readings that are read at once


class Stretch(NamedTuple):
    """From a time or a number on, up to a time, both inclusive; of `limit` numbers at most."""

    row: StreamRow
    low: int
    until: int


def pieces_back(reader: IndexReader, stretch: Stretch, before: int = 0) -> Iterator[list[tuple[int, Message | None]]]:
    """The same from the newest on, or from the one before a number."""
    row, low, until = stretch
    high = before - 1 if before else row.number
    if until < row.time:
        behind = row.group.repo.store.since(row.name, until + 1)  # a reading that came late may stand behind it
        high = min(high, behind + PIECE) if behind else high
    for first, last in reversed(row.group.repo.shelf.holdings.of(row.name).held):  # numbers may be far apart
        top = min(high, last)
        while top >= max(low, first):
            bottom = max(low, first, top - PIECE + 1)
            read = reader.messages(row, bottom, top, PIECE)
            yield [(number, message) for number, message in reversed(read) if message is None or message.time <= until]
            top = bottom - 1


def stretch_of(row: StreamRow, since: int, number: int, until: int) -> Stretch:
    """Find where it begins; with neither a time nor a number, at its oldest reading."""
    store = row.group.repo.store
    low = max(number, 1) if number else store.since(row.name, since)
    return Stretch(row, low or row.number + 1, until)


def pieces(reader: IndexReader, stretch: Stretch, piece: int = PIECE) -> Iterator[list[tuple[int, Message | None]]]:
    """Its readings, with their numbers; those behind its end are left out."""
    row, low, until = stretch
    while low <= row.number:
        read = reader.messages(row, low, row.number, piece)
        if not read:
            return
        inside = [(number, message) for number, message in read if message is None or message.time <= until]
        yield inside
        if not inside:
            return
        low = read[-1][0] + 1
