"""The document of the API against a node that runs: the same routes, and nothing that it allows breaks anything."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis.strategies import booleans
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.loops import run
from tests.site_world import GROUP, GROUPED, Node, make_home, node

from roost.web.openapi import document

ONLY_IN_A_DEMO = {("get", "/demo"), ("post", "/demo/breaks/{id}")}
LIMIT_S = 200  # it asks more than 500 times, and a machine may be busy
EXAMPLES = 25  # of each operation
MACRO = {"name": "double", "code": 'Noctua.topic("hall/temp") * 2'}
DOCUMENT = {"topic": "home/+", "roles": {"customer": {"streams": ["{topic}/anonymize"]}}}
STREAM = f"{GROUP}/Gate1/hall/temp"
THERE: dict[tuple[str, str], Any] = {
    ("/macros/{name}", "name"): "double",
    ("/traces/{name}", "name"): "double",
    ("/rbps/{topic}", "topic"): "home/+",
    ("/explain", "topic"): "home/hall",
    ("/views", "topic"): "home/hall",
    ("/groups/{name}", "name"): GROUP[1:],
    ("/streams/{name}", "name"): STREAM[1:],
    ("/streams", "group"): GROUP,
    ("/history", "stream"): [STREAM],
    ("/topics/{filter}", "filter"): "hall/#",
    ("/passport", "stream"): STREAM,
    ("/passport", "number"): 2,
    ("/lineage", "stream"): STREAM,
    ("/lineage", "number"): 2,
    ("/static/{file}", "file"): "main.js",
}
ROLES: dict[str, Any] = {"roles": {"documents": "rbps.yaml", "users": "roles.yaml"}}


def make_roles(folder: Path) -> None:
    (folder / "rbps.yaml").write_text('- topic: home/+\n  roles:\n    customer: {streams: ["{topic}/anonymize"]}\n')
    (folder / "roles.yaml").write_text("bob: [customer]\n")


def documented() -> set[tuple[str, str]]:
    paths: dict[str, Any] = document()["paths"]  # type: ignore[assignment]
    return {(method, path) for path, item in paths.items() for method in item}


def served(world: Node) -> set[tuple[str, str]]:
    door = world.running.http
    assert door is not None
    return {
        (route.method.lower(), str(route.resource.canonical))
        for route in door.application.router.routes()
        if route.resource is not None and route.method != "HEAD"
    }


def test_what_is_served_is_documented_and_the_other_way_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_home(tmp_path, monkeypatch)
    make_roles(tmp_path)

    async def test() -> None:
        async with node(tmp_path, **GROUPED | ROLES | {"macros": {}}) as world:
            assert served(world) == documented() - ONLY_IN_A_DEMO
            shown = await world.ask("GET", "/openapi.json")
            assert (shown.status, shown.json) == (200, document())

    run(test)


def test_nothing_that_the_document_allows_breaks_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operation with what its schema allows and with what it does not: the answers are those that it promises."""
    make_home(tmp_path, monkeypatch)
    make_roles(tmp_path)
    left_out = {("get", "/live"), ("get", "/events"), *ONLY_IN_A_DEMO}  # the first two do not end

    async def test() -> None:
        said = GROUPED | ROLES | {"macros": {}, "store": str(tmp_path / "node")}
        async with node(tmp_path, users=False, **said) as world:
            async with world.client() as device:
                for value in ("20", '{"deep": [1, null]}', "\x00", "text"):
                    await device.publish("hall/temp", value, qos=1)
            schema = schemathesis.openapi.from_dict(document())
            asked: set[tuple[str, str]] = set()
            for found in schema.get_all_operations():
                operation: Any = found.ok()  # type: ignore[union-attr]  # the document is right, as another test sees
                if (operation.method, operation.path) not in left_out:
                    asked.add((operation.method, operation.path))
                    await world.ask("PUT", "/macros/double", MACRO)  # which others end
                    await world.ask("PUT", "/rbps/home/%2B", DOCUMENT)
                    await asyncio.to_thread(ask_all, operation, world.running.uris[-1])
            assert asked == documented() - left_out
            door = world.running.http
            assert door is not None
            assert door.failures == 0

    run(test, LIMIT_S)


def test_nor_does_logging_in(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            schema = schemathesis.openapi.from_dict(document())
            for method in ("POST", "GET", "DELETE"):
                await asyncio.to_thread(ask_all, schema["/session"][method], world.running.uris[-1])
            assert world.running.http is not None
            assert world.running.http.failures == 0
            assert (await world.log_in("alice", "secret")).startswith("roost=")

    run(test, LIMIT_S)


def ask_all(operation: Any, uri: str) -> None:  # noqa: ANN401  schemathesis has types of its own
    checks = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_schema_conformance,
    ]

    @seeded(1)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), is_there=booleans())
    def ask(case: Any, is_there: bool) -> None:  # noqa: ANN401  as above
        if is_there:  # else hardly any name that it makes up is one of something
            for place in (case.path_parameters, case.query):
                place |= {name: THERE[case.path, name] for name in place if (case.path, name) in THERE}
        case.call_and_validate(base_url=uri, checks=checks)

    ask()
