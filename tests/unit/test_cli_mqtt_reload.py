"""`roost mqtt reload`: what it hears of the broker is its exit code, and a broker that cannot be asked is said."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from roost.cli import main
from roost.cli._mqtt_reload import answer, forget_answers, request
from roost.errors import BadConfig


@contextmanager
def broker(store: Path, hung_up: Callable[[], object]) -> Iterator[None]:
    """This process has the store, and does this at SIGHUP."""
    lock = os.open(store / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    before = signal.signal(signal.SIGHUP, lambda _number, _frame: hung_up())
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
        os.close(lock)


def test_a_reload_that_was_done_is_told_with_exit_code_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with broker(tmp_path, lambda: answer(tmp_path, time.monotonic_ns(), "all is new", done=True)):
        assert main(["mqtt", "reload", "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"process {os.getpid()}: all is new\n"


def test_a_reload_that_was_refused_is_told_with_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with broker(tmp_path, lambda: answer(tmp_path, time.monotonic_ns(), "line 1: é\nline 2", done=False)):
        assert main(["mqtt", "reload", "--store", str(tmp_path)]) == 1
    assert f"process {os.getpid()} refuses: line 1: é\nline 2\n" in capsys.readouterr().err


def test_an_earlier_answer_is_none(tmp_path: Path) -> None:
    answer(tmp_path, time.monotonic_ns(), "all is new", done=True)
    with broker(tmp_path, lambda: None), pytest.raises(BadConfig, match=r"has not answered in 0\.1 s: see its stan"):
        request(tmp_path, 0.1)


def test_answers_from_before_the_start_are_forgotten(tmp_path: Path) -> None:
    answer(tmp_path, 1 << 63, "of another clock", done=True)
    forget_answers(tmp_path)
    with broker(tmp_path, lambda: None), pytest.raises(BadConfig, match="has not answered"):
        request(tmp_path, 0.1)


def test_a_broker_that_ends_instead_of_answering_is_said(tmp_path: Path) -> None:
    with (
        broker(tmp_path, (tmp_path / "lock").unlink),
        pytest.raises(BadConfig, match="ended without an answer"),
    ):
        request(tmp_path)


def test_an_answer_that_finds_no_room_stops_nobody(tmp_path: Path) -> None:
    answer(tmp_path / "no such folder", 1, "all is new", done=True)
    answer(None, 1, "all is new", done=True)
    forget_answers(None)
    assert list(tmp_path.iterdir()) == []


def test_a_broker_in_memory_is_to_be_sent_the_signal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broker.yaml").write_text("store: memory\n")
    assert main(["mqtt", "reload", "-c", str(tmp_path / "broker.yaml")]) == 1
    said = capsys.readouterr().err
    assert "kill -HUP PROCESS" in said
    assert "-c FILE" not in said


def test_where_no_broker_is_there_is_nothing_to_reload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mqtt", "reload", "--store", str(tmp_path)]) == 1
    assert f"no node or broker has its store in {tmp_path}: start it" in capsys.readouterr().err
