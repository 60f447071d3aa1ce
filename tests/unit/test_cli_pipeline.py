"""`roost pipeline` and `roost sql` without Spark: what they say, and that they start it only where it is needed."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roost.cli import main
from roost.cli._shortfall import shortfall
from roost.pipeline.measuring import Batch, Measured
from roost.pipeline.running import Running

SECOND = 1_000_000_000
TEXT = """
pipeline: hall
stages:
  rooms:
    read: {group: /Campus/Hall/Env, subscribe: +/+/temp, window: 1m, key: "{device}/{metric}"}
    aggregate: {outputs: {mean: mean}}
    publish: {group: /Campus/Hall/Rooms, panel: calc}
"""
TOLD = {"stages": {"rooms": {"rows": 60, "completeness": 1.0}}, "before": 0}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ROOST_DEBUG", raising=False)
    path = tmp_path / "hall.yaml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would happen to Spark."""
    happened: list[str] = []

    def start(*_: object, **__: object) -> None:
        happened.append("started")

    monkeypatch.setattr("roost.pipeline.session.spark_session", start)
    monkeypatch.setattr("roost.pipeline.session.end_jvm", lambda _: happened.append("ended"))
    monkeypatch.setattr("roost.cli._spark._hush", lambda _: None)
    return happened


def backfill(monkeypatch: pytest.MonkeyPatch, file: Path, do: Callable[[], dict[str, Any]]) -> int:
    monkeypatch.setattr(Running, "backfill", lambda *_, **__: do())
    return main(["pipeline", "backfill", str(file), "--since", "24h"])


def test_check_says_whether_it_can_run(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "check", str(file)]) == 0
    said = capsys.readouterr().out
    assert "warning: stage rooms: there is no key of /Campus/Hall/Rooms/calc here" in said
    assert "hall can run: 1 stages, 1 warnings" in said
    file.write_text(TEXT.replace("window: 1m, ", ""))
    assert main(["pipeline", "check", str(file)]) == 1
    assert "need a window" in capsys.readouterr().out
    file.write_text(TEXT.replace("publish", "publsh"))
    assert main(["pipeline", "check", str(file)]) == 1
    assert "'publsh' is unknown" in capsys.readouterr().err


def test_explain_is_for_people_and_for_programs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "explain", str(file)]) == 0
    assert "publishes  /Campus/Hall/Rooms/calc/{device}/{metric}_mean" in capsys.readouterr().out
    assert main(["pipeline", "explain", "--json", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"][-1]["name"] == "rooms"


def test_status_and_stop_find_the_one_that_runs(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for action in ("status", "stop"):
        assert main(["pipeline", action, str(file)]) == 1
        assert "hall has not run with this checkpoint" in capsys.readouterr().err
    measured = Measured(["rooms"], 0)
    measured.note(SECOND, {"rooms": Batch(60, 10, 60, 30, SECOND // 2)})
    query = {"state": "running", "restarts": 2, "last_error": "Oops: it\nbroke", "stages": measured.status(SECOND)}
    status = tmp_path / "home/pipelines/hall.status.json"
    status.parent.mkdir(parents=True)
    status.write_text(json.dumps({"pid": 7, "queries": {"hall": query}}))
    assert main(["pipeline", "status", str(file)]) == 0
    said = capsys.readouterr().out
    assert "hall: running, process 7, 2 restarts" in said
    assert "last error: Oops: it\n" in said
    assert "60.0 readings/s → 10.0 results/s, lag 0.5 s, 50.00 % complete" in said
    assert main(["pipeline", "status", "--json", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"][-1]["completeness"] == 0.5
    assert main(["pipeline", "stop", str(file)]) == 0
    assert status.with_name("hall.status.json.stop").exists()
    status.write_text("{}")
    assert main(["pipeline", "status", str(file)]) == 1
    assert "is no status of hall" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("action", "wrong"), [("backfill", "--since"), ("run", "--since"), ("backfill", "--until")], ids=str
)
def test_a_time_that_is_none_is_refused_before_spark_starts(
    action: str, wrong: str, file: Path, sessions: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"--since": "24h"} if action == "backfill" else {}
    given = [word for pair in (said | {wrong: "yesterdy"}).items() for word in pair]
    assert main(["pipeline", action, str(file), *given]) == 1
    assert f"{wrong} 'yesterdy' is no time: write 24h" in capsys.readouterr().err
    assert sessions == []


def test_what_fails_in_spark_is_one_sentence_and_ends_the_jvm(
    file: Path, sessions: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> dict[str, Any]:
        assert sessions == ["started"]
        text = 'Reason: Traceback (most recent call last):\n  File "f.py", line 1, in f\nValueError: no room\n\tat java'
        raise type("PythonException", (Exception,), {"__module__": "pyspark.errors"})(text)

    assert backfill(monkeypatch, file, fail) == 1
    assert capsys.readouterr().err == "roost pipeline: ValueError: no room\n"
    assert sessions == ["started", "ended"]


def test_a_backfill_that_published_everything_is_well(
    file: Path, sessions: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert backfill(monkeypatch, file, lambda: TOLD) == 0
    said = capsys.readouterr()
    assert said.out == "rooms: 60 readings, 100.00 % complete\n"
    assert said.err == ""
    assert sessions == ["started", "ended"]


@pytest.mark.usefixtures("sessions")
def test_a_backfill_of_windows_before_the_first_says_what_to_do(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert backfill(monkeypatch, file, lambda: {**TOLD, "before": 12}) == 1
    assert capsys.readouterr().err == (
        "not all is published: 12 results are of windows before the first of their stream, and have no number in it; "
        "to have the whole history, publish it under another panel name or metric\n"
    )


@pytest.mark.usefixtures("sessions")
def test_a_backfill_with_conflicts_tells_the_alarm_and_what_to_do(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def conflict() -> dict[str, Any]:
        logging.getLogger("roost.pipeline").error("alarm: %d readings", 3)
        return TOLD

    assert backfill(monkeypatch, file, conflict) == 1
    alarm, sentence = capsys.readouterr().err.splitlines()
    assert alarm == "alarm: 3 readings"
    assert sentence == shortfall(0, 1)
    assert "published already with another content" in sentence
    assert "another panel name or metric" in sentence


def test_an_archive_that_is_named_has_to_be_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there, absent = tmp_path / "archive", tmp_path / "archh"
    there.mkdir()
    assert main(["sql", "select 1 as one", "--archive", str(absent), "--archive-only"]) == 1
    assert f"there is no archive {absent}" in capsys.readouterr().err
    assert main(["sql", "select 1 as one", "--archive", str(there), "--archive-only"]) == 0


def test_the_usual_archive_need_not_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    assert main(["sql", "select 1 as one", "--archive-only"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].strip() == "1"
