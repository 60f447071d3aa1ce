"""Logging in and out by a browser: a name and a password for a cookie.

| request         | does                                                                    |
| --------------- | ----------------------------------------------------------------------- |
| POST /session   | logs in; a wrong password counts as one at any other door               |
| GET /session    | who one is here                                                         |
| DELETE /session | logs out                                                                |
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from roost.broker.access import ANONYMOUS
from roost.errors import Denied
from roost.host.http.answers import Problem, answer, unproved
from roost.host.http.asking import body_of, peer_of
from roost.host.http.gate import UserGate
from roost.host.mqtt.running import Running
from roost.host.mqtt.users import MAX_NAME_BYTES
from roost.web.bodies import object_of, text_at
from roost.web.reception import COOKIE, SESSION, TOKEN, Reception
from roost.web.scopes import SCOPES
from roost.web.sessions import LIFETIME, Sessions

_PATH: Final = "/session"
_MAX_PASSWORD: Final = 1_024
_SECOND: Final = 1_000_000_000


class Login:
    """The routes of log-ins; `running` is asked for the door, which is not there yet when this is made."""

    def __init__(self, running: Running, gate: UserGate, sessions: Sessions, reception: Reception) -> None:
        self._running: Final = running
        self._gate: Final = gate
        self._sessions: Final = sessions
        self._reception: Final = reception

    def routes(self) -> list[web.RouteDef]:
        """What is answered where; all of it for everybody, and each looks itself who asks."""
        return [
            web.post(_PATH, self._post),
            web.get(_PATH, self._get, allow_head=False),
            web.delete(_PATH, self._delete),
        ]

    async def _post(self, request: web.Request) -> web.Response:
        body = object_of(await body_of(request), ("user", "password"))
        name, password = text_at(body, "user", MAX_NAME_BYTES), text_at(body, "password", _MAX_PASSWORD)
        if not len(self._running.server.security.current.users):
            raise Problem(409, "there are no users here, so nobody logs in: `roost users add NAME` makes one")
        try:
            user = await self._gate.prove(name.encode(), password.encode())
            self._gate.admit(user, peer_of(request))
            text, expires = self._sessions.open(user, self._running.server.clock())
        except (Denied, KeyError) as error:
            self._count(request)
            raise unproved(request, "wrong name or password" if isinstance(error, KeyError) else str(error)) from None
        old = request.cookies.get(COOKIE)
        if old is not None:
            self._sessions.close(old)
        response = answer({"user": name, "expires": expires, "scopes": list(SCOPES)})
        response.set_cookie(
            COOKIE,
            text,
            max_age=LIFETIME // _SECOND,
            path="/",
            secure=request.secure or request.headers.get("X-Forwarded-Proto", "") == "https",
            httponly=True,
            samesite="Strict",
        )
        return response

    async def _get(self, request: web.Request) -> web.Response:
        try:
            user = await self._reception.who(request)
        except Denied as error:
            if "Authorization" in request.headers:
                self._count(request)
            raise unproved(request, str(error)) from None
        session, token = request.get(SESSION), request.get(TOKEN)
        shown = session or token
        return answer(
            {
                "user": user.decode(errors="replace"),
                "anonymous": user == ANONYMOUS,
                "expires": None if shown is None else shown.expires,
                "scopes": list(SCOPES) if token is None else list(token.scopes),
            }
        )

    async def _delete(self, request: web.Request) -> web.Response:
        was_there = self._sessions.close(request.cookies.get(COOKIE, ""))
        response = answer({"ended": was_there})
        response.del_cookie(COOKIE, path="/", httponly=True, samesite="Strict")
        return response

    def _count(self, request: web.Request) -> None:
        if self._running.http is not None:
            self._running.http.failed(request)
