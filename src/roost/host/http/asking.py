"""What a request asks: who is behind it, its path and its body, all of it bounded and nothing of it believed.

A page of some web site, open in a browser on this machine, reaches loopback too. So a request that says it comes from
another origin is refused, a body has to be JSON and say so (which no form can), and who has proved nothing counts as
on this machine only if the request was made here (`roost.host.nearness`), and never behind a proxy that the
configuration tells of (`http.behind_proxy`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from aiohttp import web

from roost.host.address import is_loopback
from roost.host.http.answers import Problem
from roost.host.nearness import is_made_here, is_of_one_site

USER: Final = web.RequestKey("user", bytes)  # who asks, as the door found out
BEHIND_PROXY: Final = web.AppKey("behind_proxy", bool)  # whether a proxy on this machine asks for others
MAX_BODY_BYTES: Final = 2 << 20  # the largest code of a macro fits, six letters for each of its quotes
BODY_TIMEOUT_S: Final = 20
_JSON: Final = "application/json"


def check_origin(request: web.Request) -> None:
    """Refuse what a page of another site sends."""
    if not is_of_one_site(request.headers.items()):
        origin = request.headers["Origin"]
        raise Problem(403, f"pages of another site ({origin[:100]}) may not ask this node")


def peer_of(request: web.Request) -> str:
    """The address of who asks, empty where somebody elsewhere may be behind it."""
    if request.app.get(BEHIND_PROXY, False):
        return ""
    remote = request.remote or ""
    return remote if is_made_here(request.headers.items()) or not is_loopback(remote) else ""


def rest_of(request: web.Request, head: str) -> str:
    """What stands behind the head of a path, with its percent-encoding undone: names have slashes of their own."""
    try:
        return unquote(request.rel_url.raw_path.removeprefix(head), errors="strict")
    except UnicodeDecodeError:
        raise Problem(400, "the path is not UTF-8: percent-encode a name as UTF-8") from None


def parameter(request: web.Request, name: str) -> str:
    """A parameter of the query, empty if it is not there; one that comes twice is refused."""
    given = request.query.getall(name, [])
    if len(given) > 1:
        raise Problem(400, f"{name} is given {len(given)} times: give it once")
    return given[0] if given else ""


def one_of(request: web.Request, name: str, words: Sequence[str]) -> str:
    """A parameter that is one of some words, empty if it is not given."""
    text = parameter(request, name)
    if name in request.query and text not in words:
        raise Problem(400, f"{name} is {' or '.join(words)}, not {text[:20]!r}")
    return text


async def body_of(request: web.Request) -> object:
    """The JSON that a request carries; raises `Problem`."""
    if request.content_type != _JSON:
        raise Problem(415, f"a body is JSON and says so: send `Content-Type: {_JSON}`", {"Accept": _JSON})
    if "Content-Encoding" in request.headers:
        raise Problem(415, "a body is sent as it is: leave out Content-Encoding", {"Accept-Encoding": "identity"})
    if request.charset not in {None, "utf-8", "UTF-8"}:
        raise Problem(415, "JSON is UTF-8: leave out the charset", {"Accept": _JSON})
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            content = await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise Problem(413, f"a body has at most {MAX_BODY_BYTES:,} bytes") from None
    except TimeoutError:
        raise Problem(408, f"the body did not come within {BODY_TIMEOUT_S} s", {"Connection": "close"}) from None
    try:
        parsed: object = json.loads(content.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise Problem(400, "the body is not UTF-8, which JSON is") from None
    except json.JSONDecodeError as error:
        said = f"the body is not JSON: line {error.lineno}, column {error.colno}: {error.msg.lower()}"
        raise Problem(400, said) from None
    except RecursionError:
        raise Problem(400, "the body is not JSON that anybody wrote: it is nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits, or NaN
        raise Problem(400, f"the body is not JSON: {error!s:.100}") from None
    return parsed


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no number in JSON")
