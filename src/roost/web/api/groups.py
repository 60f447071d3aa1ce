"""Groups: what this node keeps of each, who else keeps it, and which panels publish there.

GET /groups                                 a page of them
GET /groups/{name without its leading slash}
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from roost.host.http.answers import Problem, answer
from roost.host.http.asking import USER, rest_of
from roost.host.http.pages import after_of, limit_of
from roost.web.api.lookout import Lookout
from roost.web.api.paging import page
from roost.web.index_rows import GroupRow, PanelRow, StreamRow

_HEAD: Final = "/groups/"


class Groups:
    """The routes."""

    def __init__(self, lookout: Lookout) -> None:
        self._lookout: Final = lookout

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [
            web.get("/groups", self._list, allow_head=False),
            web.get(_HEAD + "{name:.+}", self._one, allow_head=False),
        ]

    async def _list(self, request: web.Request) -> web.Response:
        limit, after = limit_of(request), after_of(request)
        found = await self._lookout.groups(request[USER])
        left = [(group, rows) for group, rows in found if group.text > after]
        items = [self.told(group, rows) for group, rows in left[:limit]]
        return page(items, left[limit - 1][0].text if len(left) > limit else None, len(found))

    async def _one(self, request: web.Request) -> web.Response:
        text = "/" + rest_of(request, _HEAD)
        for group, rows in await self._lookout.groups(request[USER]):
            if group.text == text:
                return answer(self.told(group, rows))
        if any(group.text == text for group in self._lookout.index.groups.values()):
            raise Problem(403, f"to see {text[:200]} takes the permission to read some of it")
        raise Problem(404, f"{text[:200]}: this node keeps no such group")

    def told(self, group: GroupRow, rows: list[StreamRow]) -> dict[str, object]:
        """All about a group, as far as these of its streams go."""
        now = self._lookout.clock()
        holdings = group.repo.shelf.holdings
        is_whole = rows is group.rows
        if is_whole:
            kept = [holdings.of(peer.name) for peer in group.repo.peers] + [holdings.of(group.repo.name)]
            readings = holdings.count - sum([each.count for each in kept])
            size_bytes = holdings.size_bytes - sum([each.size_bytes for each in kept])
        else:
            seen = [holdings.of(row.name) for row in rows]
            readings = sum([each.count for each in seen])
            size_bytes = sum([each.size_bytes for each in seen])
        return {
            "name": group.text,
            "label": group.label,
            "building": group.building,
            "streams": len(rows),
            "readings": readings,
            "size_bytes": size_bytes,
            "rate": round(group.rate(now), 1),
            "last": (group.time if is_whole else max((row.time for row in rows), default=0)) or None,
            "stale": group.stale if is_whole else sum([row.stale for row in rows]),
            "repos": [
                {"name": each.name, "here": each.here, "health": each.health, "lag": each.lag, "seen": each.seen}
                for each in self._lookout.neighbours.repos(group, now)
            ],
            "panels": [
                {"name": panel.name, "streams": panel.streams, "last": panel.time or None, "health": panel.health}
                for panel in panels_of(group, rows)
            ],
        }


def panels_of(group: GroupRow, rows: list[StreamRow]) -> list[PanelRow]:
    """The panels of a group, as far as these of its streams go."""
    if rows is group.rows:
        return sorted(group.panels.values(), key=lambda panel: panel.name)
    panels: dict[str, PanelRow] = {}
    for row in rows:
        panel = panels.setdefault(row.panel, PanelRow(row.panel))
        panel.streams += 1
        panel.stale += row.stale
        panel.time = max(panel.time, row.time)
        panel.heard = max(panel.heard, row.heard)
        panel.posts = panel.posts or row.topic is not None
    return list(panels.values())
