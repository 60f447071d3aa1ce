"""What has been dealt with of each subscription in each stream, on the disk.

A subscription is known again after a restart by what it wants (`Wanted.identity`), and those that want the same by the
order in which they are made. Places are kept in a ledger of their own (`roost.sync.ledger`), one record for each
subscription and stream: `/<identity>/<node>/t=<boot>`. What the number in it means is `line`'s.
"""

from __future__ import annotations

from typing import Final

from roost.errors import Backpressure
from roost.machine import Effect
from roost.machine.disk import Saved
from roost.naming import Component, Name
from roost.naming.conventions import timestamp
from roost.sync.ledger import Ledger
from roost.sync.port import Stream


class Places:
    """What no subscription is to get again."""

    def __init__(self, ledger: Ledger) -> None:
        self.overflowed = 0  # places that found no room on the disk
        self._ledger: Final = ledger
        self._highest: Final[dict[Name, int]] = {}  # on the disk, or on its way there; bound: as the ledger

    @property
    def is_saved(self) -> bool:
        """Whether all that has been dealt with is on the disk."""
        return self._ledger.is_saved

    def get(self, identity: bytes, stream: Stream) -> int:
        """What is kept; 0 is the beginning."""
        return self._kept(_name(identity, stream))

    def keep(self, identity: bytes, stream: Stream, place: int) -> list[Effect]:
        """Keep a place; it never becomes less."""
        name = _name(identity, stream)
        if self._kept(name) >= place:
            return []
        try:
            effects = self._ledger.want(Stream(name, stream.boot), place)
        except Backpressure:
            self.overflowed += 1
            return []
        self._highest[name] = place
        return effects

    def _kept(self, name: Name) -> int:
        kept = self._ledger.get(name)
        return max(0 if kept is None else kept[1], self._highest.get(name, 0))

    def saved(self, event: Saved) -> list[Effect]:
        """Take in that places are on the disk."""
        return self._ledger.saved(event)[1]


def _name(identity: bytes, stream: Stream) -> Name:
    return Name() / Component(identity) + stream.name / timestamp(stream.boot)
