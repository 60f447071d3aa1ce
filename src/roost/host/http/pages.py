"""Long answers by the page: how much is wanted, behind which place, and where the next page is.

A table or a bare list has no room for a place in its body. So its headers say it, as [RFC 8288] has it, and once more
as the parameter alone; neither is there on the last page:

    Link: <?limit=100&after=cm9vbTEv>; rel="next"
    Roost-Next: cm9vbTEv
"""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Final

from aiohttp import web

from roost.host.http.answers import Problem, answer
from roost.host.http.asking import parameter

NEXT: Final = "Roost-Next"
LIMIT: Final = 100
MAX_LIMIT: Final = 1000
MAX_NAMES: Final = 10_000  # of a bare list, which has all of them unless less is asked for


def limit_of(request: web.Request, least: int = 1, most: int = MAX_LIMIT, default: int = LIMIT) -> int:
    """The parameter `limit`."""
    return whole(request, "limit", least, most, default)


def whole(request: web.Request, name: str, least: int, most: int, default: int) -> int:
    """A parameter that is a whole number."""
    if name not in request.query:
        return default
    text = parameter(request, name)
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise Problem(400, f"{name} is {least} to {most:,}, not {text[:20]!r}")
    return int(text)


def after_of(request: web.Request) -> str:
    """The place that a page begins behind, empty for the first one."""
    text = parameter(request, "after")
    if not text:
        return ""
    try:
        return b64decode(text.encode("ascii"), altchars=b"-_", validate=True).decode()
    except ValueError:
        raise Problem(400, f"after is what `next` said on the page before, not {text[:20]!r}") from None


def place_of(following: str) -> str:
    """A place as `after` takes it."""
    return urlsafe_b64encode(following.encode(errors="surrogateescape")).decode()


def linked(request: web.Request, following: str | None, fixed: Mapping[str, str] | None = None) -> dict[str, str]:
    """The headers that say where the next page begins; `fixed` are parameters that go on as they were understood."""
    if following is None:
        return {}
    place = place_of(following)
    address = request.rel_url.update_query({**(fixed or {}), "after": place})
    return {"Link": f'<?{address.raw_query_string}>; rel="next"', NEXT: place}


def names(request: web.Request, found: Sequence[str]) -> web.Response:
    """Answer with names that are in order, or a page of them, as a bare list."""
    limit, after = limit_of(request, most=MAX_NAMES, default=MAX_NAMES), after_of(request)
    rest = [name for name in found if name > after]
    shown = rest[:limit]
    return answer(shown, headers=linked(request, shown[-1] if len(rest) > limit else None))
