"""`roost group` and `roost stream` beside a repo that runs: what they say, of what is and of what is not there."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.verbs import background, environment_of, here

GROUP = "/BigCompany/Building1/Electricity"
VOLTAGE, STATE = f"{GROUP}/Panel1/Heater/Voltage", f"{GROUP}/Panel1/Heater/State"
LISTEN = ("--no-tcp", "--no-udp", "--no-ws")
HANG_S = 90  # guards against hanging only


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A repo with three readings of one stream and one of another."""
    folder = tmp_path_factory.mktemp("streams")
    environment = environment_of(folder)
    given = folder / "readings.txt"
    given.write_text("Heater/Voltage 229.5\nHeater/Voltage 230\nHeater/State on\nHeater/Voltage 231.25\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROOST_HOME", environment["ROOST_HOME"])
        patch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
        assert here("init", "--company", "BigCompany", "--building", "Building1").returncode == 0
        with background(environment, "repo", "Repo1", *LISTEN, "--json", until='{"event": "ready"}') as said:
            events = [json.loads(line) for line in said]
            assert [each["event"] for each in events] == ["listening", "keeps", "ready"]
            assert events[1]["group"] == GROUP
            kept = here("pub", GROUP, "Panel1", "--stdin", "--json", given=given).stdout.splitlines()
            assert json.loads(kept[-1]) == {"stream": VOLTAGE, "number": 3}
            yield folder


