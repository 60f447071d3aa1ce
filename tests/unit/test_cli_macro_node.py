"""`roost macro` at a node: what it asks over HTTP, and what it shows of the answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.macro_world import FakeNode, fake_node
from tests.process_world import NOW

from roost.cli import main
from roost.machine import SECOND

CODE = "function(){\n  return Noctua.topic('t').toFixed(1)\n}()"
SHOWN: dict[str, Any] = {
    "definition": {"name": "home/m", "code": CODE, "limits": {"time_ms": 20}},
    "topic": "Noctua/home/m",
    "version": 3,
    "digest": "ab" * 32,
    "effective": {"/Campus/t": 11},
    "position": {"/Campus/t": 17},
    "runs_on": "here",
    "counters": {"runs": 5, "failures": 1},
    "last_failure": None,
}
SAMPLE = {"topic": "t", "time": NOW, "value": "n/a"}
FAILED = {
    "version": 3,
    "time": NOW,
    "took_us": 14.5,
    "cause": SAMPLE,
    "inputs": [{"reference": {"topic": "t"}, "samples": [SAMPLE]}],
    "given": 1,
    "log": ["look"],
    "failure": {"kind": "error", "message": "TypeError: not a function", "line": 2, "column": 28},
}
WELL = {**FAILED, "version": 2, "time": NOW - SECOND, "log": [], "output": "7.5", "failure": None}


class Node:
    """A node with one macro, and what it refuses."""

    def __init__(self) -> None:
        self.shown = dict(SHOWN)
        self.past: list[dict[str, object]] = []

    def answer(self, method: str, path: str, body: object) -> tuple[int, object]:
        if path == "/macros":
            return (200, ["home/m"]) if method == "GET" else (201, {**SHOWN, "definition": body})
        if path == "/macros/home/m":
            return 200, {**self.shown, "version": 4} if method == "PUT" else self.shown
        if path == "/traces/home/m":
            return 200, [FAILED, WELL]
        if path.startswith("/topics/t?since="):
            return 200, self.past
        return 404, {"error": f"{path.rpartition('/')[2]}: there is no such macro"}


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(node: FakeNode) -> list[tuple[str, str]]:
    return [(method, path) for method, path, _ in node.asked]


def test_macros_are_listed_and_shown(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert at.is_dir()
    with fake_node(Node().answer) as node:
        assert main(["macro", "list", "--url", node.url]) == 0
        assert capsys.readouterr().out == "home/m\n"
        assert main(["macro", "show", "home/m", "--url", node.url]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert main(["macro", "show", "home/m", "--json", "--url", node.url]) == 0
        assert json.loads(capsys.readouterr().out) == SHOWN
    assert lines == [
        "name: home/m",
        'limits: {"time_ms": 20}',
        "topic: Noctua/home/m",
        "version: 3",
        f"digest: {'ab' * 32}",
        "effective: /Campus/t 11",
        "position: /Campus/t 17",
        "runs_on: here",
        "counters: 5 runs, 1 failures",
        "code:",
        "  function(){",
        "    return Noctua.topic('t').toFixed(1)",
        "  }()",
    ]


def test_a_file_is_added_macro_by_macro(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (at / "m.yaml").write_text("- {name: a, code: Noctua.topic('t')}\n- {name: b, code: Noctua.topic('Noctua/a')}\n")
    with fake_node(Node().answer) as node:
        assert main(["macro", "add", "m.yaml", "--url", node.url]) == 0
    assert node.asked == [
        ("GET", "/macros", None),
        ("POST", "/macros", {"name": "a", "code": "Noctua.topic('t')"}),
        ("POST", "/macros", {"name": "b", "code": "Noctua.topic('Noctua/a')"}),
    ]
    assert capsys.readouterr().out == "a: it runs, results on Noctua/a\nb: it runs, results on Noctua/b\n"


def test_code_that_is_none_is_not_even_sent(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (at / "m.js").write_text("1 +* 2")
    with fake_node(Node().answer) as node:
        assert main(["macro", "add", "m.js", "--url", node.url]) == 1
    assert node.asked == []
    assert "roost macro: m: line 1, column" in capsys.readouterr().err


def test_an_update_is_of_what_is_there_and_says_from_where_on(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (at / "m.yaml").write_text("{name: home/m, code: Noctua.topic('t')}")
    with fake_node(Node().answer) as node:
        assert main(["macro", "update", "m.yaml", "--url", node.url]) == 0
        assert asked(node) == [("GET", "/macros/home/m"), ("GET", "/macros"), ("PUT", "/macros/home/m")]
        assert capsys.readouterr().out == "home/m: version 4; the last readings of the one before: /Campus/t 11\n"
        (at / "m.yaml").write_text("{name: other, code: Noctua.topic('t')}")
        assert main(["macro", "update", "m.yaml", "--url", node.url]) == 1
    assert asked(node)[3:] == [("GET", "/macros/other")]
    assert capsys.readouterr().err == "roost macro: other: there is no such macro\n"


def test_an_update_that_changes_nothing_is_not_sent(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (at / "m.yaml").write_text(json.dumps(SHOWN["definition"]))
    with fake_node(Node().answer) as node:
        assert main(["macro", "update", "m.yaml", "--url", node.url]) == 0
    assert asked(node) == [("GET", "/macros/home/m")]
    assert capsys.readouterr().out == "home/m: unchanged, version 3\n"


def refusal(said: str, action: str, there: Node, capsys: pytest.CaptureFixture[str]) -> str:
    """What `roost macro` says of a file that it does not send."""
    Path("m.yaml").write_text(said)
    with fake_node(there.answer) as node:
        assert main(["macro", action, "m.yaml", "--url", node.url]) == 1
    assert {method for method, _ in asked(node)} <= {"GET"}
    return capsys.readouterr().err


def test_of_a_file_with_a_macro_that_is_there_none_is_added(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert at.is_dir()
    said = refusal("- {name: a, code: '1'}\n- {name: home/m, code: '2'}\n", "add", Node(), capsys)
    why = "there is such a macro, and nothing was changed; `roost macro update` replaces it"
    assert said == f"roost macro: home/m: {why}\n"


def test_a_cycle_in_a_file_is_found_before_anything_is_sent(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert at.is_dir()
    macros = "- {name: a, code: Noctua.topic('Noctua/b')}\n- {name: b, code: Noctua.topic('Noctua/a')}\n"
    said = refusal(macros, "add", Node(), capsys)
    assert said == "roost macro: b: a macro cannot depend on itself: b -> a -> b; nothing was changed\n"


def test_a_cycle_by_way_of_the_node_is_found_as_well(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert at.is_dir()
    there = Node()
    there.shown["definition"] = {"name": "home/m", "code": "Noctua.topic('Noctua/b')"}
    macros = "- {name: a, code: Noctua.topic('t')}\n- {name: b, code: Noctua.topic('Noctua/home/#')}\n"
    said = refusal(macros, "add", there, capsys)
    assert said == "roost macro: b: a macro cannot depend on itself: b -> home/m -> b; nothing was changed\n"
    said = refusal("{name: home/m, code: Noctua.topic('Noctua/+/m')}", "update", there, capsys)
    assert "Noctua/+/m also stands for its own results, on Noctua/home/m" in said
    assert said.endswith("; nothing was changed\n")


def test_what_came_before_an_unforeseen_refusal_is_said(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (at / "m.yaml").write_text("- {name: a, code: '1'}\n- {name: b, code: '2'}\n")

    def answer(method: str, path: str, body: object) -> tuple[int, object]:
        if isinstance(body, dict) and body["name"] == "b":
            return 409, {"error": "b: there is such a macro; to replace it, PUT /macros/b"}
        return Node().answer(method, path, body)

    with fake_node(answer) as node:
        assert main(["macro", "add", "m.yaml", "--url", node.url]) == 1
    why = "b: there is such a macro; `roost macro update` replaces it (done before it: a)"
    assert capsys.readouterr().err == f"roost macro: {why}\n"


def test_a_deletion_says_up_to_where_it_ran(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert at.is_dir()
    with fake_node(Node().answer) as node:
        assert main(["macro", "delete", "home/m", "--url", node.url]) == 0
    assert asked(node) == [("DELETE", "/macros/home/m")]
    assert capsys.readouterr().out == "home/m: deleted; the last readings it processed: /Campus/t 17\n"


def test_a_trace_has_inputs_log_output_failure_and_how_long(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert at.is_dir()
    with fake_node(Node().answer) as node:
        assert main(["macro", "trace", "home/m", "--url", node.url]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert main(["macro", "trace", "home/m", "--json", "--url", node.url]) == 0
    assert json.loads(capsys.readouterr().out) == [FAILED, WELL]
    given = '  given  t  2023-11-14T22:13:20.000Z  "n/a"'
    assert lines == [
        '2023-11-14T22:13:19.000Z  home/m (version 2)  7.5  ← t "n/a"  (14 µs)',
        given,
        "2023-11-14T22:13:20.000Z  home/m  failed: TypeError: not a function, line 2, column 28  (14 µs)",
        "  2 |   return Noctua.topic('t').toFixed(1)",
        "    |                            ^",
        "  log    look",
        given,
    ]


def test_a_node_that_is_none_is_told_so(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert at.is_dir()
    with fake_node(lambda *_: (200, "hello")) as node:
        for action in (["list"], ["show", "m"], ["trace", "m"], ["delete", "m"]):
            assert main(["macro", *action, "--url", node.url]) == 1
            assert "give the address of a node's `http`" in capsys.readouterr().err


# -- its past


def test_what_a_node_has_is_read_page_by_page(
    at: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roost.cli._past._PAGE", 2)
    rows = [
        {"topic": "t", "time": NOW + each // 2, "value": each, "unit": "V", "stream": "/s", "number": each + 1}
        for each in range(5)
    ]
    (at / "m.js").write_text("Noctua.topic('t', {detail: true}).value + 'V'")

    def answer(_method: str, path: str, _body: object) -> tuple[int, object]:
        since = path.partition("since=")[2].partition("&")[0]
        begin = NOW if since.startswith("2023-11-14T22%3A13%3A20") else 0
        later = [row for row in rows if int(str(row["time"])) >= begin]
        return 200, later[: 2 if not begin else 5]

    with fake_node(answer) as node:
        assert main(["macro", "test", "m.js", "--node", node.url, "--since", "2020-01-01", "--json"]) == 0
    found = [json.loads(line)["output"] for line in capsys.readouterr().out.splitlines()]
    assert found == ["0V", "1V", "2V", "3V", "4V"]
    assert asked(node)[0] == ("GET", "/topics/t?since=2020-01-01T00%3A00%3A00%2B00%3A00&limit=2")


def test_bytes_and_streams_are_as_on_the_node(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node_side = Node()
    row = {
        "topic": "t",
        "time": NOW,
        "value": {"base64": "AP8="},
        "unit": "",
        "quality": "good",
        "stream": "",
        "number": 0,
    }
    node_side.past = [row]
    (at / "m.js").write_text("Noctua.topic('t')[1]")
    with fake_node(node_side.answer) as node:
        assert main(["macro", "test", "m.js", "--node", node.url, "--since", "2020-01-01"]) == 0
    assert capsys.readouterr().out == "2023-11-14T22:13:20.000Z  m  255  ← t 0x00ff\n"


def test_a_new_version_is_held_against_what_the_node_runs(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = Node()
    there.past = [
        {"topic": "t", "time": NOW + each, "value": each, "stream": "/s", "number": each + 1} for each in (0, 1)
    ]
    (at / "m.yaml").write_text("{name: home/m, code: \"Noctua.topic('t') ? Noctua.topic('t').toFixed(1) : 'none'\"}")
    for arguments in (["m.yaml"], ["home/m", "m.yaml"]):
        with fake_node(there.answer) as node:
            assert main(["macro", "diff", *arguments, "--node", node.url, "--since", "2020-01-01"]) == 1
        assert asked(node)[0] == ("GET", "/macros/home/m")
        lines = capsys.readouterr().out.splitlines()
        assert lines[1:3] == ["  old    0.0", "  new    none"]
        assert lines[-1].startswith("2 readings, 1 equal, 1 differ, ")


def test_python_that_a_node_sends_is_not_run(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = Node()
    code = f"open({str(at / 'trace')!r}, 'w').close() or Noctua.topic('t')"
    there.shown["definition"] = {"name": "home/m", "code": code, "language": "python"}
    (at / "m.js").write_text("Noctua.topic('t')")
    with fake_node(there.answer) as node:
        assert main(["macro", "diff", "home/m", "m.js", "--node", node.url]) == 2
    assert "home/m is in Python" in capsys.readouterr().err
    assert not (at / "trace").exists()


def test_readings_that_cannot_be_read_are_one_sentence(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (at / "m.js").write_text("Noctua.topic('t')")
    for said in ({"a": 1}, ["a"], [{"topic": "t"}], [{"topic": "t", "time": "soon", "value": 1}]):
        with fake_node(lambda *_, said=said: (200, said)) as node:
            assert main(["macro", "test", "m.js", "--node", node.url]) == 2
        assert capsys.readouterr().err.startswith(f"roost macro: {node.url} ")
