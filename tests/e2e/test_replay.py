"""`roost replay`: a file of one's own in a group, once, however often it is replayed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.verbs import background, environment_of, roost

from roost.cli.demo.processes import free_ports

GROUP = "/BigCompany/Building1/Electricity"
HEAD = "time,stream,value,unit\n"
TIMES = [f"2026-05-01T08:00:{second:02}Z" for second in range(30)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, str], str]]:
    """A repo that runs, and the keys of two panels."""
    environment = environment_of(tmp_path_factory.mktemp("home"))
    for words in (
        ("init", "--company", "BigCompany", "--building", "Building1", "--repo", "Repo1"),
        ("key", "make", f"{GROUP}/Panel2"),
    ):
        done = roost(environment, *words)
        assert done.returncode == 0, done.stderr.decode()
    (port,) = free_ports(1)
    doors = ("--tcp", f"127.0.0.1:{port}", "--no-unix", "--no-udp", "--no-ws")
    with background(environment, "repo", "Repo1", *doors, until="ready"):
        yield environment, f"tcp4://127.0.0.1:{port}"


def replayed(site: tuple[dict[str, str], str], file: Path, *more: str, panel: str = "Panel1") -> dict[str, int]:
    environment, uri = site
    done = roost(environment, "replay", str(file), "--group", GROUP, "--panel", panel, "--at", uri, "--json", *more)
    assert done.returncode == 0, done.stderr.decode()
    told: dict[str, int] = json.loads(done.stdout)
    return told


def read(site: tuple[dict[str, str], str], stream: str) -> list[tuple[object, object]]:
    environment, uri = site
    done = roost(environment, "stream", "read", GROUP, stream, "--since", "2026-05-01", "--at", uri, "--json")
    assert done.returncode == 0, done.stderr.decode()
    return [(each["value"], each["unit"]) for each in map(json.loads, done.stdout.decode().splitlines())]


def test_the_same_file_twice_doubles_nothing_and_a_longer_one_adds_what_is_new(
    site: tuple[dict[str, str], str], tmp_path: Path
) -> None:
    file = tmp_path / "readings.csv"
    lines = [f"{time},Heater/Voltage,{230 + at % 3},V\n{time},Heater/Power,{at},W\n" for at, time in enumerate(TIMES)]
    file.write_text(HEAD + "".join(lines[:20]))
    assert replayed(site, file, "--dry-run") == {"rows": 40, "streams": 2, "empty": 0, "sent": 0, "skipped": 0}
    assert replayed(site, file) == {"rows": 40, "streams": 2, "empty": 0, "sent": 40, "skipped": 0}
    assert replayed(site, file) == {"rows": 40, "streams": 2, "empty": 0, "sent": 0, "skipped": 40}
    file.write_text(HEAD + "".join(lines))
    assert replayed(site, file) == {"rows": 60, "streams": 2, "empty": 0, "sent": 20, "skipped": 40}
    assert read(site, "Panel1/Heater/Power") == [(at, "W") for at in range(30)]
    assert read(site, "Panel1/Heater/Voltage") == [(230 + at % 3, "V") for at in range(30)]


def test_what_stands_twice_in_a_file_comes_twice_and_stays_so(site: tuple[dict[str, str], str], tmp_path: Path) -> None:
    file = tmp_path / "twice.csv"
    file.write_text("ts,reading\n" + "1777622400,5\n" * 2)
    columns = ("--time", "ts", "--time-unit", "s", "--value", "reading", "--as", "Meter/Count", "--only-unit", "1")
    assert replayed(site, file, *columns, panel="Panel2")["sent"] == 2
    assert replayed(site, file, *columns, "--speed", "3600", panel="Panel2")["skipped"] == 2
    assert read(site, "Panel2/Meter/Count") == [(5, "1"), (5, "1")]


def test_a_wrong_row_publishes_nothing(site: tuple[dict[str, str], str], tmp_path: Path) -> None:
    environment, uri = site
    file = tmp_path / "wrong.csv"
    file.write_text(HEAD + f"{TIMES[0]},Lamp/State,on,\nnever,Lamp/State,off,\n")
    done = roost(environment, "replay", str(file), "--group", GROUP, "--panel", "Panel1", "--at", uri)
    assert done.returncode == 1
    assert "row 3: time 'never' is none" in done.stderr.decode()
    there = roost(environment, "stream", "read", GROUP, "Panel1/Lamp/State", "--at", uri)
    assert "there is no stream" in there.stderr.decode()
