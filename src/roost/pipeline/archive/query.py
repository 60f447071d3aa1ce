"""History: archive and repos as one table. The seam is by numbers: from the repos comes exactly what the archive lacks.

The manifest is read first, so whatever is archived meanwhile comes from a repo. Only if repos have dropped some of it
meanwhile, because the archive had confirmed it, is the manifest read again: so there is no gap, and nothing is double,
whenever the question is asked. Numbers that the nearest repo has not got are not waited for, but counted: `lost`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from roost.columns.readings import READINGS
from roost.errors import Unreachable
from roost.naming import Name
from roost.naming.topic import TopicFilter
from roost.pipeline.archive.filling import rows_of
from roost.pipeline.archive.lacking import EVERYTHING, lacking
from roost.pipeline.archive.layout import ARCHIVED, day_of
from roost.pipeline.archive.manifest import GroupArchive, Manifest
from roost.pipeline.archive.ports import Source
from roost.repo.question import Run

ATTEMPTS: Final = 5  # while the archive is compacted, or takes over from the repos, under the question


@dataclass(frozen=True, slots=True)
class Asked:
    """Which readings: streams that match a filter relative to the group, from `since` to before `until` (ns)."""

    wishes: tuple[TopicFilter, ...] = EVERYTHING
    since: int | None = None
    until: int | None = None

    def matches(self, stream: Name, group: Name) -> bool:
        """Whether a stream is asked for."""
        return any(wish.matches(stream.suffix(len(group))) for wish in self.wishes)

    def condition(self, streams: list[str] | None) -> pc.Expression | None:
        """The same for rows; `streams` where not all of them are asked for."""
        found: list[Any] = []
        if self.since is not None:
            found.append(pc.field("event_time") >= _moment(self.since))
        if self.until is not None:
            found.append(pc.field("event_time") < _moment(self.until))
        if streams is not None:
            found.append(pc.field("stream").isin(streams))
        condition: pc.Expression | None = None
        for each in found:
            condition = each if condition is None else condition & each
        return condition


@dataclass(frozen=True, slots=True)
class Rest:
    """What only the repos have, as rows of `READINGS`; what they have dropped, and how much cannot be had."""

    rows: pa.Table
    dropped: tuple[tuple[Name, Run], ...] = ()
    lost: int = 0


def history(archive: GroupArchive, source: Source | None, asked: Asked, clock: Callable[[], int]) -> pa.Table:
    """The readings that are asked for, by stream and number; without a source, those of the archive only."""

    def read(manifest: Manifest, rest: Rest) -> pa.Table:
        rows = pa.concat_tables([archived(archive, manifest, asked), rest.rows])
        return rows.sort_by([("stream", "ascending"), ("seq", "ascending")])

    return joined(archive, source, asked, clock, read)


def joined(
    archive: GroupArchive,
    source: Source | None,
    asked: Asked,
    clock: Callable[[], int],
    read: Callable[[Manifest, Rest], pa.Table],
) -> pa.Table:
    """Have `read` make a table of two parts that fit: the files of a manifest, and what only the repos have."""
    for _ in range(ATTEMPTS):
        manifest = archive.manifest()
        rest = only_in_repos(archive.group, manifest, source, asked, clock)
        if _was_handed_over(archive, rest):
            continue
        try:
            return read(manifest, rest)
        except FileNotFoundError:  # compacted meanwhile
            continue
    raise Unreachable(f"the archive of {archive.group} changed {ATTEMPTS} times while it was read: ask again")


def archived(archive: GroupArchive, manifest: Manifest, asked: Asked) -> pa.Table:
    """What the archive has of what is asked for; files of other days are not opened."""
    paths = [archive.folder.inside(f"{archive.path}/{path}") for path in files_of(manifest, asked)]
    streams = [each for each in manifest.covered.streams if asked.matches(Name.parse(each), archive.group)]
    condition = asked.condition(None if len(streams) == len(manifest.covered.streams) else streams)
    files = ds.dataset(paths, schema=ARCHIVED, format="parquet", filesystem=archive.folder.filesystem)
    return files.to_table(columns=READINGS.names, filter=condition).cast(READINGS)


def files_of(manifest: Manifest, asked: Asked) -> list[str]:
    """The files of the days that are asked for."""
    low = "" if asked.since is None else _moment(asked.since).date().isoformat()
    high = "~" if asked.until is None else _moment(asked.until).date().isoformat()
    return [path for path in sorted(manifest.files) if low <= day_of(path) <= high]


def only_in_repos(
    group: Name, manifest: Manifest, source: Source | None, asked: Asked, clock: Callable[[], int]
) -> Rest:
    """What is asked for and not in the archive."""
    if source is None:
        return Rest(READINGS.empty_table())
    first = {} if asked.since is None else source.boundaries(asked.since)
    lacks = lacking(source, group, manifest, asked.wishes, first)
    lost = lacks.absent
    tables = [READINGS.empty_table()]
    dropped: list[tuple[Name, Run]] = []
    for piece in source.read(lacks.stretches):
        tables.append(rows_of(piece, clock()).select(READINGS.names).cast(READINGS))
        dropped += [(piece.stream, run) for run in piece.dropped]
        lost += len(piece.missing) + len(piece.refused)
    rows = pa.concat_tables(tables)
    condition = asked.condition(None)
    return Rest(rows if condition is None else rows.filter(condition), tuple(dropped), lost)


def _was_handed_over(archive: GroupArchive, rest: Rest) -> bool:
    """Whether repos have dropped something since we read the manifest, because the archive has it now."""
    if not rest.dropped:
        return False
    now = archive.manifest().covered
    return any(
        sum(high - low + 1 for low, high in now.lacks(str(stream), *run)) < run[1] - run[0] + 1
        for stream, run in rest.dropped
    )


def _moment(time_ns: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_ns // 1000)
