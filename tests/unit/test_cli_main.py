"""The `roost` command itself: how a verb that fails, or is interrupted, ends."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

import pytest

from roost.cli import main
from roost.host.keystore import KeyStore


@pytest.fixture
def unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that the system does not let us read; tests may run as root, whom it lets read everything."""
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    monkeypatch.delenv("ROOST_DEBUG", raising=False)

    def refuse(store: KeyStore) -> None:
        raise PermissionError(13, "Permission denied", str(store.home / "keys"))

    monkeypatch.setattr(KeyStore, "check", refuse)
    return tmp_path


def test_what_the_system_refuses_is_one_sentence(unreadable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "list"]) == 1
    assert capsys.readouterr().err == (
        f"roost keys: {unreadable / 'keys'} cannot be used: Permission denied; "
        f"see who owns {unreadable}, or name another directory with ROOST_HOME\n"
    )


@pytest.mark.usefixtures("unreadable")
def test_who_debugs_sees_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_DEBUG", "1")
    with pytest.raises(PermissionError):
        main(["keys", "list"])


def test_an_interrupt_while_verbs_are_loaded_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(name: str) -> None:
        raise KeyboardInterrupt(name)

    monkeypatch.setattr(importlib, "import_module", interrupt)
    assert main(["keys", "list"]) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["pub", "/G", "Panel1", "--unit", "V", "Heater/Voltage", "-5.5e-3"],
        ["pub", "--unit", "V", "/G", "Panel1", "Heater/Voltage", "-5.5e-3"],
        ["pub", "/G", "Panel1", "Heater/Voltage", "--unit=V", "--", "-5.5e-3"],
    ],
    ids=["between", "before", "ended"],
)
def test_options_stand_anywhere_and_a_negative_number_is_none(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[argparse.Namespace] = []

    def run(options: argparse.Namespace) -> int:
        taken.append(options)
        return 0

    monkeypatch.setattr("roost.cli.pub.run", run)
    assert main(arguments) == 0
    (options,) = taken
    assert (options.panel, options.stream, options.value, options.unit) == ("Panel1", "Heater/Voltage", "-5.5e-3", "V")


@pytest.mark.parametrize("arguments", [["sub", "/G", "--bogus"], ["keys", "list", "surplus"]])
def test_an_argument_too_many_is_told_with_the_usage_of_its_verb(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert f"usage: roost {arguments[0]} " in capsys.readouterr().err


def test_the_usage_in_the_help_of_a_verb_has_all_its_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["sub", "--help"])
    assert "GROUP [FILTER ...]" in capsys.readouterr().out
