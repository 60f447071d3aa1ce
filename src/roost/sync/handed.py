"""The IBLTs a producer has handed out lately, and which streams have changed since each of them.

A consumer brings back the IBLT that it was given. If it was given by us we know without any decoding what it has not
heard of, however many streams that are: a batch of a thousand streams does not fit any IBLT. Nothing is remembered of
consumers; what has been forgotten here, or was handed out by another producer, is decoded as PSync has it.

    log       the streams that changed, the last change last; bound: 2 × MAX_CHANGES
    places    IBLT → how many changes there had been; the one used last at the end; bound: MAX_HANDED

A consumer that wants nothing of what changes is brought up to date before it is MAX_BEHIND elements behind, so that
what it asks again every second is cheap to answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.naming import Name

MAX_CHANGES: Final = 4096
MAX_BEHIND: Final = 2048  # elements, two for each change: the old one and the new one
MAX_HANDED: Final = 512


class Handed:
    """Our own past, for a while."""

    def __init__(self) -> None:
        self._places: Final[dict[bytes, int]] = {}
        self._log: list[Name] = []
        self._dropped = 0  # changes that are not in the log any more

    def hand(self, iblt: bytes) -> None:
        """Take in that this IBLT goes out: it says all that has changed until now."""
        self._places.pop(iblt, None)
        if len(self._places) >= MAX_HANDED:
            del self._places[next(iter(self._places))]
        self._places[iblt] = self._dropped + len(self._log)

    def change(self, streams: Iterable[Name]) -> None:
        """Take in that streams have changed."""
        self._log += streams
        if len(self._log) > 2 * MAX_CHANGES:
            self._dropped += len(self._log) - MAX_CHANGES
            self._log = self._log[-MAX_CHANGES:]

    def since(self, iblt: bytes) -> list[Name] | None:
        """The streams that have changed since we handed this out, each once; None if that is not known."""
        place = self._places.get(iblt, -1) - self._dropped
        if place < 0:
            return None
        self._places[iblt] = self._places.pop(iblt)
        return list(dict.fromkeys(self._log[place:]))

    def forget(self) -> None:
        """Something changed that is not in the log."""
        self._places.clear()