def told(*words: str) -> Any:  # noqa: ANN401  what JSON has
    done = here(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def lines(*words: str) -> list[Any]:
    done = here(*words, "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def refusal(*words: str) -> dict[str, str]:
    done = here(*words, "--json")
    assert (done.returncode, done.stdout) == (1, "")
    found: dict[str, str] = json.loads(done.stderr.splitlines()[-1])
    return found


@pytest.mark.usefixtures("house")
def test_groups_are_found_at_the_node_and_told_of() -> None:
    assert told("group", "list") == [{"group": GROUP, "answers": True, "streams": 2, "readings": 4}]
    assert here("group", "list").stdout == f"{GROUP}  2 streams, 4 readings\n"
    shown = told("group", "show", GROUP)
    assert shown["panels"] == [{"panel": "Panel1", "streams": 2, "readings": 4}]
    (repo,) = shown["repos"]
    assert (repo["repo"], repo["answers"], repo["lag"]) == ("Repo1", True, 0)
    assert refusal("group", "show", "/BigCompany/Building1/Nothing")["kind"] == "Unreachable"


def test_a_new_group_has_the_keys_that_it_takes_and_a_repo_keeps_it(house: Path) -> None:
    made = told("group", "create", "/BigCompany/Building1/Water", "--repo", "Repo1", "--panel", "Meter")
    assert [each["key"].partition("/KEY/")[0] for each in made["keys"]] == [
        "/BigCompany/Building1/Water",
        "/BigCompany/Building1/Water/Repo/Repo1",
        "/BigCompany/Building1/Water/Meter",
    ]
    assert all(each["certificate"] for each in made["keys"])
    assert made["next"][0] == "roost repo Repo1 --group /BigCompany/Building1/Water"
    again = told("group", "create", "/BigCompany/Building1/Water", "--repo", "Repo1", "--panel", "Meter2")
    assert [each["key"].partition("/KEY/")[0] for each in again["keys"]] == ["/BigCompany/Building1/Water/Meter2"]
    path = house / "water.sock"
    repo = ("repo", "Repo1", "--group", "/BigCompany/Building1/Water", *LISTEN, "--unix", str(path))
    with background(environment_of(house), *repo, until="ready"):
        at = ("--at", f"unix://{path}")
        assert here("pub", "/BigCompany/Building1/Water", "Meter", "Main/Flow", "3", *at).returncode == 0
        assert told("group", "list", *at)[0]["group"] == "/BigCompany/Building1/Water"


@pytest.mark.usefixtures("house")
def test_streams_are_listed_by_filters_and_shown() -> None:
    assert [each["stream"] for each in lines("stream", "list", GROUP)] == [STATE, VOLTAGE]
    (one,) = lines("stream", "list", GROUP, "+/+/Voltage")
    assert (one["stream"], one["readings"]) == (VOLTAGE, 3)
    shown = told("stream", "show", GROUP, "Panel1/Heater/Voltage")
    assert (shown["readings"], shown["newest"]["number"], shown["newest"]["value"]) == (3, 3, 231.25)
    assert shown["newest"]["signer"] == f"{GROUP}/Panel1"
    wrong = refusal("stream", "show", GROUP, "Panel1/Heater/Voltag")
    assert f"did you mean {VOLTAGE}?" in wrong["error"]


@pytest.mark.usefixtures("house")
def test_the_past_of_streams_is_read_between_two_times() -> None:
    every = lines("stream", "read", GROUP)
    assert [(each["stream"], each["number"]) for each in every] == [
        (STATE, 1),
        *[(VOLTAGE, number) for number in (1, 2, 3)],
    ]
    assert [each["number"] for each in lines("stream", "read", GROUP, "+/+/Voltage", "--last", "2")] == [2, 3]
    second = datetime.fromisoformat(every[2]["time"])
    since = lines("stream", "read", GROUP, "Panel1/Heater/Voltage", "--since", second.isoformat())
    assert [each["number"] for each in since] == [2, 3]
    until = lines("stream", "read", GROUP, "Panel1/Heater/Voltage", "--until", second.isoformat())
    assert [each["number"] for each in until] == [1]
    forgotten = refusal("stream", "read", GROUP, "Heater/Voltage")
    assert forgotten["error"] == (
        f"there is no stream {GROUP}/Heater/Voltage in the group {GROUP}: it has 2; did you mean {VOLTAGE}?"
    )
    assert refusal("stream", "read", GROUP, "Panel7")["kind"] == "Unreachable"
    misspelled = refusal("stream", "list", f"{GROUP}s")["error"]
    assert (f"no repo of {GROUP}s can be reached" in misspelled, "32=" in misspelled) == (True, False)
    assert "--last is at least 1" in refusal("stream", "read", GROUP, "--last", "0")["error"]


@pytest.mark.usefixtures("house")
def test_an_export_is_whole_or_the_one_before_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "all.csv"
    done = told("stream", "export", GROUP, "-o", str(file))
    assert done == {"file": str(file), "format": "csv", "readings": 4}
    rows = list(csv.DictReader(StringIO(file.read_text())))
    assert [(row["stream"], row["number"], row["value"]) for row in rows][1:] == [
        (VOLTAGE, "1", "229.5"),
        (VOLTAGE, "2", "230"),
        (VOLTAGE, "3", "231.25"),
    ]
    assert refusal("stream", "export", "/BigCompany/Building1/Gas", "-o", str(file), "--since", "now-1")["error"]
    assert len(list(csv.DictReader(StringIO(file.read_text())))) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["all.csv"]
    printed = here("stream", "export", GROUP, "--format", "json").stdout
    assert [json.loads(line)["value"] for line in printed.splitlines()] == ["on", 229.5, 230, 231.25]


@pytest.mark.usefixtures("house")
def test_a_stream_is_followed_from_a_number_on() -> None:
    followed = lines("stream", "follow", GROUP, "Panel1/Heater/Voltage", "--since", "2", "-C", "2")
    assert [each["number"] for each in followed] == [2, 3]


@pytest.mark.usefixtures("house")
def test_what_a_stream_is_is_said_by_its_panel_and_known_to_others() -> None:
    before = told("stream", "describe", GROUP, "Panel1/Heater/State")
    assert (before["unit"], before["class"], before["interval_ms"]) == ("", "", None)
    said = ("--class", "Switch_Status", "--interval-ms", "60000")
    told("stream", "describe", GROUP, "Panel1/Heater/State", *said)
    after = told("stream", "describe", GROUP, "Panel1/Heater/State", "--label", "heater of the hall")
    assert (after["class"], after["interval_ms"], after["label"]) == ("Switch_Status", 60000, "heater of the hall")
    (listed,) = lines("stream", "list", GROUP, "+/+/State")
    assert listed["label"] == "heater of the hall"
    wrong = refusal("stream", "describe", GROUP, "Panel1/Heater/State", "--class", "no class")
    assert "no Brick class" in wrong["error"]


def test_who_believes_nobody_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    assert "no trust is configured" in refusal("stream", "list", GROUP)["error"]


def test_a_repo_that_is_gone_is_told_and_has_everything_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = environment_of(tmp_path)
    monkeypatch.setenv("ROOST_HOME", environment["ROOST_HOME"])
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    company = ("--company", "BigCompany", "--building", "Building1", "--repo", "Repo1", "--repo", "Repo2")
    assert here("init", *company).returncode == 0
    store = ("--unix", str(tmp_path / "2.sock"), "--store", str(tmp_path / "store2"))
    second = ("repo", "Repo2", *LISTEN, *store, "--uplink", f"unix://{environment['ROOST_HOME']}/node.sock")

    def state_of_second() -> tuple[bool, int | None]:
        (found,) = [each for each in told("group", "show", GROUP)["repos"] if each["repo"] == "Repo2"] or [{}]
        return found.get("answers", False), found.get("lag")

    def publish(value: str) -> None:
        assert here("pub", GROUP, "Panel1", "Heater/Voltage", value).returncode == 0

    def becomes(state: tuple[bool, int | None]) -> bool:
        until = time.monotonic() + HANG_S
        found = state_of_second()  # which takes a moment: it asks over the network
        while found != state and time.monotonic() < until:
            found = state_of_second()
        return found == state

    with background(environment, "repo", "Repo1", *LISTEN, until="ready"):
        with background(environment, *second, until="ready"):
            publish("229")
            assert becomes((True, 0))
        publish("230")
        assert becomes((False, None))
        with background(environment, *second, until="ready"):
            assert becomes((True, 0))
            read = lines("stream", "read", GROUP, "--at", str(tmp_path / "2.sock"))
            assert [each["value"] for each in read] == [229, 230]


@pytest.mark.usefixtures("house")
def test_a_subscription_to_a_group_ends_when_its_time_is_up() -> None:
    done = here("sub", GROUP, "Panel1/Heater/Voltage", "--since", "1", "-W", "3", "--json")
    assert (done.returncode, "timed out after 3 s" in done.stderr) == (27, True)
    assert [json.loads(line)["number"] for line in done.stdout.splitlines()] == [1, 2, 3]
