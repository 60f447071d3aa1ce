"""The hook that the configuration names: files and modules of an operator, and what is said when they do not work."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from roost.broker.effects import Authenticate, Verdict
from roost.errors import BadConfig
from roost.host.mqtt.hook import Hook, HookSettings

ASKED = Authenticate(1, b"c", None, None, b"TOKEN", b"")
GOOD = """
from __future__ import annotations
from dataclasses import dataclass
from roost.broker.effects import Authenticate, Verdict

@dataclass
class Hook:
    user: bytes

    async def __call__(self, asked: Authenticate) -> Verdict:
        return Verdict(0, self.user)

def make():
    return Hook(b"ann")
"""


def load(folder: Path, text: str, maker: str = "make") -> Hook:
    path = folder / "auth.py"
    path.write_text(text)
    return HookSettings(path, maker).load()


def user_by(hook: Hook) -> bytes:
    async def ask() -> Verdict:
        return await hook(ASKED)

    return asyncio.run(ask()).user


def test_a_file_is_read_anew_every_time_and_what_it_made_before_stays_as_it_was(tmp_path: Path) -> None:
    ann = load(tmp_path, GOOD)
    bob = load(tmp_path, GOOD.replace('b"ann"', 'b"bob"'))
    with pytest.raises(BadConfig):
        load(tmp_path, GOOD.replace('b"ann"', 'b"eve"') + "1 / 0\n")
    assert [user_by(ann), user_by(bob)] == [b"ann", b"bob"]
    assert not list(tmp_path.glob("__pycache__"))


def test_a_module_that_is_installed_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "company_of_a_test").mkdir()
    (tmp_path / "company_of_a_test" / "auth.py").write_text(GOOD)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert user_by(HookSettings("company_of_a_test.auth", "make").load()) == b"ann"
    for name in ("company_of_a_test.auth", "company_of_a_test"):
        del sys.modules[name]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("def make(:\n", "{path} failed: SyntaxError: invalid syntax (auth.py, line 1)"),
        ("x = 1\n1 / 0\n", "{path} failed: ZeroDivisionError: division by zero (line 2)"),
        ("import no_such_thing\n", "{path} failed: ModuleNotFoundError: No module named 'no_such_thing' (line 1)"),
        ("raise SystemExit(3)\n", "{path} failed: SystemExit: 3 (line 1)"),
        ("", "there is no make in {path}; write `def make():` that returns it"),
        ("make = 5\n", "it is of type int, not callable: make in {path}; write `def make():`"),
        ("def make():\n    return {}['key']\n", "make of {path} failed: KeyError: 'key' (line 2)"),
        ("def make():\n    pass\n", "make of {path} returned NoneType, which cannot be called; return an async"),
    ],
)
def test_what_is_wrong_names_the_key_the_file_and_the_line(tmp_path: Path, text: str, complaint: str) -> None:
    said = f"authentication.hook: {complaint.replace('{path}', str(tmp_path / 'auth.py'))}"
    with pytest.raises(BadConfig, match=re.escape(said)):
        load(tmp_path, text)


def test_a_file_that_others_can_write_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "auth.py"
    path.write_text("raise AssertionError\n")
    path.chmod(0o666)
    with pytest.raises(BadConfig, match=r"authentication\.hook: .*mode 0666.*chmod 644"):
        HookSettings(path, "make").load()


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=r"authentication\.hook: .*auth.py cannot be read: No such file"):
        HookSettings(tmp_path / "auth.py", "make").load()
    with pytest.raises(BadConfig, match=r"authentication\.hook: module no_such\.thing cannot be imported: ModuleNot"):
        HookSettings("no_such.thing", "make").load()
