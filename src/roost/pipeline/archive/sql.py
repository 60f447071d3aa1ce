"""Groups as tables: SQL over archive and repos, by DuckDB on one node or by Spark.

A group is a table under the last part of its name in lower case, `electricity`, where no other group has the same, and
under its whole name, `"/BigCompany/Building1/Electricity"`. Its columns are those of the source, and `day`. A table is
a view of the archive's files, of which the engine opens those that the query needs, and of what only the repos have;
that is fetched when a query names the table, and not before. Times are UTC.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from roost.columns.readings import READINGS
from roost.errors import BadConfig
from roost.naming import Name
from roost.pipeline.archive.layout import ARCHIVED
from roost.pipeline.archive.manifest import Archive, GroupArchive, Manifest
from roost.pipeline.archive.ports import Source
from roost.pipeline.archive.query import Asked, Rest, files_of, joined
from roost.pipeline.reasons import reason_of

Reach: TypeAlias = Callable[[Name], Source | None]

_COLUMNS: Final = ", ".join(f'"{name}"' for name in READINGS.names)


class Tables:
    """The groups that can be asked about; `reach` gives a group's repos, None for the archive only."""

    def __init__(
        self, archive: Archive, groups: Iterable[Name], reach: Reach, asked: Asked, clock: Callable[[], int]
    ) -> None:
        self.archive: Final = archive
        self._reach: Final = reach
        self._asked: Final = asked
        self._clock: Final = clock
        self.groups: Final = sorted({*groups, *archive.groups()}, key=str)
        self._short: Final[dict[str, list[Name]]] = {}
        self._lost: Final[dict[Name, int]] = {}  # bound: the groups
        for group in self.groups:
            self._short.setdefault(short_name(group), []).append(group)

    @property
    def names(self) -> list[str]:
        """What the tables are called, the shortest way each."""
        return [self._called(group)[-1] for group in self.groups]

    @property
    def lost(self) -> int:
        """How many readings of the tables asked about neither the archive nor a repo has, as far as is known."""
        return sum(self._lost.values())

    def duckdb(self, query: str) -> pa.Table:
        """Ask DuckDB."""
        return self._ask(_named(query), lambda parts: self._in_duckdb(query, parts))

    def spark(self, query: str, session: Any) -> pa.Table:  # noqa: ANN401  pyspark is not for everyone
        """Ask Spark, in a session of `roost.pipeline.session`."""
        return self._ask(_named(query), lambda parts: self._in_spark(query, parts, session))

    def _ask(self, named: set[str] | None, ask: Callable[[list[_Part]], pa.Table]) -> pa.Table:
        """Put the parts of all tables that are named together, one after another, then ask."""
        chosen = [group for group in self.groups if named is None or named & set(self._called(group))]

        def gather(left: list[Name], parts: list[_Part]) -> pa.Table:
            if not left:
                return ask(parts)
            group = left[0]

            def read(manifest: Manifest, rest: Rest) -> pa.Table:
                self._lost[group] = rest.lost
                part = _Part(self.archive.group(group), manifest, rest, self._asked, self._called(group))
                return gather(left[1:], [*parts, part])

            return joined(self.archive.group(group), self._reach(group), self._asked, self._clock, read)

        return gather(chosen, [])

    def _in_duckdb(self, query: str, parts: list[_Part]) -> pa.Table:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            for number, part in enumerate(parts):
                part.create(connection, number)
            try:
                return connection.sql(query).to_arrow_table()
            except duckdb.CatalogException as error:
                raise self._explained(error) from None
            except duckdb.IOException as error:
                if "No files found" in str(error) or "No such file" in str(error):
                    raise FileNotFoundError(str(error)) from None
                raise BadConfig(_first(error)) from None
            except duckdb.Error as error:
                raise BadConfig(_first(error)) from None

    def _in_spark(self, query: str, parts: list[_Part], session: Any) -> pa.Table:  # noqa: ANN401  as above
        own = session.newSession()  # its settings and views are for this question only
        own.conf.set("spark.sql.session.timeZone", "UTC")
        own.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
        for part in parts:
            part.register(own)
        try:
            return own.sql(query).toArrow()
        except Exception as error:
            if "TABLE_OR_VIEW_NOT_FOUND" in str(error):
                raise self._explained(error) from None
            if type(error).__name__ in {"ParseException", "AnalysisException"}:
                raise BadConfig(reason_of(error)) from None
            if "FileNotFoundException" in str(error):
                raise FileNotFoundError(_first(error)) from None
            raise

    def _called(self, group: Name) -> list[str]:
        """The names of a group's table: the whole one, and the short one if it is no other's."""
        short = short_name(group)
        return [str(group)] if len(self._short[short]) > 1 else [str(group), short]

    def _explained(self, error: Exception) -> BadConfig:
        names = ", ".join(_quoted(name) if "/" in name else name for name in self.names)
        there = f"there are {names}" if names else "there are none: name groups with --group, or an archive"
        return BadConfig(f"{_first(error)}; of tables {there}")


