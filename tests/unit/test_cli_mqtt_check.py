"""`roost mqtt check`: everything that running would read is read, and every mistake is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.cli import main
from roost.host.mqtt.passwords import LIGHT, PasswordHash

USERS = f"ann:{PasswordHash.make(b'secret', LIGHT)}\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "broker.yaml").write_text(
        "listeners: [{tcp: '127.0.0.1:1883'}]\nstore: memory\ndurability: received\n"
        "users: users\npermissions: permissions\n"
    )
    (tmp_path / "users").write_text(USERS)
    (tmp_path / "users").chmod(0o600)
    (tmp_path / "permissions").write_text("user ann\n  readwrite #\n")
    return tmp_path


def check(place: Path) -> int:
    return main(["mqtt", "check", "-c", str(place / "broker.yaml")])


def test_good_files_can_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(place) == 0
    assert capsys.readouterr().out == "can run: tcp 127.0.0.1:1883; store in memory; users: 1\n"


def test_what_is_hardly_meant_is_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "permissions").write_text("user bob\n  readwrite #\n")
    assert check(place) == 0
    assert "permissions, line 1: 'bob' is not in" in capsys.readouterr().err


def test_all_mistakes_of_all_files_are_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (place / "broker.yaml").read_text()
    tls = "{tls: '127.0.0.1:8883', certificate: none.pem, key: none.key}"
    (place / "broker.yaml").write_text(text.replace("[{", f"[{tls}, {{"))
    (place / "users").write_text("ann:secret\n")
    (place / "permissions").write_text("raed #\n")
    assert check(place) == 1
    said = capsys.readouterr().err
    for mistake in ("users, line 1: ", "permissions, line 1: ", "none.pem"):
        assert mistake in said
