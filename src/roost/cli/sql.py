"""`roost sql "select … from electricity"`: ask about groups, archive and repos as one table each."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.cli._output import add_json
from roost.cli._page import Page
from roost.cli._parsing import add_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import ExitStack

    from roost.pipeline.archive.sql import Reach, Tables

SUMMARY = "Ask about groups in SQL: archive and repos as one table per group."
_GROUP: Final = "/BigCompany/Building1/Electricity"
PAGE: Final = Page(
    examples=(
        (
            f'roost sql "select stream, count(*) as readings from electricity group by stream" --group {_GROUP}',  # noqa: S608  an example
            "how many readings each stream has",
        ),
        (
            f'roost sql "select seq, value from electricity order by seq" --group {_GROUP} --since 24h --json',  # noqa: S608  an example
            "the last 24 hours, a line of JSON per row",
        ),
        (
            f"roost sql 'select * from electricity' --group {_GROUP} --format parquet --out all.parquet",  # noqa: S608  an example
            "all, into a file",
        ),
    ),
    text="A table is called as the last part of its group's name in lower case, electricity, or by its whole name in "
    "double quotes. What is archived comes from the archive, what came after it from the repos, verified.",
    see=("archive", "stream", "pipeline", "docs/archive.md"),
)

SHOWN: Final = 200  # rows of a table; the other formats have all
_DEFAULT_SINCE: Final = "24h"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what, of which groups, and in what form."""
    parser.add_argument(
        "query",
        metavar="QUERY",
        help="the question; a group is a table, called as the last part of its name in lower case, electricity, or by "
        'its whole name in double quotes, "/BigCompany/Building1/Electricity"',
    )
    parser.add_argument(
        "--group", metavar="GROUP", action="append", default=[], help="a group that is not archived; repeatable"
    )
    parser.add_argument("--archive", metavar="DIR", help="the archive, a folder or a URI (default: ROOST_HOME/archive)")
    parser.add_argument(
        "--since",
        metavar="WHEN",
        help="leave out what is older: 24h, 7d, 2026-05-01T08:00Z (default: all of the archive and what came after it, "
        f"and {_DEFAULT_SINCE} where there is no archive)",
    )
    parser.add_argument("--archive-only", action="store_true", help="leave the repos alone")
    parser.add_argument(
        "--engine", choices=("duckdb", "spark"), default="duckdb", help="who computes (default: duckdb)"
    )
    parser.add_argument("--master", metavar="URL", help="where Spark runs (default: on this machine)")
    parser.add_argument("--format", choices=("table", "csv", "json", "parquet"), default="table", help="default: table")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write there (default: standard output)")
    add_json(parser, "as --format json: a line of JSON per row; what fails is told in JSON, too")
    add_at(parser)


def run(options: argparse.Namespace) -> int:
    """Ask, and show the answer."""
    from contextlib import ExitStack

    from roost.cli import note
    from roost.cli._spark import spark_for
    from roost.errors import BadConfig

    if options.json and options.format not in {"table", "json"}:
        raise BadConfig(f"--json and --format {options.format} both say what the rows look like: leave one of them out")
    if options.json:
        options.format = "json"
    if options.format == "parquet" and options.out is None:
        raise BadConfig("parquet is not for a terminal: name a file with --out")
    with ExitStack() as stack:
        tables = _tables(options, stack)
        if options.engine == "duckdb":
            found = tables.duckdb(options.query)
        else:
            session = stack.enter_context(spark_for("roost sql", options.master))
            found = tables.spark(options.query, session())
    if tables.lost:
        note(
            f"{tables.lost} readings are missing here: no repo that can be reached has them, and they are not archived"
        )
    if options.format == "table" and options.out is None:
        _show(found)
    else:
        _write(found, options)
    return 0