class _Part:
    """One table: the files of a manifest, and the rest."""

    def __init__(self, archive: GroupArchive, manifest: Manifest, rest: Rest, asked: Asked, names: list[str]) -> None:
        self._folder: Final = archive.folder
        self._paths: Final = [f"{archive.path}/{path}" for path in files_of(manifest, asked)]
        self._rest: Final = _with_day(rest.rows)
        self._asked: Final = asked
        self._names: Final = names

    def create(self, connection: duckdb.DuckDBPyConnection, number: int) -> None:
        """Make it a view of DuckDB's."""
        connection.register(f"rest_{number}", self._rest)
        parts = [f"SELECT {_COLUMNS}, day FROM rest_{number}"]  # noqa: S608  our own names
        if self._paths and self._folder.local:
            files = ", ".join(_text(self._folder.where(path)) for path in self._paths)
            types = "hive_partitioning = true, hive_types = {'day': DATE, 'group': VARCHAR}"
            parts.append(f"SELECT {_COLUMNS}, day FROM read_parquet([{files}], {types})")  # noqa: S608  our own paths
        elif self._paths:
            inside = [self._folder.inside(path) for path in self._paths]
            files = ds.dataset(inside, schema=ARCHIVED, format="parquet", filesystem=self._folder.filesystem)
            connection.register(f"files_{number}", files)
            parts.append(f"SELECT {_COLUMNS}, coalesce(event_time, arrival_time)::DATE AS day FROM files_{number}")  # noqa: S608
        body = " UNION ALL ".join(parts)
        bounds = self._bounds()
        for name in self._names:
            connection.execute(f"CREATE VIEW {_quoted(name)} AS SELECT * FROM ({body}){bounds}")  # noqa: S608  as above

    def register(self, session: Any) -> None:  # noqa: ANN401  as above
        """Make it a view of Spark's."""
        rows = session.createDataFrame(self._rest)
        if self._paths:
            files = session.read.option("basePath", self._folder.where("")).parquet(
                *[self._folder.where(path) for path in self._paths]
            )
            rows = rows.unionByName(files.select(*rows.columns))
        bounds = self._bounds().removeprefix(" WHERE ")
        for name in self._names:
            (rows.where(bounds) if bounds else rows).createOrReplaceTempView(f"`{name}`")

    def _bounds(self) -> str:
        """The time that is asked about, which the files reach beyond."""
        found = [
            f"event_time {sign} TIMESTAMP '{pa.scalar(time // 1000, pa.timestamp('us'))}+00:00'"
            for sign, time in ((">=", self._asked.since), ("<", self._asked.until))
            if time is not None
        ]
        return f" WHERE {' AND '.join(found)}" if found else ""


def short_name(group: Name) -> str:
    """The last part of a group's name, in lower case."""
    return str(group).rpartition("/")[2].lower()


def _named(query: str) -> set[str] | None:
    """The tables that a query names; None, so all, if DuckDB does not understand it."""
    with duckdb.connect() as connection:
        found = connection.execute("SELECT json_serialize_sql($1)", [query]).fetchone()
    tree = json.loads(found[0]) if found else {"error": True}
    return None if tree["error"] else set(_tables(tree))


def _tables(tree: Any) -> Iterator[str]:  # noqa: ANN401  JSON
    if isinstance(tree, dict):
        if tree.get("type") == "BASE_TABLE":
            yield tree["table_name"] if "/" in tree["table_name"] else tree["table_name"].lower()
        tree = list(tree.values())
    if isinstance(tree, list):
        for each in tree:
            yield from _tables(each)


def _with_day(rows: pa.Table) -> pa.Table:
    moments = pc.coalesce(rows.column("event_time"), rows.column("arrival_time"))
    return rows.append_column("day", pc.cast(pc.cast(moments, pa.timestamp("us")), pa.date32()))


def _first(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
