"""A node that is none: the API as docs/http.md has it, from formulas instead of sensors, for the page's own tests.

What it says at a time follows from that time, so nothing is kept, and 10,000 streams cost nothing. While `is_down` it
answers nothing, `forbidden` are heads of paths that nobody may read, and `sent` is what was changed through it. `gone`
are streams that the live line refuses, `table_rows` is how much of a table comes at once, `picture_s` for how long a
picture may be.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from typing import Any, Final
from urllib.parse import unquote

from aiohttp import WSMsgType, web
from tests.web._fake_desk import NASTY, Desk
from tests.web._fake_sides import CAMPUS_GROUPS, alerts, campus, lineage, network, passport, pipelines

_S: Final = 1_000_000_000
_WEEK_S: Final = 7 * 86_400
_KINDS: Final = (("temp", "Cel", 21.5, 2.5), ("humidity", "%RH", 44.0, 9.0), ("co2", "ppm", 620.0, 180.0))
Told = dict[str, Any]


class Fake:
    """What the page may ask."""

    def __init__(self, streams: int = 90, *, nasty: bool = False, with_demo: bool = True) -> None:
        self.started_s: Final = int(time.time()) - _WEEK_S
        self.has_demo: Final = with_demo
        self.names: Final = [_name(index) for index in range(streams)]
        if nasty:
            self.names[0] = f"/Campus/Hall/Raw/Panel1/{NASTY}"
        self.index: Final = {name: at for at, name in enumerate(self.names)}
        self.desk: Final = Desk()
        self.has_users = True
        self.forbidden: set[str] = set()  # heads of paths
        self.requests: list[str] = []
        self.sent: list[tuple[str, str, Any]] = []
        self.wishes: list[Told] = []
        self.sockets: set[web.WebSocketResponse] = set()
        self.packed: set[str] = set()  # streams whose values are objects, as results of pipelines are
        self.is_down = False
        self.gone: set[str] = set()  # streams that the live line refuses
        self.table_rows = 100_000
        self.picture_s = _WEEK_S * 2

    def reading(self, name: str, second: int) -> Told:
        """What a stream says in a second since the start of it all."""
        at = self.index[name]
        kind, unit, middle, swing = _KINDS[at % 3]
        value = middle + swing * math.sin(second / 13_700 + at) + swing / 8 * math.sin(second / 47 + 2 * at)
        text: Any = NASTY if NASTY in name else round(value, 2)
        if name in self.packed:
            text = {"value": text, "expected": 55, "received": 54}
        told_time = (self.started_s + second) * _S
        topic = NASTY if NASTY in name else f"Hall/{at // 3}/{kind}" if at % 5 == 0 else None
        return {
            "stream": name,
            "topic": topic,
            "number": second + 1,
            "time": told_time,
            "value": text,
            "unit": unit,
            "quality": "good",
        }

    def stream(self, name: str) -> Told:
        now = int(time.time()) - self.started_s
        said = self.reading(name, now)
        at, group = self.index[name], "/".join(name.split("/")[:4])
        return {
            **{key: said[key] for key in ("stream", "topic", "time", "value", "unit", "quality")},
            "group": group,
            "panel": name.split("/")[4],
            "first": 1,
            "last": now + 1,
            "count": now + 1,
            "text": f"{said['value']}",
            "interval_ms": 1000,
            "stale": at % 31 == 7,
            "virtual": at % 29 == 11 or name in self.packed,
        }

    def routes(self) -> list[web.RouteDef]:
        get = web.get
        return [
            get("/node", self._node),
            get("/campus", self._campus),
            get("/groups", self._groups),
            get("/streams", self._streams),
            get("/streams/{name:.+}", self._stream),
            get("/history", self._history),
            get("/live", self._live),
            get("/passport", self._passport),
            get("/lineage", self._lineage),
            get("/network", _plain(network)),
            get("/alerts", _plain(alerts)),
            get("/pipelines", _plain(pipelines)),
            *self.desk.routes(),
        ]

    @web.middleware
    async def guard(self, request: web.Request, handler: Any) -> web.StreamResponse:  # noqa: ANN401  aiohttp's
        head = request.path.split("/")[1]
        if self.is_down and head not in {"", "static"}:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        self.requests.append(request.path_qs)
        if head in self.forbidden:
            return web.json_response({"error": f"to see this takes the permission to read {head}"}, status=403)
        if request.method != "GET" and request.can_read_body:
            self.sent.append((request.method, unquote(request.path), await request.json()))
        elif request.method != "GET":
            self.sent.append((request.method, unquote(request.path), None))
        answer: web.StreamResponse = await handler(request)
        return answer

    # -- inside

    async def _node(self, request: web.Request) -> web.Response:
        del request
        features = dict.fromkeys(("mqtt", "groups", "flips", "macros", "roles", "pipelines"), True) | {
            "demo": self.has_demo,
            "users": self.has_users,
        }
        return web.json_response(
            {
                "name": "hall",
                "version": "0.1.0",
                "started": self.started_s * _S,
                "now": time.time_ns(),
                "user": self.desk.user,
                "anonymous": not self.desk.user,
                "may": {"macros": True, "roles": True, "demo": True},
                "listeners": [],
                "groups": [name for name, _ in CAMPUS_GROUPS],
                "features": features,
                "compiled": False,
                "counters": {},
            }
        )

    async def _campus(self, request: web.Request) -> web.Response:
        del request
        return web.json_response(campus(len(self.names), time.time_ns()))

    async def _groups(self, request: web.Request) -> web.Response:
        del request
        items = campus(len(self.names), time.time_ns())["groups"]
        return web.json_response({"items": items, "next": None, "total": len(items)})

    async def _streams(self, request: web.Request) -> web.Response:
        match, group = request.query.get("match", "").lower(), request.query.get("group", "")
        names = [name for name in self.names if match in name.lower() and name.startswith(group)]
        if request.query.get("sort", "name") == "name":
            names.sort()
        after, limit = int(request.query.get("after", "0")), int(request.query.get("limit", "100"))
        following = str(after + limit) if after + limit < len(names) else None
        items = [self.stream(name) for name in names[after : after + limit]]
        return web.json_response({"items": items, "next": following, "total": len(names)})

    async def _stream(self, request: web.Request) -> web.Response:
        name = "/" + unquote(request.rel_url.raw_path.removeprefix("/streams/"))
        if name not in self.index:
            return web.json_response({"error": f"{name}: there is no such stream"}, status=404)
        return web.json_response(self.stream(name) | {"description": {"place": "east wing"}, "sealed": False})

    async def _history(self, request: web.Request) -> web.Response:
        now = int(time.time()) - self.started_s
        since, until = request.query.get("since", "1"), request.query.get("until", "")
        first = self._second(since) if len(since) > 12 else int(since) - 1
        last = min(now, self._second(until)) if until else now
        names = request.query.getall("stream")
        if "points" in request.query and last - first > self.picture_s:
            return web.json_response({"error": "too many readings: ask for a shorter time"}, status=400)
        if "points" in request.query:
            points = int(request.query["points"])
            return web.json_response({"streams": [self._picture(name, first, last, points) for name in names]})
        seconds = range(max(0, first), last + 1)
        if request.headers["Accept"] == "text/csv":
            return self._table(names[0], seconds, int(request.query.get("after", "0")))
        limit = int(request.query.get("limit", "100"))
        if request.query.get("order") == "newest":
            seconds = seconds[::-1]
        rows = [self.reading(name, second) for name in names for second in seconds[:limit]]
        return web.json_response({"items": rows, "next": None, "total": len(rows)})

    def _table(self, name: str, seconds: range, after: int) -> web.Response:
        """A table of `table_rows` at most, which says where it goes on."""
        rows = [self.reading(name, second) for second in seconds[after : after + self.table_rows]]
        lines = ["stream,number,time,value,unit,quality", *[f"{name},{row['number']},,,," for row in rows], ""]
        end = after + self.table_rows
        more = {"Roost-Next": str(end)} if end < len(seconds) else {}
        return web.Response(text="\r\n".join(lines), content_type="text/csv", headers=more)

    def _second(self, nanoseconds: str) -> int:
        return max(0, int(nanoseconds) // _S - self.started_s)

    def _picture(self, name: str, first: int, last: int, points: int) -> Told:
        head = {"stream": name, "unit": self.reading(name, 0)["unit"]}
        if last - first < points:
            rows = [self.reading(name, second) for second in range(first, last + 1)]
            return {**head, "points": [[row["time"], row["value"], row["number"]] for row in rows]}
        wide = (last - first) / points
        buckets = []
        for at in range(points):
            second = int(first + (at + 0.5) * wide)
            value = self.reading(name, second)["value"]
            value = value["value"] if isinstance(value, dict) else value
            if isinstance(value, float):
                buckets.append([(self.started_s + second) * _S, value - 0.4, value, value + 0.4, int(wide)])
        return {**head, "from": first, "to": last, "count": last - first, "buckets": buckets}

    async def _live(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.sockets.add(socket)
        wish: Told = {}
        await socket.send_json({"alerts": alerts()["items"]})

        async def tell() -> None:
            last = int(time.time()) - self.started_s
            while not socket.closed:
                await asyncio.sleep(0.2)
                now = int(time.time()) - self.started_s
                for second in range(last + 1, now + 1):
                    readings = [self.reading(name, second) for name in wish.get("streams", []) if name in self.index]
                    if readings:
                        await socket.send_json({"readings": readings, "dropped": 0})
                last = now

        task = asyncio.get_running_loop().create_task(tell())
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    wish = json.loads(message.data)
                    self.wishes.append(wish)
                    gone = [name for name in wish.get("streams", []) if name in self.gone]
                    if gone:
                        told = [{"stream": name, "status": 404, "error": f"{name}: there is none"} for name in gone]
                        wish["streams"] = [name for name in wish["streams"] if name not in self.gone]
                        await socket.send_json({"refused": told})
        finally:
            task.cancel()
            self.sockets.discard(socket)
        return socket

    async def _passport(self, request: web.Request) -> web.Response:
        name, number = request.query["stream"], int(request.query["number"])
        return web.json_response(passport(self.reading(name, number - 1), virtual=self.index[name] % 29 == 11))

    async def _lineage(self, request: web.Request) -> web.Response:
        return web.json_response(lineage(request.query["stream"], int(request.query["number"]), self.names))


def _name(index: int) -> str:
    kind = _KINDS[index % 3][0]
    group = CAMPUS_GROUPS[(index // 15) % len(CAMPUS_GROUPS)][0]
    return f"{group}/Panel{index // 45 + 1}/room{index // 3}/{kind}"


def _plain(say: Any) -> Any:  # noqa: ANN401  a handler
    async def handler(request: web.Request) -> web.Response:
        del request
        return web.json_response(say())

    return handler
