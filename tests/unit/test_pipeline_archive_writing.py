"""Into the archive: layout, exactly once, what a stopped writer left."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.archive_world import DAY, GROUP, NOON, POWER, VOLTAGE, Repos, archive_in, archived, fill, readings_of

from roost.errors import BadConfig
from roost.naming import Name
from roost.pipeline.archive.folder import Folder
from roost.pipeline.archive.layout import ARCHIVED, MANIFEST, folder_of, group_of
from roost.pipeline.archive.manifest import Archive
from roost.pipeline.archive.writing import Writer, open_writer


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet"))


def test_readings_lie_by_group_and_day_sorted_with_their_packets(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 229.5, 230.5)
    repos.publish(POWER, 1.5, 2.5, time=NOON + DAY // 4, step=DAY // 2)
    report = fill(repos, archive_in(tmp_path))
    assert report.archived == 4
    days = sorted(path.parent.name for path in tmp_path.rglob("*.parquet"))
    assert days == ["day=2027-01-15", "day=2027-01-16"]
    rows = pq.ParquetFile(next(path for path in tmp_path.rglob("*.parquet") if "-15/" in str(path))).read()
    assert rows.schema.equals(ARCHIVED)
    assert rows.column("stream").to_pylist() == [str(POWER), str(VOLTAGE), str(VOLTAGE)]
    assert rows.column("value").to_pylist() == [1.5, 229.5, 230.5]
    assert rows.column("wire").to_pylist()[1] == repos.held[VOLTAGE][1][1]


def test_the_folder_of_a_group_is_its_name_escaped() -> None:
    group = Name.parse("/Big%20Company/a%3Db/%C3%A4")
    assert "/" not in folder_of(group)
    assert group_of(folder_of(group)) == group
    assert group_of("certificates") is None
    with pytest.raises(BadConfig, match="too long"):
        folder_of(Name.of("x" * 250))


def test_other_tools_find_group_and_day_as_columns(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 229.5)
    fill(repos, archive_in(tmp_path))
    query = f"select \"group\", day, value from read_parquet('{tmp_path}/*/*/*.parquet', hive_partitioning = true)"
    with duckdb.connect() as connection:
        assert [row[0] for row in connection.execute(query).fetchall()] == [str(GROUP)]


def test_what_is_archived_is_not_fetched_nor_written_again(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0, 2.0)
    fill(repos, archive_in(tmp_path))
    repos.publish(VOLTAGE, 3.0)
    repos.asked.clear()
    assert fill(repos, archive_in(tmp_path)).archived == 1
    assert repos.asked == [(VOLTAGE, 3, 3)]
    assert fill(repos, archive_in(tmp_path)).archived == 0
    assert archived(archive_in(tmp_path)) == readings_of(repos)


def test_a_reading_that_is_handed_in_twice_is_written_once(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0, 2.0, 3.0)
    archive = archive_in(tmp_path)
    fill(repos, archive)
    with open_writer(archive) as writer:
        rows = pa.concat_tables([writer.read(path) for path in writer.manifest.files])
        assert writer.add(pa.concat_tables([rows, rows])) == 0
    other = archive_in(tmp_path / "other")
    with open_writer(other) as writer:
        assert writer.add(pa.concat_tables([rows, rows])) == 3


def test_a_file_that_was_not_listed_yet_is_taken_in(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0, 2.0)
    archive = archive_in(tmp_path)
    fill(repos, archive)
    (tmp_path / archive.path / MANIFEST).unlink()
    assert archive.manifest().files == {}
    with open_writer(archive) as writer:
        assert writer.mended == 1
    repos.asked.clear()
    assert fill(repos, archive).archived == 0
    assert repos.asked == []


def test_a_file_with_known_readings_and_new_ones_gives_only_the_new_ones(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0, 2.0)
    archive, other = archive_in(tmp_path / "one"), archive_in(tmp_path / "other")
    fill(repos, archive)
    repos.publish(VOLTAGE, 3.0)
    fill(repos, other)
    (stray,) = (tmp_path / "other").rglob("*.parquet")
    stray.rename(next((tmp_path / "one").rglob("*.parquet")).with_name(stray.name))
    assert archived(archive) == readings_of(repos)
    assert len(files(tmp_path / "one")) == 2
    assert archive.covers(VOLTAGE, 1, 3)


def test_what_was_being_written_when_the_power_went_is_removed(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0)
    archive = archive_in(tmp_path)
    fill(repos, archive)
    half = next(tmp_path.rglob("*.parquet")).with_name(".part-0.parquet.7.new")
    half.write_bytes(b"PAR1")
    fill(repos, archive)
    assert not half.exists()


def test_a_group_has_one_writer(tmp_path: Path) -> None:
    archive = archive_in(tmp_path)
    with open_writer(archive), pytest.raises(BadConfig, match="one writer"), open_writer(archive):
        pass
    with open_writer(archive) as writer:
        assert isinstance(writer, Writer)


def test_a_damaged_manifest_says_how_to_make_it_anew(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0)
    archive = archive_in(tmp_path)
    fill(repos, archive)
    path = tmp_path / archive.path / MANIFEST
    for broken in (b"{", b'{"format": 1}', path.read_bytes().replace(b'"format":1', b'"format":2')):
        path.write_bytes(broken)
        with pytest.raises(BadConfig, match="move it away"):
            archive.manifest()


def test_an_archive_knows_its_groups_and_what_it_covers(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0, 2.0)
    fill(repos, archive_in(tmp_path))
    archive = Archive(Folder(tmp_path))
    assert archive.groups() == [GROUP]
    assert archive.covers(VOLTAGE, 1, 2)
    assert not archive.covers(VOLTAGE, 2, 3)
    assert not archive.covers(POWER, 1, 1)


def test_no_place_for_an_archive_is_said() -> None:
    with pytest.raises(BadConfig, match="no place for an archive"):
        Folder("nowhere://at/all")


def test_an_archive_may_lie_wherever_pyarrow_writes(tmp_path: Path) -> None:
    archive = archive_in(tmp_path)
    folder = Folder(f"file://{tmp_path}/far")
    assert not folder.local
    (tmp_path / "far" / archive.path).mkdir(parents=True)
    folder.write(f"{archive.path}/x", b"1")
    assert folder.read(f"{archive.path}/x") == b"1"
    assert folder.where("x") == f"file://{tmp_path}/far/x"
    folder.remove(f"{archive.path}/x")
    folder.remove(f"{archive.path}/x")
    assert folder.read(f"{archive.path}/x") is None
