"""What replaces what, for retention: marks beside the readings, made from the lineage of those that replace others.

    b"r" input                       → the name of the reading that names it among its inputs
    b"R" stream, high, low           → the name of the reading whose lineage has this range (numbers of 8 bytes)

Behind b"R" the name of the stream stands with its size in front, so that the ranges of a stream stand together, by
where they end. One mark stands for a range, however long: what arrives after its aggregate is covered as well.

Inputs of which a lineage has only the digest are not named, so they are not replaced. A mark says where to look: before
a reading goes, what replaces it must be readable in the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.errors import Backpressure, BadPacket
from roost.naming import Name
from roost.naming.number import var
from roost.repo.holdings import Holdings
from roost.repo.numbering import numbered as stream_and_number
from roost.repo.retention import Rules
from roost.repo.shelf import Shelf
from roost.repo.store import Damaged, Store
from roost.wire import Data
from roost.wire.lineage import LINEAGE, InputRange, Lineage
from roost.wire.reading import Reading

REPLACED: Final = b"r"  # the first byte of marks: input → what replaces it
REPLACED_RANGE: Final = b"R"
MAX_OVERLAPPING: Final = 16  # ranges of one stream that are looked at for one number
_FORGOTTEN: Final = 512  # ranges that are unmarked at once
_NUMBER_BYTES: Final = 8


class Replacing:
    """The marks; written a moment after the readings that cause them."""

    def __init__(self, store: Store, shelf: Shelf, holdings: Holdings, rules: Rules) -> None:
        self.unmarked = 0  # inputs that the shelf had no room to mark, for the time being
        self._store: Final = store
        self._shelf: Final = shelf
        self._holdings: Final = holdings
        self._rules: Final = rules

    def mark(self, name: Name, wire: bytes) -> bool:
        """Mark what a reading replaces; False if there was no room for all of it."""
        lineage = _lineage(wire)
        if lineage is None:
            return True
        aggregate = name.prefix(-1)
        return all(self._mark_input(each, name, aggregate) for each in lineage.inputs) and all(
            self._mark_range(each, name, aggregate) for each in lineage.ranges
        )

    def is_replaced(self, stream: Name, number: int, name: Name) -> bool:
        """Whether something that is readable replaces a reading; `name` is its whole name."""
        value = self._store.mark(REPLACED + name.value)
        if value is not None and self._holds(Name.decode(value), stream):
            return True
        ranges = _ranges_of(stream)
        for key, value in self._store.marks(ranges, ranges + _numbers(number, 0), MAX_OVERLAPPING):
            low = int.from_bytes(key[-_NUMBER_BYTES:], "big")
            if low <= number and self._holds(Name.decode(value), stream):
                return True
        return False

    def forget(self, stream: Name, names: Sequence[Name], high: int) -> None:
        """Take back the marks of readings that are gone, all of the stream up to a number."""
        ranges = _ranges_of(stream)
        ended = [
            key for key, _ in self._store.marks(ranges, ranges, _FORGOTTEN) if key <= ranges + _numbers(high, high)
        ]
        try:
            for key in [REPLACED + name.value for name in names] + ended:
                self._shelf.set_mark(key, None)
        except Backpressure:  # a mark of something that is gone does no harm
            return

    def _mark_input(self, name: Name, by: Name, aggregate: Name) -> bool:
        value, number = stream_and_number(name)
        stream = Name(value)
        if not number or not self._rules.replaces(aggregate, stream):
            return True
        if self._holdings.is_gone(stream, number) or self.is_replaced(stream, number, name):
            return True
        return self._set(REPLACED + name.value, by)

    def _mark_range(self, each: InputRange, by: Name, aggregate: Name) -> bool:
        if not self._rules.replaces(aggregate, each.stream):
            return True
        gone = self._holdings.dropped(each.stream, each.low, each.high)
        if any(low <= each.low and each.high <= high for low, high in gone):
            return True
        key = _ranges_of(each.stream) + _numbers(each.high, each.low)
        marked = self._store.mark(key)
        if marked is not None and self._holds(Name.decode(marked), each.stream):
            return True
        return self._set(key, by)

    def _set(self, key: bytes, by: Name) -> bool:
        try:
            self._shelf.set_mark(key, by.value)
        except Backpressure:
            self.unmarked += 1
            return False
        return True

    def _holds(self, aggregate: Name, stream: Name) -> bool:
        if not self._rules.replaces(aggregate.prefix(-1), stream):  # the rules were others then
            return False
        try:
            return self._store.get(aggregate) is not None
        except Damaged:
            return False


def _lineage(wire: bytes) -> Lineage | None:
    if LINEAGE not in wire:  # most have no such byte, and are not opened
        return None
    try:
        return Reading.decode(Data.decode(wire).content).lineage
    except BadPacket:
        return None


def _ranges_of(stream: Name) -> bytes:
    return REPLACED_RANGE + var(len(stream.value)) + stream.value


def _numbers(high: int, low: int) -> bytes:
    return high.to_bytes(_NUMBER_BYTES, "big") + low.to_bytes(_NUMBER_BYTES, "big")
