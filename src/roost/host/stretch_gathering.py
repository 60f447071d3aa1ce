"""One piece of a stretch, made complete over the faces to the repos: bundles, then names, verified and opened.

    bundles ──▶ verify ──▶ what is refused, by name from every repo ──▶ what is lacking, by name and in bundles,
                           until it is there or the time is over ──▶ open what is sealed ──▶ Fetched

A number is given once, whoever gave it: what came is kept by number, and asked for is only what did not come. Numbers
that repos call dropped are believed where their answer is verified, or need not be. That no repo answers at all is not
the same as that none has a reading: then `Unreachable` is raised, and nothing is called missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from roost.errors import BadPacket, Unreachable
from roost.host.stretch_access import Access
from roost.host.stretch_checking import Checking
from roost.host.stretch_opening import Opening
from roost.host.stretch_packets import open_bundle, split
from roost.host.stretch_pieces import Fetched, Piece
from roost.host.stretch_ways import Ways
from roost.naming.building import SERVICE, numbered
from roost.repo.question import ASK, MAX_CONTENT_BYTES, MAX_DROPPED, Bundle, Run, encode_question
from roost.wire import Data

AT_ONCE: Final = 16  # questions under way, over all pieces
NAMES_AT_ONCE: Final = 256  # readings under way by name, of a piece
RUNS_AT_ONCE: Final = 16  # of what is lacking, asked for in bundles again
FIRST_PAUSE_S: Final = 0.1
LAST_PAUSE_S: Final = 1.0
_MOST_BUNDLED: Final = 128


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
        """Close the faces, and let the threads go."""
        await self.ways.close()
        if self._checking is not None:
            self._checking.close()

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
            try:
                packets, sealed, dropped = open_bundle(answer.content, stream.value, low, high)
            except BadPacket:
                return  # it is as good as no answer: others are asked by name
            doubtful = self._verifies[came % len(self.ways)]
            if (dropped or not doubtful) and not await self._is_repos(answer):
                doubtful, dropped = self._access.verifies_names, []  # whoever says so may not say so
            piece.take(packets, sealed, doubtful=doubtful)
            piece.drop(dropped)
            if packets:
                low = packets[-1][0] + 1
                each = len(answer.content) // len(packets)
                self._per_question = max(1, min(_MOST_BUNDLED, MAX_CONTENT_BYTES // each))
            elif len(dropped) == MAX_DROPPED and dropped[-1][1] >= low:  # else it would be asked the same for ever
                low = dropped[-1][1] + 1
            else:
                return
            while any(run[0] <= low <= run[1] for run in dropped):
                low = next(run[1] for run in dropped if run[0] <= low <= run[1]) + 1

    async def _is_repos(self, answer: Data) -> bool:
        """Whether a repo of the group has signed an answer, where that matters."""
        return not self._access.verifies_names or not await self._checks().refusals([(0, answer.wire)])

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
