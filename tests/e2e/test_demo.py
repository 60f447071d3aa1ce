"""`roost demo`, which `make run` runs: repos and MQTT gates as processes, of which one of each is killed on the way."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.verbs import RUN, environment_of, roost

from roost.cli import main
from roost.cli.demo import story
from roost.cli.demo.processes import free_ports


class Told(NamedTuple):
    """What a run of six rounds said and how it ended, and what others saw who joined in: a line of each building."""

    text: str
    status: int
    joined: dict[str, str]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    environment = environment_of(tmp_path_factory.mktemp("home"))
    with _started(environment, "demo", "--rounds", "6", "--no-pipeline") as demo:
        assert demo.stdout is not None
        lines: list[str] = []
        for line in demo.stdout:
            lines.append(line)
            if line.startswith("join in"):
                break
        port = re.findall(r"roost sub -p (\d+) -t '#' -v", lines[-1])[0]
        letters = ("sub", "-p", port, "-v", "-C", "1", "-W", "60")
        with (
            _started(environment, *letters, "-t", "annex/floor1/room3/temp") as annex,
            _started(environment, *letters, "-t", "Campus/Hall/Env/+/room1/temp") as hall,
        ):
            joined = {"annex": annex.communicate(timeout=60)[0], "hall": hall.communicate(timeout=60)[0]}
        lines.append(demo.communicate(timeout=120)[0])
        return Told("".join(lines), demo.returncode, joined)


@contextmanager
def _started(environment: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*RUN, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def test_the_demo_loses_nothing_when_the_repo_in_use_is_killed(told: Told) -> None:
    assert told.status == 0, told.text
    assert told.text.count("runs as process") == 5
    assert told.text.count("nearest repo repo") == 7
    assert re.search(r"kill -9 \d+: repo1", told.text)
    assert told.text.count("holds 540 readings of 90 streams") == 3
    assert "180 of 180 readings, 0 out of order or twice" in told.text
    assert "refused  repos refused 1 readings" in told.text
    assert "/Campus/Hall/Env/pi2" in told.text.split("refused  ")[1]


def test_the_annex_loses_no_acknowledged_message_when_the_gate_in_use_is_killed(told: Told) -> None:
    assert re.search(r"kill -9 \d+: gate1", told.text), told.text
    assert "7 clients are at gate2, 7 with their session" in told.text
    assert "216 of 216 messages acknowledged, each when two repos had it; 216 of these reached the dash" in told.text
    assert "540 of 540 readings of the hall reached the dashboard" in told.text
    assert "annex/floor1/room3/temp: 6 of 6 messages, for a client that came late" in told.text
    for topic in ("annex/floor1/room3/temp {", "Campus/Hall/Env/pi1/room1/temp 2"):
        assert f"mqtt     {topic}" in told.text.split("moved ")[1]


def test_any_mqtt_client_can_join_in_and_see_both_buildings(told: Told) -> None:
    assert re.fullmatch(r'annex/floor1/room3/temp {"value": 2[0-9.]+, "unit": "Cel", "n": \d}\n', told.joined["annex"])
    assert re.fullmatch(r"Campus/Hall/Env/pi1/room1/temp 2[0-9.]+\n", told.joined["hall"])


def test_how_to_join_in_is_said_again_behind_the_rounds_while_the_gate_still_runs(told: Told) -> None:
    first, again = re.findall(r"join in  mosquitto_sub -p (\d+) -t '#' -v", told.text)
    assert first == again
    assert told.text.index("round 6") < told.text.rindex("join in") < told.text.index("since  ")


def test_a_process_that_dies_at_its_start_is_named_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:

        def ports(count: int) -> list[int]:
            return [taken.getsockname()[1], *free_ports(count - 1)]

        monkeypatch.setattr(story, "free_ports", ports)
        assert main(["demo", "--no-pipeline"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("roost demo: repo1 ended with status 1: ")
    assert "another program uses it" in told
    assert "Traceback" not in told


def test_too_few_rounds_are_refused(tmp_path: Path) -> None:
    done = roost(environment_of(tmp_path), "demo", "--rounds", "2")
    assert done.returncode == 1
    assert done.stderr.decode().startswith("roost demo: --rounds is at least 3")
