"""All that a node shows over HTTP beside macros, roles and topics, as one wing of its door (`roost.host.http.wing`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from roost.host.http.gate import UserGate
from roost.host.http.wing import Wing, joined
from roost.host.mqtt.passwords import PasswordHash
from roost.host.mqtt.running import Running
from roost.web import assets, openapi
from roost.web.api import api
from roost.web.login import Login
from roost.web.metrics import Metrics
from roost.web.readiness import Readiness
from roost.web.reception import Reception
from roost.web.sessions import Sessions
from roost.web.token_desk import TokenDesk
from roost.web.tokens import Tokens
from roost.web.vitals import Vitals


@asynccontextmanager
async def site(running: Running, gate: UserGate) -> AsyncIterator[Wing]:
    """Build everything for a node that runs; a builder, as `running_broker` takes them. Raises `BadConfig`."""
    security, clock = running.server.security, running.server.clock

    def hash_of(user: bytes) -> PasswordHash | None:
        return security.current.users.hash_of(user)

    sessions, tokens = Sessions(hash_of), Tokens(running.config.web.tokens)
    reception = Reception(gate, security, sessions, tokens, clock)
    vitals = Vitals()
    entrance = Wing(
        routes=[*Login(running, gate, sessions, reception).routes(), *TokenDesk(running, tokens).routes()],
        public=frozenset({"session"}),
        identify=reception.who,
        counts=partial(_entries, sessions, tokens, reception),
    )
    operation = Wing(
        routes=[*Metrics(running, gate, reception, vitals).routes(), *Readiness(running).routes(), *openapi.routes()],
        public=frozenset({"metrics", "ready", "openapi.json"}),
    )
    watching = asyncio.create_task(reception.visits.watch())
    try:
        with vitals.watching():
            async with api(running, gate) as resources:
                shown = [assets.wing()] if running.config.web.page else []
                yield joined([entrance, operation, resources, *shown])
    finally:
        watching.cancel()


def _entries(sessions: Sessions, tokens: Tokens, reception: Reception) -> dict[str, int]:
    return {
        "http/sessions": len(sessions),
        "http/sessions/opened": sessions.opened,
        "http/sessions/crowded_out": sessions.crowded_out,
        "http/tokens": len(tokens),
        "http/requests/refused/scope": reception.refused_scopes,
        "http/following/ended": reception.visits.ended,
    }
