"""The supervisor with queries and a clock that are made for it: restarts, back-off, locks, status, stopping."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roost.errors import BadConfig
from roost.machine import SECOND
from roost.pipeline.checkpoint_lock import CheckpointLock, is_gone, lock_path
from roost.pipeline.restarts import Restarts
from roost.pipeline.supervisor import POLL, Query, Supervised, Supervisor, ask_to_stop


class Fake:
    """A query whose fate the test decides."""

    def __init__(self) -> None:
        self.isActive = True
        self.lastProgress: dict[str, Any] | None = None
        self.error: Exception | None = None

    def exception(self) -> Exception | None:
        return self.error

    def fail(self, reason: str) -> None:
        self.isActive, self.error = False, RuntimeError(reason)

    def stop(self) -> None:
        self.isActive = False


class Hall:
    """One supervised query, a clock that moves when the supervisor waits, and what happens at which second."""

    def __init__(self, folder: Path, start: Callable[[], Query] | None = None) -> None:
        self.status_path = folder / "status.json"
        self.now = 0
        self.started: list[tuple[int, Fake]] = []
        self.events: dict[int, Callable[[], object]] = {}
        one = Supervised(
            "means",
            str(folder / "checkpoint"),
            start or self.start,
            lambda progress: {"lag": progress["numInputRows"] * 2},
        )
        self.supervisor = Supervisor(
            [one],
            self.status_path,
            clock=lambda: self.now,
            restarts=lambda: Restarts(first=SECOND, longest=8 * SECOND, healthy=100 * SECOND),
        )

    def start(self) -> Fake:
        query = Fake()
        self.started.append((self.now // SECOND, query))
        return query

    @property
    def query(self) -> Fake:
        return self.started[-1][1]

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.status_path.read_text())["queries"]["means"]
        return found

    def wait(self, seconds: float) -> None:
        assert seconds == POLL / SECOND
        self.now += POLL
        self.events.get(self.now // SECOND, lambda: None)()
        assert self.now < 1000 * SECOND, "it should have ended"

    def run(self) -> None:
        self.supervisor.run(self.wait)


def test_a_failed_query_starts_again_after_waits_that_double_up_to_the_bound(tmp_path: Path) -> None:
    hall = Hall(tmp_path)
    for second in range(1, 60):
        hall.events[second] = lambda: hall.query.fail("lost")
    hall.events[60] = hall.supervisor.stop
    hall.run()
    starts = [second for second, _ in hall.started]
    assert [after - before for before, after in itertools.pairwise(starts)] == [2, 3, 5, 9, 9, 9, 9, 9]
    assert hall.status["restarts"] == len(starts) - 1


def test_healthy_time_makes_the_next_failure_the_first_again(tmp_path: Path) -> None:
    hall = Hall(tmp_path)
    for second in (1, 3, 6, 200):
        hall.events[second] = lambda: hall.query.fail("lost")
    hall.events[210] = hall.supervisor.stop
    hall.run()
    assert [second for second, _ in hall.started] == [0, 2, 5, 10, 201]


def test_a_start_that_raises_is_tried_again(tmp_path: Path) -> None:
    tries: list[int] = []

    def start() -> Fake:
        tries.append(hall.now // SECOND)
        raise ConnectionError("no JVM")

    hall = Hall(tmp_path, start)
    hall.events[20] = hall.supervisor.stop
    hall.run()
    assert tries == [0, 1, 3, 7, 15]
    assert "no JVM" in hall.status["last_error"]


def test_a_query_that_ends_by_itself_is_finished_and_not_started_again(tmp_path: Path) -> None:
    hall = Hall(tmp_path)
    hall.events[3] = lambda: setattr(hall.query, "isActive", False)
    hall.run()
    assert len(hall.started) == 1
    assert hall.status["state"] == "finished"


def test_the_status_says_what_the_query_does_and_what_was_measured(tmp_path: Path) -> None:
    hall = Hall(tmp_path)
    seen: list[dict[str, Any]] = []

    def progress() -> None:
        hall.query.lastProgress = {
            "batchId": 7,
            "numInputRows": 21,
            "inputRowsPerSecond": float("nan"),
            "processedRowsPerSecond": 42.5,
        }

    hall.events[1] = progress
    hall.events[2] = lambda: seen.append(hall.status)
    hall.events[3] = lambda: hall.query.fail("poison")
    hall.events[4] = lambda: seen.append(hall.status)
    hall.events[5] = hall.supervisor.stop
    hall.run()
    facts = {"batch": 7, "rows": 21, "input_rows_per_s": None, "processed_rows_per_s": 42.5, "lag": 42}
    assert seen[0] == {"state": "running", "restarts": 0, "last_error": "", **facts}
    assert seen[1]["state"] == "waiting"
    assert seen[1]["starts_at_ns"] == 4 * SECOND
    assert seen[1]["last_error"] == "RuntimeError: poison"
    assert hall.status["state"] == "stopped"


def test_what_spark_made_of_an_error_is_told_in_one_sentence(tmp_path: Path) -> None:
    hall = Hall(tmp_path)
    text = (
        'Query terminated: Traceback (most recent call last):\n  File "f.py", line 1, in f\nValueError: no room\n\tat x'
    )
    captured = type("StreamingQueryException", (Exception,), {"__module__": "pyspark.errors"})

    def fail() -> None:
        hall.query.isActive, hall.query.error = False, captured(text)

    hall.events[1] = fail
    hall.events[2] = hall.supervisor.stop
    hall.run()
    assert hall.status["last_error"] == "ValueError: no room"


def test_an_error_while_stopping_is_none(tmp_path: Path) -> None:
    class Stubborn(Fake):
        def stop(self) -> None:
            raise RuntimeError("An error occurred while calling o80.stop")

    hall = Hall(tmp_path, Stubborn)
    hall.events[1] = hall.supervisor.stop
    hall.run()
    assert (hall.status["state"], hall.status["last_error"]) == ("stopped", "")


def test_a_stop_file_stops_the_queries_and_one_of_before_does_not(tmp_path: Path) -> None:
    hall = Hall(tmp_path)
    ask_to_stop(hall.status_path)
    hall.events[5] = lambda: ask_to_stop(hall.status_path)
    hall.run()
    assert hall.now == 5 * SECOND
    assert not hall.query.isActive
    assert hall.status["state"] == "stopped"


def test_a_signal_stops_the_queries(tmp_path: Path) -> None:
    hall = Hall(tmp_path)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    hall.supervisor.stop_on_signals()
    hall.events[2] = lambda: signal.raise_signal(signal.SIGTERM)
    try:
        hall.run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert not hall.query.isActive


def test_who_asks_to_stop_while_spark_starts_is_heard(tmp_path: Path) -> None:
    hall = Hall(tmp_path)
    hall.supervisor.run(hall.wait, first=lambda: ask_to_stop(hall.status_path))
    assert not hall.started
    assert hall.status["state"] == "stopped"


def test_a_supervisor_that_was_killed_is_known_by_its_lock(tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "checkpoint")
    assert not is_gone(checkpoint)  # nobody here ever had it
    with CheckpointLock(checkpoint):
        assert not is_gone(checkpoint)
    assert is_gone(checkpoint)


def test_a_second_driver_on_a_checkpoint_is_told_who_has_it_and_leaves_the_status_alone(tmp_path: Path) -> None:
    hall = Hall(tmp_path)
    holder = "import sys; from roost.pipeline.checkpoint_lock import CheckpointLock as Lock\n"
    holder += "with Lock(sys.argv[1]): print(1, flush=True); input()"
    other = subprocess.Popen(
        [sys.executable, "-c", holder, str(tmp_path / "checkpoint")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "1\n"
        with pytest.raises(BadConfig, match=rf"in use by process {other.pid} \(-c"):
            hall.run()
        assert not hall.started
        assert not hall.status_path.exists()
    finally:
        other.kill()
        other.communicate()
    hall.events[1] = hall.supervisor.stop
    hall.run()  # the system has freed the lock of the process that was killed
    assert hall.started


def test_the_lock_of_a_checkpoint_is_the_same_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    folder = tmp_path / "a b"
    assert lock_path(str(folder)) == lock_path(folder.as_uri()) == lock_path(f"{folder}/") == tmp_path / "a b.lock"
    assert lock_path("s3a://bucket/x") == lock_path("s3a://bucket/x/") != lock_path("s3a://bucket/y")
    with CheckpointLock("s3a://bucket/x"):
        assert list((tmp_path / "home" / "checkpoints").iterdir()) == [lock_path("s3a://bucket/x")]


def test_names_that_occur_twice_are_refused(tmp_path: Path) -> None:
    one = Supervised("means", str(tmp_path / "checkpoint"), Fake)
    with pytest.raises(BadConfig, match="names of their own"):
        Supervisor([one, one], tmp_path / "status.json")
