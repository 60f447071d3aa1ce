"""Pages of lists, and what else the API's questions have in common: words, names, times.

    {"items": […], "next": "<opaque>" or null, "total": n}       ?limit=1..1000&after=<opaque>

What `next` says is a place behind the last item, not a number of items: what comes or goes meanwhile moves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aiohttp import web

from roost.broker.since import read_since
from roost.errors import BadName
from roost.host.http.answers import Problem, answer
from roost.host.http.asking import parameter
from roost.host.http.pages import place_of
from roost.naming import Name

_LEAST_TIME: Final = 10**15  # ns since 1970: what is less is a number of a reading


def page(items: Sequence[object], following: str | None, total: int) -> web.Response:
    """Answer with a page; `following` is where the next one begins, None if this is the last."""
    return answer({"items": items, "next": None if following is None else place_of(following), "total": total})


def stream_name(text: str) -> Name:
    """The name of a stream; raises `Problem`."""
    try:
        return Name.parse(text)
    except BadName as error:
        raise Problem(400, f"{text[:100]!r} is no name of a stream: {error}") from None


def moment_of(request: web.Request, name: str, now: int) -> tuple[int, int]:
    """A parameter that says when: a time and 0, or 0 and a number of a reading; both 0 where nothing is said."""
    text = parameter(request, name)
    if not text:
        return 0, 0
    if text.isascii() and text.isdigit() and len(text) < 20 and int(text) >= _LEAST_TIME:
        return int(text), 0
    since = read_since(text.encode(), now)
    return since.time, since.number
