"""Who asks: by the cookie of a log-in, by a token of ours, or as the gate knows people (Basic, others' Bearer).

    Authorization: Bearer roost_…  ──▶ a token: its user, and what it is for (403 says which scope is needed)
    Authorization: …               ──▶ the gate
    Cookie: roost=…                ──▶ a log-in; one that is over is as none
    nothing                        ──▶ the gate: anonymous, where that may be

Whoever it is, permissions say afterwards what they may do. A cookie is not sent by other sites (SameSite), the door
refuses other origins, and bodies have to be JSON: no page of a stranger makes a browser do anything here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aiohttp import web

from roost.broker.access import ANONYMOUS
from roost.errors import BadConfig, Denied
from roost.host.clock import Clock
from roost.host.http.answers import Problem
from roost.host.http.asking import peer_of
from roost.host.http.gate import UserGate
from roost.host.mqtt.passwords import PasswordHash
from roost.host.mqtt.reload import Reloader
from roost.web.scopes import ANY, needed
from roost.web.sessions import Session, Sessions
from roost.web.tokens import PREFIX, Token, Tokenless, Tokens
from roost.web.visits import Visits

COOKIE: Final = "roost"
TOKEN: Final = web.RequestKey("token", Token)  # what was shown, if it was one
SESSION: Final = web.RequestKey("session", Session)


class Reception:
    """One for a door."""

    def __init__(self, gate: UserGate, security: Reloader, sessions: Sessions, tokens: Tokens, clock: Clock) -> None:
        self.refused_scopes = 0
        self.visits: Final = Visits()
        self._gate: Final = gate
        self._security: Final = security
        self._sessions: Final = sessions
        self._tokens: Final = tokens
        self._clock: Final = clock

    async def who(self, request: web.Request) -> bytes:
        """Find the user; raises `Denied`, and `Problem` if a token is not for this."""
        authorization = request.headers.get("Authorization", "")
        scheme, _, shown = authorization.strip().partition(" ")
        shown = shown.strip()
        peer = peer_of(request)
        if scheme.lower() == "bearer" and shown.startswith(PREFIX):
            token = self._by_token(shown, peer)
            self._check_scope(token, request)
            request[TOKEN] = token
            self.visits.begin(request, lambda: self._still(lambda: self._by_token(shown, peer)))
            return token.user.encode()
        text = "" if authorization else request.cookies.get(COOKIE, "")
        session = self._sessions.find(text, self._clock()) if text else None
        if session is not None:
            self._gate.admit(session.user, peer)
            request[SESSION] = session
            self.visits.begin(request, lambda: self._sessions.find(text, self._clock()) is not None)
            return session.user
        user = await self._gate.who(authorization, peer)
        kept = self._security.current.users.hash_of(user)
        self.visits.begin(request, lambda: self._still(lambda: self._gate.admit(user, peer), user, kept))
        return user

    def _by_token(self, text: str, peer: str) -> Token:
        try:
            token = self._tokens.find(text, self._clock())
        except BadConfig as error:
            raise Tokenless(error) from None
        if token is None:
            raise Denied("this token is none, or its time is over: make another")
        user = token.user.encode()
        if user != ANONYMOUS and user not in self._security.current.users:
            raise Denied("the user of this token is no longer there")
        self._gate.admit(user, peer)
        return token

    def _check_scope(self, token: Token, request: web.Request) -> None:
        scope = needed(request)
        if scope != ANY and scope not in token.scopes:
            self.refused_scopes += 1
            takes = f"the scope {scope}" if scope is not None else "a log-in, and no token"
            raise Problem(403, f"this takes {takes}; the token {token.name!r} has {', '.join(token.scopes)}")

    def _still(self, check: Callable[[], object], user: bytes = b"", kept: PasswordHash | None = None) -> bool:
        """Whether a check still passes, and the password of a user is what it was."""
        try:
            check()
        except (Denied, Tokenless):
            return False
        return not user or self._security.current.users.hash_of(user) == kept
