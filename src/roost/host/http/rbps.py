"""Role-based publishing specifications over HTTP (`roost.process.roles.specification`), and what they mean for a user.

| request                     | does                                                              |
| --------------------------- | ----------------------------------------------------------------- |
| GET /rbps                   | the topics and filters of all that the user may see               |
| POST /rbps                  | a new one: 201 with its Location, 409 if the topic has one        |
| GET /rbps/{topic}           | the document; `+` and `#` of a filter are written %2B and %23     |
| PUT /rbps/{topic}           | a new one (201) or another one (200)                              |
| DELETE /rbps/{topic}        | takes it back; answers what it was                                |
| GET /explain?user=…&topic=… | what a user gets of a topic, and why; others' needs permission    |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from aiohttp import web

from roost.errors import RulesExist
from roost.host.desk import Gate, RoleDesk
from roost.host.http.answers import Problem, answer
from roost.host.http.asking import USER, body_of, parameter, rest_of
from roost.host.http.pages import names
from roost.host.http.tags import newness, tag_of
from roost.process.roles.specification import Specification

_HEAD: Final = "/rbps/"
_WHAT: Final = "$roles/"


class Rbps:
    """The routes of roles."""

    def __init__(self, desk: RoleDesk, gate: Gate) -> None:
        self._desk: Final = desk
        self._gate: Final = gate

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [
            web.get("/rbps", self._list),
            web.post("/rbps", self._post),
            web.get(_HEAD + "{topic:.+}", self._get),
            web.put(_HEAD + "{topic:.+}", self._put),
            web.delete(_HEAD + "{topic:.+}", self._delete),
            web.get("/explain", self._explain),
        ]

    async def _list(self, request: web.Request) -> web.Response:
        user = request[USER]
        return names(request, [topic for topic in self._desk.topics() if self._gate.may_look(user, _WHAT + topic)])

    async def _get(self, request: web.Request) -> web.Response:
        topic = rest_of(request, _HEAD)
        if not self._gate.may_look(request[USER], _WHAT + topic):
            raise Problem(403, f"to see who gets what of it takes the permission to read {_WHAT}{topic}")
        shown = self._desk.shown(topic)
        return answer(shown, headers={"ETag": tag_of(shown)})

    async def _post(self, request: web.Request) -> web.Response:
        body = await body_of(request)
        topic = Specification.read(body).topic
        user = self._check_change(request, topic)
        try:
            shown = await self._desk.put(body, new=True, user=user)
        except RulesExist:
            raise RulesExist(f"{topic}: there is such a document; to replace it, PUT {_path(topic)}") from None
        return _made(shown, topic)

    async def _put(self, request: web.Request) -> web.Response:
        topic = rest_of(request, _HEAD)
        user = self._check_change(request, topic)
        body = await body_of(request)
        if isinstance(body, Mapping):
            if body.get("topic", topic) != topic:
                raise Problem(400, f"the body is about {body['topic']!r:.100}, the path {topic!r}: leave out the topic")
            body = {**body, "topic": topic}
        new = newness(request, lambda: self._desk.shown(topic))
        is_there = topic in self._desk.topics()
        try:
            shown = await self._desk.put(body, new=new, user=user)
        except RulesExist:
            raise Problem(412, f"{topic}: there is such a document, and If-None-Match wants none") from None
        return answer(shown, headers={"ETag": tag_of(shown)}) if is_there else _made(shown, topic)

    async def _delete(self, request: web.Request) -> web.Response:
        topic = rest_of(request, _HEAD)
        user = self._check_change(request, topic)
        newness(request, lambda: self._desk.shown(topic))
        return answer(await self._desk.delete(topic, user=user))

    async def _explain(self, request: web.Request) -> web.Response:
        topic = parameter(request, "topic")
        if not topic:
            raise Problem(400, "say which topic: /explain?user=NAME&topic=TOPIC")
        asker = request[USER]
        user = parameter(request, "user").encode() or asker
        if user != asker and not self._gate.may_look(asker, _WHAT + topic):
            raise Problem(403, f"to see what others get takes the permission to read {_WHAT}{topic}")
        text = await self._desk.explain(user, topic)
        return answer({"user": user.decode(errors="replace"), "topic": topic, "explanation": text})

    def _check_change(self, request: web.Request, topic: str) -> bytes:
        user = request[USER]
        if not self._gate.may_administer(user, _WHAT + topic):
            raise Problem(403, f"to say who gets what of it takes the permission to write {_WHAT}{topic}")
        return user


def _made(shown: dict[str, object], topic: str) -> web.Response:
    return answer(shown, 201, {"Location": _path(topic), "ETag": tag_of(shown)})


def _path(topic: str) -> str:
    return _HEAD + quote(topic, safe="/")
