"""`roost mqtt check`: everything that running would read is read, and every mistake is said; and what a start says."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from roost.cli import _parser, main, mqtt
from roost.cli._serving import within_limits
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


def test_what_else_there_is_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (place / "broker.yaml").open("a") as config:
        config.write(
            "http: 127.0.0.1:8080\nmacros: {files: [a.js]}\nroles: {documents: rbps.yaml, users: roles.yaml}\n"
        )
    (place / "a.js").write_text("Noctua.topic('t')")
    (place / "rbps.yaml").write_text("{topic: t, roles: {owner: {streams: [raw]}}}")
    (place / "roles.yaml").write_text("ann: [owner]\nbob: [onwer]\n")
    assert check(place) == 0
    said, warned = capsys.readouterr()
    assert "roles.yaml: role 'onwer', as 'bob' has it, is in no document of" in warned
    assert "'owner'" not in warned
    assert said.endswith("; users: 1; http 127.0.0.1:8080; macros in files: 1; role documents: 1\n")


@pytest.mark.parametrize(
    ("code", "mistake"),
    [
        (" ", "a.js: the code is empty"),
        ("\n1 +* 2", "a.js, line 2: a: line 2, column"),
        ("Noctua.topic('Noctua/a')", "a.js, line 1: a: a macro cannot"),
    ],
)
def test_macros_that_cannot_run_are_said(
    place: Path, capsys: pytest.CaptureFixture[str], code: str, mistake: str
) -> None:
    with (place / "broker.yaml").open("a") as config:
        config.write("macros: {files: [a.js]}\n")
    (place / "a.js").write_text(code)
    (place / "permissions").write_text("raed #\n")
    assert check(place) == 1
    said = capsys.readouterr().err
    assert "permissions, line 1: " in said
    assert mistake in said


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


GROUP = "/BigCompany/Building1/Electricity"


def group_says(place: Path, capsys: pytest.CaptureFixture[str], panel: str, repo: str, *, action: str) -> str:
    (place / "group.yaml").write_text(
        f"store: memory\nlisteners: [{{tcp: '127.0.0.1:0'}}]\n"
        f"groups: [{{name: {GROUP}, panel: {panel}, repo: {repo}}}]\ntrees: [{{filter: '#', group: {GROUP}}}]\n"
    )
    capsys.readouterr()
    assert main(["mqtt", action, "-c", str(place / "group.yaml")]) == 1
    return capsys.readouterr().err


def test_keys_of_groups_that_are_missing_are_said_as_a_start_would(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOST_HOME", str(place / "home"))
    monkeypatch.delenv("ROOST_PASSPHRASE", raising=False)
    monkeypatch.setattr(mqtt, "start_log", lambda **_: None)
    said = [group_says(place, capsys, "Gate1", "Repo1", action=action) for action in ("check", "run")]
    assert "there is no key store in" in said[0]
    assert said[0] == said[1]
    assert main(["init", "--company", "BigCompany", "--building", "Building1"]) == 0
    said = [group_says(place, capsys, "Gate1", "Repo1", action=action) for action in ("check", "run")]
    assert f"{GROUP}/Gate1" in said[0]
    assert said[0] == said[1]
    assert main(["keys", "make", f"{GROUP}/Gate1"]) == 0
    said = [group_says(place, capsys, "Gate1", "Repo2", action=action) for action in ("check", "run")]
    assert "its key is not here" in said[0]
    assert said[0] == said[1]
    (place / "group.yaml").write_text((place / "group.yaml").read_text().replace("Repo2", "Repo1"))
    assert main(["mqtt", "check", "-c", str(place / "group.yaml")]) == 0


def test_how_many_connections_the_system_allows_is_not_said_above_an_error(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt, "start_log", lambda **_: None)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_500, 1_500))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: limits)
    (place / "users").write_text("ann:secret\n")
    assert main(["mqtt", "-c", str(place / "broker.yaml")]) == 1
    said = capsys.readouterr().err
    assert "users, line 1: " in said
    assert "lets in" not in said


@pytest.mark.parametrize(("wanted", "is_said"), [(500, False), (501, True)])
def test_fewer_connections_than_configured_are_said(
    place: Path, monkeypatch: pytest.MonkeyPatch, wanted: int, *, is_said: bool
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_500, 1_500))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: limits)
    with (place / "broker.yaml").open("a") as file:
        file.write(f"limits: {{connections: {wanted}}}\n")
    options = _parser().parse_args(["mqtt", "-c", str(place / "broker.yaml")])
    config, sentence = within_limits(mqtt.source_of(options).read())
    assert config.bounds.max_links == 500
    assert sentence.startswith("lets in 500 connections at most, not 501 (limits.connections)") == is_said
    assert bool(sentence) == is_said