def _tables(options: argparse.Namespace, stack: ExitStack) -> Tables:
    import time

    from pyarrow.fs import FileType

    from roost.cli import note
    from roost.errors import BadConfig
    from roost.host.paths import home
    from roost.host.streams import chosen_policy
    from roost.naming import Name
    from roost.pipeline.archive.folder import Folder
    from roost.pipeline.archive.manifest import Archive
    from roost.pipeline.archive.query import Asked
    from roost.pipeline.archive.sql import Tables

    folder = Folder(options.archive or home() / "archive")
    if options.archive and folder.filesystem.get_file_info(folder.root).type != FileType.Directory:
        raise BadConfig(
            f"there is no archive {options.archive}: no such folder; without --archive, the usual one is read"
        )
    archive = Archive(folder)
    since = options.since
    if since is None and not archive.groups():
        since = _DEFAULT_SINCE
        note(f"there is no archive here: the last {since} of what the repos have; --since reaches further back")
    begin = None if since is None else chosen_policy("sequential", since, time.time_ns()).from_time
    groups = [Name.parse(group) for group in options.group]
    reach = (lambda _: None) if options.archive_only else _reach(options, stack)
    return Tables(archive, groups, reach, Asked(since=begin), time.time_ns)


def _reach(options: argparse.Namespace, stack: ExitStack) -> Reach:
    """Reach a group's repos once somebody asks about it, and tell how much of it is read."""
    from functools import cache

    from roost.cli import note
    from roost.cli._progress import progress_of
    from roost.cli._watched import WatchedSource
    from roost.host.stretch_access import Access
    from roost.naming import Name
    from roost.pipeline.archive.live import live, reached
    from roost.pipeline.archive.ports import Source

    access = Access(tuple(options.uris))

    @cache
    def reach(group: Name) -> Source:
        source = stack.enter_context(live(stack.enter_context(reached(access, note)), group, access))
        return WatchedSource(source, progress_of(options))

    return reach


# -- the answer


def _show(found: Any) -> None:  # noqa: ANN401  pyarrow has no types
    """Print a table, the first rows of it."""
    from roost.cli import note

    lines = [found.column_names, *([_cell(each) for each in row] for row in _rows(found.slice(0, SHOWN)))]
    widths = [max(len(line[at]) for line in lines) for at in range(found.num_columns)]
    numeric = [any(word in str(field.type) for word in ("int", "double", "float", "decimal")) for field in found.schema]
    lines.insert(1, ["-" * width for width in widths])
    for line in lines:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        print("  ".join(cells).rstrip())
    if found.num_rows > SHOWN:
        note(f"{SHOWN} of {found.num_rows} rows; --format csv, json or parquet has all")


def _write(found: Any, options: argparse.Namespace) -> None:  # noqa: ANN401  as above
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    if options.format == "parquet":
        pq.write_table(found, options.out, compression="zstd")
        return
    with options.out.open("wb") if options.out else _standard_output() as file:
        if options.format == "csv":
            pc.write_csv(_plain(found), file)
        else:
            for line in _json_lines(found):
                file.write(line)


def _json_lines(found: Any) -> Iterator[bytes]:  # noqa: ANN401  as above
    import json

    for row in _rows(found):
        named = dict(zip(found.column_names, row, strict=True))
        yield json.dumps(named, default=_text, ensure_ascii=False).encode() + b"\n"


def _plain(found: Any) -> Any:  # noqa: ANN401  as above
    """The same without nested columns and bytes, which CSV cannot say: as text."""
    import pyarrow as pa

    for at, field in enumerate(found.schema):
        if pa.types.is_nested(field.type) or pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            texts = [None if each is None else _text(each) for each in found.column(at).to_pylist()]
            found = found.set_column(at, field.name, pa.array(texts, pa.string()))
    return found


def _rows(found: Any) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401  as above
    if found.num_columns:
        yield from zip(*[column.to_pylist() for column in found.columns], strict=True)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.12g}" if isinstance(value, float) else value if isinstance(value, str) else _text(value)


def _text(value: object) -> str:
    """What JSON and tables have no form for: times as ISO 8601, bytes in hex, the rest as Python writes it."""
    from datetime import date, datetime

    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if isinstance(value, date) else str(value)


def _standard_output() -> Any:  # noqa: ANN401  a context manager of a file
    from contextlib import nullcontext

    return nullcontext(sys.stdout.buffer)
