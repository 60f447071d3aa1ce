"""What takes long says how far it has come, on a terminal: fetching a large object, and a question in SQL."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.verbs import background, environment_of, roost

from roost.cli import _progress, main

GROUP = "/BigCompany/Building1/Electricity"
LISTEN = ("--no-tcp", "--no-udp", "--no-ws")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def manual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A home with a repo and a file that is served; nothing is too quick to be told."""
    environment = environment_of(tmp_path)
    for name in ("HOME", "ROOST_HOME"):
        monkeypatch.setenv(name, environment[name])
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    (tmp_path / "manual").write_bytes(bytes(50_000))
    made = roost(environment, "init", "--company", "BigCompany", "--building", "Building1")
    assert made.returncode == 0, made.stderr
    with (
        background(environment, "repo", "Repo1", *LISTEN, until="ready"),
        background(environment, "serve", f"{GROUP}/Panel1/manual", str(tmp_path / "manual"), until="serving"),
    ):
        monkeypatch.setattr(_progress, "_QUICK_S", 0.0)
        monkeypatch.setattr(_progress, "_PAUSE_S", 0.0)
        yield f"{GROUP}/Panel1/manual"


def test_fetching_an_object_and_asking_in_sql_say_how_far_they_are(
    manual: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    words = ["fetch", "--segments", manual, "-o", str(tmp_path / "got")]
    assert main(words) == 0
    assert "] 3 of 7 segments" in terminal.getvalue()
    assert (tmp_path / "got").read_bytes() == bytes(50_000)
    assert main(["pub", GROUP, "Panel1", "Heater/Voltage", "229.5"]) == 0
    question = ["sql", "select value from electricity", "--group", GROUP, "--since", "1h"]
    assert main(question) == 0
    assert "] 1 of 1 readings" in terminal.getvalue()
    told = terminal.getvalue()
    assert main([*words, "--json"]) == main([*question, "--json"]) == 0
    assert "\r" not in terminal.getvalue().removeprefix(told)
