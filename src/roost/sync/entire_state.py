"""The entire state of a full-sync group, for whoever is so far away that the difference cannot be decoded [PSync §5].

One that is too large for a reply holds the streams updated last in its first half, because they are what is asked for;
its second half goes round the others, a part each time. Without that a member who lacks an old stream would get the
same reply for ever.

Anybody can ask for it with a made-up IBLT. It is written once for all who ask while nothing changes, and a round goes
on at most once per `ROUND_MS`, so that asking costs little more than a signature.
"""

from __future__ import annotations

from typing import Final

from roost.machine import MS
from roost.naming import Name
from roost.sync.dataset import Dataset
from roost.sync.state_replies import StateReplies, within

ROUND_MS: Final = 100


class EntireState:
    """All that a dataset has, as the content of replies."""

    def __init__(self, dataset: Dataset, replies: StateReplies) -> None:
        self.written = 0
        self.truncated = 0  # of these, how many could not hold all
        self._dataset: Final = dataset
        self._replies: Final = replies
        self._content = b""
        self._total = 0  # of the dataset when `_content` was written
        self._good_until: int | None = None  # None: as long as the dataset is the same
        self._next = 0  # where the round of the others goes on

    def content(self, name: Name, now: int) -> bytes:
        """The content of a reply of this name; empty if the dataset is."""
        if self._dataset.total == 0:
            return b""
        outdated = self._good_until is not None and now >= self._good_until
        if outdated or self._total != self._dataset.total or len(self._content) > self._replies.room_bytes(name):
            self.written += 1
            self._good_until = None
            self._content = self._replies.content(name, self._entries(self._replies.state_bytes(name), now))
            self._total = self._dataset.total
        return self._content

    def _entries(self, max_bytes: int, now: int) -> list[tuple[Name, int]]:
        """As many elements as fit; streams without any number are left out."""
        found = [entry for entry in self._dataset.recent(len(self._dataset)) if entry[1]]
        if len(within(found, max_bytes)) == len(found):
            return found
        self.truncated += 1
        self._good_until = now + ROUND_MS * MS
        first = within(found, max_bytes // 2)
        others = found[len(first) :]
        self._next %= len(others)
        second = within(others[self._next :] + others[: self._next], max_bytes - max_bytes // 2)
        self._next += max(1, len(second))  # one that never fits must not stop the round
        return first + second
