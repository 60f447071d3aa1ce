"""Where a subscription begins in what a producer has published before: at a time, or with the latest of each name.

    since    numbers rise with time, so the first one that is not older is found by halving: a few mapping queries
    latest   the names of all that is left are asked for, and only the last number of each is fetched

A publication whose time is not told is not older: rather fetched in vain than missed.

What is published while this goes on is not of the past, and is fetched as always. Names that nobody can tell any more
(`missed`) are passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.naming import Name
from roost.pubsub.blobs.directory import Directory
from roost.pubsub.blobs.mapping import Entry
from roost.pubsub.blobs.names import Query
from roost.sync.port import Stream

STRETCH: Final = 800  # numbers whose names are asked for at once
MAX_NAMES: Final = 100_000


class History:
    """The numbers low to high of a stream, both inclusive, of which some are wanted."""

    def __init__(self, low: int, high: int, since_us: int, *, latest: bool) -> None:
        self.first = low  # from which on things are wanted, once it is over
        self.high: Final = high
        self.over = False
        self.overflowed = 0  # names for which there was no room
        self._since_us: Final = since_us
        self._latest: Final = latest
        self._upto = high if since_us else low - 1  # of what is halved
        self._surveyed = 0  # up to which number all names are known
        self._missed: Final[set[int]] = set()  # bound: what one stretch has, and what is halved
        self._last: Final[dict[Name, int]] = {}  # the last number of each name; bound: MAX_NAMES
        self._wanted: frozenset[int] = frozenset()

    def queries(self, stream: Stream, directory: Directory, takes: Callable[[Entry], bool]) -> list[Query]:
        """What has to be asked for next; when nothing has, it is `over`."""
        while self.first <= self._upto:
            middle = (self.first + self._upto) // 2
            entry = directory.get(stream, middle)
            if entry is None and middle not in self._missed:
                return [Query(middle, middle)]
            if entry is None or 0 < entry.time_us < self._since_us:
                self.first = middle + 1
            else:
                self._upto = middle - 1
        self._surveyed = max(self._surveyed, self.first - 1)
        while self._latest and self._surveyed < self.high:
            stretch = range(self._surveyed + 1, min(self._surveyed + STRETCH, self.high) + 1)
            lacking = directory.lacking(stream, stretch[0], stretch[-1])
            wanted = [query for query in lacking if not self._missed.issuperset(range(query.low, query.high + 1))]
            if wanted:
                return wanted
            for number in stretch:
                entry = directory.get(stream, number)
                if entry is not None and takes(entry):
                    self._note(entry.name, number)
            self._surveyed = stretch[-1]
            self._missed.clear()
        self._wanted = frozenset(self._last.values())
        self._last.clear()
        self.over = True
        return []

    def missed(self, query: Query) -> None:
        """Nobody can tell these names."""
        self._missed.update(range(query.low, query.high + 1))

    def passes_over(self, number: int) -> bool:
        """Whether a number of the past is not wanted."""
        return number <= self.high and (number < self.first or (self._latest and number not in self._wanted))

    def _note(self, name: Name, number: int) -> None:
        self._last.pop(name, None)
        self._last[name] = number
        if len(self._last) > MAX_NAMES:
            del self._last[next(iter(self._last))]
            self.overflowed += 1
