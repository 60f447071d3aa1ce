"""`roost macro test` and `diff` on Spark: what they print is what they print in one process, to the letter."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.archive_world import GROUP, Repos, archive_in, fill
from tests.macros_world import SEARCHING, SEVERAL, history
from tests.pipeline_world import JOB, RAW, SECOND, World

from roost.cli import _macro_spark, main
from roost.naming.building import numbered
from roost.pipeline.macros_rows import Read
from roost.process.definition import Definition
from roost.wire import DigestSigner, make_data
from roost.wire.posting import Posting
from roost.wire.reading import Reading

BY_NAME = {each.name: each for each in SEVERAL}
TOOK = re.compile(r'(?<="took_us": )[^,]*|(?<=  \()\d+(?= µs\))')  # how long a run took is another each time
Told = Callable[..., tuple[int, str, list[str]]]


@pytest.fixture
def told(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """Run a verb, with the Spark of these tests; its status, its output and what it says besides."""

    @contextmanager
    def ours(_app: str, _master: str | None) -> Iterator[Callable[[], SparkSession]]:
        yield lambda: spark

    monkeypatch.setattr(_macro_spark, "spark_for", ours)

    def run(*arguments: str) -> tuple[int, str, list[str]]:
        status = main(["macro", *arguments])
        said = capsys.readouterr()
        return status, TOOK.sub("0", said.out), [line for line in said.err.splitlines() if "tasks of Spark" not in line]

    return run


def posted(reads: Sequence[Read]) -> Repos:
    """The same readings as messages of two gateways; every third one of them comes through the other."""
    repos = Repos()
    for each in reads:
        panel = "Gate2" if each.time % 3 == 0 else "Gate1"
        stream = GROUP / panel
        for level in each.topic.split("/"):
            stream = stream / level
        held = repos.held.setdefault(stream, {})
        number = len(held) + 1
        reading = Reading(each.time, each.format, each.payload, posting=Posting(1))
        held[number] = (each.time, make_data(numbered(stream, number), reading.encode(), DigestSigner()).wire)
    return repos


def written(folder: Path, name: str, definitions: Sequence[Definition]) -> str:
    (folder / name).write_text(json.dumps([each.mapping() for each in definitions]))
    return str(folder / name)


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    repos = posted(history(120))
    fill(repos, archive_in(tmp_path / "archive"))
    return ["--archive", str(tmp_path / "archive"), "--archive-only", "--since", "2020-01-01"]


def test_what_a_test_prints_is_the_same_on_spark(tmp_path: Path, archive: list[str], told: Told) -> None:
    file = written(tmp_path, "several.json", SEVERAL)
    here, there = (told("test", file, *archive, "--full", how) for how in ("--no-spark", "--spark"))
    assert there == here
    assert here[0] == 1  # one of them fails
    assert len(here[2]) == len(SEVERAL)
    for word in ("  given  ", "  state  ", "  log    ", "it was due", "failed: "):
        assert word in here[1]


def test_what_runs_find_out_is_the_same_too(tmp_path: Path, archive: list[str], told: Told) -> None:
    file = written(tmp_path, "search.json", [SEARCHING, BY_NAME["wrong"]])
    here, there = (told("test", file, *archive, "--json", "--failures", how) for how in ("--no-spark", "--spark"))
    assert there == here
    assert any("that it refers to home/rear_temp" in line for line in here[2])
    assert here[1].count("it is open") == here[1].count("\n") > 0


def test_what_a_diff_prints_is_the_same_on_spark(tmp_path: Path, archive: list[str], told: Told) -> None:
    old = written(tmp_path, "old.json", SEVERAL)
    changed = {
        "warm": ("> 20", "> 15"),
        "counted": ("* Noctua.state.n", "* Noctua.state.n % 7"),
        "wrong": ("it is open", "it was open"),
        "often": ("{limit: 5}", "{limit: 4}"),
    }
    new = [
        replace(each, code=each.code.replace(*changed.get(each.name, ("", ""))))
        for each in SEVERAL
        if each.name != "dice"
    ]
    file = written(tmp_path, "new.json", new)
    options = [*archive, "--json", "--show", "100"]
    here, there = (told("diff", old, file, *options, how) for how in ("--no-spark", "--spark"))
    assert there == here
    assert here[0] == 1
    assert {json.loads(line).get("kind") for line in here[1].splitlines()} >= {"differs", "only old", "only new"}


def test_executors_fetch_what_the_archive_lacks_from_the_repos(
    tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path / "world")
    monkeypatch.setenv("ROOST_HOME", str(world.home(JOB)))
    first = 1_700_000_000 * SECOND
    packets = [world.reading("P1/d1/temp", number, 10.0 * number, first + number * SECOND, "C") for number in (1, 2, 3)]
    code = "Noctua.topic('Big/B1/Raw/P1/d1/temp')"
    old = written(tmp_path, "old.json", [Definition("twice", f"{code} * 2")])
    new = written(tmp_path, "new.json", [Definition("thrice", f"{code} * 3")])
    with world.repo() as repo:
        world.insert(repo, packets)
        arguments = ["--group", str(RAW.name), "--at", repo.uri, "--since", "2020-01-01"]
        here, there = (told("diff", old, new, *arguments, how) for how in ("--no-spark", "--spark"))
        assert there == here
        assert [line.split()[1] for line in here[1].splitlines() if "  new  " in line] == ["30", "60", "90"]
        assert here[1].count("  thrice  differs") == 3

        monkeypatch.setattr(_macro_spark, "LONG", 3)
        status, output, said = told("test", old, *arguments)
        assert "there are up to 3 readings: Spark goes through them" in said[0]
        assert (status, output) == told("test", old, *arguments, "--no-spark")[:2]


def test_short_histories_and_files_are_not_for_spark(tmp_path: Path, archive: list[str], told: Told) -> None:
    file = written(tmp_path, "m.json", [SEVERAL[0]])
    assert not any("Spark" in line for line in told("test", file, *archive)[2])
    (tmp_path / "on.csv").write_text("topic,time,value\nhome/tempF,2026-05-01T08:00:00Z,1\n")
    status, _, said = told("test", file, "--on", str(tmp_path / "on.csv"), "--spark")
    assert status == 2
    assert "give --archive or --group" in said[0]
