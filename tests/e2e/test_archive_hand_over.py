"""Retention hands over from repo to archive without a gap: a real repo, the real archiver, killed at the worst places.

Whenever it is asked, `roost sql` gives every reading once. The control beside it is a stream that retention may take
without an archive: a repo that has taken that one has looked at the others too, and what they still have was spared.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.pipeline_world import RAW, SECOND, RepoProcess, World
from tests.verbs import environment_of, roost

from roost.cli import main
from roost.host.stretch_access import Access
from roost.host.stretches import Stretch, StretchReader
from roost.naming import Name

BEGIN = 1_700_000_040 * SECOND
STREAMS = ("P1/d1/power", "P1/d2/power")
CONTROL = "P2/d3/power"  # behind the others, so a repo that has started looks at it last
CONFIRMED = "Archiver/Archive/Confirmed"
RULES = ("--retention", "P1/# 1 replaced-by +/Archive/Confirmed", "--retention", "P2/# 1")
LIMIT_S = 60

# The verb, which is killed where it calls something for the first time with an argument that ends so.
KILLED = """
import os, signal, sys
from importlib import import_module
from roost.cli import main

module, owner, name, ending = sys.argv[1].split(" ")
place = getattr(import_module(module), owner)
called = getattr(place, name)

def die(self, *arguments):
    if str(arguments[0]).endswith(ending):
        os.kill(os.getpid(), signal.SIGKILL)
    return called(self, *arguments)

setattr(place, name, die)
sys.exit(main(sys.argv[2:]))
"""
UNLISTED = "roost.pipeline.archive.folder Folder write _archive.json"  # readings written, not in the manifest
UNCONFIRMED = "roost.pipeline.archive.confirming Confirming confirm "  # archived, no repo has heard of it
UNNOTED = "roost.pipeline.archive.folder Folder write _confirmed.json"  # confirmed, which is not written down


class Hall:
    """A world with an archiver, and how many readings each stream of it has by now."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.world = World(folder)
        self.world.enrol("archiver", RAW.panel("Archiver").name)
        self.archive = str(folder / "archive")
        (folder / "archive").mkdir()  # nothing is archived yet
        self._environment = environment_of(self.world.home("archiver").parent)
        self._capsys = capsys
        self._published = dict.fromkeys((*STREAMS, CONTROL), 0)

    def publish(self, repo: RepoProcess, count: int, *streams: str) -> None:
        packets = []
        for stream in streams:
            for _ in range(count):
                self._published[stream] += 1
                number = self._published[stream]
                packets.append(self.world.reading(stream, number, float(number), BEGIN + number * SECOND))
        self.world.insert(repo, packets)

    def archived(self, repo: RepoProcess) -> str:
        """One round of the archiver; what it says."""
        done = roost(self._environment, "archive", *self._archiver(repo))
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def killed(self, repo: RepoProcess, place: str) -> None:
        words = [sys.executable, "-c", KILLED, place, "archive", *self._archiver(repo)]
        done = subprocess.run(words, env=self._environment, capture_output=True, timeout=LIMIT_S, check=False)
        assert done.returncode == -9, done.stderr.decode()

    def found(self, *where: str) -> list[tuple[str, int, float]]:
        """What SQL gives, in order."""
        query = "select panel || '/' || device || '/' || metric as stream, seq, value from raw where panel = 'P1'"
        reach = ("--group", str(RAW.name), "--since", "2020-01-01T00:00Z", "--archive", self.archive)
        rows = [json.loads(line) for line in self.told("sql", query, *reach, "--format", "json", *where).splitlines()]
        return sorted((row["stream"], row["seq"], row["value"]) for row in rows)

    @property
    def everything(self) -> list[tuple[str, int, float]]:
        """Every reading that there is, once."""
        return [(each, number, float(number)) for each in STREAMS for number in range(1, self._published[each] + 1)]

    def told(self, *words: str) -> str:
        """What a verb prints that needs no process of its own."""
        self._capsys.readouterr()
        assert main(words) == 0, self._capsys.readouterr().err
        return self._capsys.readouterr().out

    def held(self, repo: RepoProcess, stream: str) -> list[int]:
        """The numbers that a repo still has, from its disk: over a face, it may answer as it did some seconds ago."""
        access = Access((repo.uri,), home=str(self.world.home("archiver")), bulk=(repo.door,))
        with contextlib.closing(StretchReader(access)) as reader:
            wanted = Stretch(RAW.name + Name.parse(f"/{stream}"), 1, max(1, self._published.get(stream, 1)))
            return [number for piece in reader.read([wanted]) for number, _ in piece.packets]

    def all_held(self, repo: RepoProcess) -> bool:
        return all(self.held(repo, stream) == list(range(1, self._published[stream] + 1)) for stream in STREAMS)

    def newest_held(self, repo: RepoProcess, *streams: str) -> bool:
        return all(self.held(repo, stream) == [self._published[stream]] for stream in streams)

    def pruned(self, repo: RepoProcess) -> None:
        """Have a repo, started anew, go through its streams, to the control."""
        self.publish(repo, 2, CONTROL)
        repo.kill()
        repo.start()
        until(lambda: self.newest_held(repo, CONTROL))

    def handed_over(self, repo: RepoProcess) -> None:
        """Have a repo, which the archiver has told what is archived, drop that, and ask again and again meanwhile."""
        assert self.held(repo, CONFIRMED)[:1] == [1]
        repo.kill()
        repo.start()

        def dropped() -> bool:
            assert self.found("--at", repo.uri) == self.everything
            return self.newest_held(repo, *STREAMS)

        until(dropped)

    def _archiver(self, repo: RepoProcess) -> tuple[str, ...]:
        to = ("--to", self.archive, "--confirm-as", "Archiver", "--once")
        return "run", str(RAW.name), "P1/#", *to, "--at", repo.uri


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < ends, "it did not come to that"
        time.sleep(0.05)


