"""The page's files are all there, are sent as what they are, and may do nothing that they need not."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from roost.host.http.answers import Problem
from roost.web import assets

STATIC: Final = Path(assets.__file__).parent / "static"
_REFERENCE: Final = re.compile(r"""(?:from|import\()\s*["'](\.{1,2}/[^"']+)["']""")


def ask(path: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """What the page's wing answers."""
    page, file = assets.wing().routes
    route = page if path == "/" else file
    assert isinstance(route, web.RouteDef)
    response: object = asyncio.run(answered(route, make_mocked_request("GET", path, headers=headers)))
    assert isinstance(response, web.Response)
    return response


async def answered(route: web.RouteDef, request: web.Request) -> object:
    """What its handler gives."""
    handler: Callable[[web.Request], Awaitable[object]] = route.handler
    return await handler(request)


def files(ending: str) -> list[Path]:
    return sorted(STATIC.rglob(f"*.{ending}"))


def test_the_page_and_its_files_are_for_everybody() -> None:
    assert assets.wing().public == {"", "static"}


def test_the_page_names_only_files_that_are_there() -> None:
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    named = re.findall(r'(?:src|href)="/static/([^"]+)"', page)
    assert len(named) > 6
    assert all((STATIC / each).is_file() for each in named)


@pytest.mark.parametrize("script", files("js"), ids=lambda path: str(path.relative_to(STATIC)))
def test_a_script_imports_only_scripts_that_are_there(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert text.startswith("//"), "a script says first what it is"
    assert all((script.parent / each).resolve().is_file() for each in _REFERENCE.findall(text))


def test_nothing_comes_from_elsewhere_and_nothing_is_written_as_markup() -> None:
    for file in [*files("js"), *files("css"), *files("html")]:
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, file
        assert "https://" not in text, file
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), file
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"\son\w+=|\sstyle=|<style|<script>", page)


def test_a_file_is_sent_as_what_it_is() -> None:
    for path, kind in (
        ("/", "text/html"),
        ("/static/main.js", "text/javascript"),
        ("/static/roost.svg", "image/svg+xml"),
    ):
        response = ask(path)
        assert (response.status, response.content_type, response.charset) == (200, kind, "utf-8")
        assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert ask("/static/main.js").body == (STATIC / "main.js").read_bytes()


def test_the_policy_allows_the_page_itself_alone() -> None:
    policy = ask("/").headers["Content-Security-Policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"} <= set(policy)
    assert "require-trusted-types-for 'script'" in policy
    assert not any("unsafe" in each or "*" in each for each in policy)


def test_what_is_large_is_packed_for_who_takes_it() -> None:
    packed = ask("/static/main.js", {"Accept-Encoding": "br, gzip;q=0.8"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert isinstance(packed.body, bytes)
    assert gzip.decompress(packed.body) == (STATIC / "main.js").read_bytes()
    for accepted in ("", "br", "gzip;q=0"):
        assert "Content-Encoding" not in ask("/static/main.js", {"Accept-Encoding": accepted}).headers


def test_what_the_browser_has_already_is_not_sent_again() -> None:
    tag = ask("/static/main.js").headers["ETag"]
    again = ask("/static/main.js", {"If-None-Match": f'"other", W/{tag}'})
    assert (again.status, again.body) == (304, None)
    assert ask("/static/main.js", {"If-None-Match": '"other"'}).status == 200


@pytest.mark.parametrize("path", ["nothing.js", "../assets.py", "%2e%2e/assets.py", "/etc/passwd", "core", ""])
def test_nothing_else_is_there(path: str) -> None:
    with pytest.raises(Problem, match="no such file"):
        ask(f"/static/{path}")
