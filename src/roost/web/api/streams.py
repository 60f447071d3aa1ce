"""Streams: pages of them by name or by time, and one with what its panel says about it.

GET /streams?group=&match=&sort=name|time&limit=&after=
GET /streams/{name without its leading slash}
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import nsmallest
from typing import Final

from aiohttp import web

from roost.host.http.answers import Problem, answer
from roost.host.http.asking import USER, one_of, parameter, rest_of
from roost.host.http.pages import after_of, limit_of
from roost.machine import MS
from roost.web.api.lookout import Lookout
from roost.web.api.paging import page
from roost.web.api.wording import wording
from roost.web.index_rows import StreamRow

_HEAD: Final = "/streams/"


class Streams:
    """The routes."""

    def __init__(self, lookout: Lookout) -> None:
        self._lookout: Final = lookout

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [
            web.get("/streams", self._list, allow_head=False),
            web.get(_HEAD + "{name:.+}", self._one, allow_head=False),
        ]

    def told(self, user: bytes, row: StreamRow) -> dict[str, object]:
        """All that a list says of a stream."""
        holding = row.group.repo.shelf.holdings.of(row.name)
        shown, message = self._lookout.reader.show(row, row.number)
        if self._lookout.views.hides(user, message):
            shown = shown | {"value": None, "unit": "", "quality": "hidden"}
        interval = self._lookout.index.expected(row)
        return {
            "stream": row.text,
            "topic": row.topic,
            "group": row.group.text,
            "panel": row.panel,
            "first": holding.lowest,
            "last": row.number,
            "count": holding.count,
            "time": shown["time"],
            "value": shown["value"],
            "unit": shown["unit"],
            "quality": shown["quality"],
            "text": wording(shown["value"], str(shown["unit"])),
            "interval_ms": interval // MS or None,
            "stale": row.stale,
            "virtual": row.virtual,
        }

    async def _list(self, request: web.Request) -> web.Response:
        user, limit, after = request[USER], limit_of(request), after_of(request)
        sort = one_of(request, "sort", ("name", "time"))
        rows = await self._lookout.found(user, parameter(request, "group"), parameter(request, "match"))
        if sort != "time":
            at = bisect_right(rows, after, key=_text) if after else 0
            chosen = rows[at : at + limit]
            following = chosen[-1].text if at + limit < len(rows) else None
        else:
            behind = _place(after) if after else None
            left = rows if behind is None else [row for row in rows if _newest(row) > behind]
            chosen = nsmallest(limit, left, key=_newest)
            following = f"{chosen[-1].time}:{chosen[-1].text}" if len(left) > limit else None
        items = [self.told(user, row) for row in chosen if self._lookout.views.sees(user, row)]
        return page(items, following, len(rows))

    async def _one(self, request: web.Request) -> web.Response:
        row = await self._lookout.row(request, "/" + rest_of(request, _HEAD))
        described = row.group.catalogue.get(row.name)
        description = None
        if described is not None:
            description = {
                "unit": described.unit,
                "class": described.brick,
                "interval_ms": described.interval_ms,
                "label": described.label,
            }
        return answer(self.told(request[USER], row) | {"description": description, "sealed": row.sealed})


def _text(row: StreamRow) -> str:
    return row.text


def _newest(row: StreamRow) -> tuple[int, str]:
    return -row.time, row.text


def _place(after: str) -> tuple[int, str]:
    time, _, text = after.partition(":")
    if not (time.isascii() and time.isdigit() and len(time) < 20) or not text:
        raise Problem(400, "after is what `next` said on the page before, sorted by time as this one")
    return -int(time), text
