"""How a node answers over HTTP: JSON, and for everything that is wrong one sentence beside the right status.

    {"error": "line 2, column 5: expecting ';'", "line": 2, "column": 5}

JSON has neither bytes nor NaN: bytes are {"base64": "…"}, and numbers that are none are the texts NaN, Infinity and
-Infinity. Nothing here is kept by caches or read by pages of other sites.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Final, TypeVar

from aiohttp import web

from roost.broker.packets.reasons import Malformed
from roost.errors import (
    Backpressure,
    Denied,
    InvalidInput,
    MacroExists,
    NoMacro,
    NoRules,
    RoostError,
    RulesExist,
    Unreachable,
)

_PLACE: Final = re.compile(r"\bline (\d{1,9}), column (\d{1,9})\b")
_HEADERS: Final = {
    "Server": "roost",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_STATUSES: Final[tuple[tuple[type[Exception], int], ...]] = (  # the first that fits
    (NoMacro, 404),
    (NoRules, 404),
    (MacroExists, 409),
    (RulesExist, 409),
    (Denied, 403),
    (Backpressure, 429),
    (InvalidInput, 400),
    (Malformed, 400),
    (Unreachable, 503),
)


Response = TypeVar("Response", bound=web.StreamResponse)


_BASIC: Final = 'Basic realm="roost", charset="UTF-8"'
_COOKIE: Final = 'Cookie realm="roost"'  # for a page's own requests: for Basic the browser would open a window


class Problem(RoostError):
    """A request that gets this status and this sentence."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status: Final = status
        self.headers: Final = dict(headers or {})


def unproved(request: web.Request, sentence: str) -> Problem:
    """Say that it is not known who asks, and how to show it (401)."""
    is_of_page = request.headers.get("Sec-Fetch-Mode", "navigate") != "navigate"
    return Problem(401, sentence, {"WWW-Authenticate": _COOKIE if is_of_page else _BASIC})


def answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Answer with JSON."""
    body = encoded(value) + b"\n"
    response = web.Response(status=status, body=body, content_type="application/json", headers=headers)
    return dressed(response)


def dressed(response: Response) -> Response:
    """Add what every answer says."""
    response.headers.update(_HEADERS)
    return response


def refusal(error: Exception) -> web.Response:
    """Answer that a request failed, as the error has it; one that nobody foresaw is not repeated to the peer."""
    if isinstance(error, Problem):
        return _wrong(error.status, str(error), error.headers)
    if isinstance(error, web.HTTPException):
        return _of_aiohttp(error)
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
    if isinstance(error, Backpressure):
        return _wrong(status, str(error), {"Retry-After": str(max(1, math.ceil(error.retry_after_ms / 1000)))})
    return _wrong(status, str(error) if status != 500 else "this failed here; the node's log says why")


def encoded(value: object) -> bytes:
    """Write a value as JSON."""
    try:
        return _dump(value)
    except ValueError:
        return _dump(_finite(value))


def encoded_reading(reading: dict[str, object]) -> bytes:
    """Write a reading as JSON, without its value if a sensor has nested that too deeply."""
    try:
        return encoded(reading)
    except RecursionError:
        return encoded({**reading, "value": None, "error": "the value is nested too deeply"})


def _dump(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_bytes)
    return text.encode(errors="replace")  # half a surrogate pair, which a sensor's JSON may hold, has no UTF-8 form


def _wrong(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> web.Response:
    said: dict[str, object] = {"error": sentence}
    if place := _PLACE.search(sentence):
        said |= {"line": int(place[1]), "column": int(place[2])}
    return answer(said, status, headers)


def _of_aiohttp(error: web.HTTPException) -> web.Response:
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        return _wrong(405, f"{error.method} is not for this path; there are {allowed}", {"Allow": allowed})
    if isinstance(error, web.HTTPNotFound):
        return _wrong(404, "there is no such path; docs/http.md has the routes: /macros, /traces, /rbps, /topics, …")
    return _wrong(error.status, error.reason.lower())


def _bytes(value: object) -> object:
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode()}
    raise TypeError(f"{type(value).__name__} is not JSON")


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value
