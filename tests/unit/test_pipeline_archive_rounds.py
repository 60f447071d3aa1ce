"""The archiver at work, and the verbs of its users."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.archive_world import DAY, GROUP, NOON, POWER, VOLTAGE, Repos, archive_in, fill

from roost.cli import main
from roost.cli.archive import pause_of
from roost.errors import BadConfig, RoostError, Unreachable
from roost.host.keystore import KeyStore
from roost.machine import SECOND
from roost.naming import Name
from roost.pipeline.archive.certificates import Certificates
from roost.pipeline.archive.confirming import Confirming
from roost.pipeline.archive.filling import Report
from roost.pipeline.archive.rounds import Rounds
from roost.pipeline.archive.writing import open_writer
from roost.wire.reading import Reading


def test_rounds_go_on_after_one_that_failed_confirm_and_compact(tmp_path: Path) -> None:
    confirmed: list[Reading] = []
    told: list[Report | RoostError] = []

    class Failing(Repos):
        def numbers(self) -> dict[Name, int]:
            if len(told) == 1:
                raise Unreachable("no repo answers")
            return dict(super().numbers())

    repos, archive = Failing(), archive_in(tmp_path)
    with open_writer(archive) as writer:
        confirming = Confirming(archive, confirmed.extend, lambda: NOON)
        rounds = Rounds(repos, writer, Certificates(archive.folder), confirming, lambda: NOON + 3 * DAY)

        def waited() -> bool:
            repos.publish(VOLTAGE, 1.0)
            return len(told) >= 3

        repos.publish(VOLTAGE, 1.0)
        rounds.until(waited, told.append)
        assert [each.archived if isinstance(each, Report) else str(each) for each in told] == [
            1,
            "no repo answers",
            2,
        ]
        assert len(writer.manifest.files) == 1  # the day is over
    ranges = [each.lineage.ranges[0] for each in confirmed if each.lineage]
    assert [(each.low, each.high) for each in ranges] == [(1, 1), (2, 3)]
    assert rounds.failed == 0


@pytest.mark.parametrize(("text", "seconds"), [("60s", 60), ("5m", 300), ("1.5h", 5400), ("2", 2)])
def test_a_pause_has_a_unit(text: str, seconds: float) -> None:
    assert pause_of(text) == seconds


@pytest.mark.parametrize("text", ["0s", "", "soon", "-5s"])
def test_what_is_no_pause_is_said(text: str) -> None:
    with pytest.raises(BadConfig, match="write 30s"):
        pause_of(text)


# -- verbs; those that need repos run in docs/archive.md


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with an archive in it: two files of a stream, one of another."""
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    repos, archive = Repos(), archive_in(tmp_path / "archive")
    repos.publish(VOLTAGE, 229.5)
    fill(repos, archive)
    repos.publish(VOLTAGE, 230.25, time=NOON + SECOND)
    repos.publish(POWER, 1.0)
    fill(repos, archive)
    return tmp_path


@pytest.mark.usefixtures("place")
def test_status_and_compact_say_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["archive", "status"]) == 0
    assert capsys.readouterr().out == (
        f"{GROUP}: 3 readings of 2 streams in 2 files, 2027-01-15 to 2027-01-15; "
        "0 were dropped before they could be archived\n"
    )
    assert main(["archive", "compact", "--group", str(GROUP)]) == 0
    assert capsys.readouterr().out == f"{GROUP}: 1 files fewer, 1 now\n"
    assert main(["archive", "status", "--group", "/Other"]) == 1
    assert f"has no archive of /Other: {GROUP} is there" in capsys.readouterr().err


def test_verify_fails_where_something_is_wrong(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--company", "BigCompany", "--building", "Building1"]) == 0
    assert KeyStore(place).exists
    capsys.readouterr()
    assert main(["archive", "verify", str(place / "archive")]) == 1  # signed by nobody
    said = capsys.readouterr()
    assert said.out == f"{GROUP}: 3 readings verified, 3 forged\n"
    assert f"{VOLTAGE}/seq=1" in said.err


QUERY = "select metric, seq, event_time, value, payload, null as nothing from electricity order by metric, seq limit 2"


@pytest.mark.usefixtures("place")
def test_answers_are_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", QUERY, "--archive-only"]) == 0
    head, line, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["metric", "seq", "event_time", "value", "payload", "nothing"]
    assert set(line) == {"-", " "}
    assert first.split()[:4] == ["Power", "1", "2027-01-15T12:00:00Z", "1"]
    assert second.split()[:4] == ["Voltage", "1", "2027-01-15T12:00:00Z", "229.5"]


def test_answers_are_json_csv_and_parquet(place: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["sql", QUERY, "--archive-only", "--format", "json"]) == 0
    first = json.loads(capsysbinary.readouterr().out.splitlines()[0])
    assert (first["metric"], first["value"], first["event_time"], first["nothing"]) == (
        "Power",
        1.0,
        "2027-01-15T12:00:00Z",
        None,
    )
    out = place / "out.csv"
    assert main(["sql", QUERY, "--archive-only", "--format", "csv", "--out", str(out)]) == 0
    assert out.read_text().splitlines()[2].startswith('"Voltage",1,')
    out = place / "out.parquet"
    assert main(["sql", QUERY, "--archive-only", "--format", "parquet", "--out", str(out)]) == 0
    assert pq.ParquetFile(out).read().column("value").to_pylist() == [1.0, 229.5]


@pytest.mark.usefixtures("place")
def test_what_cannot_be_asked_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "select 1", "--format", "parquet"]) == 1
    assert "--out" in capsys.readouterr().err
    assert main(["sql", "select * from gas", "--archive-only"]) == 1
    assert capsys.readouterr().err.endswith("of tables there are electricity\n")
    assert main(["sql", "select 1 as one", "--archive", "nowhere", "--archive-only"]) == 1
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.usefixtures("place")
def test_long_answers_are_cut_and_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "select * from range(300)", "--archive-only"]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 202
    assert "200 of 300 rows" in said.err
