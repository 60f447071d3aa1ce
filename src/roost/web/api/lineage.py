"""Where a reading comes from, as a tree back to raw readings, each verified on the way.

    GET /lineage?stream=&number=&depth=

A branch is a stretch of one stream: the readings `low` to `high` that the reading above was made of, `number` the last
of them, and what all of them were made of below it. Looked at is what the repos of this node keep; what is in groups
that it does not keep is there by name, and unverified. So many readings are looked at, and no more: where the way back
goes on behind that, or deeper than was asked for, the branch is `truncated`.
"""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web

from roost.errors import BadPacket
from roost.host.http.answers import answer
from roost.host.http.asking import USER, parameter
from roost.host.http.pages import whole
from roost.naming.building import numbered
from roost.web.api.judging import REFUSED, TRUSTED, UNVERIFIED
from roost.web.api.lookout import Lookout
from roost.web.api.paging import stream_name
from roost.web.api.passport import MAX_NUMBER, inputs_of, may_see, opened
from roost.web.index_rows import StreamRow
from roost.wire.data import decode_data
from roost.wire.lineage import InputRange, Lineage, joined_ranges

DEPTH: Final = 8
MAX_DEPTH: Final = 16
MAX_READINGS: Final = 2000  # that are verified for one question
MAX_AT_ONCE: Final = 2  # questions; others wait
PIECE: Final = 16  # readings that are verified in one turn

Told = dict[str, object]


class LineageResource:
    """The route."""

    def __init__(self, lookout: Lookout) -> None:
        self._lookout: Final = lookout
        self._room: Final = asyncio.Semaphore(MAX_AT_ONCE)

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [web.get("/lineage", self._get, allow_head=False)]

    async def _get(self, request: web.Request) -> web.Response:
        row = await self._lookout.row(request, str(stream_name(parameter(request, "stream"))))
        number = whole(request, "number", 1, MAX_NUMBER, row.number)
        depth = whole(request, "depth", 0, MAX_DEPTH, DEPTH)
        async with self._room:
            way = _Way(self._lookout, request[USER])
            return answer(await way.back(InputRange(row.name, number, number), depth))


class _Way:
    """One way back."""

    def __init__(self, lookout: Lookout, user: bytes) -> None:
        self._lookout: Final = lookout
        self._user: Final = user
        self._room = MAX_READINGS

    async def back(self, wanted: InputRange, depth: int) -> Told:
        """The branch of a stretch."""
        row = self._lookout.index.get(str(wanted.stream))
        told: Told = {
            "stream": str(wanted.stream),
            "number": wanted.high,
            "low": wanted.low,
            "high": wanted.high,
            "name": str(numbered(wanted.stream, wanted.high)),
        }
        if row is None:
            why = "no repo of this node keeps this stream"
            return told | _said(UNVERIFIED, why, held=0, wanted=wanted) | {"inputs": [], "truncated": True}
        lineages, said, is_cut = await self._look(row, wanted)
        named = joined_ranges([each for lineage in lineages for each in inputs_of(lineage)])
        seen = [each for each in named if may_see(self._lookout, self._user, each.stream)]
        unnamed = sum([lineage.digest.count for lineage in lineages if lineage.digest is not None])
        told |= said
        told |= {
            "jobs": sorted({lineage.job or lineage.program.hex() for lineage in lineages}),
            "hidden": len(named) - len(seen),
            "unnamed": unnamed,
        }
        goes_on = bool(seen) and (depth == 0 or self._room <= 0)
        branches = [] if goes_on else [await self.back(each, depth - 1) for each in seen]
        return told | {"inputs": branches, "truncated": is_cut or goes_on}

    async def _look(self, row: StreamRow, wanted: InputRange) -> tuple[list[Lineage], Told, bool]:
        """Verify the readings of a stretch; what they were made of, what is to be said, and whether some were left."""
        judging = self._lookout.judging
        high = min(wanted.high, wanted.low + self._room - 1)
        read = row.group.repo.store.range(row.name, wanted.low, high, max(1, self._room)) if self._room > 0 else []
        self._room -= len(read)
        lineages: list[Lineage] = []
        verdict, reason = TRUSTED, ""
        for at, (number, wire) in enumerate(read, 1):
            try:
                data = decode_data(wire)
            except BadPacket as error:
                verdict, reason = REFUSED, f"{number}: {error}"
                continue
            _, message = self._lookout.reader.show(row, number) if row.virtual else (None, None)
            _, lineage = opened(data, b"" if message is None else message.lineage)
            if lineage is not None:
                lineages.append(lineage)
            if judging is not None and verdict != REFUSED:
                judged = await judging.judge(data)
                if judged.verdict != TRUSTED:
                    verdict, reason = judged.verdict, f"{number}: {judged.reason}"
            if at % PIECE == 0:
                await asyncio.sleep(0)
        if not read or judging is None:
            verdict, reason = UNVERIFIED, reason or "none of these readings is here"
        return lineages, _said(verdict, reason, held=len(read), wanted=wanted), high < wanted.high


def _said(verdict: str, reason: str, *, held: int, wanted: InputRange) -> Told:
    return {"verdict": verdict, "reason": reason, "count": wanted.high - wanted.low + 1, "held": held}
