"""Readings that are missing here, fetched from other repos: runs of a stream, in bundles, verified, put on the shelf.

    want(stream, low, high, whom, then)     then(missing, now)   when all that can be had of it is on the disk

What is held, gone or on its way already is not asked for. A run of three or more goes as a Bundle question, forty
numbers at a time, fewer as Interests with a forwarding hint. Each round asks one repo, `whom` first; what a round did
not bring goes to the next repo, and after all of them, with a pause that doubles, to the first again. Numbers that a
repo has dropped on purpose are not missing. A bundle without any reading may be too small for the next one, so that is
asked for by name.

Each peer has a window of its own (`repos.peers`), and wants take turns in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import Final

from roost.errors import BadPacket
from roost.forwarding.pending import Question
from roost.machine import SECOND, Effect, Rejected, earliest
from roost.machine.timetable import Timetable
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.asking import Asking
from roost.pubsub.repos.peers import MAX_PEERS, MAX_WINDOW, Peer, Peers
from roost.pubsub.repos.seeking import verify
from roost.pubsub.repos.stock import Stock
from roost.pubsub.repos.wants import BUNDLED, Ended, Want
from roost.repo.cause import REPLICATION
from roost.repo.numbering import numbered as number_in
from roost.repo.question import ASK, Bundle, Run, decode_bundle, encode_question
from roost.wire import Data

SINGLES: Final = 2  # so few are asked for by name
LIFETIME_MS: Final = 1000
TRIES: Final = 2
CYCLES: Final = 3  # how often all repos are asked
PAUSE: Final = SECOND
MAX_WANTS: Final = 1024
MAX_RUN: Final = 1 << 16  # numbers that one want takes on: whoever claims more is heard again when these are here
_SPARE_QUESTIONS: Final = 1024  # of `Asking`, for all else
_SAMPLE_BYTES: Final = 64


class Retrieval:
    """What is wanted of other repos, and what is on its way."""

    def __init__(self, asking: Asking, shelf: Stock, peers: Peers) -> None:
        self.fetched = 0  # readings that came and are kept
        self.denied = 0  # bundles in which nothing was
        self.turned_away = 0
        self._asking: Final = asking
        self._shelf: Final = shelf
        self._peers: Final = peers
        self._wants: Final[dict[int, Want]] = {}  # bound: MAX_WANTS
        self._ready: Final[dict[Name, deque[int]]] = {}  # peer → whose turn it is; bound: the peers, the wants
        self._pauses: Final = Timetable()
        self._on_the_way: Final[set[tuple[Name, int]]] = set()  # bound: MAX_PEERS × MAX_WINDOW × BUNDLED
        self._next_ticket = 1
        self._pumping = False

    @property
    def room(self) -> int:
        """How many more runs can be wanted."""
        return MAX_WANTS - len(self._wants)

    def want(self, stream: Name, low: int, high: int, whom: Name | None, then: Ended, now: int) -> list[Effect]:
        """Have a run of a stream fetched, as far as it is not here; what lies behind MAX_RUN numbers counts as missing.

        Somebody may say that it holds 2^60 readings: nobody shall be asked for all of them.
        """
        order = [peer.name for peer in self._peers.order(whom, now)]
        if not order or not self.room:
            self.turned_away += 1
            return then(high - low + 1, now)
        beyond = max(0, high - low + 1 - MAX_RUN)
        ended = (lambda missing, now: then(missing + beyond, now)) if beyond else then
        want = Want(self._next_ticket, stream, low, high - beyond, order, ended)
        self._next_ticket += 1
        self._wants[want.ticket] = want
        self._queue(want)
        return self._pump(now)

    def tick(self, now: int) -> list[Effect]:
        """Go on with what has paused."""
        for ticket in self._pauses.overdue(now):
            self._queue(self._wants[ticket])
        return self._pump(now)

    def deadline(self) -> int | None:
        """When a pause ends."""
        return earliest(self._pauses.deadline())

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "wants": (len(self._wants), MAX_WANTS),
            "readings on the way": (len(self._on_the_way), MAX_PEERS * MAX_WINDOW * BUNDLED),
        }

    # -- whose turn it is

    def _queue(self, want: Want) -> None:
        if not want.queued:
            want.queued = True
            self._ready.setdefault(want.whom, deque()).append(want.ticket)

    def _pump(self, now: int) -> list[Effect]:
        """Ask as much as windows allow; what is answered at once pumps no further, because we go on until all is."""
        if self._pumping:
            return []
        self._pumping = True
        effects: list[Effect] = []
        progress = True
        while progress:
            progress = False
            for name, queue in list(self._ready.items()):
                peer = self._peers.get(name)
                while queue and peer is not None and peer.flying < peer.window and self._has_room():
                    progress = True
                    effects += self._turn(self._wants[queue.popleft()], peer, now)
        self._pumping = False
        return effects

    def _has_room(self) -> bool:
        return self._asking.room > min(_SPARE_QUESTIONS, self._asking.max_asked // 2)

    def _turn(self, want: Want, peer: Peer, now: int) -> list[Effect]:
        want.queued = False
        run = want.next_run(self._shelf.holdings, self._on_the_way)
        if run is None:
            return [] if want.flying else self._round_over(want, now)
        low, high = run
        if high - low < SINGLES and want.round < len(want.order):
            asked = self._ask_single(want, peer, low, now)
            if high > low:
                want.todo.appendleft((low + 1, high))
        else:
            asked = self._ask_bundle(want, peer, low, high, now)
        self._queue(want)
        return asked

    def _round_over(self, want: Want, now: int) -> list[Effect]:
        cycle, place = want.next_round()
        if not want.todo or cycle >= CYCLES:
            del self._wants[want.ticket]
            return want.then(want.count, now)
        if place:
            self._queue(want)
        else:
            self._pauses.set(want.ticket, now + (PAUSE << cycle))
        return []

    # -- asking

    def _ask_single(self, want: Want, peer: Peer, number: int, now: int) -> list[Effect]:
        self._take_off(want, peer, number, number)

        def answered(data: Data | None, _: str, now: int) -> list[Effect]:
            if data is None:
                return self._silent(want, peer, (number, number), now)
            return self._brought(want, peer, (number, number), [data], now)

        return self._asking.fetch(_by_name(want, peer, number), answered, now)

    def _ask_bundle(self, want: Want, peer: Peer, low: int, high: int, now: int) -> list[Effect]:
        asked = Bundle(want.stream, low, high)
        self._take_off(want, peer, low, high)

        def answered(data: Data | None, _: str, now: int) -> list[Effect]:
            if data is None:
                return self._silent(want, peer, (low, high), now)
            try:
                bundled = decode_bundle(data.content, asked)
            except BadPacket as error:
                rejected = Rejected(str(peer.name), str(error), data.wire[:_SAMPLE_BYTES])
                return [rejected, *self._silent(want, peer, (low, high), now)]
            packets = [packet for _, packet in bundled.readings]
            return self._opened(want, peer, (low, high), packets, bundled.dropped, now)

        name = peer.name / ASK / encode_question(asked)
        question = Question(name, can_be_prefix=True, must_be_fresh=True, lifetime_ms=LIFETIME_MS, tries=TRIES)
        return self._asking.fetch(question, answered, now)

    def _opened(
        self, want: Want, peer: Peer, run: Run, packets: list[Data], dropped: Sequence[Run], now: int
    ) -> list[Effect]:
        """Go on with what a bundle holds, once it is verified; what lies behind it is asked for again."""
        gone = {number for low, high in dropped for number in range(max(low, run[0]), min(high, run[1]) + 1)}
        last = max([*gone, *[_number(data) for data in packets]], default=0)
        if not last:
            self.denied += 1
            return self._denied(want, peer, run, now)
        if last < run[1]:
            want.todo.append((last + 1, run[1]))
        if dropped:
            want.pass_over(*dropped[-1])

        def verified(believed: list[Data], now: int) -> list[Effect]:
            return self._brought(want, peer, run, believed, now, settled=gone, last=last)

        return self._let_go(want.stream, gone, now) + verify(self._asking, packets, verified, now)

    def _let_go(self, stream: Name, numbers: set[int], now: int) -> list[Effect]:
        """What another repo dropped on purpose, and we do not have, is no hole here either."""
        holdings = self._shelf.holdings
        names = [
            numbered(stream, number)
            for number in sorted(numbers)
            if not holdings.is_held(stream, number) and not holdings.is_gone(stream, number)
        ]
        return self._shelf.drop(names, lambda *_: [], now, cause=REPLICATION) if names else []

    def _denied(self, want: Want, peer: Peer, run: Run, now: int) -> list[Effect]:
        """Nothing was in a bundle: perhaps the first reading is too large for one."""

        def answered(data: Data | None, _: str, now: int) -> list[Effect]:
            if data is None:
                want.left.append(run)
                return self._landed(want, peer, run, now)
            if run[1] > run[0]:
                want.todo.append((run[0] + 1, run[1]))
            return self._brought(want, peer, run, [data], now, last=run[0])

        return self._asking.fetch(_by_name(want, peer, run[0]), answered, now)

    def _silent(self, want: Want, peer: Peer, run: Run, now: int) -> list[Effect]:
        self._peers.was_silent(peer, now)
        want.left.append(run)
        return self._landed(want, peer, run, now)

    def _brought(
        self,
        want: Want,
        peer: Peer,
        run: Run,
        packets: list[Data],
        now: int,
        *,
        settled: Collection[int] = (),
        last: int = 0,
    ) -> list[Effect]:
        """Have what came kept, and note what of a run up to `last` did not come."""
        self._peers.answered(peer)
        came = {_number(data) for data in packets}
        want.left += [
            (number, number)
            for number in range(run[0], (last or run[1]) + 1)
            if number not in came and number not in settled
        ]
        if not packets:
            return self._landed(want, peer, run, now)

        def kept(refusals: list[str], now: int) -> list[Effect]:
            for data, refusal in zip(packets, refusals, strict=True):
                if refusal:
                    number = _number(data)
                    want.left.append((number, number))
                else:
                    self.fetched += 1
            return self._landed(want, peer, run, now)

        return self._shelf.put(packets, REPLICATION, kept, now)

    # -- what is on its way

    def _take_off(self, want: Want, peer: Peer, low: int, high: int) -> None:
        want.flying += 1
        peer.flying += 1
        self._on_the_way.update([(want.stream, number) for number in range(low, high + 1)])

    def _landed(self, want: Want, peer: Peer, run: Run, now: int) -> list[Effect]:
        want.flying -= 1
        peer.flying -= 1
        self._on_the_way.difference_update([(want.stream, number) for number in range(run[0], run[1] + 1)])
        self._queue(want)
        return self._pump(now)


def _by_name(want: Want, peer: Peer, number: int) -> Question:
    return Question(numbered(want.stream, number), lifetime_ms=LIFETIME_MS, tries=TRIES, hints=(peer.name,))


def _number(data: Data) -> int:
    return number_in(data.name)[1]
