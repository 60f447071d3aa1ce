"""Macros over HTTP, in the paper's JSON: `name` optional, else a hash is returned; `code` required.

| request                | does                                                                              |
| ---------------------- | --------------------------------------------------------------------------------- |
| GET /macros            | the names of all that the user may see, by the page if `limit` is given;          |
|                        | with `?engine=spark` of those that Spark runs                                     |
| POST /macros           | a new one: 201 with its Location, 409 if the name is taken                        |
| GET /macros/{name}     | all about one                                                                     |
| PUT /macros/{name}     | a new one (201) or another version of one (200)                                   |
| DELETE /macros/{name}  | ends it; answers what it was                                                      |
| GET /traces/{name}     | its last runs; not below /macros, where `trace` may end a name                    |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from aiohttp import web

from roost.errors import MacroExists
from roost.host.desk import Gate, MacroDesk
from roost.host.http.answers import Problem, answer
from roost.host.http.asking import USER, body_of, one_of, rest_of
from roost.host.http.pages import limit_of, names
from roost.host.http.tags import newness, tag_of
from roost.process.definition import PREFIX, definition_of
from roost.process.trace import MAX_RUNS

_HEAD: Final = "/macros/"
_TRACES: Final = "/traces/"
_ENGINES: Final = ("node", "spark")


class Macros:
    """The routes of macros."""

    def __init__(self, desk: MacroDesk, gate: Gate) -> None:
        self._desk: Final = desk
        self._gate: Final = gate

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [
            web.get("/macros", self._list),
            web.post("/macros", self._post),
            web.get(_HEAD + "{name:.+}", self._get),
            web.put(_HEAD + "{name:.+}", self._put),
            web.delete(_HEAD + "{name:.+}", self._delete),
            web.get(_TRACES + "{name:.+}", self._trace),
        ]

    async def _list(self, request: web.Request) -> web.Response:
        user = request[USER]
        found = self._desk.names(one_of(request, "engine", _ENGINES))
        return names(request, [name for name in found if self._gate.may_look(user, PREFIX + name)])

    async def _get(self, request: web.Request) -> web.Response:
        name = rest_of(request, _HEAD)
        self._check_look(request, name)
        shown = self._desk.shown(name)
        failure = await self._desk.last_failure(name, user=request[USER])
        said = shown if failure is None else {**shown, "last_failure": failure}
        return answer(said, headers={"ETag": tag_of(shown)})

    async def _trace(self, request: web.Request) -> web.Response:
        name = rest_of(request, _TRACES)
        self._check_look(request, name)
        limit = limit_of(request, most=MAX_RUNS, default=MAX_RUNS)
        return answer((await self._desk.trace(name, user=request[USER]))[:limit])

    async def _post(self, request: web.Request) -> web.Response:
        body = await body_of(request)
        name = definition_of(body).name  # the hash, if it has none of its own
        user = self._check_change(request, name)
        try:
            shown = await self._desk.define(body, new=True, user=user)
        except MacroExists:
            raise MacroExists(f"{name}: there is such a macro; to replace it, PUT {_path(name)}") from None
        return _made(shown, name)

    async def _put(self, request: web.Request) -> web.Response:
        name = rest_of(request, _HEAD)
        user = self._check_change(request, name)
        body = await body_of(request)
        if isinstance(body, Mapping):
            if body.get("name", name) != name:
                raise Problem(400, f"the body is named {body['name']!r:.100}, the path {name!r}: leave out the name")
            body = {**body, "name": name}
        new = newness(request, lambda: self._desk.shown(name))
        is_there = name in self._desk.names()
        try:
            shown = await self._desk.define(body, new=new, user=user)
        except MacroExists:
            raise Problem(412, f"{name}: there is such a macro, and If-None-Match wants none") from None
        return answer(shown, headers={"ETag": tag_of(shown)}) if is_there else _made(shown, name)

    async def _delete(self, request: web.Request) -> web.Response:
        name = rest_of(request, _HEAD)
        user = self._check_change(request, name)
        newness(request, lambda: self._desk.shown(name))
        return answer(await self._desk.delete(name, user=user))

    def _check_look(self, request: web.Request, name: str) -> None:
        if not self._gate.may_look(request[USER], PREFIX + name):
            raise Problem(403, f"to see this macro takes the permission to read {PREFIX}{name}")

    def _check_change(self, request: web.Request, name: str) -> bytes:
        user = request[USER]
        if not self._gate.may_administer(user, PREFIX + name):
            raise Problem(403, f"to change this macro takes the permission to write {PREFIX}{name}")
        return user


def _made(shown: dict[str, object], name: str) -> web.Response:
    return answer(shown, 201, {"Location": _path(name), "ETag": tag_of(shown)})


def _path(name: str) -> str:
    return _HEAD + quote(name, safe="/")
