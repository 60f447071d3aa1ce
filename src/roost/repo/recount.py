"""What a repo holds, read back when it starts: the rows of the marks, held against the store, and counted where wrong.

A row and the packets it speaks of are written in one instant, so they agree, unless the disk damaged one of them. A row
is believed when the store's highest number of its stream is the row's; every stream in the store has to have one, which
takes a seek each. Where that fails the stream is counted packet by packet. A packet that is damaged in the midst of a
stream is not noticed here, but when it is read, or looked for (`missing`).
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.naming import Name
from roost.repo.holding import Holding
from roost.repo.holdings import Holdings
from roost.repo.numbering import MAX_NUMBER, key_of, numbered
from roost.repo.store import Store

_PAGE: Final = 1000


def restore(store: Store, holdings: Holdings, mark: bytes) -> list[tuple[bytes, bytes]]:
    """Fill the holdings; returns the streams whose row was wrong, with the row that is right."""
    corrected: list[tuple[bytes, bytes]] = []
    for stream, value in _marked(store, mark):
        row = _row_of(value)
        if row is None or store.latest(stream) != row.highest:
            row = _counted(store, stream, row)
            corrected.append((stream.value, row.encode()))
        holdings.put(stream, row)
    for stream in _streams(store):
        if stream not in holdings:
            row = _counted(store, stream, None)
            corrected.append((stream.value, row.encode()))
            holdings.put(stream, row)
    return corrected


def highest(store: Store, stream: Name, mark: bytes) -> tuple[int, bool]:
    """The highest number that the store or the row of a stream knows, and whether both say the same."""
    value = store.mark(mark + stream.value)
    row = _row_of(value) if value is not None else None
    latest, counted = store.latest(stream), row.highest if row is not None else 0
    return max(latest, counted), latest == counted


def missing(store: Store, holding: Holding, stream: Name, low: int, limit: int) -> tuple[list[int], int]:
    """Which numbers from `low` on are held and cannot be read, among `limit`; and where to go on, 0 at the end."""
    looked = 0
    lost: list[int] = []
    for first, last in holding.held:
        begin = max(first, low)
        if begin > last:
            continue
        end = min(last, begin + limit - looked - 1)
        there = {number for number, _ in store.range(stream, begin, end, end - begin + 1)}
        lost += [number for number in range(begin, end + 1) if number not in there]
        looked += end - begin + 1
        if looked >= limit:
            return lost, end + 1 if end < holding.highest else 0
    return lost, 0


def _marked(store: Store, mark: bytes) -> list[tuple[Name, bytes]]:
    found: list[tuple[Name, bytes]] = []
    after = mark
    while page := store.marks(mark, after, _PAGE):
        found += [(Name(key[len(mark) :]), value) for key, value in page]
        after = page[-1][0]
    return found


def _row_of(value: bytes) -> Holding | None:
    try:
        return Holding.decode(value)
    except BadPacket:
        return None


def _streams(store: Store) -> list[Name]:
    """The streams in a store: after one number of each, on to what stands behind its last."""
    streams: list[Name] = []
    after: Name | None = None
    limit = 1
    while page := store.scan(Name(), after, limit):
        limit = min(2 * limit, _PAGE)  # names that are no numbers come one by one
        after = page[-1]
        for name in page:
            stream, number = numbered(name)
            if number:
                streams.append(Name(stream))
                after = Name(key_of(stream, MAX_NUMBER))
                limit = 1
                break
    return streams


def _counted(store: Store, stream: Name, row: Holding | None) -> Holding:
    """A row by what is in the store; what is gone on purpose is taken from the old one, if that can be read."""
    counted = Holding()
    low = 1
    while page := store.range(stream, low, MAX_NUMBER, _PAGE):
        for number, wire in page:
            if counted.has_room(number):
                counted.add(number, len(wire))
        low = page[-1][0] + 1
    for first, last in row.gone if row else []:
        for begin, end in _unheld(counted, first, last):
            counted.drop(begin, end, 0)
    return counted


def _unheld(row: Holding, low: int, high: int) -> list[tuple[int, int]]:
    """The parts of an interval that are not held."""
    parts: list[tuple[int, int]] = []
    for first, last in row.held:
        if last < low or first > high:
            continue
        if first > low:
            parts.append((low, first - 1))
        low = last + 1
    if low <= high:
        parts.append((low, high))
    return parts
