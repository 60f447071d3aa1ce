"""`roost demo`, which `make run` runs: a campus in processes, watched and broken over HTTP, then judged."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.verbs import RUN, environment_of, roost

from roost.cli import main
from roost.cli.demo import campus
from roost.cli.demo.processes import free_ports

PORTS = ("--http-port", "0", "--mqtt-port", "0")
PROMISES = {"once-in-order", "nothing-forged", "replicated", "mqtt", "repaired"}


class Told(NamedTuple):
    """What a run with a check said and how it ended, and what was seen of it meanwhile."""

    text: str
    status: int
    demo: dict[str, Any]  # GET /demo
    joined: dict[str, str]  # a line of each building, for an MQTT client
    occupancy: dict[str, Any]  # of a room, by who asks
    denied: int
    said: str  # by `roost demo status`


def ask(url: str, login: tuple[str, str] | None = None, body: object = None) -> Any:  # noqa: ANN401  it is JSON
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode())
    if body is not None:
        request.add_header("Content-Type", "application/json")
    if login is not None:
        request.add_header("Authorization", "Basic " + b64encode(":".join(login).encode()).decode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


@contextmanager
def started(environment: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*RUN, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    environment = environment_of(tmp_path_factory.mktemp("home"))
    arguments = ("demo", "--for", "24s", "--check", "--no-pipeline", "--every", "1s", *PORTS)
    with started(environment, *arguments) as demo:
        assert demo.stdout is not None
        lines: list[str] = []
        for line in demo.stdout:
            lines.append(line)
            if line.startswith("try") and "mosquitto_sub" in line:
                break
        text = "".join(lines)
        url = re.findall(r"^page +(http://\S+)", text, re.MULTILINE)[0]
        first = ask(f"{url}/streams?match=Campus/Hall/Env/%23&limit=1")
        assert first["items"], first
        port = re.findall(r"roost sub -p (\d+)", text)[0]
        letters = ("sub", "-p", port, "-v", "-C", "1", "-W", "60")
        with (
            started(environment, *letters, "-t", "annex/floor1/room3/temp") as annex,
            started(environment, *letters, "-t", "Campus/Hall/Env/+/room1/temp") as hall,
        ):
            joined = {"annex": annex.communicate(timeout=120)[0], "hall": hall.communicate(timeout=120)[0]}
        logins = dict(line.split() for line in _passwords(text).read_text().splitlines())
        occupancy = {
            user: ask(f"{url}/topics/annex/floor1/room1/occupancy", (user, word)) for user, word in logins.items()
        }
        denied = 0
        try:
            ask(f"{url}/demo/breaks/forge", ("bob", logins["bob"]), {"do": "break"})
        except urllib.error.HTTPError as error:
            with error:
                denied = error.code
        seen = ask(f"{url}/demo")
        said = roost(environment, "demo", "status").stdout.decode()
        rest = demo.communicate(timeout=300)[0]
        return Told(text + rest, demo.returncode, seen, joined, occupancy, denied, said)


def _passwords(text: str) -> Path:
    path = Path(re.findall(r"passwords in (\S+)", text)[0])
    assert path.stat().st_mode & 0o777 == 0o600
    return path


def test_everything_is_broken_once_and_every_promise_is_kept(told: Told) -> None:
    assert told.status == 0, told.text
    kept = dict(re.findall(r"^kept +([\w-]+): (.*)$", told.text, re.MULTILINE))
    assert kept.keys() == PROMISES | {"disks"}
    assert told.text.count("\nBREAK ") == told.text.count("\nwhole ") == 4
    assert "BROKEN" not in told.text
    assert "FAILED" not in told.text
    assert re.search(r"[1-9]\d* acknowledged by a repo, 0 out of order, twice or altered, 0 on their way", told.text)
    sent, safe, arrived = re.findall(r"(\d+) sent, (\d+) acknowledged .* (\d+) at the dash", kept["mqtt"])[0]
    assert sent == safe == arrived != "0"
    assert kept["repaired"].endswith("1 times damaged and repaired, 0 readings damaged at the moment")
    assert kept["disks"].endswith("read from the disk: repo1 lacks 0, repo2 lacks 0, repo3 lacks 0")


def test_the_killed_repo_the_cut_line_and_the_damaged_disk_did_matter(told: Told) -> None:
    assert re.search(r"kill -9 [1-9]\d*: repo1 is gone", told.text)
    assert re.search(r"the dashboard lacks [1-9]\d* messages that the annex kept meanwhile", told.text), told.text
    assert re.search(r"disk of repo3: it lost [1-9]\d* readings, /Campus/Hall/Env/pi", told.text)
    assert re.search(r"repo3 has ([1-9]\d*) of \1 damaged readings again", told.text)


def test_forged_readings_are_refused_each_with_what_is_wrong_about_it(told: Told) -> None:
    refused = re.findall(r"^mend +refused: (.*)$", told.text, re.MULTILINE)[0].split("; repos refused")
    assert len(refused) == 3
    by_rule, by_signature, by_anchor = refused
    assert "the key of /Campus/Hall/Env/pi2 may not sign /Campus/Hall/Env/pi1/room1/smoke/seq=1 [rule #r" in by_rule
    assert "the signature of /Campus/Hall/Env/pi1/room1/smoke/seq=1 does not match" in by_signature
    assert "the key of /Elsewhere/BMS may not sign /Campus/Hall/Env/pi1/room1/smoke/seq=1 [rule #r" in by_anchor
    assert "3 forged, 3 refused, 0 stored" in told.text


def test_the_page_and_the_cli_tell_the_same_of_promises_and_of_what_can_be_broken(told: Told) -> None:
    assert {each["id"] for each in told.demo["breaks"]} == {"kill-repo", "cut-building", "corrupt-block", "forge"}
    assert {each["state"] for each in told.demo["breaks"]} <= {"ready", "active", "mending"}
    assert {each["id"] for each in told.demo["promises"]} == PROMISES
    assert all(each["kept"] and each["detail"] for each in told.demo["promises"])
    assert [step["what"] for step in told.demo["steps"]][:2] == ["trust", "repo"]
    for promise in told.demo["promises"]:
        assert f"kept    {promise['text']}" in told.said


def test_any_mqtt_client_can_join_in_and_see_both_buildings(told: Told) -> None:
    annex = told.joined["annex"].removeprefix("annex/floor1/room3/temp ")
    assert {"value", "unit", "time"} == json.loads(annex).keys()
    assert re.fullmatch(r"Campus/Hall/Env/pi1/room1/temp [12]\d[0-9.]+\n", told.joined["hall"])


def test_who_visits_sees_whether_somebody_is_there_and_who_manages_how_many(told: Told) -> None:
    (exact,), (vague,) = told.occupancy["ada"], told.occupancy["bob"]
    assert exact["topic"] == vague["topic"]
    assert exact["stream"] == "/Campus/Annex/Mqtt/gate1/annex/floor1/room1/occupancy"
    assert vague["stream"] == "/Campus/Macros/centre/Noctua/annex/floor1/room1/occupancy/anonymize"
    assert vague["value"] in {0, 1}
    assert told.denied == 403


def test_a_process_that_dies_at_its_start_is_named_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    with socket.create_server(("127.0.0.1", 0)) as taken:

        def ports(count: int) -> list[int]:
            return [taken.getsockname()[1], *free_ports(count - 1)]

        monkeypatch.setattr(campus, "free_ports", ports)
        assert main(["demo", "--no-pipeline", *PORTS]) == 1
    told = capsys.readouterr().err
    assert told.startswith("roost demo: repo1 ended with status 1: ")
    assert "another program uses it" in told
    assert "Traceback" not in told


def test_what_is_no_time_and_what_cannot_be_broken_is_told(tmp_path: Path) -> None:
    environment = environment_of(tmp_path)
    done = roost(environment, "demo", "--for", "soon")
    assert done.returncode == 2
    assert "'soon' is no time: write 60s" in done.stderr.decode()
    done = roost(environment, "demo", "break", "forge", "--url", "http://127.0.0.1:9")
    assert done.returncode != 0
    assert "cannot reach http://127.0.0.1:9" in done.stderr.decode()
