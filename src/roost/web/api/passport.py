"""A reading's passport: what it says, who signed it and why that is believed, what it was made of, and who holds it.

GET /passport?stream=&number=
"""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Final

from aiohttp import web

from roost.errors import Backpressure, BadName, BadPacket
from roost.forwarding.pending import Question
from roost.host.http.answers import Problem, answer
from roost.host.http.asking import USER, parameter
from roost.host.http.pages import whole
from roost.naming import Name
from roost.naming.building import numbered
from roost.repo.numbering import numbered as numbered_in
from roost.repo.question import ASK, Bundle, decode_bundle, encode_question
from roost.web.api.judging import UNVERIFIED, Judged
from roost.web.api.lookout import Lookout
from roost.web.api.neighbours import SILENCE, RepoState
from roost.web.api.paging import stream_name
from roost.web.index_rows import StreamRow
from roost.wire import Data
from roost.wire.certificate import key_name_of
from roost.wire.data import decode_data
from roost.wire.lineage import InputRange, Lineage, joined_ranges, read_lineage
from roost.wire.reading import decode_reading
from roost.wire.signature import SIGNATURE_NAMES

PATIENCE_MS: Final = 1500
MAX_NUMBER: Final = (1 << 63) - 1
BUNDLED_BYTES: Final = 7000  # of a packet that surely fits into an answer


class Passport:
    """The route."""

    def __init__(self, lookout: Lookout) -> None:
        self._lookout: Final = lookout

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [web.get("/passport", self._get, allow_head=False)]

    async def _get(self, request: web.Request) -> web.Response:
        lookout, user = self._lookout, request[USER]
        row = await lookout.row(request, str(stream_name(parameter(request, "stream"))))
        number = whole(request, "number", 1, MAX_NUMBER, row.number)
        shown, message = lookout.reader.show(row, number)
        if lookout.views.hides(user, message):
            raise Problem(403, f"reading {number} was made of something that the user may not see")
        data = await self._packet(row, number)
        judged, chain, is_signed, repos = await asyncio.gather(
            self._judged(data), self._chain(data), self._signed(data), self._repos(row, number, len(data.wire))
        )
        info = data.signature
        format_, lineage = opened(data, b"" if message is None else message.lineage)
        return answer(
            {
                "name": str(data.name),
                "stream": row.text,
                "number": number,
                "time": shown["time"],
                "received": row.heard if number == row.number and row.heard else None,
                "value": shown["value"],
                "unit": shown["unit"],
                "quality": shown["quality"],
                "format": format_,
                "size_bytes": len(data.wire),
                "digest": sha256(data.wire).hexdigest(),
                "sealed": format_ is None,
                "signer": None if info.key_name is None else _key(info.key_name),
                "signature": {"type": SIGNATURE_NAMES.get(info.type, str(info.type)), "valid": is_signed},
                "chain": chain,
                "verdict": judged.verdict,
                "rule": judged.rule,
                "reason": judged.reason,
                "lineage": None if lineage is None else told_lineage(lookout, user, lineage),
                "repos": repos,
            }
        )

    async def _packet(self, row: StreamRow, number: int) -> Data:
        """The reading, from the repo of this node, or from whoever has it."""
        for _, wire in row.group.repo.store.range(row.name, number, number, 1):
            return decode_data(wire)
        name = numbered(row.name, number)
        inquiry = self._lookout.inquiry
        data = None if inquiry is None else await inquiry.ask(Question(name, lifetime_ms=PATIENCE_MS))
        if data is None:
            gone = row.group.repo.shelf.holdings.is_gone(row.name, number)
            why = "retention has dropped it" if gone else "it is not here, and nobody answers for it now"
            raise Problem(404, f"{name}: {why}; the newest is {row.number}")
        return data

    async def _judged(self, data: Data) -> Judged:
        judging = self._lookout.judging
        return Judged(UNVERIFIED, "", "this node has no keys") if judging is None else await judging.judge(data)

    async def _chain(self, data: Data) -> list[dict[str, object]]:
        return [] if self._lookout.judging is None else await self._lookout.judging.chain(data)

    async def _signed(self, data: Data) -> bool | None:
        return None if self._lookout.judging is None else await self._lookout.judging.is_signed(data)

    async def _repos(self, row: StreamRow, number: int, size_bytes: int) -> list[dict[str, object]]:
        """Which repos of the group hold it, as they said within the last 10 s; None of those that are silent."""
        repos = self._lookout.neighbours.repos(row.group, self._lookout.clock())
        here = row.group.repo.shelf.holdings.is_held(row.name, number)

        async def holds(each: RepoState) -> bool | None:
            if each.here or each.health == SILENCE:
                return here if each.here else None
            return await self._holds(each.id, row.name, number, size_bytes)

        found = await asyncio.gather(*[holds(each) for each in repos])
        return [{"name": each.name, "holds": held} for each, held in zip(repos, found, strict=True)]

    async def _holds(self, repo: Name, stream: Name, number: int, size_bytes: int) -> bool | None:
        question = Bundle(stream, number, number)
        name = repo / ASK / encode_question(question)
        try:
            data = await self._lookout.ask(
                Question(name, can_be_prefix=True, must_be_fresh=True, lifetime_ms=PATIENCE_MS)
            )
            found = None if data is None else decode_bundle(data.content, question)
        except (Backpressure, BadPacket):
            return None
        if found is None:
            return None
        return bool(found.readings) or (None if size_bytes > BUNDLED_BYTES and not found.dropped else False)


def told_lineage(lookout: Lookout, user: bytes, lineage: Lineage) -> dict[str, object]:
    """What a reading says it was made of, as far as the user may see that; `hidden` says how much is left out."""
    ranges = inputs_of(lineage)
    seen = [each for each in ranges if may_see(lookout, user, each.stream)]
    cause = lineage.cause
    return {
        "program": lineage.program.hex(),
        "job": lineage.job,
        "digest": None if lineage.digest is None else lineage.digest.digest.hex(),
        "count": None if lineage.digest is None else lineage.digest.count,
        "cause": str(cause) if cause is not None and may_see(lookout, user, cause.prefix(-1)) else None,
        "inputs": [{"stream": str(each.stream), "low": each.low, "high": each.high} for each in seen],
        "hidden": len(ranges) - len(seen),
    }


def may_see(lookout: Lookout, user: bytes, stream: Name) -> bool:
    """Whether a user may know of a stream: of one that is not here, who sees everything may."""
    row = lookout.index.get(str(stream))
    return lookout.views.sees_all(user) if row is None else lookout.views.sees(user, row)


def inputs_of(lineage: Lineage) -> list[InputRange]:
    """The readings that a lineage names, stream by stream."""
    named = [numbered_in(name) for name in lineage.inputs]
    return joined_ranges([*[InputRange(Name(stream), at, at) for stream, at in named if at], *lineage.ranges])


def opened(data: Data, lineage: bytes) -> tuple[int | None, Lineage | None]:
    """The content format of a reading, None if it is sealed, and its lineage."""
    try:
        reading = decode_reading(data.content)
    except BadPacket:
        try:
            return None, read_lineage(lineage) if lineage else None
        except BadPacket:
            return None, None
    return reading.format, reading.lineage


def _key(locator: Name) -> str:
    try:
        return str(key_name_of(locator))
    except BadName:
        return str(locator)
