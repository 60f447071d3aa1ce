"""What the fake node lets people change: macros, roles, what is broken in its demo, and who they are."""

from __future__ import annotations

import time
from typing import Any, Final
from urllib.parse import unquote

from aiohttp import web
from tests.web._fake_sides import demo, views

NASTY: Final = "<img src=x onerror=window.hurt=1>"
_S: Final = 1_000_000_000
Told = dict[str, Any]


class Desk:
    """Whatever was sent, as it stands."""

    def __init__(self) -> None:
        self.macros: Final[dict[str, Told]] = {
            "hall/mean": _macro("hall/mean"),
            "hall/broken": _macro("hall/broken", failures=3),
        }
        self.roles: Final[dict[str, Told]] = {"Hall/+/temp": _document()}
        self.demo: Final = demo()
        self.user: str = ""

    def routes(self) -> list[web.RouteDef]:
        get = web.get
        return [
            get("/macros", self._macro_names),
            get("/macros/{name:.+}", self._macro),
            web.put("/macros/{name:.+}", self._put_macro),
            web.delete("/macros/{name:.+}", self._end_macro),
            get("/traces/{name:.+}", self._traces),
            web.post("/trial", self._trial),
            get("/rbps", self._documents),
            get("/rbps/{topic:.+}", self._document),
            web.put("/rbps/{topic:.+}", self._put_document),
            get("/views", self._views),
            get("/explain", self._explain),
            get("/demo", self._demo),
            web.post("/demo/breaks/{id}", self._break),
            get("/session", self._who),
            web.post("/session", self._log_in),
            web.delete("/session", self._log_out),
        ]

    # -- inside

    async def _views(self, request: web.Request) -> web.Response:
        return web.json_response(views(request.query["topic"]))

    async def _explain(self, request: web.Request) -> web.Response:
        user, topic = request.query.get("user", ""), request.query["topic"]
        text = f"user: {user}\ntopic: {topic}\nroles: customer\ngets: Noctua/{topic}/anonymize"
        return web.json_response({"user": user, "topic": topic, "explanation": text})

    async def _macro_names(self, request: web.Request) -> web.Response:
        del request
        return web.json_response(sorted(self.macros))

    async def _macro(self, request: web.Request) -> web.Response:
        name = unquote(request.match_info["name"])
        if name not in self.macros:
            return web.json_response({"error": f"{name}: there is no such macro"}, status=404)
        return web.json_response(self.macros[name])

    async def _put_macro(self, request: web.Request) -> web.Response:
        name, body = unquote(request.match_info["name"]), await request.json()
        if ";;" in body["code"]:
            return web.json_response(
                {"error": "line 1, column 3: unexpected token ';'", "line": 1, "column": 3}, status=400
            )
        before = self.macros.get(name)
        self.macros[name] = _macro(name, body["code"], version=1 if before is None else before["version"] + 1)
        return web.json_response(self.macros[name], status=201 if before is None else 200)

    async def _end_macro(self, request: web.Request) -> web.Response:
        return web.json_response(self.macros.pop(unquote(request.match_info["name"])))

    async def _traces(self, request: web.Request) -> web.Response:
        return web.json_response(_runs(failing="broken" in request.path))

    async def _trial(self, request: web.Request) -> web.Response:
        code = (await request.json())["definition"]["code"]
        if ";;" in code:
            return web.json_response(
                {"error": "line 1, column 3: unexpected token ';'", "line": 1, "column": 3}, status=400
            )
        runs = _runs(failing="toFixed" in code)
        failures = sum("failure" in run for run in runs)
        counts = dict.fromkeys(("readings", "activations", "total"), len(runs)) | {"waited": 0}
        said = {"runs": runs, "failures": failures, "results": len(runs) - failures, "found": [], "truncated": False}
        return web.json_response(said | counts)

    async def _documents(self, request: web.Request) -> web.Response:
        del request
        return web.json_response(sorted(self.roles))

    async def _document(self, request: web.Request) -> web.Response:
        return web.json_response(self.roles[unquote(request.match_info["topic"])])

    async def _put_document(self, request: web.Request) -> web.Response:
        topic = unquote(request.match_info["topic"])
        self.roles[topic] = {**await request.json(), "topic": topic}
        return web.json_response(self.roles[topic])

    async def _demo(self, request: web.Request) -> web.Response:
        del request
        return web.json_response(self.demo)

    async def _break(self, request: web.Request) -> web.Response:
        does = (await request.json())["do"]
        for each in self.demo["breaks"]:
            if each["id"] == request.match_info["id"]:
                each["state"] = "active" if does == "break" else "ready"
        return web.json_response(self.demo)

    async def _who(self, request: web.Request) -> web.Response:
        del request
        return web.json_response({"user": self.user, "anonymous": not self.user, "expires": None, "scopes": []})

    async def _log_in(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body["password"] != "right":
            return web.json_response({"error": "wrong name or password"}, status=401)
        self.user = body["user"]
        return web.json_response({"user": self.user, "expires": 0, "scopes": []})

    async def _log_out(self, request: web.Request) -> web.Response:
        del request
        self.user = ""
        return web.json_response({"ended": True})


def _macro(name: str, code: str = "", *, version: int = 1, failures: int = 0) -> Told:
    counters = {
        "activations": 900,
        "runs": 880,
        "results": 880 - failures,
        "failures": failures,
        "waited": 12,
        "limited": 0,
        "repeated": 0,
    }
    said: Told = {
        "definition": {
            "name": name,
            "code": code
            or "Noctua.topic('Hall/+/temp', {limit: 8})\n  .reduce((sum, each) => sum + each.value, 0) / 8",
        },
        "topic": f"Noctua/{name}",
        "version": version,
        "digest": "5f" * 16,
        "runs_on": "here",
        "counters": counters,
        "position": {},
        "effective": {},
    }
    return said | ({"last_failure": _runs(failing=True)[0]} if failures else {})


def _runs(*, failing: bool) -> list[Told]:
    now = time.time_ns()
    runs: list[Told] = []
    for at in range(6):
        cause = {"topic": "Hall/1/temp", "time": now - at * _S, "value": 21.5 + at / 10, "unit": "Cel"}
        run: Told = {
            "version": 1,
            "time": now - at * _S,
            "took_us": 14.2 + at,
            "cause": cause,
            "given": 1,
            "log": ["got", NASTY],
            "inputs": [{"reference": {"topic": "Hall/1/temp"}, "samples": [cause]}],
        }
        if failing and at % 2 == 0:
            run["failure"] = {"kind": "error", "message": "TypeError: not a function", "line": 1, "column": 28}
        else:
            run["output"], run["format"] = "72.5", 0
        runs.append(run)
    return runs


def _document() -> Told:
    return {
        "topic": "Hall/+/temp",
        "roles": {
            "developer": {"streams": ["raw", "{topic}/anonymize"], "default": "raw"},
            "customer": {"streams": ["{topic}/anonymize"]},
            "visitor": {"streams": []},
        },
    }
