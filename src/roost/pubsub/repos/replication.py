"""What other repos took in, brought here: which of their records are missing, and how they are had [NDN-PS §III-C].

    Learned(repo, low, high) ─▶ records fetched, verified ─▶ done as they say (`repos.enactment`), then kept

So the records that are held are those that are done with, and a crash at any moment costs nothing but asking again.
Many records are asked for in bundles, few by name, first of the repo they are of, then of others. A record that cannot
be had now is tried again after a pause that doubles, beside the newer ones.

Records that were dropped on purpose, or cannot be had at all, say nothing any more. Then `compare` is called, so that
holdings are compared with that repo (`repos.comparison`). Up to where a repo's records need not be asked for is
a mark: `p` and the repo's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from roost.errors import Backpressure, BadPacket
from roost.forwarding.pending import Question
from roost.machine import SECOND, Effect, Rejected
from roost.machine.timetable import Timetable
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.asking import Asking
from roost.pubsub.repos.enactment import Enactment
from roost.pubsub.repos.peers import MAX_PEERS, Peers
from roost.pubsub.repos.retrieval import Retrieval
from roost.pubsub.repos.seeking import seek, verify
from roost.pubsub.repos.stock import Stock
from roost.repo.numbering import numbered as number_in
from roost.repo.question import ASK, Bundle, Bundled, Run, decode_bundle, encode_question
from roost.repo.record import decode_record
from roost.repo.store import Store
from roost.sync.port import Learned
from roost.wire import Data

MAX_RECORDS: Final = 256  # on their way, or waiting for what they name
MAX_OF_ONE: Final = 64  # of these, of one repo
MAX_LATE: Final = 1024
BUNDLED: Final = 32  # records that are asked for at once
SINGLES: Final = 2  # so few are asked for by name
LIFETIME_MS: Final = 1000
PAUSE: Final = SECOND
_MAX_DOUBLINGS: Final = 8
MARK: Final = b"p"
_SPARE_QUESTIONS: Final = 1024  # of `Asking`, for all else
_SAMPLE_BYTES: Final = 64


class _Follow:
    """How far we have come with one repo's records."""

    __slots__ = ("covered", "cursor", "flying", "known")

    def __init__(self, covered: int, cursor: int, known: int) -> None:
        self.covered = covered  # records up to here are not to be asked for
        self.cursor = cursor  # those up to here are held, on their way or late
        self.known = known  # the highest there is
        self.flying = 0


class _Late:
    """A record that could not be had."""

    __slots__ = ("number", "repo", "tries")

    def __init__(self, repo: Name, number: int, tries: int) -> None:
        self.repo: Final = repo
        self.number: Final = number
        self.tries: Final = tries


