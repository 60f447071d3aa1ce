"""The live page's files: `/` is the page, `/static/<file>` what it is made of.

They are read once, at the start, so a request can name nothing else; what is large is packed then as well. The page may
load nothing from elsewhere and run nothing that is written inside it, and its scripts cannot turn text into markup
(trusted types): topics and payloads are strangers' words.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from aiohttp import web

from roost.host.http.answers import Problem
from roost.host.http.asking import rest_of
from roost.host.http.wing import Wing

PACK_FROM_BYTES: Final = 1_000  # below, the header that says so outweighs what is saved
_HEAD: Final = "/static/"
_PAGE: Final = "index.html"
_TYPES: Final = {
    "html": "text/html",
    "js": "text/javascript",
    "css": "text/css",
    "svg": "image/svg+xml",
}
_RULES: Final = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)
_HEADERS: Final = {
    "Server": "roost",
    "Cache-Control": "no-cache",  # kept, and asked about each time: a new node has a new page
    "Content-Security-Policy": "; ".join(_RULES),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
}
_TAG: Final = re.compile(r'(?:W/)?("[^"]*")')


@dataclass(frozen=True, slots=True)
class Asset:
    """One file, as it is sent."""

    content: bytes
    packed: bytes  # by gzip; empty where that is not worth it
    content_type: str
    tag: str


def wing() -> Wing:
    """The page's routes, which are for everybody: what it shows it asks for, and there it has to say who asks."""
    assets = dict(_read(files("roost.web") / "static", ""))

    async def page(request: web.Request) -> web.Response:
        return _answer(request, assets[_PAGE])

    async def file(request: web.Request) -> web.Response:
        asset = assets.get(rest_of(request, _HEAD))
        if asset is None:
            raise Problem(404, "the page has no such file: reload it, it may be of another version")
        return _answer(request, asset)

    return Wing([web.get("/", page), web.get(_HEAD + "{file:.+}", file)], frozenset({"", "static"}))


def _read(folder: Traversable, head: str) -> list[tuple[str, Asset]]:
    """Read the files below a folder, by their paths."""
    found: list[tuple[str, Asset]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _read(entry, f"{head}{entry.name}/")
        elif (kind := _TYPES.get(entry.name.rpartition(".")[2])) is not None:
            found.append((head + entry.name, _asset(entry.read_bytes(), kind)))
    return found


def _asset(content: bytes, kind: str) -> Asset:
    packed = gzip.compress(content, mtime=0) if len(content) >= PACK_FROM_BYTES else b""
    return Asset(content, packed, kind, f'"{blake2b(content, digest_size=12).hexdigest()}"')


def _answer(request: web.Request, asset: Asset) -> web.Response:
    headers = {**_HEADERS, "ETag": asset.tag}
    if asset.tag in _TAG.findall(request.headers.get("If-None-Match", "")):
        return web.Response(status=304, headers=headers)
    body = asset.content
    if asset.packed and _takes_gzip(request.headers.get("Accept-Encoding", "")):
        headers["Content-Encoding"] = "gzip"
        body = asset.packed
    return web.Response(body=body, content_type=asset.content_type, charset="utf-8", headers=headers)


def _takes_gzip(accepted: str) -> bool:
    """Whether gzip is among the encodings, and not with a weight of nought."""
    for each in accepted.lower().split(","):
        encoding, _, weight = each.partition(";")
        if encoding.strip() == "gzip":
            return weight.strip() not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
