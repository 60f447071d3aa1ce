"""What a token is for: its scopes, and which of them a request takes. One table, and what stands in it nowhere is shut.

A scope never gives more than the user of the token may do: it is asked first, and the permissions after it.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

READ: Final = "read"
HISTORY: Final = "history"
MACROS: Final = "macros"
ROLES: Final = "roles"
ADMIN: Final = "admin"
METRICS: Final = "metrics"
DEMO: Final = "demo"

SCOPES: Final = {
    READ: "the node, streams, their last readings and those that come",
    HISTORY: "readings of the past, and where one comes from",
    MACROS: "macros: see, try, make and end them",
    ROLES: "who sees what: see and change it",
    ADMIN: "tokens of the same user",
    METRICS: "/metrics",
    DEMO: "the demo's own page, and to break things there",
}

ANY: Final = ""  # of what every token may ask: who one is

_OF: Final = {  # first part of a path → scope
    "session": ANY,
    "node": READ,
    "campus": READ,
    "groups": READ,
    "streams": READ,
    "live": READ,
    "events": READ,
    "topics": READ,
    "network": READ,
    "alerts": READ,
    "pipelines": READ,
    "history": HISTORY,
    "passport": HISTORY,
    "lineage": HISTORY,
    "macros": MACROS,
    "traces": MACROS,
    "trial": MACROS,
    "rbps": ROLES,
    "explain": ROLES,
    "views": ROLES,
    "tokens": ADMIN,
    "metrics": METRICS,
    "demo": DEMO,
}
_WITH_PAST: Final = frozenset({"topics", "events"})  # with `since` they tell of the past, too


def needed(request: web.Request) -> str | None:
    """The scope that a request takes; None if no token does."""
    head = request.path.removeprefix("/").partition("/")[0]
    return HISTORY if head in _WITH_PAST and "since" in request.query else _OF.get(head)
