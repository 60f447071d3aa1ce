"""What all verbs share: JSON, exit codes, hints, what is imported; and the page that says so."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from roost.cli import main
from roost.cli._exit import MEANINGS
from roost.cli._output import counted, document
from roost.naming import Name

PAGE = Path(__file__).parents[2] / "docs" / "cli-conventions.md"
HEAVY = {"numpy", "pandas", "pyarrow", "pyspark", "duckdb", "aiohttp", "paho", "rocksdict", "cryptography", "yaml"}
FIGURE = "figure a.b 2 1/s peer=p peer_value=4 ratio=0.5"
IMPORTED = """
import sys
from roost.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*sorted(name for name in sys.modules if "." not in name or name.startswith("roost.")), file=sys.stderr)
"""


def imported(*words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *words], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "words", [("--help",), ("pub", "--help"), ("sub", "--help"), ("stream", "read", "--help")], ids=" ".join
)
def test_help_is_quick_because_little_is_imported_for_it(words: tuple[str, ...]) -> None:
    found = imported(*words)
    assert not HEAVY & found
    assert not {name for name in found if name.startswith(("roost.pipeline", "roost.web", "roost.broker"))}


def test_a_verb_imports_no_other() -> None:
    found = {name for name in imported("pub", "--help") if name.startswith("roost.cli.") and "._" not in name}
    assert found == {"roost.cli.pub"}


def test_the_page_has_the_exit_codes_of_the_code() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == MEANINGS


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["pbu"], "did you mean pub?"),
        (["strem", "list"], "did you mean stream?"),
        (["macro", "lsit"], "did you mean list?"),
        (["up", "relaod"], "there is no action 'relaod'; did you mean reload?"),
        (["invite", "pannel", "Panel2"], "did you mean panel?"),
        (["key", "make", "/G", "--kind", "ecsda"], "argument --kind: invalid choice: 'ecsda'; did you mean ecdsa?"),
        (["sub", "/G", "--sicne", "1h"], "did you mean --since?"),
        (["zzzzzz"], "`roost help` lists them"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_who_misspells_is_told_the_nearest(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert hint in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        main([*words, "--json"])
    assert left.value.code == 2
    told = json.loads(capsys.readouterr().err)
    assert hint in told["error"]
    assert told["kind"] == "Usage"


def test_who_names_no_verb_is_told_where_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 2
    assert "`roost help` lists them" in capsys.readouterr().err


def test_what_fails_is_told_in_json_with_the_same_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    assert main(["key", "list"]) == 1
    plain = capsys.readouterr().err
    assert main(["key", "list", "--json"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    told = json.loads(printed.err)
    assert plain == f"roost key: {told['error']}\n"
    assert told["kind"] == "NoKey"


def test_what_the_system_refuses_is_told_in_json_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stream", "export", "/G", "-o", str(tmp_path / "no" / "file.csv"), "--accept-any", "--json"]) == 1
    assert json.loads(capsys.readouterr().err)["kind"] == "FileNotFoundError"


def test_keys_is_another_name_of_key_and_keeps_its_own_in_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["keys", "make", "--help"])
    assert "usage: roost keys make " in capsys.readouterr().out


def test_a_reader_that_has_enough_is_no_failure() -> None:
    command = f"{sys.executable} -c 'import sys; from roost.cli import main; sys.exit(main())' help --json"
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
        timeout=60,
    )
    assert (done.returncode, done.stderr) in {(0, ""), (141, "")}


def test_what_json_has_no_form_for_is_text_or_hex() -> None:
    told = {"name": Name.parse("/A/b"), "digest": b"\x01\xff", "text": "°C"}
    assert json.loads(document(told)) == {"name": "/A/b", "digest": "01ff", "text": "°C"}


def test_benchmarks_are_found_in_a_checkout_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "ground"]) == 1
    assert "no checkout of Roost" in capsys.readouterr().err
    for name, text in {
        "bench/__init__.py": "",
        "bench/__main__.py": f"import sys\nprint('{FIGURE}')\nsys.exit(len(sys.argv) - 1)",
        "bench/ground/__init__.py": "",
        "bench/ground/codec.py": "",
        "src/roost/__init__.py": "",
        "docs/page.md": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path / "docs")
    assert main(["bench", "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"area": "ground", "topics": ["codec"]}
    assert main(["bench", "ground", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told == {"figure": "a.b", "value": 2.0, "unit": "1/s", "peer": "p", "peer_value": 4.0, "ratio": 0.5}


def test_json_of_mqtt_messages_is_that_of_mosquitto(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[argparse.Namespace] = []

    def run(_: object, options: argparse.Namespace) -> int:
        taken.append(options)
        return 0

    monkeypatch.setattr("roost.cli._mqtt_client.run_verb", run)
    assert main(["sub", "-t", "hall/#", "--json"]) == 0
    assert taken[0].form == "%j"
    with pytest.raises(SystemExit) as left:
        main(["sub", "-t", "hall/#", "--json", "-F", "%t"])
    assert left.value.code == 2


def test_a_page_of_the_help_of_an_action_has_its_own_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["key", "list", "--help"])
    printed = capsys.readouterr().out
    assert "  roost key list\n" in printed
    assert "roost key make" not in printed


def test_one_thing_is_told_as_one() -> None:
    assert [counted(number, "stream") for number in (0, 1, 2)] == ["0 streams", "1 stream", "2 streams"]
