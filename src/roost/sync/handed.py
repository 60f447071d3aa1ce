"""The IBLTs a producer has handed out lately, and which streams have changed since each of them.

A consumer brings back the IBLT that it was given. If it was given by us we know without any decoding what it has not
heard of, however many streams that are: a batch of a thousand streams does not fit any IBLT. Nothing is remembered of
consumers; what has been forgotten here, or was handed out by another producer, is decoded as PSync has it.

    changed   stream → the turn of its last change, the last one last; bound: 2 × max_changed
    places    IBLT → the turn it was handed out in; the one used last at the end; bound: MAX_HANDED

Who says hello to a repo of 50,000 streams has the answer a second or two later, and all of them may have changed
meanwhile: with less room than that it would have to say hello again, and again. A consumer that wants nothing of what
changes is brought up to date before it is MAX_BEHIND elements behind, so that what it asks again every second is cheap
to answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.naming import Name

MAX_CHANGED: Final = 50_000
MAX_BEHIND: Final = 2048  # elements, two for each change: the old one and the new one
MAX_HANDED: Final = 4096


class Handed:
    """Our own past, for a while."""

    def __init__(self, max_changed: int = MAX_CHANGED) -> None:
        self._max_changed: Final = max_changed
        self._places: Final[dict[bytes, int]] = {}
        self._changed: dict[Name, int] = {}
        self._turn = 0
        self._forgotten = 0  # the turn of the last change that is not known any more

    def hand(self, iblt: bytes) -> None:
        """Take in that this IBLT goes out: it says all that has changed until now."""
        self._places.pop(iblt, None)
        if len(self._places) >= MAX_HANDED:
            del self._places[next(iter(self._places))]
        self._places[iblt] = self._turn

    def change(self, streams: Iterable[Name]) -> None:
        """Take in that streams have changed."""
        self._turn += 1
        for stream in streams:
            self._changed.pop(stream, None)
            self._changed[stream] = self._turn
        if len(self._changed) > 2 * self._max_changed:
            changes = list(self._changed.items())
            self._forgotten = changes[-self._max_changed - 1][1]
            self._changed = dict(changes[-self._max_changed :])

    def since(self, iblt: bytes) -> list[Name] | None:
        """The streams that have changed since we handed this out, the last one first; None if that is not known."""
        place = self._places.get(iblt, -1)
        if place < self._forgotten:
            return None
        self._places[iblt] = self._places.pop(iblt)
        found: list[Name] = []
        for stream in reversed(self._changed):
            if self._changed[stream] <= place:
                break
            found.append(stream)
        return found

    def forget(self) -> None:
        """Something changed that was not told."""
        self._places.clear()