class Replication:
    """Follows the records of all other repos; `compare(repo, now)` has holdings compared with one."""

    def __init__(
        self,
        asking: Asking,
        shelf: Stock,
        store: Store,
        peers: Peers,
        retrieval: Retrieval,
        compare: Callable[[Name, int], list[Effect]],
    ) -> None:
        self.followed = 0  # records done with
        self.lost = 0  # records that could not be had, however often
        self.turned_away = 0  # late records that there was no room for: holdings will show what they name
        self._asking: Final = asking
        self._shelf: Final = shelf
        self._store: Final = store
        self._peers: Final = peers
        self._enactment: Final = Enactment(asking, shelf, store, peers, retrieval)
        self._compare: Final = compare
        self._follows: Final[dict[Name, _Follow]] = {}  # bound: MAX_PEERS, and us
        self._late: Final[dict[int, _Late]] = {}  # bound: MAX_LATE
        self._due: Final = Timetable()
        self._next_ticket = 1
        self._flying = 0

    def learned(self, news: Learned, now: int) -> list[Effect]:
        """Take in that a repo has records up to a number."""
        return self.look(news.stream.name, news.high, now)

    def look(self, repo: Name, high: int, now: int) -> list[Effect]:
        """Look which of a repo's records up to a number are missing, and follow them.

        Our own are missing where an empty disk took the place of an old one: others have them.
        """
        if repo != self._peers.repo and not self._peers.add(repo):
            return []
        follow = self._follows.get(repo)
        if follow is None:
            return self._begin(repo, high, now)
        follow.known = max(follow.known, high)
        return self._pump(now)

    def look_again(self, repo: Name, now: int) -> list[Effect]:
        """Look at all records of a repo anew, unless some are on their way or late."""
        follow = self._follows.get(repo)
        if follow is None or follow.flying or any(late.repo == repo for late in self._late.values()):
            return []
        return self._begin(repo, follow.known, now)

    def lacking(self, repo: Name) -> int:
        """How many records of a repo are known, and not done with here."""
        follow = self._follows.get(repo)
        if follow is None:
            return 0
        return follow.known - follow.cursor + follow.flying + sum(late.repo == repo for late in self._late.values())

    def tick(self, now: int) -> list[Effect]:
        """Try late records again."""
        effects: list[Effect] = []
        for ticket in list(self._due.overdue(now)):
            late = self._late.pop(ticket)
            follow = self._follows[late.repo]
            if not self._has_room():
                self._put_off(late, now + PAUSE)
            elif late.number > follow.covered and self._enactment.is_missing(late.repo, late.number):
                effects += self._fetch(late.repo, follow, late.number, late.tries, now)
        return effects + self._pump(now)

    def deadline(self) -> int | None:
        """When a late record is tried again."""
        return self._due.deadline()

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "repos followed": (len(self._follows), MAX_PEERS + 1),
            "records on the way": (self._flying, MAX_RECORDS + BUNDLED),
            "late records": (len(self._late), MAX_LATE),
        }

    # -- which record is next

    def _begin(self, repo: Name, known: int, now: int) -> list[Effect]:
        mark = self._store.mark(MARK + repo.value)
        covered = int.from_bytes(mark, "big") if mark else 0
        holes = [low for low, high in self._shelf.holdings.holes(repo, MAX_OF_ONE) if high > covered]
        done = holes[0] - 1 if holes else self._shelf.holdings.highest(repo)
        self._follows[repo] = _Follow(covered, max(covered, done), known)
        return self._pump(now)

    def _pump(self, now: int) -> list[Effect]:
        effects: list[Effect] = []
        if not len(self._peers):
            return effects
        for repo, follow in list(self._follows.items()):
            while follow.cursor < follow.known and follow.flying < MAX_OF_ONE and self._has_room():
                low, high = self._next_run(repo, follow)
                if high - low < SINGLES:
                    for number in range(low, high + 1):
                        effects += self._fetch(repo, follow, number, 0, now)
                else:
                    effects += self._fetch_bundle(repo, follow, low, high, now)
        return effects

    def _has_room(self) -> bool:
        return self._flying < MAX_RECORDS and self._asking.room > min(_SPARE_QUESTIONS, self._asking.max_asked // 2)

    def _next_run(self, repo: Name, follow: _Follow) -> Run:
        """The next records to ask for, at most a bundle; none if low lies above high."""
        low = follow.cursor + 1
        while low <= follow.known and not self._enactment.is_missing(repo, low):
            low += 1
        high = low - 1
        last = min(follow.known, low + BUNDLED - 1)
        while high < last and self._enactment.is_missing(repo, high + 1):
            high += 1
        follow.cursor = high
        return low, high

    # -- asking for records

    def _take_off(self, follow: _Follow, count: int) -> None:
        follow.flying += count
        self._flying += count

    def _fetch_bundle(self, repo: Name, follow: _Follow, low: int, high: int, now: int) -> list[Effect]:
        """Ask for many records; what does not come is asked for by name."""
        self._take_off(follow, high - low + 1)
        asked = Bundle(repo, low, high)
        peer = self._peers.order(repo, now)[0]

        def answered(data: Data | None, _: str, now: int) -> list[Effect]:
            if data is None:
                self._peers.was_silent(peer, now)
                return opened(Bundled(()), now)
            self._peers.answered(peer)
            try:
                return opened(decode_bundle(data.content, asked), now)
            except BadPacket as error:
                return [Rejected(str(peer.name), str(error), data.wire[:_SAMPLE_BYTES]), *opened(Bundled(()), now)]

        def opened(bundled: Bundled, now: int) -> list[Effect]:
            packets = [packet for _, packet in bundled.readings]

            def verified(believed: list[Data], now: int) -> list[Effect]:
                came = {number_in(record.name)[1]: record for record in believed}
                gone = {number for run in bundled.dropped for number in range(max(low, run[0]), min(high, run[1]) + 1)}
                self._take_off(follow, -len(gone))
                effects = self._pass_over(repo, follow, bundled.dropped, now)
                for number in range(low, high + 1):
                    if number in came:
                        effects += self._came(repo, follow, came[number], number, 0, now)
                    elif number not in gone:
                        effects += self._seek(repo, follow, number, 0, now)
                return effects + self._pump(now)

            return verify(self._asking, packets, verified, now)

        name = peer.name / ASK / encode_question(asked)
        question = Question(name, can_be_prefix=True, must_be_fresh=True, lifetime_ms=LIFETIME_MS)
        return self._asking.fetch(question, answered, now)

    def _pass_over(self, repo: Name, follow: _Follow, dropped: Sequence[Run], now: int) -> list[Effect]:
        """Do not ask for records that are gone, each run to its end; what they named may be missing here."""
        if not dropped:
            return []
        for low, high in dropped:
            if low <= follow.covered + 1 <= high:
                follow.covered = high
                with suppress(Backpressure):  # it is found out again
                    self._shelf.set_mark(MARK + repo.value, high.to_bytes(8, "big"))
            if low <= follow.cursor + 1 <= high:
                follow.cursor = min(high, follow.known)
        return self._compare(repo, now)

    def _fetch(self, repo: Name, follow: _Follow, number: int, tries: int, now: int) -> list[Effect]:
        self._take_off(follow, 1)
        return self._seek(repo, follow, number, tries, now)

    def _seek(self, repo: Name, follow: _Follow, number: int, tries: int, now: int) -> list[Effect]:
        def found(data: Data | None, now: int) -> list[Effect]:
            if data is None:
                return self._ended(repo, follow, number, tries, now, done=False)
            return self._came(repo, follow, data, number, tries, now)

        return seek(self._asking, self._peers, numbered(repo, number), repo, found, now)

    def _came(self, repo: Name, follow: _Follow, data: Data, number: int, tries: int, now: int) -> list[Effect]:
        def ended(missing: int, now: int) -> list[Effect]:
            return self._ended(repo, follow, number, tries, now, done=not missing)

        try:
            record = decode_record(data.content)
        except BadPacket as error:
            rejected = Rejected(str(repo), str(error), data.wire[:_SAMPLE_BYTES])
            return [rejected, *ended(1, now)]
        return self._enactment.enact(repo, data, record, ended, now)

    def _ended(self, repo: Name, follow: _Follow, number: int, tries: int, now: int, *, done: bool) -> list[Effect]:
        self._take_off(follow, -1)
        if done:
            self.followed += 1
            return self._pump(now)
        if tries >= _MAX_DOUBLINGS:
            self.lost += 1
            return self._compare(repo, now) + self._pump(now)
        if len(self._late) >= MAX_LATE:
            self.turned_away += 1
            return self._pump(now)
        self._put_off(_Late(repo, number, tries + 1), now + (PAUSE << tries))
        return self._pump(now)

    def _put_off(self, late: _Late, due: int) -> None:
        self._late[self._next_ticket] = late
        self._due.set(self._next_ticket, due)
        self._next_ticket += 1
