"""Elements of a dataset that are new, to be looked at by everybody who waits for some of them."""

from __future__ import annotations

from typing import Final

from roost.naming import Name
from roost.sync.name_index import NameIndex
from roost.sync.subscriptions import Ranges
from roost.sync.sync_interests import SyncInterest


class News:
    """Streams with their numbers; those who want ranges find theirs without looking at the others."""

    def __init__(self, entries: list[tuple[Name, int]]) -> None:
        self._entries: Final = entries
        self._numbers: dict[Name, int] = {}  # once somebody wants ranges; bound: the entries
        self._index: NameIndex | None = None

    def wanted_by(self, interest: SyncInterest) -> list[tuple[Name, int]]:
        """Those that an Interest wants."""
        wanted = interest.wanted
        if not isinstance(wanted, Ranges):
            return [] if wanted is None else [entry for entry in self._entries if entry[0] in wanted]
        if self._index is None:
            self._numbers = dict(self._entries)
            self._index = NameIndex(self._numbers)
        return [(stream, self._numbers[stream]) for stream in self._index.within(wanted)]
