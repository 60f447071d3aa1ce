"""Holes and damage, found and repaired without being asked: numbers are dense, so what is missing shows by itself.

    holes      every few seconds some streams are looked at; what is missing below the highest number is fetched
    damage     a packet that cannot be read any more (`damaged`) is fetched from another repo and written again
    scrub      the whole store is read, some packets a second, so that damage is found before somebody asks

A hole that nobody can fill is tried again after a pause that doubles, up to an hour. What lies above the highest number
is no hole: records tell of it, and comparisons of holdings (`repos.comparison`).
"""

from __future__ import annotations

from typing import Final

from roost.machine import SECOND, Effect, Note, earliest
from roost.naming import Name
from roost.naming.building import numbered as in_stream
from roost.pubsub.asking import Asking
from roost.pubsub.repos.peers import Peers
from roost.pubsub.repos.replication import Replication
from roost.pubsub.repos.retrieval import Retrieval
from roost.pubsub.repos.seeking import seek
from roost.pubsub.repos.stock import Stock
from roost.repo.numbering import numbered
from roost.repo.recount import missing
from roost.repo.store import Damaged, Store
from roost.wire import Data

LOOK_EVERY: Final = 5 * SECOND
LOOKED_AT: Final = 2000  # streams at a time
HOLES: Final = 8  # of a stream, at a time
MAX_HOLES: Final = 1024  # that are being filled, or wait to be tried again
GRACE: Final = 10 * SECOND
PAUSE: Final = 30 * SECOND
_MAX_PAUSE: Final = 3600 * SECOND
SCRUB_EVERY: Final = SECOND
SCRUBBED: Final = 50  # packets at a time
SCRUB_ROUND: Final = 30 * SECOND  # between two rounds: a small store is not read over and over
MAX_DAMAGED: Final = 1024
MAX_REPAIRS: Final = 16  # under way
_SPARE_WANTS: Final = 512  # of `Retrieval`, for all else


