"""JSON, YAML and permissions that pages show, each handed to what reads or writes it in the product.

A block that nobody here knows fails: say below who judges it. YAML that is a node's is read in test_shown.
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.docs.test_examples import PAGES, STORIES, blocks
from tests.docs.test_shown import SETTINGS

from roost import errors
from roost.cli._output import complain
from roost.cli.demo.journal import Journal
from roost.host.log import JsonLines
from roost.host.mqtt.reload import read_permissions
from roost.pipeline.yaml_form import loads
from roost.process.definition import definition_of
from roost.process.roles.specification import Specification
from roost.web.api.live_client import wish_of
from roost.web.openapi import document
from roost.web.openapi.schemas import SCHEMAS


def every(language: str) -> list[Any]:
    """The blocks of all pages, to be judged one by one."""
    found = [(page, body) for page in PAGES for body in blocks(page, language)]
    return [pytest.param(body, id=f"{page.stem}{at}") for at, (page, body) in enumerate(found)]


def is_of(schema: str) -> Callable[[dict[str, Any]], None]:
    """An answer of the API, by the properties that its document gives it."""

    def judge(said: dict[str, Any]) -> None:
        known: Any = SCHEMAS[schema]
        assert said.keys() <= known["properties"].keys()

    return judge


def is_verdict(said: dict[str, Any]) -> None:
    out = io.StringIO()
    journal = Journal(out, as_json=True)
    kinds = {True: "kept", False: "BROKEN", None: "unchecked"}
    for promise, kept in said["promises"].items():
        journal.say(kinds[kept], f"{promise}: …")
    journal.conclude(kept=said["kept"])
    assert json.loads(out.getvalue().splitlines()[-1]) == said


def is_readiness(said: dict[str, Any]) -> None:
    paths: Any = document()["paths"]
    shape = paths["/ready"]["get"]["responses"]["503"]["content"]["application/json"]["schema"]
    assert said.keys() == shape["properties"].keys()
    assert said["ready"] == all(said["checks"].values())


def is_log_line(said: dict[str, Any]) -> None:
    record = logging.LogRecord(said["logger"], logging.WARNING, "", 0, said["message"], None, None)
    record.__dict__.update(peer=said["peer"], reason=said["reason"])
    assert {**json.loads(JsonLines().format(record)), "time": said["time"]} == said


def is_failure(said: dict[str, Any]) -> None:
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stderr", out)
        complain("roost", said["error"], said["kind"], as_json=True)
    assert json.loads(out.getvalue()) == said
    assert hasattr(errors, said["kind"])


JSON: dict[frozenset[str], Callable[[dict[str, Any]], object]] = {
    frozenset({"name", "code"}): definition_of,
    frozenset({"topic", "roles"}): Specification.read,
    frozenset({"what", "kept", "promises"}): is_verdict,
    frozenset({"ready", "checks"}): is_readiness,
    frozenset({"level", "logger"}): is_log_line,
    frozenset({"error", "kind"}): is_failure,
    frozenset({"streams", "every_ms"}): wish_of,
    frozenset({"stream", "group", "virtual"}): is_of("Stream"),
    frozenset({"stream", "number", "value"}): is_of("Reading"),
}


@pytest.mark.parametrize("body", every("json"))
def test_json_is_what_the_product_reads_or_writes(body: str) -> None:
    said = json.loads(body)
    judges = [judge for keys, judge in JSON.items() if keys <= said.keys()]
    assert len(judges) == 1, f"nobody here, or more than one, knows what this is: {body}"
    judges[0](said)


NODES = [body for _, body in SETTINGS]


@pytest.mark.parametrize("body", every("yaml"))
def test_yaml_is_a_nodes_a_pipelines_or_of_prometheus(body: str) -> None:
    said = yaml.safe_load(body)
    if body in NODES:
        return  # read key by key in test_shown
    if "pipeline" in said:
        pages = [page for page in PAGES if body in blocks(page, "yaml")]
        assert set(pages) <= set(STORIES), "it is run in order there"
        names = [body.splitlines()[0].removeprefix("# ") for page in pages for body in blocks(page, "yaml")]
        assert body.splitlines()[0].removeprefix("# ") in names
        if "function" not in body:  # which is a file beside it
            assert loads(body).name == said["pipeline"]
        return
    (job,) = said["scrape_configs"]  # of Prometheus: our path is its default, and a token stands in a file
    assert job.keys() == {"job_name", "scheme", "authorization", "static_configs"}
    assert job["authorization"].keys() == {"credentials_file"}
    assert "/metrics" in document()["paths"]  # type: ignore[operator]


@pytest.mark.parametrize("body", every("permissions"))
def test_permissions_are_read(body: str, tmp_path: Path) -> None:
    file = tmp_path / "permissions"
    file.write_text(body, encoding="utf-8")
    read_permissions(file)  # raises what is wrong
