"""The node that is none says what a real one could: each of its answers is as the API's document has it."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, Final
from urllib.parse import quote

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from jsonschema import Draft202012Validator
from tests.web._fake import Fake

from roost.web.openapi import document

DOCUMENT: Final[dict[str, Any]] = document()
STREAM: Final = "/Campus/Hall/Raw/Panel1/room3/temp"
MACRO: Final = quote("hall/broken")
ASKED: Final[tuple[tuple[str, str, object], ...]] = (
    ("GET", "/node", None),
    ("GET", "/campus", None),
    ("GET", "/groups", None),
    ("GET", "/streams?limit=40", None),
    ("GET", f"/streams{STREAM}", None),
    ("GET", f"/history?stream={STREAM}&limit=3", None),
    ("GET", f"/history?stream={STREAM}&points=100", None),
    ("GET", f"/passport?stream={STREAM}&number=7", None),
    ("GET", "/passport?stream={virtual}&number=7", None),
    ("GET", f"/lineage?stream={STREAM}&number=7", None),
    ("GET", "/network", None),
    ("GET", "/alerts", None),
    ("GET", "/pipelines", None),
    ("GET", "/macros", None),
    ("GET", f"/macros/{MACRO}", None),
    ("GET", f"/traces/{MACRO}", None),
    ("GET", "/traces/hall/other", None),
    ("PUT", "/macros/new", {"code": "1"}),
    ("PUT", "/macros/new", {"code": "2"}),
    ("PUT", "/macros/new", {"code": ";;"}),
    ("GET", "/macros/none", None),
    ("DELETE", "/macros/new", None),
    ("POST", "/trial", {"definition": {"code": "Noctua.topic('t')"}}),
    ("POST", "/trial", {"definition": {"code": "Noctua.topic('t').toFixed()"}}),
    ("GET", "/rbps", None),
    ("GET", "/rbps/Hall/%2B/temp", None),
    ("PUT", "/rbps/Hall/%2B/temp", {"roles": {"customer": {"streams": ["raw"]}}}),
    ("GET", "/views?topic=Hall/1/temp", None),
    ("GET", "/explain?topic=Hall/1/temp&user=ann", None),
    ("GET", "/demo", None),
    ("POST", "/demo/breaks/forge", {"do": "break"}),
    ("GET", "/session", None),
    ("POST", "/session", {"user": "ann", "password": "wrong"}),
    ("POST", "/session", {"user": "ann", "password": "right"}),
    ("GET", "/session", None),
)


def described(method: str, path: str) -> tuple[str, dict[str, Any]]:
    """The path of the document that a request is for: the longest that fits, words before parameters."""
    plain = path.partition("?")[0]
    fits = [
        each
        for each, item in DOCUMENT["paths"].items()
        if method.lower() in item and re.fullmatch(re.sub(r"\\{\w+\\}", ".+", re.escape(each)), plain)
    ]
    assert fits, f"{method} {plain} is not in the document"
    found = min(fits, key=lambda each: (each.count("{"), -len(each)))
    return found, DOCUMENT["paths"][found][method.lower()]


def mistakes(method: str, path: str, status: int, said: object) -> list[str]:
    """What of an answer is not as the document says."""
    found, operation = described(method, path)
    answered = operation["responses"].get(str(status))
    if answered is None:
        return [f"{method} {found}: the document has no status {status}"]
    reference = answered.get("$ref", "").rpartition("/")[2]
    answered = DOCUMENT["components"]["responses"][reference] if reference else answered
    if "content" not in answered:
        return [] if said is None else [f"{method} {found}: {status} has no content"]
    schema = answered["content"]["application/json"]["schema"] | {"components": DOCUMENT["components"]}
    wrong = Draft202012Validator(schema).iter_errors(said)
    return [f"{method} {path}: {list(each.absolute_path)}: {each.message[:300]}" for each in wrong]


@pytest.mark.parametrize("nasty", [False, True])
def test_every_answer_of_the_fake_is_as_the_document_has_it(nasty: bool) -> None:
    fake, found = Fake(nasty=nasty), list[str]()
    virtual = next(name for name, at in fake.index.items() if at % 29 == 11)

    async def test() -> None:
        application = web.Application(middlewares=[fake.guard])
        application.add_routes(fake.routes())
        async with TestServer(application) as server, aiohttp.ClientSession() as session:
            for method, path, body in ASKED:
                place = path.format(virtual=quote(virtual))
                content = None if body is None else json.dumps(body)
                async with session.request(method, f"{server.make_url('/')}{place[1:]}", data=content) as answer:
                    text = await answer.text()
                found.extend(mistakes(method, place, answer.status, json.loads(text) if text else None))

    asyncio.run(test())
    assert not found, "\n".join(found)


def test_all_that_the_fake_answers_is_asked() -> None:
    asked = {(method, described(method, path)[0].split("/")[1]) for method, path, _ in ASKED}
    there = {(each.method, each.path.split("/")[1]) for each in Fake().routes()}
    assert there - asked == {("GET", "live"), ("DELETE", "session")}, "that is no JSON, and that has no content"
