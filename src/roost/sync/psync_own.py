"""The streams that are ours in a PSync group: what may be announced, what is on the disk, what others remember of it.

An announcement is saved first (`Ledger`) and enters the dataset when it is on the disk. Numbers have no boot time in
PSync, so a number that was given must never be given again:

- Streams that the ledger knows are ours from the start, and go on behind what it says.
- Whenever a reply shows a higher number of a stream of ours than we have, we adopt it: it goes to the disk, and `Ready`
  says from where the stream goes on. Numbers beyond half of all there are nobody has counted to: they are passed over,
  because whoever made us adopt the last one would leave us none to give.
- If the ledger is damaged, streams it is not certain of are left out of the dataset, so that whoever knows them tells.
  Nothing of them may be announced until things are settled: `SETTLING_LIFETIMES` after the first reply and after each
  number adopted, because the first to reply need not know most; or `RECOVERY_LIFETIMES` without any reply. Then the
  disk is taken at its word.
"""

from __future__ import annotations

from typing import Final

from roost.errors import Backpressure, InvalidInput
from roost.machine import MS, Effect, Note
from roost.machine.disk import Saved
from roost.naming import Name
from roost.sync.dataset import MAX_NUMBER, Dataset
from roost.sync.ledger import Ledger
from roost.sync.port import Announced, Ready, Stream

RECOVERY_LIFETIMES: Final = 5
SETTLING_LIFETIMES: Final = 2
MAX_ADOPTED: Final = MAX_NUMBER // 2


class OwnStreams:
    """Our part of the dataset."""

    def __init__(self, ledger: Ledger, dataset: Dataset, lifetime_ms: int) -> None:
        self.settled = not ledger.damaged
        self.refused = 0  # numbers that others said we had, and nobody can have
        self._ledger: Final = ledger
        self._dataset: Final = dataset
        self._lifetime: Final = lifetime_ms * MS
        self._settles_at: int | None = None
        self._produced: Final[dict[Name, int]] = {}  # to the highest number being saved; bound: dataset's max_streams
        self._unsettled: Final[dict[Name, None]] = {}  # those of them that wait; bound: as above
        self._certain: Final[dict[Name, None]] = {}  # when we began; bound: the ledger's max_streams
        for stream, number in ledger.known():
            if not ledger.doubtful(stream.name):
                self._certain[stream.name] = None
                dataset.set(stream.name, number)

    def __contains__(self, stream: Name) -> bool:
        return stream in self._produced or self._ledger.get(stream) is not None

    def produce(self, stream: Name) -> list[Effect]:
        """Make a stream ours, and say when it is `Ready`."""
        if stream not in self._dataset and not self._dataset.set(stream, 0):
            raise Backpressure(f"{stream} cannot be produced: {self._dataset.max_streams} streams are the limit", 0)
        self._produced.setdefault(stream, 0)
        if self.settled or stream in self._certain:
            return [self._ready(stream)]
        self._unsettled[stream] = None
        return []

    def announce(self, stream: Name, high: int, now: int) -> list[Effect]:
        """Have a number saved; `saved` says when it may be told."""
        if stream not in self._produced:
            raise InvalidInput(f"{stream} is not ours: produce it first")
        if high > MAX_NUMBER:
            raise InvalidInput(f"{stream}: {high} is more than a number component can carry")
        if stream in self._unsettled:
            left = (self._settles_at or now + RECOVERY_LIFETIMES * self._lifetime) - now
            raise Backpressure(f"{stream}: our disk lost its number, the group may know it", max(1, left // MS))
        if high <= max(self._dataset.get(stream), self._produced[stream]):
            return []
        effects = self._ledger.want(Stream(stream), high)
        self._produced[stream] = high
        return effects

    def saved(self, event: Saved) -> tuple[list[tuple[Name, int]], list[Effect]]:
        """Take in that a save is through: which elements are new in the dataset now, and what follows."""
        news: list[tuple[Name, int]] = []
        effects: list[Effect] = []
        through, more = self._ledger.saved(event)
        for stream, number in through:
            if self._dataset.set(stream.name, number):
                news.append((stream.name, number))
                effects.append(Announced(stream, number))
        return news, effects + more

    # -- what others know

    def adopt(self, stream: Name, number: int, now: int) -> list[Effect]:
        """Take in what a reply says of a stream of ours; nothing follows if it says no more than we know."""
        if number > MAX_ADOPTED:
            self.refused += 1
            return []
        known = max(0, self._dataset.get(stream))
        on_disk = self._ledger.get(stream)
        if number <= known or not self._dataset.set(stream, max(number, on_disk[1] if on_disk else 0)):
            return []
        facts = (("stream", str(stream)), ("ours", known), ("theirs", number))
        effects: list[Effect] = [Note("own number adopted", facts)]
        try:  # a higher one may be on its way to the disk: the last word there must not be a lower one
            high = max(self._dataset.get(stream), self._produced.get(stream, 0))
            effects += self._ledger.want(Stream(stream), high)
        except Backpressure as error:  # it is not on the disk, but not lost either: the group has it
            effects.append(Note("own number not saved", (("reason", str(error)),)))
        if not self.settled:
            self._settles_at = now + SETTLING_LIFETIMES * self._lifetime
        if stream in self._produced and stream not in self._unsettled:
            effects.append(self._ready(stream))
        return effects

    def heard(self, now: int) -> None:
        """Take in that there was a reply, whatever it said."""
        if self._settles_at is not None:
            self._settles_at = min(self._settles_at, now + SETTLING_LIFETIMES * self._lifetime)

    def start(self, now: int) -> list[Effect]:
        """Begin to wait for what others know, if there is need to."""
        if self.settled or self._settles_at is not None:
            return []
        self._settles_at = now + RECOVERY_LIFETIMES * self._lifetime
        return [Note("own numbers uncertain", (("file", self._ledger.file),))]

    def tick(self, now: int) -> list[Effect]:
        """Go on with what we know by now."""
        if self._settles_at is None or now < self._settles_at:
            return []
        self.settled = True
        self._settles_at = None
        for stream, number in self._ledger.known():
            self._dataset.set(stream.name, number)
        ready = [self._ready(stream) for stream in self._unsettled]
        self._unsettled.clear()
        return [Note("own numbers certain"), *ready]

    def deadline(self) -> int | None:
        """When things are settled."""
        return self._settles_at

    def _ready(self, stream: Name) -> Ready:
        return Ready(Stream(stream), max(0, self._dataset.get(stream)) + 1)