class AntiEntropy:
    """Looks after one group's part of a store: all names that begin with `group`."""

    def __init__(
        self,
        group: Name,
        asking: Asking,
        shelf: Stock,
        store: Store,
        peers: Peers,
        retrieval: Retrieval,
        replication: Replication,
    ) -> None:
        self.repaired = 0
        self.scrubbed = 0
        self.turned_away = 0  # holes and damaged packets, beyond the bounds: they are found again
        self._group: Final = group
        self._asking: Final = asking
        self._shelf: Final = shelf
        self._store: Final = store
        self._peers: Final = peers
        self._retrieval: Final = retrieval
        self._replication: Final = replication
        self._streams: list[Name] = []  # left of this round; bound: the holdings' own
        self._holes: Final[dict[tuple[Name, int], tuple[int, int]]] = {}  # → tries, when again; bound: MAX_HOLES
        self._damaged: Final[dict[Name, None]] = {}  # bound: MAX_DAMAGED
        self._waiting: Final[list[Name]] = []  # of these, those that nobody is asked for; bound: as above
        self._repairs = 0
        self._unscrubbed: list[tuple[Name, int]] = []  # left of this round, from where on; bound: the holdings' own
        self._scrubbed: Name | None = None  # the last packet without a number
        self._look_at: int | None = None
        self._scrub_at: int | None = None

    def start(self, now: int) -> list[Effect]:
        """Begin to look."""
        self._look_at = now + LOOK_EVERY
        self._begin_round(now + SCRUB_EVERY)
        return []

    def tick(self, now: int) -> list[Effect]:
        """Look at some streams, read some packets."""
        effects: list[Effect] = []
        if self._look_at is not None and now >= self._look_at:
            self._look_at = now + LOOK_EVERY
            effects += self._look(now) + self._repair(now)
        if self._scrub_at is not None and now >= self._scrub_at:
            self._scrub_at = now + SCRUB_EVERY
            effects += self._scrub(now)
        return effects

    def deadline(self) -> int | None:
        """When to look next."""
        return earliest(self._look_at, self._scrub_at)

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {"holes": (len(self._holes), MAX_HOLES), "damaged": (len(self._damaged), MAX_DAMAGED)}

    # -- holes

    def _look(self, now: int) -> list[Effect]:
        if not len(self._peers):
            return []
        holdings = self._shelf.holdings
        for stream, low in list(self._holes):
            if holdings.is_held(stream, low) or holdings.is_gone(stream, low):
                del self._holes[stream, low]
        if not self._streams:
            self._streams = [stream for stream, _ in holdings if stream.starts_with(self._group)]
            self._streams.reverse()
        effects: list[Effect] = []
        some = self._streams[-LOOKED_AT:]
        del self._streams[-LOOKED_AT:]
        for stream in reversed(some):
            for low, high in holdings.holes(stream, HOLES):
                effects += self._fill(stream, low, high, now)
        return effects

    def _fill(self, stream: Name, low: int, high: int, now: int) -> list[Effect]:
        key = (stream, low)
        if key not in self._holes:  # what is on its way makes holes too, for a moment
            if len(self._holes) < MAX_HOLES:
                self._holes[key] = (0, now + GRACE)
            else:
                self.turned_away += 1
            return []
        tries, again = self._holes[key]
        if again < 0 or now < again or self._retrieval.room <= _SPARE_WANTS:
            return []
        if self._peers.is_repo(stream):  # records are followed, not only fetched
            self._holes[key] = (tries + 1, self._again(tries, now))
            return self._replication.look_again(stream, now)
        self._holes[key] = (tries, -1)

        def ended(_: int, now: int) -> list[Effect]:
            self._holes[key] = (tries + 1, self._again(tries, now))
            return []

        return self._retrieval.want(stream, low, high, None, ended, now)

    @staticmethod
    def _again(tries: int, now: int) -> int:
        return now + min(_MAX_PAUSE, PAUSE << min(tries, 16))

    # -- damage

    def damaged(self, name: Name, now: int) -> list[Effect]:
        """Take in that a packet cannot be read: have it fetched and written again."""
        if name in self._damaged:
            return []
        if len(self._damaged) >= MAX_DAMAGED:
            self.turned_away += 1
            return []
        self._damaged[name] = None
        self._waiting.append(name)
        return [Note("damaged", (("name", str(name)),)), *self._repair(now)]

    def _repair(self, now: int) -> list[Effect]:
        effects: list[Effect] = []
        while self._waiting and self._repairs < MAX_REPAIRS and len(self._peers) and self._asking.room > MAX_REPAIRS:
            name = self._waiting.pop(0)
            if self._is_damaged(name):
                self._repairs += 1
                effects += self._seek(name, now)
            else:
                del self._damaged[name]
        return effects

    def _is_damaged(self, name: Name) -> bool:
        """Whether a packet cannot be read, or is not there although it is held: its whole batch was damaged."""
        try:
            found = self._store.get(name)
        except Damaged:
            return True
        stream, number = numbered(name)
        return found is None and number > 0 and self._shelf.holdings.is_held(Name(stream), number)

    def _seek(self, name: Name, now: int) -> list[Effect]:
        def found(data: Data | None, now: int) -> list[Effect]:
            return over("nobody has it", now) if data is None else self._shelf.replace(data, replaced, now)

        def replaced(refusals: list[str], now: int) -> list[Effect]:
            return over(refusals[0], now)

        def over(refusal: str, now: int) -> list[Effect]:
            self._repairs -= 1
            if refusal:
                self._waiting.append(name)  # tried again when streams are looked at
                return []
            del self._damaged[name]
            self.repaired += 1
            return [Note("repaired", (("name", str(name)),)), *self._repair(now)]

        return seek(self._asking, self._peers, name, None, found, now)

    def _scrub(self, now: int) -> list[Effect]:
        """Read on: streams by their numbers, then what has no number, and after a while all of it again."""
        if self._unscrubbed:
            names = self._scrub_streams()
        else:
            names = self._scrub_others()
            if self._scrubbed is None:
                self._begin_round(now + SCRUB_ROUND)
        effects: list[Effect] = []
        for name in names:
            effects += self.damaged(name, now)
        return effects

    def _begin_round(self, when: int) -> None:
        self._scrub_at = when
        self._unscrubbed = [(stream, 1) for stream, _ in self._shelf.holdings if stream.starts_with(self._group)]
        self._unscrubbed.reverse()

    def _scrub_streams(self) -> list[Name]:
        """Read the next numbers of streams: lists leave out what is damaged, so what is held and not listed is."""
        found: list[Name] = []
        left = SCRUBBED
        while left > 0 and self._unscrubbed:
            stream, low = self._unscrubbed.pop()
            row = self._shelf.holdings.of(stream)
            lost, behind = missing(self._store, row, stream, low, left)
            found += [in_stream(stream, number) for number in lost]
            if behind:
                self._unscrubbed.append((stream, behind))
            left -= left if behind else max(1, min(left, row.count))
        self.scrubbed += SCRUBBED - left
        return found

    def _scrub_others(self) -> list[Name]:
        """Read the next packets that are no number of a stream."""
        names = self._store.scan(self._group, self._scrubbed, SCRUBBED)
        self._scrubbed = names[-1] if len(names) == SCRUBBED else None
        return [name for name in names if not numbered(name)[1] and self._is_damaged(name)]
