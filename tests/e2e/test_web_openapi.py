"""The document of the API against a node that runs: the same routes, and nothing that it allows breaks anything."""

from __future__ import annotations

import asyncio
import io
import re
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis.strategies import booleans
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)
from tests.loops import run
from tests.site_world import GROUP, GROUPED, Node, make_home, node

from roost.cli.demo.breaks import Break, Breaks
from roost.cli.demo.journal import Journal
from roost.cli.demo.promises import Measured, Promise
from roost.cli.demo.wing import DemoDesk
from roost.web.openapi import document

ONLY_IN_A_DEMO = {("get", "/demo"), ("post", "/demo/breaks/{id}")}
LIMIT_S = 200  # it asks some 1,500 times, and a machine may be busy
EXAMPLES = 20  # of each operation, of what is allowed and of what is not
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
    ("/demo/breaks/{id}", "id"): "cup",
}
ROLES: dict[str, Any] = {"roles": {"documents": "rbps.yaml", "users": "roles.yaml"}}


def make_roles(folder: Path) -> None:
    (folder / "rbps.yaml").write_text('- topic: home/+\n  roles:\n    customer: {streams: ["{topic}/anonymize"]}\n')
    (folder / "roles.yaml").write_text("bob: [customer]\n")


class Cup(Break):
    """Something of a demo that breaks at once, and is whole at once when somebody mends it."""

    id, title, text = "cup", "A cup", "falls"

    async def harm(self) -> str:
        return "in pieces"

    async def heal(self) -> str:
        return "glued"

    async def whole(self) -> str:
        return "holds water"


def demo() -> DemoDesk:
    journal = Journal(io.StringIO())
    promise = Promise("water", "nothing is spilled", lambda: Measured(0, 0, 0.0, "a drop of 1"))
    return DemoDesk(Breaks([Cup(journal, 0.01)]), [promise], journal, ["Break the cup."])


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
        said = GROUPED | ROLES | {"macros": {}}
        async with node(tmp_path, **said) as world:
            assert served(world) == documented() - ONLY_IN_A_DEMO
            shown = await world.ask("GET", "/openapi.json")
            assert (shown.status, shown.json) == (200, document())
        async with node(tmp_path, wings=[demo().builder()], **said) as world:
            assert served(world) == documented()

    run(test)


def test_nothing_that_the_document_allows_or_forbids_breaks_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each operation with what its schema allows, and with what it does not, which has to be refused."""
    make_home(tmp_path, monkeypatch)
    make_roles(tmp_path)
    left_out = {("get", "/live"), ("get", "/events")}  # which do not end

    async def test() -> None:
        said = GROUPED | ROLES | {"macros": {}, "store": str(tmp_path / "node")}
        async with node(tmp_path, users=False, wings=[demo().builder()], **said) as world:
            async with world.client() as device:
                for value in ("20", '{"deep": [1, null]}', "\x00", "text"):
                    await device.publish("hall/temp", value, qos=1)
            schema = document_of_all()
            asked: set[tuple[str, str]] = set()
            for found in schema.get_all_operations():
                operation: Any = found.ok()  # the document is right, as another test sees
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


def test_a_parameter_that_is_there_says_something(tmp_path: Path) -> None:
    wrong = ("groups?limit=", "macros?engine=", "streams?sort=", "topics/a?limit=", "events?all=yes", "events?latest=")

    async def test() -> None:
        async with node(tmp_path, users=False, macros={}) as world:
            for asked in wrong:
                answer = await world.ask("GET", f"/{asked}")
                assert answer.status == 400, asked
                assert re.search(r"[?](\w+)=", asked)[1] in answer.json["error"]  # type: ignore[index]

    run(test)


def test_nor_does_logging_in(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            schema = document_of_all()
            for method in ("POST", "GET", "DELETE"):
                await asyncio.to_thread(ask_all, schema["/session"][method], world.running.uris[-1])
            assert world.running.http is not None
            assert world.running.http.failures == 0
            assert (await world.log_in("alice", "secret")).startswith("roost=")

    run(test, LIMIT_S)


def document_of_all() -> Any:  # noqa: ANN401  schemathesis has types of its own
    """The document, of which any 4xx refuses what it forbids: 412 comes before a body is looked at."""
    config = SchemathesisConfig.from_dict({"checks": {"negative_data_rejection": {"expected-statuses": ["4xx"]}}})
    return schemathesis.openapi.from_dict(document(), config=config)


def ask_all(operation: Any, uri: str) -> None:  # noqa: ANN401  schemathesis has types of its own
    checks = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_schema_conformance,
    ]

    for mode, more in ((GenerationMode.POSITIVE, []), (GenerationMode.NEGATIVE, [negative_data_rejection])):
        if mode is GenerationMode.POSITIVE or _can_be_wrong(operation):
            _ask_all(operation, uri, mode, [*checks, *more])


def _ask_all(operation: Any, uri: str, mode: GenerationMode, checks: list[Any]) -> None:  # noqa: ANN401  as above
    @seeded(1)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), is_there=booleans())
    def ask(case: Any, is_there: bool) -> None:  # noqa: ANN401  as above
        if is_there:  # else hardly any name that it makes up is one of something
            for place in (case.path_parameters, case.query):
                place |= {name: THERE[case.path, name] for name in place if (case.path, name) in THERE}
        case.call_and_validate(base_url=uri, checks=checks)

    ask()


def _can_be_wrong(operation: Any) -> bool:  # noqa: ANN401  as above
    """Whether it takes anything at all."""
    return bool(operation.body or operation.query or operation.headers)  # any text is a path
