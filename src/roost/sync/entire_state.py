"""The entire state of a full-sync group, for whoever is so far away that the difference cannot be decoded [PSync §5].

One that is too large for a reply holds the streams updated last in its first half, because they are what is asked for;
its second half goes round the others, a part each time. Without that a member who lacks an old stream would get the
same reply for ever.

Anybody can ask for it with a made-up IBLT. It is therefore written at most once per `ROUND_MS`, however many ask and
however often it changes, and so that it fits beside the longest name there is: asking costs little more than a
signature. What it lacks by then the asker gets next time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from roost.machine import MS
from roost.naming import Name
from roost.sync.dataset import Dataset
from roost.sync.state_replies import StateReplies, within

ROUND_MS: Final = 100


class EntireState:
    """All that a dataset has, as the content of replies whose names are no longer than `longest`."""

    def __init__(self, dataset: Dataset, replies: StateReplies, longest: Name) -> None:
        self.written = 0
        self.truncated = 0  # of these, how many could not hold all
        self._dataset: Final = dataset
        self._replies: Final = replies
        self._longest: Final = longest
        self._content = b""
        self._total = 0  # of the dataset when `_content` was written
        self._whole = True  # whether it holds all
        self._good_until = 0
        self._next = 0  # where the round of the others goes on

    def content(self, now: int) -> bytes:
        """The content of a reply; empty if the dataset is."""
        outdated = self._total != self._dataset.total or not self._whole
        if outdated and now >= self._good_until:
            self.written += 1
            self._good_until = now + ROUND_MS * MS
            self._total = self._dataset.total
            self._content = self._replies.content(self._longest, self._entries())
        return self._content

    def _entries(self) -> list[tuple[Name, int]]:
        """As many elements as fit."""
        max_bytes = self._replies.state_bytes(self._longest)
        found = within(self._recent(), max_bytes)
        self._whole = len(found) == self._dataset.elements
        if self._whole:
            return found
        self.truncated += 1
        first = within(found, max_bytes // 2)
        begin, others = len(first), self._dataset.elements - len(first)
        self._next %= others
        middle = begin + self._next
        round_ = chain(islice(self._recent(), middle, None), islice(self._recent(), begin, middle))
        second = within(round_, max_bytes - max_bytes // 2)
        self._next += max(1, len(second))  # one that never fits must not stop the round
        return first + second

    def _recent(self) -> Iterator[tuple[Name, int]]:
        """The streams, the one updated last first; those without any number are left out."""
        return (entry for entry in self._dataset.recent() if entry[1])
