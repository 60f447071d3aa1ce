"""`roost users`, as a person or a script would type it."""

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.cli import main
from roost.host.mqtt import passwords
from roost.host.mqtt.users import read_users


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """What stands on standard input, which is no terminal."""

    def give(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    monkeypatch.setattr(passwords, "STRONG", passwords.LIGHT)
    return give


def test_a_users_life(tmp_path: Path, typed: Callable[[bytes], None], capsys: pytest.CaptureFixture[str]) -> None:
    file = ["--file", str(tmp_path / "users")]
    typed(b"wonderland\r\nnot this line\n")
    assert main(["users", "add", "alice", *file]) == 0
    typed(b"wonderland\n")
    assert main(["users", "check", "alice", *file]) == 0
    typed(b"wonderland\r\nnot this line\n")
    assert main(["users", "check", "bob", *file]) == 1
    typed(b"another one")
    assert main(["users", "add", "alice", *file]) == 1
    typed(b"another one")
    assert main(["users", "add", "bob", "--replace", *file]) == 1
    typed(b"another one")
    assert main(["users", "add", "alice", "--replace", *file]) == 0
    typed(b"wonderland")
    assert main(["users", "check", "alice", *file]) == 1
    capsys.readouterr()
    assert main(["users", "list", *file]) == 0
    assert capsys.readouterr().out == "alice  scrypt, 1 MiB, once\n"
    assert main(["users", "remove", "alice", *file]) == 0
    assert main(["users", "remove", "alice", *file]) == 1
    printed = capsys.readouterr()
    assert "roost users list" in printed.err
    assert (tmp_path / "users").read_text() == ""


def test_a_generated_password_is_printed_alone_and_right(
    tmp_path: Path, typed: Callable[[bytes], None], capsys: pytest.CaptureFixture[str]
) -> None:
    file = ["--file", str(tmp_path / "new" / "users")]
    assert main(["users", "add", "sensor", "--generate", *file]) == 0
    printed = capsys.readouterr()
    assert re.fullmatch(r"[\w-]{32}\n", printed.out)
    assert printed.out.strip() not in printed.err
    typed(printed.out.encode())
    assert main(["users", "check", "sensor", *file]) == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "password is empty"),
        (b"\n", "password is empty"),
        (b"\xff", "not UTF-8"),
        (b"x" * 70_000, "at most"),
        (b"x\n", "a password has at least 8 characters, this one has 1: choose a longer one"),
        ("ä".encode() * 7, "this one has 7"),
    ],
)
def test_a_password_that_cannot_be_used_is_told_and_nothing_is_written(
    tmp_path: Path,
    typed: Callable[[bytes], None],
    capsys: pytest.CaptureFixture[str],
    content: bytes,
    says: str,
) -> None:
    typed(content)
    assert main(["users", "add", "alice", "--file", str(tmp_path / "users")]) == 1
    assert says in capsys.readouterr().err
    assert not (tmp_path / "users").exists()


def test_a_short_password_of_before_can_still_be_checked(
    tmp_path: Path, typed: Callable[[bytes], None], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "users"
    file.write_text(f"alice:{passwords.PasswordHash.make(b'x', passwords.LIGHT)}\n")
    file.chmod(0o600)
    typed(b"x\n")
    assert main(["users", "check", "alice", "--file", str(file)]) == 0
    assert capsys.readouterr().out == "right\n"


def test_how_often_a_hash_goes_over_its_memory_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "users"
    file.write_text(f"alice:{passwords.PasswordHash(passwords.STRONG, bytes(16), bytes(32))}\n")
    file.chmod(0o600)
    assert main(["users", "list", "--file", str(file)]) == 0
    assert capsys.readouterr().out == "alice  scrypt, 32 MiB, 3 times\n"


def test_a_password_has_no_place_on_the_command_line(
    tmp_path: Path, typed: Callable[[bytes], None], capsys: pytest.CaptureFixture[str]
) -> None:
    typed(b"")
    for word in ("hunter2", "--password=hunter2"):
        with pytest.raises(SystemExit):
            main(["users", "add", "alice", word, "--file", str(tmp_path / "users")])
    capsys.readouterr()
    assert not (tmp_path / "users").exists()


def test_at_a_terminal_it_is_asked_for_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(["one of these", "the other", "same twice", "same twice"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda _: next(answers))
    monkeypatch.setattr(passwords, "STRONG", passwords.LIGHT)
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    assert main(["users", "add", "alice"]) == 1
    assert "differ" in capsys.readouterr().err
    assert main(["users", "add", "alice"]) == 0
    assert read_users(tmp_path / "mqtt-users")[0].check(b"alice", b"same twice")


def test_who_adds_users_is_told_what_makes_them_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path.parent)
    config = tmp_path / "roost.yaml"

    def told(name: str, *more: str) -> str:
        capsys.readouterr()
        assert main(["users", "add", name, "--generate", *more]) == 0
        return capsys.readouterr().err

    lines = "\n  users: mqtt-users\n  permissions: permissions\n"
    assert f"no password is asked for yet: {config} does not name this file" in told("ann")
    config.write_text("http: false\n")
    assert lines in told("bob")
    assert "Then: roost up reload" in told("cid", "--json")
    config.write_text("http: false\npermissions: rights\n")
    assert "\n  users: mqtt-users\nThen: " in told("dan")
    config.write_text("users: mqtt-users\npermissions: rights\n")
    assert "no password" not in told("eve")
    config.write_text("users: others\n")
    assert f"names another file of users, {tmp_path / 'others'}" in told("fay")
    assert "another file" not in told("gus", "--file", str(tmp_path / "mine"))  # of `roost mqtt`, perhaps
    config.write_text("users: [\n")
    assert "no password" not in told("hal")
    config.unlink()
    assert "no password" not in told("ida", "--file", str(tmp_path / "mine"))
