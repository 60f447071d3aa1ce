"""What a start, a reload and `roost check-config` say of macros that cannot run: file, line, macro, and where in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from roost.errors import BadConfig
from roost.host.mqtt.config import read_config
from roost.host.mqtt.config_macros import read_macros
from roost.host.mqtt.macro_checking import checked
from roost.host.mqtt.macros import macros_of

LIST = """\
- name: good
  code: Noctua.topic('t')
- name: a/b
  code: |
    let x = Noctua.topic('t')
    x +* 2
- {name: c, code: "Noctua.topic('t') +* 2"}
- name: d
  code: 1 + 1
"""


def wrong_with(folder: Path, text: str, there: Mapping[str, Sequence[str]] | None = None) -> list[str]:
    (folder / "macros.yaml").write_text(text)
    with pytest.raises(BadConfig) as caught:
        checked(read_macros({"files": ["macros.yaml"]}, folder), there)
    return str(caught.value).replace(f"{folder}/", "").splitlines()


def test_every_mistake_is_told_with_its_file_and_the_line_there(tmp_path: Path) -> None:
    said = wrong_with(tmp_path, LIST)
    told = [line for line in said if line.startswith("macros.yaml")]
    assert told[0].startswith("macros.yaml, macro 2, line 6: a/b: line 2, column 4: ")
    assert said[1:3] == ["  2 | x +* 2", "    |    ^"]
    assert told[1].startswith("macros.yaml, macro 3, line 7: c: line 1, column ")
    assert told[2].startswith("macros.yaml, macro 4, line 9: d: it names no topic")
    assert len(told) == 3


def test_none_may_depend_on_itself_by_way_of_those_that_are_there(tmp_path: Path) -> None:
    text = "{name: a, code: Noctua.topic('Noctua/b')}"
    (said,) = wrong_with(tmp_path, text, {"b": ["Noctua/a"]})
    assert said.startswith("macros.yaml, line 1: a: a macro cannot depend on itself: ")
    settings = read_macros({"files": ["macros.yaml"]}, tmp_path)
    assert [each.name for each in checked(settings, {"a": ["Noctua/c"], "c": ["Noctua/a"]})] == ["a"]  # it is another


def test_a_node_with_a_macro_that_cannot_run_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("1 +* 2")
    config = read_config({"macros": {"files": ["a.js"]}}, tmp_path, tmp_path)
    with pytest.raises(BadConfig, match=r"a\.js, line 1: a: line 1, column "):
        macros_of(config, None)  # type: ignore[arg-type]  # without groups nobody asks for trees
