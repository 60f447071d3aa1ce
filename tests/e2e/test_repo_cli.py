"""`roost repo`, `roost pub` and `roost sub` as processes: what they say, how they go on, how they fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from subprocess import PIPE

import pytest
from tests.verbs import RUN, background, environment_of, roost

from roost.errors import BadConfig
from roost.naming.topic import TopicFilter
from roost.repo.retention import Rule
from roost.repo.retention_text import rule_of

GROUP = "/BigCompany/Building1/Electricity"
LISTEN = ("--no-tcp", "--no-udp", "--no-ws")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    made = environment_of(tmp_path)
    company = ("--company", "BigCompany", "--building", "Building1")
    assert b"Repo/Repo2" in roost(made, "init", *company, "--repo", "Repo1", "--repo", "Repo2").stdout
    return made


def published_lines(environment: dict[str, str], lines: bytes) -> subprocess.CompletedProcess[str]:
    """Run `roost pub --stdin`."""
    command = [*RUN, "pub", GROUP, "Panel1", "--stdin"]
    done = subprocess.run(command, env=environment, input=lines, capture_output=True, timeout=60, check=False)
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_what_is_published_is_shown_once_also_over_restarts_of_all(environment: dict[str, str]) -> None:
    publish = ("pub", GROUP, "Panel1", "Heater/Voltage")
    show = ("sub", GROUP, "+/Heater/#", "--name", "display", "--since", "1", "--json", "--count")
    with background(environment, "repo", "Repo1", *LISTEN, until="ready") as said:
        assert any(line.startswith(f"keeps {GROUP} in ") and line.endswith("so far: 0") for line in said)
        published = roost(environment, *publish, "229.5", "--unit", "V")
        assert published.stdout == f"kept here {GROUP}/Panel1/Heater/Voltage 1\n".encode()
        assert b"confirmed: repos have all readings" in published.stderr
        (shown,) = map(json.loads, roost(environment, *show, "1").stdout.splitlines())
        assert (shown["number"], shown["value"], shown["unit"], shown["quality"]) == (1, 229.5, "V", "good")
        assert shown["signer"] == f"{GROUP}/Panel1"
        assert datetime.fromisoformat(shown["time"]) == datetime.fromtimestamp(shown["time_ns"] // 10**6 / 1000, UTC)
        shown_plainly = roost(environment, "sub", GROUP, "--since", "24h", "Panel1", "--count", "1").stdout.decode()
        assert shown_plainly == f"{shown['time']} {GROUP}/Panel1/Heater/Voltage 1 229.5 V\n"
    with background(environment, "repo", "Repo1", *LISTEN, until="ready") as said:
        assert any(line.endswith("streams so far: 1") for line in said)
        lines = b"# State and Voltage\nHeater/Voltage 230\n\nHeater/State on\nHeater/Voltage 231\n"
        done = published_lines(environment, lines)
        assert done.returncode == 0
        assert [line.rpartition("/")[2] for line in done.stdout.splitlines()] == ["Voltage 2", "State 1", "Voltage 3"]
        shown = [json.loads(line) for line in roost(environment, *show, "3").stdout.splitlines()]
        assert [each["value"] for each in shown if each["stream"].endswith("Voltage")] == [230, 231]
        assert [each["value"] for each in shown if each["stream"].endswith("State")] == ["on"]


def test_a_line_that_cannot_be_published_is_told_and_left_out(environment: dict[str, str]) -> None:
    with background(environment, "repo", "Repo1", *LISTEN, until="ready"):
        lines = b"Heater/Voltage\nHeater/Voltage nan\nHeater/Voltage -5.5e-3\nFlat 1\nHeater/Name \xff\n"
        done = published_lines(environment, lines)
        assert done.returncode == 1
        assert done.stdout == f"kept here {GROUP}/Panel1/Heater/Voltage 1\n"
        told = [line.partition(":")[0] for line in done.stderr.splitlines() if line.startswith("line ")]
        assert told == [f"line {number} is left out" for number in (1, 2, 4, 5)]
        (shown,) = roost(environment, "sub", GROUP, "--since", "1", "--json", "--count", "1").stdout.splitlines()
        assert json.loads(shown)["value"] == -5.5e-3


def test_the_socket_a_repo_says_is_one_a_panel_can_use_and_so_is_its_path(
    environment: dict[str, str], tmp_path: Path
) -> None:
    path = os.path.relpath(tmp_path / "1.sock")
    publish = ("pub", GROUP, "Panel1", "--unit", "V", "Heater/Voltage", "1", "--at")
    with background(environment, "repo", "Repo1", *LISTEN, "--unix", path, until="ready") as said:
        (uri,) = (line.removeprefix("listening on ") for line in said if line.startswith("listening on "))
        assert uri.startswith("unix:///")
        assert roost(environment, *publish, uri).returncode == 0
        assert roost(environment, *publish, path).stdout.endswith(b"Voltage 2\n")


def test_mistakes_are_told_with_what_to_do(environment: dict[str, str], tmp_path: Path) -> None:
    def refusal(*arguments: str) -> str:
        done = roost(environment, *arguments)
        assert done.returncode == 1
        return done.stderr.decode()

    assert "roost key make <group>/Repo/Repo9" in refusal("repo", "Repo9", *LISTEN)
    assert f"roost key make {GROUP}/Repo/Repo9" in refusal("repo", f"{GROUP}/Repo/Repo9", *LISTEN)
    assert "is no repo's name" in refusal("repo", f"{GROUP}/Panel1", *LISTEN)
    assert "no bound" in refusal("repo", "Repo1", *LISTEN, "--retention", "# soon")
    assert "STREAM and VALUE" in refusal("pub", GROUP, "Panel1", "Heater/Voltage")
    assert "--copies is 1 to 64" in refusal("pub", GROUP, "Panel1", "Heater/Voltage", "1", "--copies", "0")
    assert "no finite number" in refusal("pub", GROUP, "Panel1", "Heater/Voltage", "-inf")
    assert "no node is running" in refusal("pub", GROUP, "Panel1", "Heater/Voltage", "1")
    assert "--count is at least 1" in refusal("sub", GROUP, "--count", "0")
    nobody = environment_of(tmp_path / "nobody")
    assert b"roost init" in roost(nobody, "sub", GROUP).stderr
    assert b"roost init" in roost(nobody, "repo", "Repo1").stderr


def test_who_is_stopped_while_no_repo_answers_says_what_waits_and_sends_it_the_next_time(
    environment: dict[str, str],
) -> None:
    publish = ("pub", GROUP, "Panel1", "Heater/Voltage")
    with background(environment, "repo", "Repo1", *LISTEN, until="ready"):
        assert roost(environment, *publish, "229").returncode == 0
    with (
        background(environment, "node", *LISTEN, until="ready"),
        subprocess.Popen([*RUN, *publish, "230"], env=environment, stdout=PIPE, stderr=PIPE, text=True) as publishing,
    ):
        assert publishing.stdout is not None
        assert publishing.stdout.readline().endswith("Voltage 2\n")
        publishing.send_signal(signal.SIGINT)
        publishing.send_signal(signal.SIGTERM)  # at once
        assert "1 readings wait for a repo" in publishing.communicate(timeout=30)[1]
        assert publishing.returncode == 1
    with background(environment, "repo", "Repo1", *LISTEN, until="ready"):
        assert roost(environment, *publish, "231").returncode == 0
        shown = roost(environment, "sub", GROUP, "--since", "1", "--json", "--count", "3").stdout.splitlines()
        assert [json.loads(line)["value"] for line in shown] == [229, 230, 231]


def test_a_store_belongs_to_one_process(environment: dict[str, str]) -> None:
    with background(environment, "repo", "Repo1", *LISTEN, until="ready"):
        second = roost(environment, "repo", "Repo1", *LISTEN, "--no-unix")
        assert second.returncode == 1
        assert b"roost repo: " in second.stderr


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("+/+/temp 30d", Rule(TopicFilter("+/+/temp"), max_age_ms=30 * 86_400_000)),
        ("# 1000 10MB", Rule(TopicFilter("#"), max_count=1000, max_bytes=10_000_000)),
        ("# 2h replaced-by +/+/mean", Rule(TopicFilter("#"), 7_200_000, replaced_by=TopicFilter("+/+/mean"))),
        ("pi1/# forever", Rule(TopicFilter("pi1/#"))),
    ],
    ids=["age", "count and size", "replaced", "for ever"],
)
def test_a_rule_of_retention_is_a_line(text: str, meant: Rule) -> None:
    assert rule_of(text) == meant


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (" ", "a pattern comes first"),
        ("30d", "a pattern comes first"),
        ("30d #", "a pattern comes first"),
        ("foo", "then a bound"),
        ("# replaced-by +/+/mean", "has no bound"),
        ("# 0d", "no bound"),
        ("# 30d forever", "no bound"),
        ("# 30d 12h", "leave out one age"),
        ("# 10 20", "leave out one count"),
        ("# 1kB 1MB", "leave out one size"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_told(text: str, reason: str) -> None:
    with pytest.raises(BadConfig, match=reason):
        rule_of(text)
