"""The past of streams: all readings as JSON, CSV or Arrow, or so many points for a chart.

    GET /history?stream=…&since=&until=&limit=&after=        rows, by stream and number; order=newest: the newest first
    GET /history?stream=…&format=csv|arrow                   a table, as with Accept; its headers say where it goes on
    GET /history?stream=…&since=&until=&points=N             a picture: at most N points of each stream

Where a stream has more than N readings it gives N buckets of equal time, each with the least, mean and greatest value,
so that no peak is lost; t is the middle of the bucket. What is no number has no point.
"""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web

from roost.host.http.answers import Problem, dressed, encoded
from roost.host.http.asking import USER, one_of
from roost.host.http.pages import after_of, limit_of, linked, whole
from roost.web.api import buckets
from roost.web.api.curves import Curves
from roost.web.api.lookout import Lookout
from roost.web.api.paging import moment_of, page, stream_name
from roost.web.api.stretch import Stretch, pieces, pieces_back, stretch_of
from roost.web.api.tables import ARROW, CSV, arrow, csv
from roost.web.index_reading import Shown
from roost.web.index_rows import StreamRow

MAX_STREAMS: Final = 100
MAX_POINTS: Final = 5000
MAX_ROWS: Final = 100_000  # of a table
MAX_READINGS: Final = 5_000_000  # that are looked at for one picture
MAX_AT_ONCE: Final = 2  # that are worked on; others wait


class History:
    """The route."""

    def __init__(self, lookout: Lookout, curves: Curves) -> None:
        self._lookout: Final = lookout
        self._curves: Final = curves
        self._room: Final = asyncio.Semaphore(MAX_AT_ONCE)

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [web.get("/history", self._get, allow_head=False)]

    def counts(self) -> dict[str, int]:
        """What happened so far, by the ends of `$SYS` topics."""
        return {"http/history/blocks": self._curves.misses, "http/history/remembered": self._curves.hits}

    async def _get(self, request: web.Request) -> web.Response:
        rows = await self._rows(request)
        now = self._lookout.clock()
        since, number = moment_of(request, "since", now)
        until, last = moment_of(request, "until", now)
        if last:
            raise Problem(400, "until is a time, not the number of a reading")
        until = until or now
        if until < since:
            raise Problem(400, "until is before since: nothing lies between")
        stretches = [stretch_of(row, since, number, until) for row in rows]
        points = whole(request, "points", 1, MAX_POINTS, 0)
        async with self._room:
            if points:
                _check_size(stretches)
                told = [await self._points(request[USER], each, since, points) for each in stretches]
                body = b'{"streams":[%b]}\n' % b",".join(told)
                return dressed(web.Response(body=body, content_type="application/json"))
            form = _form(request)
            if form != "json":
                limit = limit_of(request, most=MAX_ROWS, default=MAX_ROWS)
                found, following = await self._behind(request, stretches, limit)
                name = stretches[0].row.text.rpartition("/")[2] if len(stretches) == 1 else "readings"
                table = await asyncio.to_thread(arrow if form == "arrow" else csv, found, name)
                times = {"until": str(until)} | ({"since": str(since)} if since else {})  # what is relative goes on
                table.headers.update(linked(request, following, times))
                return table
            total = sum([max(0, each.row.number - each.low + 1) for each in stretches])
            return page(*await self._behind(request, stretches, limit_of(request)), total)

    async def _rows(self, request: web.Request) -> list[StreamRow]:
        names = request.query.getall("stream", [])
        if not 1 <= len(names) <= MAX_STREAMS:
            raise Problem(400, f"give stream= once to {MAX_STREAMS} times, not {len(names)} times")
        return [await self._lookout.row(request, str(stream_name(name))) for name in dict.fromkeys(names)]

    async def _behind(
        self, request: web.Request, stretches: list[Stretch], limit: int
    ) -> tuple[list[Shown], str | None]:
        """The rows behind the place that `after` says, and the place behind these, None if they are the last."""
        after, is_newest = after_of(request), _order(request)
        before = 0
        if after:
            text, _, number = after.rpartition(" ")
            at = next((at for at, each in enumerate(stretches) if each.row.text == text), None)
            if at is None or not (number.isascii() and number.isdigit() and len(number) < 20):
                raise Problem(400, "after is what `next` said on the page before, of the same streams")
            begun = stretches[at]
            if is_newest:
                before = int(number)
            else:
                begun = begun._replace(low=max(begun.low, int(number) + 1))
            stretches = [begun, *stretches[at + 1 :]]
        found = await self._read(request[USER], stretches, limit + 1, is_newest=is_newest, before=before)
        last = found[limit - 1] if len(found) > limit else None
        return found[:limit], None if last is None else f"{last['stream']} {last['number']}"

    async def _read(
        self, user: bytes, stretches: list[Stretch], limit: int, *, is_newest: bool = False, before: int = 0
    ) -> list[Shown]:
        reader, views = self._lookout.reader, self._lookout.views
        found: list[Shown] = []
        for stretch in stretches:
            for piece in pieces_back(reader, stretch, before) if is_newest else pieces(reader, stretch):
                for number, message in piece:
                    if not views.hides(user, message):
                        found.append(reader.shown(stretch.row, number, message))
                if len(found) >= limit:
                    return found[:limit]
                await asyncio.sleep(0)
            before = 0
        return found

    async def _points(self, user: bytes, stretch: Stretch, since: int, most: int) -> bytes:
        row, low, until = stretch
        curve = await self._curves.read(user, row, low, since, until)
        told: dict[str, object] = {"stream": row.text, "unit": curve.unit, "from": since, "to": until}
        await asyncio.sleep(0)
        return encoded(told | {"count": len(curve.numbers)} | buckets.told(curve, since, until, most))


def _check_size(stretches: list[Stretch]) -> None:
    count = sum([max(0, _last(each) - each.low + 1) for each in stretches])
    if count > MAX_READINGS:
        raise Problem(
            400,
            f"there are about {count:,} readings in this time, and {MAX_READINGS:,} at most are looked at for one: "
            "ask for a shorter time, or for fewer streams",
        )


def _last(stretch: Stretch) -> int:
    """About the highest number of a stretch: where a time after its end begins."""
    row, _, until = stretch
    behind = row.group.repo.store.since(row.name, until + 1) if until < row.time else 0
    return behind - 1 if behind else row.number


def _form(request: web.Request) -> str:
    """How rows are wanted: as the parameter says, or the header."""
    said = one_of(request, "format", ("json", "csv", "arrow"))
    accepted = request.headers.get("Accept", "")
    return said or ("csv" if CSV in accepted else "arrow" if ARROW in accepted else "json")


def _order(request: web.Request) -> bool:
    """Whether the newest are wanted first."""
    return one_of(request, "order", ("oldest", "newest")) == "newest"
