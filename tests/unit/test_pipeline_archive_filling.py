"""From the repos into the archive: what is new, what cannot be had, what is confirmed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.archive_world import GROUP, NOON, POWER, VOLTAGE, Repos, archive_in, archived, fill, readings_of

from roost.naming import Name
from roost.naming.topic import TopicFilter
from roost.pipeline.archive.certificates import Certificates
from roost.pipeline.archive.compaction import compact
from roost.pipeline.archive.confirming import STREAM, Confirming
from roost.pipeline.archive.covered import Covered
from roost.pipeline.archive.filling import archive_once
from roost.pipeline.archive.lacking import CONFIRMED
from roost.pipeline.archive.layout import CONFIRMED as CONFIRMED_FILE
from roost.pipeline.archive.writing import open_writer
from roost.wire.reading import InputRange, Reading


def test_refused_readings_are_not_archived_but_reported(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0, 2.0, 3.0)
    repos.refused.add((VOLTAGE, 2))
    report = fill(repos, archive_in(tmp_path))
    assert (report.archived, report.refused) == (2, 1)
    assert report.first[0] == f"{VOLTAGE}/seq=2 is refused: forged"
    assert archived(archive_in(tmp_path)) == [(str(VOLTAGE), 1), (str(VOLTAGE), 3)]
    repos.refused.clear()
    assert fill(repos, archive_in(tmp_path)).archived == 1


def test_a_packet_that_a_disk_has_damaged_is_not_archived_and_stops_nothing(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0, 2.0, 3.0)
    time, wire = repos.held[VOLTAGE][2]
    repos.held[VOLTAGE][2] = (time, wire[:-8])
    report = fill(repos, archive_in(tmp_path))
    assert (report.archived, report.refused) == (2, 1)
    assert report.first[0] == f"{VOLTAGE}/seq=2 is refused: the packet is damaged"
    repos.held[VOLTAGE][2] = (time, wire)
    assert fill(repos, archive_in(tmp_path)).archived == 1


def test_what_was_dropped_before_is_noted_and_not_asked_for_again(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0, 2.0, 3.0)
    repos.drop(VOLTAGE, 1)
    report = fill(repos, archive_in(tmp_path))
    assert str(report).startswith("2 archived, 1 dropped before")
    repos.asked.clear()
    fill(repos, archive_in(tmp_path))
    assert repos.asked == []
    assert archive_in(tmp_path).manifest().dropped.covers(str(VOLTAGE), 1, 1)


def test_a_hole_is_filled_when_its_reading_comes(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0, 2.0, 3.0)
    kept = repos.lose(VOLTAGE, 2)
    report = fill(repos, archive_in(tmp_path))
    assert (report.archived, report.missing) == (2, 1)
    assert repos.asked == [(VOLTAGE, 1, 1), (VOLTAGE, 3, 3)]
    repos.held[VOLTAGE][2] = kept
    assert fill(repos, archive_in(tmp_path)).archived == 1
    assert archived(archive_in(tmp_path)) == readings_of(repos)


def test_records_of_repos_and_what_archives_say_are_not_archived(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0)
    repos.publish(GROUP + Name.parse("/Repo/Repo1"), 1.0)
    repos.publish(GROUP + Name.parse("/Archiver") + CONFIRMED, 1.0)
    assert fill(repos, archive_in(tmp_path)).archived == 1


def test_only_streams_that_are_wished_for_are_archived_and_memory_is_bounded(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0)
    repos.publish(POWER, 1.0)
    archive = archive_in(tmp_path)
    with open_writer(archive) as writer:
        certificates = Certificates(archive.folder)
        archive_once(repos, writer, certificates, lambda: NOON, (TopicFilter("+/+/Power"),))
        assert writer.manifest.covered.streams == [str(POWER)]
        repos.publish(POWER, 2.0)
        archive_once(repos, writer, certificates, lambda: NOON, flush_bytes=1)
        assert len(writer.manifest.files) == 3  # one per piece
        assert compact(writer, before="2027-01-15") == 0
        assert compact(writer) == 2


def test_numbers_of_streams_are_intervals() -> None:
    covered = Covered()
    covered.add_all([("/g/a", 1, 3), ("/g/a", 7, 9), ("/g/b", 2, 2)])
    assert covered.lacks("/g/a", 1, 10) == [(4, 6), (10, 10)]
    assert covered.lacks("/g/c", 1, 2) == [(1, 2)]
    assert len(covered) == 7
    assert Covered.from_json(covered.to_json(Name.parse("/g")), Name.parse("/g")) == covered
    less = Covered()
    less.add("/g/a", 2, 8)
    assert covered.less(less) == [("/g/a", 1, 1), ("/g/a", 9, 9), ("/g/b", 2, 2)]
    with pytest.raises(ValueError, match="intervals"):
        Covered.from_json({"/a": [1]}, Name.parse("/g"))


# -- handing over


def test_what_is_archived_is_confirmed_once_by_ranges(tmp_path: Path) -> None:
    repos, told = Repos(), list[Reading]()
    repos.publish(VOLTAGE, 1.0, 2.0)
    archive = archive_in(tmp_path)
    fill(repos, archive)
    assert Confirming(archive, told.extend, lambda: NOON).confirm(archive.manifest()) == 2
    (reading,) = told
    assert reading.lineage is not None
    assert reading.lineage.ranges == (InputRange(VOLTAGE, 1, 2),)
    assert Reading.decode(reading.encode()) == reading
    repos.publish(VOLTAGE, 3.0)
    fill(repos, archive)
    again = Confirming(archive, told.extend, lambda: NOON)  # after a restart
    assert again.confirm(archive.manifest()) == 1
    assert again.confirm(archive.manifest()) == 0
    assert told[1].lineage is not None
    assert told[1].lineage.ranges == (InputRange(VOLTAGE, 3, 3),)
    assert f"/{STREAM}" == str(CONFIRMED)


def test_what_could_not_be_published_is_confirmed_the_next_time(tmp_path: Path) -> None:
    repos, told = Repos(), list[Reading]()
    repos.publish(VOLTAGE, 1.0)
    archive = archive_in(tmp_path)
    fill(repos, archive)

    def fail(readings: list[Reading]) -> None:
        raise OSError(f"{len(readings)} readings do not fit on the disk")

    with pytest.raises(OSError, match="1 readings"):
        Confirming(archive, fail, lambda: NOON).confirm(archive.manifest())
    assert Confirming(archive, told.extend, lambda: NOON).confirm(archive.manifest()) == 1
    (tmp_path / archive.path / CONFIRMED_FILE).write_bytes(b"[")
    assert Confirming(archive, told.extend, lambda: NOON).confirm(archive.manifest()) == 1


def test_many_streams_are_confirmed_by_several_readings_that_all_encode(tmp_path: Path) -> None:
    archive = archive_in(tmp_path)
    manifest = archive.manifest()
    streams = [GROUP + Name.parse(f"/Panel{each}/Heater/{'Voltage' * 8}") for each in range(300)]
    for stream in streams:
        manifest.covered.add(str(stream), 1 << 40, 1 << 41)
    told: list[Reading] = []
    Confirming(archive, told.extend, lambda: NOON).confirm(manifest)
    named = [
        each.stream
        for reading in told
        for each in Reading.decode(reading.encode()).lineage.ranges  # type: ignore[union-attr]
    ]
    assert sorted(named) == sorted(streams)
