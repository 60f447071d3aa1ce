"""The archive may be stopped anywhere: before or after any change of a file, while filling and while compacting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.archive_world import DAY, GROUP, NOON, POWER, VOLTAGE, Repos, archive_in, archived, fill, readings_of

from roost.machine import SECOND
from roost.pipeline.archive.compaction import compact
from roost.pipeline.archive.folder import Folder
from roost.pipeline.archive.layout import MANIFEST
from roost.pipeline.archive.manifest import GroupArchive
from roost.pipeline.archive.writing import open_writer


class Stopped(Exception):
    """The process was killed here."""


class Stopping(Folder):
    """A folder whose process is killed at a step; a change has two, before it and after it."""

    def __init__(self, path: Path, steps: int) -> None:
        super().__init__(path)
        self.left = steps

    def write(self, path: str, content: bytes) -> None:
        self._step()
        super().write(path, content)
        self._step()

    def remove(self, path: str) -> None:
        self._step()
        super().remove(path)
        self._step()

    def _step(self) -> None:
        if not self.left:
            raise Stopped
        self.left -= 1


def stopped_after(path: Path, steps: int, work: Callable[[GroupArchive], object]) -> bool:
    try:
        work(GroupArchive(Stopping(path, steps), GROUP))
    except Stopped:
        return True
    return False


def compact_all(archive: GroupArchive, max_rows: int = 100) -> int:
    with open_writer(archive) as writer:
        return compact(writer, max_rows=max_rows)


rounds = st.lists(
    st.tuples(st.sampled_from([VOLTAGE, POWER]), st.integers(1, 4), st.integers(0, 2)), min_size=1, max_size=6
)


@settings(max_examples=12, deadline=None)
@given(rounds, st.integers(2, 12))
def test_whatever_is_stopped_every_reading_is_archived_once(
    published: list[tuple[object, int, int]], max_rows: int
) -> None:
    def publish(repos: Repos, stream: object, count: int, day: int) -> None:
        assert stream in {VOLTAGE, POWER}
        name = VOLTAGE if stream == VOLTAGE else POWER
        repos.publish(name, *range(count), time=NOON + day * DAY, step=SECOND)

    with TemporaryDirectory() as folder:
        path = Path(folder)
        repos = Repos()
        for stream, count, day in published:
            publish(repos, stream, count, day)
            steps = 0
            while stopped_after(path, steps, lambda archive: fill(repos, archive)):
                steps += 1
            assert archived(archive_in(path)) == readings_of(repos)
        steps = 0
        while stopped_after(path, steps, lambda archive: compact_all(archive, max_rows)):
            assert archived(archive_in(path)) == readings_of(repos)
            steps += 1
        assert compact_all(archive_in(path), max_rows) == 0  # again: nothing is left to do
        manifest = archive_in(path).manifest()
        listed = sorted(f"{archive_in(path).path}/{each}" for each in manifest.files)
        assert sorted(each for each in Folder(path).files("") if each.endswith(".parquet")) == listed
        (path / archive_in(path).path / MANIFEST).unlink()
        assert archived(archive_in(path)) == readings_of(repos)
        assert archive_in(path).manifest() == manifest


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_all_files_of_a_day_but_one_are_at_least_half_full(sizes: list[int]) -> None:
    with TemporaryDirectory() as folder:
        archive = archive_in(Path(folder))
        repos = Repos()
        for size in sizes:
            repos.publish(VOLTAGE, *range(size))
            fill(repos, archive)
        compact_all(archive, 10)
        rows = sorted(archive.manifest().files.values())
        assert sum(rows) == sum(sizes)
        assert rows[-1] <= 10
        assert all(each >= 5 for each in rows[1:])
