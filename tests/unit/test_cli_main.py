"""The `roost` command itself: how a verb that fails, or is interrupted, ends."""

from __future__ import annotations

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
