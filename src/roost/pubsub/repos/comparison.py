"""What another repo holds, compared with what is here: whatever it has and we have not is fetched.

    <repo>/holdings  ──gathered──▶  per stream: theirs − ours − gone  ──▶  fetched in bundles (`repos.retrieval`)

For what records cannot tell any more: a repo that starts with an empty disk in an old group, records that were dropped,
readings that nobody recorded. One comparison is under way at a time; each repo is compared with at most once a minute,
and the one whose turn it is every ten minutes or so, starting soon after we know one. Records are left to
`repos.replication`. What is no reading of a stream is in no holdings: records alone tell of it. Streams of other
groups are none of our business, whoever lists them.

Of a long run MAX_RUN readings are fetched at a time, and the next only if some came: a repo may claim to hold 2^60.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, TypeAlias

from roost.errors import BadPacket
from roost.machine import SECOND, Effect, Randomness, Rejected, earliest
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.asking import Asking
from roost.pubsub.repos.gathering import Gathering
from roost.pubsub.repos.peers import MAX_PEERS, Peers
from roost.pubsub.repos.permission import permission_at
from roost.pubsub.repos.retrieval import MAX_RUN, Retrieval
from roost.pubsub.repos.stock import Stock
from roost.repo import intervals
from roost.repo.holding import Holding
from roost.repo.holdings import decode_holdings

HOLDINGS: Final = "holdings"
EVERY: Final = 600 * SECOND
SOONEST: Final = 60 * SECOND
FIRST: Final = 2 * SECOND
MAX_RUNS: Final = 256  # runs of readings under way
_SPARE_WANTS: Final = 256  # of `Retrieval`, for all else

_Lacked: TypeAlias = tuple[Name, int, int]  # a stream, and a run of its numbers


class Comparison:
    """Compares holdings with one repo after the other."""

    def __init__(
        self, asking: Asking, shelf: Stock, peers: Peers, retrieval: Retrieval, randomness: Randomness
    ) -> None:
        self.compared = 0
        self.failed = 0
        self.lacked = 0  # readings that others had and we had not
        self._asking: Final = asking
        self._shelf: Final = shelf
        self._peers: Final = peers
        self._retrieval: Final = retrieval
        self._permission: Final = permission_at(peers.repo)
        self._randomness: Final = randomness
        self._wanted: Final[dict[Name, None]] = {}  # repos to compare with; bound: MAX_PEERS
        self._done_at: Final[dict[Name, int]] = {}  # bound: as above
        self._gathering: Gathering | None = None
        self._whom: Name | None = None  # with whom a comparison is under way
        self._runs: Iterator[_Lacked] = iter(())  # what is left to fetch of it
        self._rests: Final[list[_Lacked]] = []  # of long runs, their rests; bound: MAX_RUNS
        self._flying = 0
        self._wanting = False
        self._due: int | None = None

    def start(self, now: int) -> list[Effect]:
        """Begin to compare now and then."""
        self._due = now + FIRST
        return []

    def compare(self, repo: Name, now: int) -> list[Effect]:
        """Compare with a repo, now or when it is its turn."""
        if repo in self._peers:
            self._wanted[repo] = None
        return self._next(now)

    def tick(self, now: int) -> list[Effect]:
        """Go on with what is under way; compare with somebody if it is time to."""
        effects = [] if self._gathering is None else self._gathering.tick(now)
        if self._due is not None and now >= self._due:
            others = self._peers.order(None, now)
            self._due = now + (self._randomness.randint(EVERY // 2, EVERY * 3 // 2) if others else FIRST)
            if others:
                self._wanted[min(others, key=lambda peer: self._done_at.get(peer.name, 0)).name] = None
        return effects + self._go_on(now) + self._next(now)

    def deadline(self) -> int | None:
        """When a segment is overdue, or the next comparison is due."""
        waits = None if self._whom is not None else min([self._soonest(repo) for repo in self._wanted], default=None)
        return earliest(self._due, waits, None if self._gathering is None else self._gathering.deadline())

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {"repos to compare with": (len(self._wanted), MAX_PEERS), "runs": (self._flying, MAX_RUNS)}

    # -- one comparison

    def _soonest(self, repo: Name) -> int:
        return self._done_at.get(repo, -SOONEST) + SOONEST

    def _next(self, now: int) -> list[Effect]:
        if self._whom is not None:
            return []
        repo = next((repo for repo in self._wanted if self._soonest(repo) <= now), None)
        if repo is None:
            return []
        del self._wanted[repo]
        self._whom = repo
        self._gathering = Gathering(self._asking, repo / HOLDINGS, self._gathered)
        return self._gathering.start(now)

    def _gathered(self, content: bytes | None, _: str, now: int) -> list[Effect]:
        self._gathering = None
        if content is None:
            self.failed += 1
            return self._end(now)
        try:
            rows = decode_holdings(content)
        except BadPacket as error:
            self.failed += 1
            return [Rejected(str(self._whom), str(error)), *self._end(now)]
        self._runs = self._missing(rows)
        return self._go_on(now)

    def _missing(self, rows: list[tuple[Name, Holding]]) -> Iterator[_Lacked]:
        """The runs that they hold and that are neither here nor gone, stream by stream as it is their turn."""
        for stream, theirs in rows:
            if self._permission.to_keep(numbered(stream, 1)):
                continue
            ours = self._shelf.holdings.of(stream)
            bounds = [bound for run in theirs.held for bound in run]
            for low, high in ours.held + ours.gone:
                intervals.remove(bounds, low, high)
            for low, high in intervals.pairs(bounds):
                yield stream, low, high

    def _go_on(self, now: int) -> list[Effect]:
        """Fetch more of what is missing, as much at a time as there is room for."""
        effects: list[Effect] = []
        if self._whom is None or self._gathering is not None or self._wanting:
            return effects
        self._wanting = True  # what lands at once goes on here, not deeper
        run: _Lacked | None = None
        while self._flying < MAX_RUNS and self._retrieval.room > (_SPARE_WANTS if self._flying else 0):
            run = self._rests.pop() if self._rests else next(self._runs, None)
            if run is None:
                break
            stream, low, high = run
            self.lacked += min(high - low + 1, MAX_RUN)
            self._flying += 1
            effects += self._retrieval.want(stream, low, high, self._whom, partial(self._landed, run), now)
        self._wanting = False
        return effects if run is not None or self._flying else effects + self._end(now)

    def _landed(self, run: _Lacked, missing: int, now: int) -> list[Effect]:
        self._flying -= 1
        stream, low, high = run
        if high - low >= MAX_RUN and missing <= high - low:
            self._rests.append((stream, low + MAX_RUN, high))
        return self._go_on(now)

    def _end(self, now: int) -> list[Effect]:
        if self._whom is not None:
            self.compared += 1
            self._done_at[self._whom] = now
            self._whom = None
        return self._next(now)
