"""One piece of a stretch, made complete over the faces to the repos: bundles, then names, verified and opened.

    bundles ──▶ verify ──▶ what is refused, by name from every repo ──▶ what is lacking, by name and in bundles,
                           until it is there or the time is over ──▶ open what is sealed ──▶ Fetched

A number is given once, whoever gave it: what came is kept by number, and asked for is only what did not come. Numbers
that repos call dropped are believed where their answer is verified, or need not be. That no repo answers at all is not
the same as that none has a reading: then `Unreachable` is raised, and nothing is called missing.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from roost.errors import BadPacket, Unreachable
from roost.host.stretch_access import Access
from roost.host.stretch_checking import Checking
from roost.host.stretch_opening import Opening
from roost.host.stretch_packets import open_bundle, split
from roost.host.stretch_ways import Ways
from roost.naming import Name
from roost.naming.building import SERVICE, numbered
from roost.repo.question import ASK, MAX_CONTENT_BYTES, MAX_DROPPED, Bundle, Run, encode_question

AT_ONCE: Final = 16  # questions under way, over all pieces
NAMES_AT_ONCE: Final = 256  # readings under way by name, of a piece
RUNS_AT_ONCE: Final = 16  # of what is lacking, asked for in bundles again
FIRST_PAUSE_S: Final = 0.1
LAST_PAUSE_S: Final = 1.0
_MOST_BUNDLED: Final = 128


class Stretch(NamedTuple):
    """The readings low to high of a stream."""

    stream: Name
    low: int
    high: int


@dataclass(slots=True)
class Fetched:
    """What there is of a part of a stretch; each of its numbers is in one of the lists."""

    stream: Name
    packets: list[tuple[int, bytes]]  # by number, as they are on the wire
    dropped: list[Run] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)  # with the rule that says no
    missing: list[int] = field(default_factory=list)
    verified: bool = False  # all packets
    opened: dict[int, bytes] = field(default_factory=dict)  # the plain content of sealed packets


class Piece:
    """A part of a stretch that is being fetched."""

    __slots__ = ("doubtful", "dropped", "packets", "refused", "sealed", "stretch", "verified")

    def __init__(self, stretch: Stretch) -> None:
        self.stretch: Final = stretch
        self.packets: dict[int, bytes] = {}
        self.sealed: set[int] = set()
        self.dropped: list[Run] = []
        self.doubtful: list[int] = []  # came from where it is to be verified
        self.refused: dict[int, str] = {}
        self.verified = 0

    def take(self, packets: Iterable[tuple[int, bytes]], sealed: Iterable[int], *, doubtful: bool) -> None:
        """Add packets of numbers that are lacking."""
        taken = [packet for packet in packets if packet[0] not in self.packets]
        self.packets.update(taken)
        if doubtful:
            self.doubtful += [number for number, _ in taken]
        self.sealed.update(sealed)

    def drop(self, runs: Iterable[Run]) -> None:
        """Add dropped runs, as far as they concern this piece."""
        low, high = self.stretch.low, self.stretch.high
        self.dropped += [(max(low, run[0]), min(high, run[1])) for run in runs if run[0] <= high and run[1] >= low]

    def lacking(self) -> list[Run]:
        """The runs of numbers that are neither here, refused nor dropped."""
        if len(self.packets) == self.stretch.high - self.stretch.low + 1:
            return []
        known = sorted([*self.dropped, *[(number, number) for number in (*self.packets, *self.refused)]])
        runs: list[Run] = []
        number = self.stretch.low
        for low, high in known:
            if low > number:
                runs.append((number, low - 1))
            number = max(number, high + 1)
        if number <= self.stretch.high:
            runs.append((number, self.stretch.high))
        return runs

    def fetched(self, opened: dict[int, bytes]) -> Fetched:
        """What became of it; whatever is still lacking is missing."""
        missing = [number for low, high in self.lacking() for number in range(low, high + 1)]
        dropped = self._dropped_only() if self.dropped else []
        packets = sorted(self.packets.items())
        refused = sorted(self.refused.items())
        return Fetched(self.stretch.stream, packets, dropped, refused, missing, self.verified == len(packets), opened)

    def _dropped_only(self) -> list[Run]:
        """The dropped runs, without what somebody gave all the same."""
        given = sorted([*self.packets, *self.refused])
        runs: list[Run] = []
        behind = self.stretch.low  # of what is in `runs` or given
        for low, high in sorted(self.dropped):
            at = max(low, behind)
            for number in given[bisect_left(given, at) : bisect_right(given, high)]:
                if at < number:
                    runs.append((at, number - 1))
                at = number + 1
            if at <= high:
                runs.append((at, high))
            behind = max(behind, high + 1)
        return runs


class Gathering:
    """Completes pieces, several at once."""

    def __init__(self, access: Access) -> None:
        self.ways: Final = Ways(access)
        self.questions = 0
        self._access: Final = access
        self._under_way: Final = asyncio.Semaphore(AT_ONCE)
        self._verifies: Final = [access.verifies_repo(way.uri) for way in self.ways.ways]
        self._checking: Checking | None = None
        self._opening: Opening | None = None
        self._per_question = 32  # learnt from how large readings are

    async def complete(self, piece: Piece) -> Fetched:
        """Fetch what a piece lacks, verify what is to be verified, open what is sealed; raises `Unreachable`."""
        lacking = piece.lacking()
        if lacking:
            await self._bundles(piece, lacking)
        await self._verify(piece)
        await self._seek_refused(piece)
        await self._seek_lacking(piece)
        return piece.fetched(await self._open(piece) if piece.sealed else {})

    async def close(self) -> None:
        """Close the faces."""
        await self.ways.close()

    # -- bundles

    async def _bundles(self, piece: Piece, runs: Iterable[Run]) -> None:
        per = self._per_question
        parts = [(at, min(high, at + per - 1)) for low, high in runs for at in range(low, high + 1, per)]
        await asyncio.gather(*[self._bundle(piece, low, high) for low, high in parts])

    async def _bundle(self, piece: Piece, low: int, high: int, at: int | None = None) -> None:
        """Ask for low to high until the repo that answers, or the one at `at`, has said all it knows of them."""
        stream = piece.stretch.stream
        while low <= high:
            asked = Bundle(stream, low, high)
            name = self._access.group_of(stream) / SERVICE / ASK / encode_question(asked)
            async with self._under_way:
                self.questions += 1
                if at is None:
                    answer, came = await self.ways.ask(name, is_prefix=True, is_fresh=True)
                else:
                    answer, came = await self.ways.ask_at(at, name, is_prefix=True, is_fresh=True), at
            doubtful = self._verifies[came % len(self.ways)]
            try:
                packets, sealed, dropped = open_bundle(answer.content, stream.value, low, high)
            except BadPacket:
                return  # it is as good as no answer: others are asked by name
            if dropped and doubtful and await self._checks().refusals([(0, answer.wire)]):
                dropped = []  # whoever says so may not say so
            piece.take(packets, sealed, doubtful=doubtful)
            piece.drop(dropped)
            if packets:
                low = packets[-1][0] + 1
                each = len(answer.content) // len(packets)
                self._per_question = max(1, min(_MOST_BUNDLED, MAX_CONTENT_BYTES // each))
            elif len(dropped) == MAX_DROPPED:
                low = dropped[-1][1] + 1
            else:
                return
            while any(run[0] <= low <= run[1] for run in dropped):
                low = next(run[1] for run in dropped if run[0] <= low <= run[1]) + 1

    # -- one by one

    async def _seek_lacking(self, piece: Piece) -> None:
        """Ask for what no bundle had, by name and elsewhere, until it is there or the time is over."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._access.timeout_s
        pause_s, at, heard = FIRST_PAUSE_S, self.ways.preferred, False
        while (lacking := piece.lacking()) and loop.time() < until:
            numbers = [number for low, high in lacking[:NAMES_AT_ONCE] for number in range(low, high + 1)]
            await asyncio.gather(*[self._by_name(piece, number, at) for number in numbers[:NAMES_AT_ONCE]])
            heard |= await self._everywhere(piece)
            await self._verify(piece)
            if piece.lacking():
                at += 1
                await asyncio.sleep(min(pause_s, max(0.0, until - loop.time())))
                pause_s = min(LAST_PAUSE_S, 2 * pause_s)
        if lacking and not heard:
            raise Unreachable(f"no repo answers that could have {numbered(piece.stretch.stream, lacking[0][0])}")

    async def _everywhere(self, piece: Piece) -> bool:
        """Ask all repos for the first runs that are lacking; whether one of them answered."""
        runs = piece.lacking()[:RUNS_AT_ONCE]
        asked = [self._bundle(piece, low, high, at) for at in range(len(self.ways)) for low, high in runs]
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        for outcome in outcomes:
            if outcome is not None and not isinstance(outcome, Unreachable):
                raise outcome
        return None in outcomes

    async def _seek_refused(self, piece: Piece) -> None:
        """Ask every repo for what was refused, the one that gave it last; the first that gives a good one is enough."""
        for at in range(self.ways.preferred + 1, self.ways.preferred + 1 + len(self.ways)):
            refused = list(piece.refused)
            for low in range(0, len(refused), NAMES_AT_ONCE):
                await asyncio.gather(*[self._by_name(piece, n, at) for n in refused[low : low + NAMES_AT_ONCE]])
            if refused:
                await self._verify(piece)

    async def _by_name(self, piece: Piece, number: int, at: int) -> None:
        stream = piece.stretch.stream
        try:
            data = await self.ways.ask_at(at, numbered(stream, number))
            packets, sealed = split(data.wire, 0, stream.value, number, number)
        except (BadPacket, Unreachable):
            return
        piece.take(packets, sealed, doubtful=self._access.verifies_names)

    # -- whose it is, and what is in it

    async def _verify(self, piece: Piece) -> None:
        doubtful, piece.doubtful = piece.doubtful, []
        if not doubtful:
            return
        found = await self._checks().refusals([(number, piece.packets[number]) for number in doubtful])
        for number in doubtful:
            if number in found:
                piece.refused.setdefault(number, found[number])
                del piece.packets[number]
                piece.sealed.discard(number)
            else:
                piece.refused.pop(number, None)
                piece.verified += 1

    async def _open(self, piece: Piece) -> dict[int, bytes]:
        if self._opening is None:
            checking = self._checks() if self._access.verifies_names else None
            self._opening = Opening(self._access.receivers(), self.ways, checking)
        opened: dict[int, bytes] = {}
        for number in sorted(piece.sealed):
            content = await self._opening.open(piece.packets[number])
            if content is not None:
                opened[number] = content
        return opened

    def _checks(self) -> Checking:
        if self._checking is None:
            self._checking = Checking(self._access.keys, self.ways.certificate)
        return self._checking
