"""Entity tags [RFC 9110 §8.8.3], so that nobody overwrites what somebody else wrote meanwhile (If-Match, 412)."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from aiohttp import web

from roost.errors import NoMacro, NoRules
from roost.host.http.answers import Problem, encoded


def tag_of(shown: dict[str, object]) -> str:
    """The tag of what is shown: of a macro its digest and version, of anything else a digest of all of it."""
    if "digest" in shown and "version" in shown:
        return f'"{shown["digest"]}-{shown["version"]}"'
    return f'"{sha256(encoded(shown)).hexdigest()[:32]}"'


def newness(request: web.Request, shown: Callable[[], dict[str, object]]) -> bool | None:
    """Whether what is put must be new (True), must be there (False), or either; raises `Problem` for another tag.

    The desk is asked in the same turn in which it is then told, so nothing comes between the two.
    """
    if request.headers.get("If-None-Match", "").strip() == "*":
        return True
    wanted = request.headers.get("If-Match")
    if wanted is None:
        return None
    try:
        tag = tag_of(shown())
    except (NoMacro, NoRules):
        raise Problem(412, "there is none, and If-Match wants one: leave it out to make one") from None
    tags = [each.strip() for each in wanted.split(",")]
    if tags != ["*"] and tag not in tags:
        raise Problem(412, f"it was changed meanwhile: it is {tag} now; read it again, then put it", {"ETag": tag})
    return False
