"""Completion: a real bash completes with the script, and those for zsh and fish have every verb, option and choice."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from roost.cli import main
from roost.cli._completion import SCRIPTS
from roost.cli._reference import reference
from roost.cli._verbs import modules

VERBS = reference()
ALL = [each for verb in VERBS for each in verb.all()]
ASK = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _roost; printf "%s\\n" "${COMPREPLY[@]}"'


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "roost.bash"
    path.write_text(SCRIPTS["bash"](VERBS))
    return path


def completed(script: Path, *words: str, folder: Path | None = None) -> set[str]:
    """What bash offers for the last of the words."""
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK, "bash", script, *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        timeout=90,
    )
    assert not done.stderr
    return set(done.stdout.split())


def test_verbs_are_completed(script: Path) -> None:
    assert completed(script, "roost", "") == set(modules())
    assert completed(script, "roost", "pi") == {"pipeline"}
    assert completed(script, "roost", "help", "pi") == {"pipeline"}


@pytest.mark.parametrize("path", [verb.words for verb in ALL if verb.actions], ids=" ".join)
def test_actions_are_completed(script: Path, path: tuple[str, ...]) -> None:
    (verb,) = [each for each in ALL if each.words == path]
    assert completed(script, *path, "") == {action.words[-1] for action in verb.actions}


def test_options_are_completed_where_they_belong(script: Path) -> None:
    assert completed(script, "roost", "key", "make", "--k") == {"--kind"}
    assert completed(script, "roost", "key", "list", "--k") == set()
    assert completed(script, "roost", "macro", "test", "celsius.js", "--fu") == {"--full"}
    every = {name for verb in ALL if verb.words == ("roost", "sub") for option in verb.options for name in option.names}
    assert completed(script, "roost", "sub", "-") == every


def test_choices_are_completed_for_options_and_arguments(script: Path) -> None:
    assert completed(script, "roost", "key", "make", "--kind", "") == {"ecdsa", "ed25519", "rsa"}
    assert completed(script, "roost", "key", "make", "--kind", "=", "r") == {"rsa"}
    assert completed(script, "roost", "status", "f") == {"faces", "fib"}
    assert completed(script, "roost", "completion", "z") == {"zsh"}


def test_files_are_completed_where_one_is_meant_and_nothing_where_it_is_not(script: Path, tmp_path: Path) -> None:
    (tmp_path / "readings.csv").touch()
    assert completed(script, "roost", "macro", "test", "rea", folder=tmp_path) == {"readings.csv"}
    assert completed(script, "roost", "macro", "test", "--on", "rea", folder=tmp_path) == {"readings.csv"}
    assert completed(script, "roost", "stream", "list", "rea", folder=tmp_path) == set()
    assert completed(script, "roost", "sub", "--since", "rea", folder=tmp_path) == set()


def test_the_value_of_an_option_is_no_action(script: Path) -> None:
    assert completed(script, "roost", "role", "--x", "list", "--js") == {"--json"}
    assert completed(script, "roost", "stream", "read", "list", "--las") == {"--last"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_know_every_verb_option_and_choice(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for verb in ALL:
        assert "/" + "/".join(verb.words[1:]) in script
        for option in verb.options:
            for name in option.names:
                shown = name if shell == "zsh" else f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                assert shown in script
            for choice in option.choices:
                assert choice in script


def test_a_script_is_there_as_data_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish"]) == 0
    script = capsys.readouterr().out
    assert main(["completion", "fish", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"shell": "fish", "script": script}
