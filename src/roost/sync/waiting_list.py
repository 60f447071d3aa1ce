"""Interests from members that know more than we do, to be looked at again: we may have caught up by then [PSync §5].

All are looked at together, U(100, 500) ms after the first of them came and whenever a reply brought news; an Interest
that finds us behind twice is given up.
"""

from __future__ import annotations

from typing import Final

from roost.naming import Name
from roost.sync.sync_interests import SyncInterest

TRIES: Final = 2


class WaitingList:
    """At most one Interest of a name."""

    def __init__(self, maximum: int) -> None:
        self.maximum: Final = maximum
        self.turned_away = 0
        self._kept: Final[dict[Name, tuple[SyncInterest, int]]] = {}  # with the tries so far; bound: maximum

    def __len__(self) -> int:
        return len(self._kept)

    def behind(self, interest: SyncInterest) -> bool:
        """Take in that an Interest finds us behind; returns whether it is given up by that."""
        known = self._kept.get(interest.name)
        if known is None:
            if len(self._kept) >= self.maximum:
                self.turned_away += 1
            else:
                self._kept[interest.name] = (interest, 0)
            return False
        if known[1] >= TRIES:
            del self._kept[interest.name]
            return True
        self._kept[interest.name] = (interest, known[1])
        return False

    def drop(self, name: Name) -> None:
        """We are not behind any more."""
        self._kept.pop(name, None)

    def try_again(self) -> list[SyncInterest]:
        """Begin another try of all."""
        for name, (interest, tries) in self._kept.items():
            self._kept[name] = (interest, tries + 1)
        return [interest for interest, _ in self._kept.values()]
