"""Tokens over HTTP: everybody has their own.

| request             | does                                                                                         |
| ------------------- | -------------------------------------------------------------------------------------------- |
| GET /tokens         | those of the user, never their texts                                                         |
| POST /tokens        | makes one; its text is in this answer and nowhere else                                       |
| DELETE /tokens/{id} | takes one back                                                                               |

Who comes with a token (scope `admin`) makes only such as can do no more than it, and for no longer.
"""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web

from roost.broker.access import ANONYMOUS
from roost.errors import BadConfig
from roost.host.http.answers import Problem, answer
from roost.host.http.asking import USER, body_of
from roost.host.mqtt.running import Running
from roost.machine import SECOND
from roost.web.bodies import number_at, object_of, text_at
from roost.web.reception import TOKEN
from roost.web.tokens import MAX_NAME, TTL_S, Token, Tokenless, Tokens

_HEAD: Final = "/tokens"


class TokenDesk:
    """The routes of tokens."""

    def __init__(self, running: Running, tokens: Tokens) -> None:
        self._running: Final = running
        self._tokens: Final = tokens

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [
            web.get(_HEAD, self._list, allow_head=False),
            web.post(_HEAD, self._post),
            web.delete(_HEAD + "/{id}", self._delete),
        ]

    async def _list(self, request: web.Request) -> web.Response:
        now = self._running.server.clock()
        try:
            own = [each for each in self._tokens.of(_user(request)) if each.expires > now]
        except BadConfig as error:
            raise Tokenless(error) from None
        return answer({"items": [self._shown(each) for each in own], "next": None, "total": len(own)})

    async def _post(self, request: web.Request) -> web.Response:
        body = object_of(await body_of(request), ("name", "scopes"), ("ttl_s",))
        name, scopes = text_at(body, "name", MAX_NAME), body["scopes"]
        if not isinstance(scopes, list) or not all(isinstance(each, str) for each in scopes):
            raise Problem(400, "scopes is a list of texts")
        ttl_s = number_at(body, "ttl_s", TTL_S)
        user = self._owner(request)
        now = self._running.server.clock()
        shown = request.get(TOKEN)
        if shown is not None:
            beyond = [each for each in scopes if each not in shown.scopes]
            if beyond or now + ttl_s * SECOND > shown.expires:
                raise Problem(403, "a token makes none that may more than it may itself, or for longer")
        try:
            token, text = await asyncio.to_thread(self._tokens.make, user, name, tuple(scopes), ttl_s, now)
        except BadConfig as error:
            raise Tokenless(error) from None
        return answer(self._shown(token) | {"token": text}, 201, {"Location": f"{_HEAD}/{token.id}"})

    async def _delete(self, request: web.Request) -> web.Response:
        try:
            token = await asyncio.to_thread(self._tokens.end, request.match_info["id"], _user(request))
        except BadConfig as error:
            raise Tokenless(error) from None
        if token is None:
            raise Problem(404, "there is no such token of yours")
        return answer(self._shown(token))

    def _owner(self, request: web.Request) -> str:
        """Whose the new token is: somebody whom the node can ask about later, when they have gone."""
        user = request[USER]
        if user != ANONYMOUS and user not in self._running.server.security.current.users:
            raise Problem(403, "tokens are for those who are in the users file; others bring their own")
        return _user(request)

    def _shown(self, token: Token) -> dict[str, object]:
        return {
            "id": token.id,
            "name": token.name,
            "scopes": list(token.scopes),
            "created": token.created,
            "expires": token.expires,
            "used": self._tokens.used(token),
        }


def _user(request: web.Request) -> str:
    return request[USER].decode()
