"""GET /openapi.json: the whole HTTP API as one document, written as data beside the routes [OpenAPI 3.1].

A test compares it with the routes of a door that runs, both ways, and another one asks the API what it allows.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from aiohttp import web

from roost import __version__
from roost.host.http.answers import dressed, encoded
from roost.web.openapi import operations, programs, readings
from roost.web.openapi.schemas import SCHEMAS
from roost.web.openapi.words import Json, refusals

PATH: Final = "/openapi.json"
_ABOUT: Final = (
    "What a node shows and takes over HTTP. Times are whole nanoseconds since 1970. Names and filters in paths may "
    "keep their slashes; everything else in them is percent-encoded. What is wrong has one sentence."
)
_TAGS: Final = {
    "readings": "Groups, streams and their readings",
    "macros": "Small programs over topics",
    "roles": "Who sees what",
    "node": "The node itself",
    "entrance": "Log-ins and tokens",
    "demo": "Only in a node that `roost demo` runs",
}


@cache
def document() -> Json:
    """Put it together."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Roost", "version": __version__, "description": _ABOUT},
        "servers": [{"url": "/"}],
        "security": [{"basic": []}, {"bearer": []}, {"cookie": []}, {}],
        "tags": [{"name": name, "description": said} for name, said in _TAGS.items()],
        "paths": dict(sorted((readings.PATHS | programs.PATHS | operations.PATHS).items())),
        "components": {
            "schemas": SCHEMAS,
            "responses": refusals(),
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic", "description": "A user of MQTT"},
                "bearer": {"type": "http", "scheme": "bearer", "description": "A token of `/tokens`, or of OAuth"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "roost", "description": "A log-in"},
            },
        },
    }


def routes() -> list[web.RouteDef]:
    """What is answered where; for everybody, for it tells of no node what is not in its sources."""

    async def get(request: web.Request) -> web.Response:
        del request
        return dressed(web.Response(body=encoded(document()), content_type="application/json"))

    return [web.get(PATH, get)]
