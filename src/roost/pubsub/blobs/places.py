"""What has been dealt with of each subscription in each stream, on the disk.

A subscription is known again after a restart by what it wants (`Wanted.identity`). Places are kept in a ledger of their
own (`roost.sync.ledger`), one record for each subscription and stream: `/<identity>/<node>/t=<boot>`. What the number
in it means is `line`'s.
"""

from __future__ import annotations

from typing import Final

from roost.errors import Backpressure
from roost.machine import Effect
from roost.machine.disk import Saved
from roost.naming import Component, Name
from roost.naming.conventions import timestamp
from roost.pubsub.blobs.wanted import Wanted
from roost.sync.ledger import Ledger
from roost.sync.port import Stream


class Places:
    """What no subscription is to get again."""

    def __init__(self, ledger: Ledger) -> None:
        self.overflowed = 0  # places that found no room on the disk
        self._ledger: Final = ledger

    @property
    def is_saved(self) -> bool:
        """Whether all that has been dealt with is on the disk."""
        return self._ledger.is_saved

    def get(self, wanted: Wanted, stream: Stream) -> int:
        """What is kept; 0 is the beginning."""
        kept = self._ledger.get(_name(wanted, stream))
        return 0 if kept is None else kept[1]

    def keep(self, wanted: Wanted, stream: Stream, place: int) -> list[Effect]:
        """Keep a place; it never becomes less."""
        name = _name(wanted, stream)
        kept = self._ledger.get(name)
        if kept is not None and kept[1] >= place:
            return []
        try:
            return self._ledger.want(Stream(name, stream.boot), place)
        except Backpressure:
            self.overflowed += 1
            return []

    def saved(self, event: Saved) -> list[Effect]:
        """Take in that places are on the disk."""
        return self._ledger.saved(event)[1]


def _name(wanted: Wanted, stream: Stream) -> Name:
    return Name() / Component(wanted.identity) + stream.name / timestamp(stream.boot)
