"""`roost macro test` and `diff` on files: what comes out, what fails and where, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.test_process_engines import BEACONS, FIGURE_3, FIGURE_5, FIGURE_9, FIGURE_15, rssi_at

from roost.cli import main
from roost.host.mqtt.macro_checking import excerpt

FAILING = {
    "bad.js": "function(){\n  t = Noctua.topic('home/tempF')\n  console.log('have', t)\n  return t.toFixed(1)\n}()\n",
    "bad.py": "t = Noctua.topic('home/tempF')\nprint('have', t)\nx = 0; t / 2\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def readings(folder: Path) -> Path:
    path = folder / "readings.csv"
    path.write_text("topic,time,value\nhome/tempF,2026-05-01T08:00:00Z,162.5\nhome/tempF,2026-05-01T08:00:01Z,n/a\n")
    return path


def written(folder: Path, name: str, code: str, **more: str) -> str:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"name": name, "code": code, **more}))
    return str(path)


def outputs(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    return [json.loads(line).get("output") for line in capsys.readouterr().out.splitlines()]


def lines_of(folder: Path, *rows: tuple[str, float, object]) -> str:
    """Readings at so many seconds of a morning."""
    path = folder / "readings.jsonl"
    begin = 1_777_622_400_000_000_000
    said = [{"topic": topic, "time": begin + round(at * 1e9), "value": value} for topic, at, value in rows]
    path.write_text("".join(json.dumps(each) + "\n" for each in said))
    return str(path)


# -- the paper


def test_figure_3_on_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(folder, "tempC", FIGURE_3)
    assert main(["macro", "test", file, "--json", "--on", lines_of(folder, ("home/tempF", 0, 162.5))]) == 0
    assert outputs(capsys) == ["72.5"]


def test_figure_5_waits_for_values_that_are_recent_enough(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        ("home/front_temp", 0, 20),
        ("home/rear_temp", 30, 22),
        ("home/rear_temp", 90, 24),
        ("home/front_temp", 91, 21),
    ]
    file = written(folder, "mean", FIGURE_5)
    assert main(["macro", "test", file, "--json", "--on", lines_of(folder, *rows)]) == 0
    assert outputs(capsys) == ["21", "22.5"]


def test_figure_9_runs_once_there_are_three_of_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(f"ee499_{node}/temp", at + node / 100, 10.0 * node + at) for at in range(3) for node in (7, 8, 9)]
    file = written(folder, "average", FIGURE_9)
    assert main(["macro", "test", file, "--json", "--on", lines_of(folder, *rows)]) == 0
    (only,) = outputs(capsys)
    assert float(only) == pytest.approx(80 + (2 * 3 + 1 * 2 + 0 * 1) / 6)


def test_figure_15_finds_where_somebody_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = FIGURE_15 % json.dumps(BEACONS[:4])
    rows = [("person/rssi", at, rssi_at(x, y, 4)) for at, (x, y) in enumerate([(15, 25), (75, 65)])]
    assert main(["macro", "test", written(folder, "where", code), "--json", "--on", lines_of(folder, *rows)]) == 0
    assert outputs(capsys) == ["[15,25]", "[75,65]"]


# -- what is shown


def test_a_run_is_a_line_and_the_end_is_a_sum(folder: Path, readings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["macro", "test", written(folder, "home", FIGURE_3), "--on", str(readings)]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "2026-05-01T08:00:00.000Z  home  72.5  ← home/tempF 162.5",
        '2026-05-01T08:00:01.000Z  home  NaN  ← home/tempF "n/a"',
    ]
    assert "home: 2 readings, 2 activations, 0 of them with too few values, 2 runs, 2 results, 0 failures" in said.err


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("bad.js", ["line 4, column 12", "  4 |   return t.toFixed(1)", "    |            ^"]),
        ("bad.py", ["line 3, column 8", "  3 | x = 0; t / 2", "    |        ^"]),
    ],
)
def test_a_failure_shows_where_it_is_and_what_caused_it(
    folder: Path, readings: Path, capsys: pytest.CaptureFixture[str], name: str, place: list[str]
) -> None:
    (folder / name).write_text(FAILING[name])
    assert main(["macro", "test", name, "--on", str(readings)]) == 1
    lines = capsys.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(lines) if "failed: TypeError" in line)
    assert lines[at].endswith(place[0])
    assert lines[at + 1 : at + 3] == place[1:]
    assert lines[at + 3 : at + 5] == ["  log    have n/a", '  given  home/tempF  2026-05-01T08:00:01.000Z  "n/a"']


def test_failed_runs_alone_are_shown_if_that_is_wanted(
    folder: Path, readings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.js").write_text(FAILING["bad.js"])
    assert main(["macro", "test", "bad.js", "--failures", "--json", "--on", str(readings)]) == 1
    (only,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert only["cause"]["value"] == "n/a"


def test_all_is_shown_of_every_run_if_that_is_wanted(
    folder: Path, readings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "count.js").write_text("Noctua.topic('home/tempF'); Noctua.state.n = (Noctua.state.n || 0) + 1")
    assert main(["macro", "test", "count.js", "--full", "--on", str(readings)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2026-05-01T08:00:00.000Z  count  1  ← home/tempF 162.5  (")
    assert lines[1:3] == ["  given  home/tempF  2026-05-01T08:00:00.000Z  162.5", '  state  {"n":1}']


@pytest.mark.parametrize(("name", "code"), [("m.js", "function() {\n  var t = = 3\n}()"), ("m.py", "t = 1\nt = = 3")])
def test_code_that_is_none_is_told_with_its_place(
    folder: Path, readings: Path, capsys: pytest.CaptureFixture[str], name: str, code: str
) -> None:
    (folder / name).write_text(code)
    assert main(["macro", "test", name, "--on", str(readings)]) == 2
    first, second, third = capsys.readouterr().err.splitlines()
    column = code.splitlines()[1].index("= = ") + 3
    assert first.startswith(f"roost macro: m: line 2, column {column}: ")
    assert second == f"  2 | {code.splitlines()[1]}"
    assert third.index("^") == second.index("= = ") + 2


def test_references_that_only_runs_show_are_told(
    folder: Path, readings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "Noctua.topic('home/' + (Noctua.topic('home/tempF') > 0 ? 'tempF' : 'other'), {required: 0})"
    assert main(["macro", "test", written(folder, "m", code), "--on", str(readings)]) == 0
    assert "that it refers to" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{name: [", "m.yaml: this is neither YAML nor JSON"),
        ("- code: Noctua.topic('a')\n- {name: b}", "m.yaml, macro 2: a macro has code"),
        ("[]", "m.yaml: there is no macro in it"),
        ("- {name: b, code: 1}", "m.yaml, macro 1: code is text"),
        (
            "- {name: b, code: Noctua.topic('a')}\n- {name: b, code: Noctua.topic('a')}",
            "macro 2: there are two macros 'b'",
        ),
        ("{name: b, code: '1 + 1'}", "it names no topic"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(
    folder: Path, readings: Path, capsys: pytest.CaptureFixture[str], content: str, why: str
) -> None:
    (folder / "m.yaml").write_text(content)
    assert main(["macro", "test", "m.yaml", "--on", str(readings)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("roost macro: ")
    assert why in said
    assert said.count("\n") == 1


def test_readings_that_cannot_be_used_are_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(folder, "m", FIGURE_3)
    (folder / "r.csv").write_text("topic,time,value\na,b\n")
    for arguments, why in (
        (["--on", "r.csv"], "r.csv: line 2: it has 2 columns"),
        (["--on", "none.csv"], "none.csv cannot be read: No such file"),
        (["--since", "soon"], "soon"),
        ([], "there are no readings to try it on"),
    ):
        assert main(["macro", "test", file, *arguments]) == 2
        assert why in capsys.readouterr().err


def test_usage_is_shown_to_who_gets_it_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    with pytest.raises(SystemExit) as stopped:
        main(["macro", "test"])
    assert stopped.value.code == 2
    assert "usage: roost macro test" in capsys.readouterr().err


# -- versions


def test_versions_that_bring_the_same_are_no_difference(
    folder: Path, readings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = written(folder, "a", FIGURE_3), written(folder, "b", "(Noctua.topic('home/tempF') - 32) * 5 / 9")
    assert main(["macro", "diff", old, new, "--on", str(readings)]) == 0
    expected = "2 readings, 2 equal, 0 differ, 0 only old, 0 only new, 0 old failures, 0 new failures\n"
    assert capsys.readouterr().out == expected


def test_differences_are_shown_with_both_and_what_was_given(
    folder: Path, readings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.js").write_text(FAILING["bad.js"])
    old = written(folder, "a", FIGURE_3)
    assert main(["macro", "diff", old, "bad.js", "--on", str(readings)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "2026-05-01T08:00:00.000Z  bad  differs",
        "  old    72.5",
        "  new    162.5",
        "  given  home/tempF  2026-05-01T08:00:00.000Z  162.5",
        "2026-05-01T08:00:01.000Z  bad  only old",
        "  old    NaN",
        "  new    failed: TypeError: not a function, line 4, column 12",
        '  given  home/tempF  2026-05-01T08:00:01.000Z  "n/a"',
        "2 readings, 0 equal, 1 differ, 1 only old, 0 only new, 0 old failures, 1 new failures",
    ]
    assert main(["macro", "diff", old, "bad.js", "--on", str(readings), "--show", "1", "--json"]) == 1
    difference, sums = map(json.loads, capsys.readouterr().out.splitlines())
    assert (difference["kind"], difference["old"]["output"], sums["only old"]) == ("differs", "72.5", 1)


def test_a_mark_stands_under_the_column_also_in_long_lines() -> None:
    code = "x" * 500 + "!" + "x" * 500
    line, mark = excerpt(code, 1, 501)
    assert line[mark.index("^")] == "!"
    assert excerpt("a\tb", 1, 3) == ["  1 | a b", "    |   ^"]
    assert excerpt("a", 2, 1) == []