@pytest.fixture
def hall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hall:
    hall = Hall(tmp_path, capsys)
    monkeypatch.setenv("ROOST_HOME", str(hall.world.home("archiver")))
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    return hall


@pytest.fixture
def repo(hall: Hall) -> Iterator[RepoProcess]:
    with hall.world.repo("Repo1", (), *RULES) as repo:
        yield repo


def test_a_repo_drops_what_the_archive_has_confirmed_and_every_reading_is_there_once(
    hall: Hall, repo: RepoProcess
) -> None:
    hall.publish(repo, 5, *STREAMS)
    assert hall.found("--at", repo.uri) == hall.everything
    hall.pruned(repo)
    assert hall.all_held(repo)  # there is no archive yet

    assert hall.archived(repo).startswith("10 archived")
    assert hall.found("--at", repo.uri) == hall.everything
    hall.handed_over(repo)
    assert hall.found("--at", repo.uri) == hall.everything

    hall.publish(repo, 3, *STREAMS)
    assert hall.found("--at", repo.uri) == hall.everything
    hall.pruned(repo)
    assert [hall.held(repo, stream) for stream in STREAMS] == [[6, 7, 8], [6, 7, 8]]  # what is not archived stays
    assert hall.archived(repo).startswith("6 archived")
    repo.stop()
    assert hall.found("--archive-only") == hall.everything
    assert "16 readings" in hall.told("archive", "verify", hall.archive)


def test_an_archiver_killed_between_writing_and_confirming_loses_nothing_and_has_nothing_twice(
    hall: Hall, repo: RepoProcess
) -> None:
    hall.publish(repo, 3, *STREAMS)
    hall.killed(repo, UNLISTED)
    assert hall.found("--at", repo.uri) == hall.everything
    hall.publish(repo, 2, *STREAMS)
    hall.killed(repo, UNCONFIRMED)
    assert hall.found("--at", repo.uri) == hall.everything
    hall.pruned(repo)
    assert hall.all_held(repo)  # nothing was confirmed

    hall.killed(repo, UNNOTED)
    assert hall.found("--at", repo.uri) == hall.everything
    hall.publish(repo, 1, *STREAMS)
    assert hall.archived(repo).startswith("2 archived")
    hall.handed_over(repo)
    repo.stop()
    assert hall.found("--archive-only") == hall.everything
    assert "12 readings" in hall.told("archive", "verify", hall.archive)
