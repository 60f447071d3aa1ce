"""The document's part about the node itself, and about who comes in."""

from __future__ import annotations

from typing import Final

from roost.web.openapi.schemas import SCOPE
from roost.web.openapi.words import (
    Json,
    answers,
    listed,
    one_of,
    operation,
    page_of,
    part,
    ref,
    shape,
    table,
    text,
    whole,
    yes_no,
)
from roost.web.scopes import ADMIN, DEMO, METRICS, READ

_NODE: Final = "node"
_ENTRANCE: Final = "entrance"
_DEMO: Final = "demo"
_CHECKS: Final = shape("Each check, and whether it is so", {"ready": yes_no(), "checks": table(yes_no())})
_LOG_IN: Final = shape(
    "Who comes in", {"user": text(maxLength=256), "password": text(maxLength=1024, format="password")}
)
_WANTED: Final = shape(
    "What the token is for",
    {
        "name": text("For people", minLength=1, maxLength=100),
        "scopes": listed(SCOPE, minItems=1, uniqueItems=True),
        "ttl_s": whole("How long it holds; 90 days if it is left out", minimum=1, maximum=316_224_000),
    },
    may_lack=("ttl_s",),
)
_NEW: Final = {
    "id": "0123456789abcdef",
    "name": "dashboard",
    "scopes": ["read"],
    "created": 1_777_622_400_000_000_000,
    "expires": 1_777_708_800_000_000_000,
    "used": None,
    "token": "roost_…",
}

PATHS: Final[dict[str, Json]] = {
    "/node": {
        "get": operation(
            "showNode",
            "Show the node, and what you may do here",
            {200: answers(ref("Node"), "The node")},
            tag=_NODE,
            scope=READ,
        ),
    },
    "/campus": {
        "get": operation(
            "showCampus",
            "Show nodes, groups and what links them",
            {200: answers(ref("Campus"), "The campus")},
            tag=_NODE,
            scope=READ,
        ),
    },
    "/network": {
        "get": operation(
            "showNetwork",
            "Show the forwarder's faces, tables and counters",
            {200: answers(ref("Network"), "The forwarder")},
            tag=_NODE,
            scope=READ,
        ),
    },
    "/alerts": {
        "get": operation(
            "listAlerts",
            "List what somebody should look at",
            {200: answers(shape("", {"items": listed(ref("Alert"))}), "Alerts")},
            tag=_NODE,
            scope=READ,
        ),
    },
    "/pipelines": {
        "get": operation(
            "listPipelines",
            "List pipelines and how they go on",
            {200: answers(shape("", {"items": listed(ref("Pipeline"))}), "Pipelines")},
            tag=_NODE,
            scope=READ,
        ),
    },
    "/health": {
        "get": operation(
            "health",
            "Whether the node answers",
            {200: answers(shape("", {"status": one_of("ok")}), "It does", {"status": "ok"})},
            tag=_NODE,
            public=True,
        ),
    },
    "/ready": {
        "get": operation(
            "ready",
            "Whether the node can do its work",
            {
                200: answers(_CHECKS, "It can"),
                503: answers(
                    _CHECKS, "It cannot; `checks` says what is not so", {"ready": False, "checks": {"store": False}}
                ),
            },
            tag=_NODE,
            public=True,
        ),
    },
    "/metrics": {
        "get": operation(
            "metrics",
            "What the node counts, for Prometheus",
            {
                200: {
                    "description": "Text",
                    "content": {
                        "text/plain": {"schema": text()},
                        "application/openmetrics-text": {"schema": text()},
                    },
                }
            },
            tag=_NODE,
            scope=METRICS,
        ),
    },
    "/openapi.json": {
        "get": operation(
            "openapi",
            "This document",
            {200: answers(table({}, "OpenAPI 3.1"), "The document")},
            tag=_NODE,
            public=True,
        ),
    },
    "/session": {
        "post": operation(
            "logIn",
            "Log in: a name and a password for a cookie",
            {200: answers(ref("Session"), "You are in; `Set-Cookie` has the cookie")},
            tag=_ENTRANCE,
            public=True,
            body=_LOG_IN,
            example={"user": "alice", "password": "…"},
            wrong=(409,),
        ),
        "get": operation(
            "whoAmI",
            "Say who you are here",
            {200: answers(ref("Session"), "You")},
            tag=_ENTRANCE,
        ),
        "delete": operation(
            "logOut",
            "Log out",
            {200: answers(shape("", {"ended": yes_no()}), "You are out")},
            tag=_ENTRANCE,
            public=True,
        ),
    },
    "/tokens": {
        "get": operation(
            "listTokens",
            "List your tokens, without their texts",
            {200: answers(page_of(ref("Token")), "Tokens")},
            tag=_ENTRANCE,
            scope=ADMIN,
        ),
        "post": operation(
            "makeToken",
            "Make a token",
            {201: answers(ref("NewToken"), "It is made; its text is here and nowhere else", _NEW)},
            tag=_ENTRANCE,
            scope=ADMIN,
            body=_WANTED,
            example={"name": "dashboard", "scopes": ["read"], "ttl_s": 86_400},
        ),
    },
    "/tokens/{id}": {
        "delete": operation(
            "endToken",
            "Take a token back",
            {200: answers(ref("Token"), "What it was")},
            tag=_ENTRANCE,
            scope=ADMIN,
            parameters=(part("id", "Its id", "0123456789abcdef"),),
        ),
    },
    "/demo": {
        "get": operation(
            "showDemo",
            "Show the demo, in a node that `roost demo` runs",
            {200: answers(ref("Demo"), "The demo")},
            tag=_DEMO,
            scope=DEMO,
        ),
    },
    "/demo/breaks/{id}": {
        "post": operation(
            "breakSomething",
            "Break something of the demo, or mend it",
            {200: answers(table({}), "How it is now")},
            tag=_DEMO,
            scope=DEMO,
            parameters=(part("id", "What to break", "kill-repo"),),
            body=shape("", {"do": one_of("break", "mend")}),
            example={"do": "break"},
            wrong=(409,),
        ),
    },
    "/": {
        "get": operation(
            "page",
            "The page",
            {200: {"description": "HTML", "content": {"text/html": {"schema": text()}}}},
            tag=_NODE,
            public=True,
        ),
    },
    "/static/{file}": {
        "get": operation(
            "pageFile",
            "A file of the page",
            {200: {"description": "The file", "content": {"*/*": {}}}},
            tag=_NODE,
            public=True,
            parameters=(part("file", "Its path", "main.js"),),
        ),
    },
}
