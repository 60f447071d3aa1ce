"""`roost demo`, which `make run` runs: three repos in processes of their own, and one of them killed on the way."""

from __future__ import annotations

from pathlib import Path

from tests.verbs import environment_of, roost


def test_the_demo_loses_nothing_when_the_repo_in_use_is_killed(tmp_path: Path) -> None:
    done = roost(environment_of(tmp_path), "demo", "--rounds", "6", "--no-pipeline")
    told = done.stdout.decode()
    assert done.returncode == 0, told + done.stderr.decode()
    assert told.count("runs as process") == 3
    assert told.count("nearest repo repo") == 7
    assert "kill -9" in told
    assert told.count("holds 540 readings of 90 streams") == 3
    assert "180 of 180 readings, 0 out of order or twice" in told
    assert "refused  repos refused 1 readings" in told
    assert "/Campus/Hall/Env/pi2" in told.split("refused  ")[1]


def test_too_few_rounds_are_refused(tmp_path: Path) -> None:
    done = roost(environment_of(tmp_path), "demo", "--rounds", "2")
    assert done.returncode == 1
    assert done.stderr.decode().startswith("roost demo: --rounds is at least 3")
