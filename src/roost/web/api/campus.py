"""The campus as this node sees it: itself, the repos of its groups, the panels that publish there, and what links them.

GET /campus
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from roost.host.http.answers import answer
from roost.host.http.asking import USER
from roost.web.api.groups import Groups, panels_of
from roost.web.api.lookout import Lookout
from roost.web.index_rows import GroupRow

Told = dict[str, object]


class Campus:
    """The route."""

    def __init__(self, lookout: Lookout, groups: Groups) -> None:
        self._lookout: Final = lookout
        self._groups: Final = groups

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [web.get("/campus", self._get, allow_head=False)]

    async def _get(self, request: web.Request) -> web.Response:
        now = self._lookout.clock()
        found = await self._lookout.groups(request[USER])
        nodes: dict[str, Told] = {}
        links: list[Told] = []
        this = self._this([group for group, _ in found], now)
        nodes[str(this["id"])] = this
        for group, rows in found:
            here = group.repo.name
            for each in self._lookout.neighbours.repos(group, now):
                node = _node(str(each.id), each.name, "repo", group, each.health)
                nodes[str(each.id)] = node | {"lag": each.lag, "seen": each.seen, "self": each.here}
                if each.id != here:
                    links.append(_link(str(here), str(each.id), "sync", each.health))
            for panel in panels_of(group, rows):
                id_ = str(group.name / panel.name)
                kind = "gate" if panel.posts else "panel"
                seen = {"seen": panel.heard or panel.time or None}
                nodes[id_] = _node(id_, panel.name, kind, group, panel.health) | seen
                links.append(_link(id_, str(here), "publish", panel.health))
        links += self._uplinks(str(this["id"]), nodes)
        told = [self._groups.told(group, rows) for group, rows in found]
        return answer({"nodes": list(nodes.values()), "groups": told, "links": links})

    def _this(self, groups: list[GroupRow], now: int) -> Told:
        running = self._lookout.running
        uris = running.uris if running.repo is None else running.repo.listening.uris or running.uris
        buildings = {group.building for group in groups}
        return {
            "id": f"node:{running.config.name}",
            "name": running.config.name,
            "kind": "node",
            "building": buildings.pop() if len(buildings) == 1 else "",
            "groups": [group.text for group in groups],
            "health": "ok",
            "seen": now,
            "lag": None,
            "uri": uris[0] if uris else None,
            "self": True,
        }

    def _uplinks(self, this: str, nodes: dict[str, Told]) -> list[Told]:
        """The other nodes that this one dials."""
        links: list[Told] = []
        running = self._lookout.running
        for uplink in () if running.repo is None else running.repo.uplinks:
            health = "ok" if uplink.up.is_set() else "silent"
            nodes[uplink.uri] = {
                "id": uplink.uri,
                "name": uplink.uri.partition("://")[2],
                "kind": "node",
                "building": "",
                "groups": [],
                "health": health,
                "seen": None,
                "lag": None,
                "uri": uplink.uri,
                "self": False,
            }
            links.append(_link(this, uplink.uri, "uplink", health))
        return links


def _node(id_: str, name: str, kind: str, group: GroupRow, health: str) -> Told:
    return {
        "id": id_,
        "name": name,
        "kind": kind,
        "building": group.building,
        "groups": [group.text],
        "health": health,
        "seen": None,
        "lag": None,
        "uri": None,
        "self": False,
    }


def _link(begin: str, end: str, kind: str, health: str) -> Told:
    return {"from": begin, "to": end, "kind": kind, "health": health}
