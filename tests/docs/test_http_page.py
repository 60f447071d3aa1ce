"""The blocks of docs/http.md, against a node: what is asked is answered, and what is shown is how answers look.

A ```console``` block is run as it stands but for what names a machine, a person or a secret. What follows a stream is
read up to its first event.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.docs.test_examples import ROOT, blocks
from tests.up_node import PANEL, UpNode
from tests.verbs import roost

from roost.web.openapi import document

PAGE = ROOT / "docs" / "http.md"
CURL = """\
set -eo pipefail
curl() {
  case "$*" in
    *event-stream*) exec 3< <(exec curl -sS --fail-with-body "$@"); head -n 2 <&3; kill $!;;
    *) command curl -sS --fail-with-body "$@";;
  esac
}
"""
STREAM = f"{PANEL}/room1/power"
METHODS = {"GET", "POST", "PUT", "DELETE"}


def table() -> dict[tuple[str, str], set[str]]:
    """The requests of the page's table by method and path, with the parameters that are named there."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in re.findall(r"^\| (`GET.*?`|`POST.*?`|`PUT.*?`|`DELETE.*?`) \|", PAGE.read_text("utf-8"), re.MULTILINE):
        methods: list[str] = []
        used = True
        for words in [code.split() for code in re.findall(r"`([^`]+)`", row)]:
            if words[0] in METHODS:
                methods = [words[0]] if used else [*methods, words[0]]
                used = False
            if words[-1].startswith("/"):
                path, _, query = words[-1].partition("?")
                found |= {(each.lower(), path): set(re.findall(r"(\w+)=", query)) for each in methods}
                used = True
    return found


def test_the_table_has_the_requests_of_the_api_and_no_others() -> None:
    paths: Any = document()["paths"]
    assert table().keys() == {(method, path) for path, item in paths.items() for method in item}
    for (method, path), named in table().items():
        assert named <= {each["name"] for each in paths[path][method].get("parameters", [])}, path


def test_scopes_allow_what_there_is() -> None:
    firsts = {path.split("/")[1] for path in document()["paths"]}  # type: ignore[attr-defined]
    scopes = re.findall(
        r"^\| `(?:read|history|macros|roles|admin|metrics|demo)` \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    assert len(scopes) == 7
    assert {path for row in scopes for path in re.findall(r"`/(\w+)`", row)} <= firsts


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpNode]:
    node = UpNode(tmp_path_factory.mktemp("http"))
    node.write()
    node.start()
    node.publish("room1/celsius", 20, 21)
    node.publish("room1/power", 71.5)
    yield node
    node.close()


def run(node: UpNode, block: str, *replaced: tuple[str, str]) -> str:
    """Run a block; what it printed."""
    folder = node.home.parent
    stream = "/BigCompany/Building1/Electricity/Gate1/"
    for old, new in [
        ("http://127.0.0.1:8080", node.uri("the page is at ").rstrip("/")),
        (stream, f"{PANEL}/"),
        *replaced,
    ]:
        block = block.replace(old, new)
    done = subprocess.run(
        ["bash", "-c", CURL + block], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_what_needs_no_user_is_answered(node: UpNode) -> None:
    macros, readings, shown, *_ = blocks(PAGE, "console")
    assert "room1/fahrenheit" in run(node, macros)
    told = run(node, readings)
    assert '"topic":"room1/power"' in told
    assert "data:" in told
    assert f'"stream":"{STREAM}"' in run(node, shown)


def test_answers_look_as_they_are_shown(node: UpNode) -> None:
    reading, stream = blocks(PAGE, "json")[:2]
    asked = run(node, "curl 'http://127.0.0.1:8080/topics/room1/power?since=24h'\n")
    assert json.loads(reading).keys() - {"unit", "quality"} <= json.loads(asked)[0].keys()
    asked = run(node, f"curl http://127.0.0.1:8080/streams{STREAM}")
    assert json.loads(stream).keys() - {"unit"} <= json.loads(asked).keys()


def test_users_log_in_and_have_tokens(tmp_path: Path) -> None:
    node = UpNode(tmp_path)
    (node.home / "permissions").write_text("user alice\n  readwrite #\n", encoding="utf-8")
    made = roost(node.environment, "users", "add", "alice", "--generate", "--file", str(node.home / "users"))
    assert made.returncode == 0, made.stderr
    password = made.stdout.decode().strip()
    node.write(users="users", permissions="permissions")
    node.start()
    try:
        logging_in, tokens = blocks(PAGE, "console")[3:]
        run(node, logging_in, ('"…"', json.dumps(password)))
        making, used = re.split(r"\n(?=curl -H 'Authorization)", tokens)
        text = json.loads(run(node, making, ("-u alice", f"-u alice:{password}")))["token"]
        run(node, used, ("roost_…", text))
    finally:
        node.close()
