"""The macros that a configuration names: definitions, and files that are code alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from roost.errors import BadConfig
from roost.host.mqtt.config_macros import read_macros
from roost.process.definition import JAVASCRIPT, MOST, PYTHON, Definition

CODE = "Noctua.topic('t')"


def test_files_are_definitions_or_code_alone(tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text(f'- {{name: home/a, code: "{CODE}"}}\n')
    (tmp_path / "double.js").write_text(f"2 * {CODE}")
    (tmp_path / "half.py").write_text(f"{CODE} / 2")
    assert read_macros({"files": ["more.yaml", "double.js", "half.py"]}, tmp_path).load() == [
        Definition("home/a", CODE),
        Definition("double", f"2 * {CODE}", JAVASCRIPT),
        Definition("half", f"{CODE} / 2", PYTHON),
    ]


def test_what_is_wrong_with_code_alone_names_its_file(tmp_path: Path) -> None:
    settings = read_macros({"files": ["a.js"]}, tmp_path)
    with pytest.raises(BadConfig, match=r"a\.js.*docs/macros\.md shows one"):
        settings.load()
    (tmp_path / "a.js").write_text(" \n")
    with pytest.raises(BadConfig, match=r"a\.js: the code is empty"):
        settings.load()
    (tmp_path / "a.js").write_bytes(b"\xff")
    with pytest.raises(BadConfig, match=r"a\.js.*UTF-8"):
        settings.load()


def test_two_of_a_name_are_refused(tmp_path: Path) -> None:
    for name in ("a.js", "a.py"):
        (tmp_path / name).write_text(CODE)
    with pytest.raises(BadConfig, match=r"a\.py: there are two macros 'a'"):
        read_macros({"files": ["a.js", "a.py"]}, tmp_path).load()


def test_what_macros_may_take_is_the_operators_to_say(tmp_path: Path) -> None:
    usual = read_macros({}, tmp_path)
    assert (usual.most, usual.share, usual.turn_ms) == (MOST, 0.25, 20)
    said = read_macros({"limits": {"time_ms": 5}, "share": 1, "turn_ms": 3}, tmp_path)
    assert (said.most, said.share, said.turn_ms) == (replace(MOST, time_ms=5), 1.0, 3)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"limits": {"time": 5}}, "macros: there is no limit 'time'"),
        ({"limits": {"time_ms": 0}}, r"macros: limits\.time_ms is 1 to 1,000, not 0"),
        ({"limits": 5}, "macros: limits are an object of numbers"),
        ({"share": 0}, r"macros\.share: 0 is no share; write more than 0 and up to 1"),
        ({"share": "much"}, r"macros\.share: 'much' is no share"),
        ({"turn_ms": 2000}, r"macros\.turn_ms: 2000 is no number from 1 to 1000"),
    ],
)
def test_what_no_macro_could_keep_to_is_refused(said: dict[str, object], why: str, tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=why):
        read_macros(said, tmp_path)
