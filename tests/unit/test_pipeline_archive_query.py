"""History and SQL: archive and repos as one table, no gap and nothing double at the seam."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.archive_world import DAY, GROUP, NOON, POWER, VOLTAGE, Piece, Repos, archive_in, fill

from roost.columns.readings import READINGS
from roost.errors import BadConfig, Unreachable
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.topic import TopicFilter
from roost.pipeline.archive.compaction import compact
from roost.pipeline.archive.folder import Folder
from roost.pipeline.archive.manifest import Archive, GroupArchive
from roost.pipeline.archive.ports import Source
from roost.pipeline.archive.query import Asked, history, only_in_repos
from roost.pipeline.archive.sql import Tables
from roost.pipeline.archive.writing import open_writer

EVERYTHING = Asked()
WATER = Name.parse("/BigCompany/Building1/Water")


def asked(archive: GroupArchive, repos: Source | None, what: Asked = EVERYTHING) -> list[tuple[str, int]]:
    rows = history(archive, repos, what, lambda: NOON)
    assert rows.schema.equals(READINGS)
    streams = [each.rpartition("/")[2] for each in rows.column("stream").to_pylist()]
    return list(zip(streams, rows.column("seq").to_pylist(), strict=True))


@pytest.fixture
def repos() -> Repos:
    """Three readings a day for two days, of two streams."""
    repos = Repos()
    for stream in (VOLTAGE, POWER):
        repos.publish(stream, 1.0, 2.0, 3.0)
        repos.publish(stream, 4.0, 5.0, 6.0, time=NOON + DAY)
    return repos


def test_history_goes_from_the_archive_on_to_the_repos(tmp_path: Path, repos: Repos) -> None:
    archive = archive_in(tmp_path)
    fill(repos, archive)
    for number in range(1, 6):
        repos.drop(VOLTAGE, number)
    repos.publish(VOLTAGE, 7.0, time=NOON + DAY + 3 * SECOND)
    repos.asked.clear()
    assert asked(archive, repos) == [*[("Power", n) for n in range(1, 7)], *[("Voltage", n) for n in range(1, 8)]]
    assert repos.asked == [(VOLTAGE, 7, 7)]


def test_history_is_asked_for_by_stream_and_time(tmp_path: Path, repos: Repos) -> None:
    archive = archive_in(tmp_path)
    fill(repos, archive)
    repos.publish(POWER, 7.0, time=NOON + DAY + 3 * SECOND)
    what = Asked((TopicFilter("+/+/Power"),), since=NOON + 2 * SECOND, until=NOON + DAY + 2 * SECOND)
    assert asked(archive, repos, what) == [("Power", 3), ("Power", 4), ("Power", 5)]
    later = Asked(since=NOON + DAY + 2 * SECOND)
    assert asked(archive, repos, later) == [("Power", 6), ("Power", 7), ("Voltage", 6)]
    assert asked(archive_in(tmp_path / "none"), repos, later) == [("Power", 6), ("Power", 7), ("Voltage", 6)]
    assert asked(archive, None, Asked(until=NOON)) == []


def test_what_is_handed_over_while_we_ask_is_not_lost(tmp_path: Path, repos: Repos) -> None:
    archive = archive_in(tmp_path)

    class HandingOver(Repos):
        """As we read, the archiver archives everything, and retention drops it."""

        done = False

        def read(self, stretches: Sequence[tuple[Name, int, int]]) -> list[Piece]:  # type: ignore[override]
            if not self.done:
                self.done = True
                fill(repos, archive)
                for number in range(1, 6):
                    self.drop(VOLTAGE, number)
            return list(super().read(stretches))

    moving = HandingOver(held={stream: dict(held) for stream, held in repos.held.items()})
    found = asked(archive, moving)
    assert found == [*[("Power", n) for n in range(1, 7)], *[("Voltage", n) for n in range(1, 7)]]


def test_what_is_compacted_while_we_ask_is_not_lost(tmp_path: Path, repos: Repos) -> None:
    archive = archive_in(tmp_path)
    fill(repos, archive)
    repos.publish(VOLTAGE, 7.0, time=NOON + DAY + 3 * SECOND)
    fill(repos, archive)

    class Compacting(Repos):
        def numbers(self) -> dict[Name, int]:
            with open_writer(archive) as writer:
                compact(writer)
            return dict(super().numbers())

    assert len(asked(archive, Compacting(held=repos.held))) == 13


def test_an_archive_that_never_holds_still_is_said(tmp_path: Path, repos: Repos) -> None:
    archive = archive_in(tmp_path)
    fill(repos, archive)
    for path in tmp_path.rglob("*.parquet"):
        path.unlink()
    with pytest.raises(Unreachable, match="ask again"):
        asked(archive, None)


def test_what_nobody_has_any_more_is_counted(tmp_path: Path, repos: Repos) -> None:
    repos.drop(VOLTAGE, 1)
    repos.lose(VOLTAGE, 2)
    repos.refused.add((VOLTAGE, 3))
    rest = only_in_repos(GROUP, archive_in(tmp_path).manifest(), repos, EVERYTHING, lambda: NOON)
    assert rest.lost == 2
    assert rest.dropped == ((VOLTAGE, (1, 1)),)
    assert rest.rows.num_rows == 9


# -- SQL


def tables(folder: Path, repos: Repos | None, *groups: Name, what: Asked = EVERYTHING) -> Tables:
    return Tables(Archive(Folder(folder)), groups, lambda _: repos, what, lambda: NOON)


def test_a_group_is_a_table_of_archive_and_repos(tmp_path: Path, repos: Repos) -> None:
    fill(repos, archive_in(tmp_path))
    repos.publish(VOLTAGE, 9.0, time=NOON + DAY + 3 * SECOND)
    query = "select metric, day, count(*) as n, max(value) as top from {} group by all order by all"
    rows = tables(tmp_path, repos).duckdb(query.format("Electricity")).to_pylist()
    assert [(row["metric"], str(row["day"])[8:], row["n"], row["top"]) for row in rows] == [
        ("Power", "15", 3, 3.0),
        ("Power", "16", 3, 6.0),
        ("Voltage", "15", 3, 3.0),
        ("Voltage", "16", 4, 9.0),
    ]
    assert tables(tmp_path, repos).duckdb(query.format(f'"{GROUP}"')).to_pylist() == rows
    assert tables(tmp_path, None).duckdb("select count(*) as n from electricity").to_pylist() == [{"n": 12}]


def test_since_bounds_both_parts(tmp_path: Path, repos: Repos) -> None:
    fill(repos, archive_in(tmp_path))
    repos.publish(VOLTAGE, 9.0, time=NOON + DAY + 3 * SECOND)
    found = tables(tmp_path, repos, what=Asked(since=NOON + DAY + 2 * SECOND, until=NOON + DAY + 3 * SECOND))
    assert found.duckdb("select seq, metric from electricity order by 2").to_pylist() == [
        {"seq": 6, "metric": "Power"},
        {"seq": 6, "metric": "Voltage"},
    ]


def test_only_tables_that_are_named_are_fetched(tmp_path: Path, repos: Repos) -> None:
    reached: list[Name] = []

    def reach(group: Name) -> Repos:
        reached.append(group)
        return repos if group == GROUP else Repos()

    both = Tables(Archive(Folder(tmp_path)), [GROUP, WATER], reach, EVERYTHING, lambda: NOON)
    assert both.names == ["electricity", "water"]
    assert both.duckdb("select count(*) as n from (select * from WATER) as w").to_pylist() == [{"n": 0}]
    assert reached == [WATER]
    assert both.duckdb("select 1 as one").to_pylist() == [{"one": 1}]
    assert reached == [WATER]


def test_groups_that_end_alike_are_told_apart_by_their_whole_names(tmp_path: Path, repos: Repos) -> None:
    other = Name.parse("/BigCompany/Building2/Electricity")
    both = tables(tmp_path, repos, GROUP, other)
    assert both.names == [str(GROUP), str(other)]
    with pytest.raises(BadConfig, match=f'there are "{GROUP}", "{other}"'):
        both.duckdb("select * from electricity")


def test_what_is_wrong_with_a_query_is_one_sentence(tmp_path: Path, repos: Repos) -> None:
    found = tables(tmp_path, repos, GROUP)
    with pytest.raises(BadConfig, match="there are electricity"):
        found.duckdb("select * from gas")
    with pytest.raises(BadConfig, match="colour"):
        found.duckdb("select colour from electricity")
    with pytest.raises(BadConfig, match="syntax error"):
        found.duckdb("selec 1")
    with pytest.raises(BadConfig, match="there are none"):
        tables(tmp_path, repos).duckdb("select * from gas")


def test_sql_reads_an_archive_wherever_pyarrow_does(tmp_path: Path, repos: Repos) -> None:
    fill(repos, archive_in(tmp_path))
    far = Tables(Archive(Folder(f"file://{tmp_path}")), [], lambda _: None, EVERYTHING, lambda: NOON)
    assert far.duckdb("select count(*) as n, min(day)::text as d from electricity").to_pylist() == [
        {"n": 12, "d": "2027-01-15"}
    ]
