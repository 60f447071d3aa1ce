"""Where past readings come from: an archive and the repos of groups, or a node over HTTP; put into a spool.

Archive and repos fit by numbers, as for `roost sql`: from the repos comes what the archive lacks, and what comes twice
is there once. A reading is the message that a node makes of it, and the sample that its macros see. Only streams that a
macro refers to are read.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from roost.broker.macros.macros import sample_of_message
from roost.broker.readable import message_of
from roost.errors import BadConfig, Unreachable
from roost.naming import Name
from roost.process.sample import GOOD, Sample

if TYPE_CHECKING:
    from roost.cli._http import Login
    from roost.cli._spool import Spool
    from roost.pipeline.archive.manifest import GroupArchive
    from roost.pipeline.archive.ports import Source
    from roost.pipeline.macros_history import Lying, Wanted

ATTEMPTS: Final = 5  # while an archive is compacted, or takes over from the repos, under the question
_PAGE: Final = 1000  # readings of an answer
_LARGEST: Final = 10_000  # the most that a node answers with


class Past:
    """Reads what macros refer to into a spool, from a time on (ns); `say` is told how many there are by now."""

    def __init__(self, spool: Spool, wanted: Wanted, say: Callable[[int], None]) -> None:
        self.unreadable = 0  # sealed, or no readings
        self.lost = 0  # neither archived nor at a repo that can be reached
        self._spool: Final = spool
        self._wanted: Final = wanted
        self._say: Final = say
        self._read = 0

    # -- archive and repos

    def group(self, archive: GroupArchive, source: Source | None) -> None:
        """Read a group; without a source, what is archived."""
        from roost.pipeline.macros_history import where

        for _ in range(ATTEMPTS):
            place = where(archive, source, self._wanted)
            try:
                self._archived(archive, place)
            except FileNotFoundError:  # compacted meanwhile
                continue
            if source is None:
                return
            dropped = False
            lost = 0
            for piece in source.read(place.stretches):
                self._take(self._samples(archive.group, piece.stream, piece.packets))
                lost += len(piece.missing) + len(piece.refused)
                dropped = dropped or bool(piece.dropped)
            if not dropped or archive.manifest().files == place.manifest.files:
                self.lost += lost
                return
        raise changed_too_often(archive.group)

    def _archived(self, archive: GroupArchive, place: Lying) -> None:
        import pyarrow.dataset as ds

        from roost.pipeline.archive.layout import ARCHIVED, WIRE
        from roost.pipeline.archive.query import Asked

        if not place.files:
            return
        asked = Asked(since=self._wanted.since)
        paths = [archive.folder.inside(f"{archive.path}/{path}") for path in place.files]
        files = ds.dataset(paths, schema=ARCHIVED, format="parquet", filesystem=archive.folder.filesystem)
        for batch in files.to_batches(columns=["stream", "seq", WIRE], filter=asked.condition(list(place.streams))):
            names = {each: Name.parse(each) for each in batch.column("stream").unique().to_pylist()}
            rows: Iterable[tuple[Any, ...]] = zip(*[column.to_pylist() for column in batch.columns], strict=True)
            self._take(
                sample
                for stream, number, wire in rows
                for sample in self._samples(archive.group, names[stream], [(number, wire)])
            )

    def _samples(self, group: Name, stream: Name, packets: Iterable[tuple[int, bytes]]) -> Iterator[Sample]:
        for number, wire in packets:
            message = message_of(len(group), stream, number, wire)
            if message is None:
                self.unreadable += 1
                continue
            sample = sample_of_message(message, stream.value, number)
            if self._wanted.has(sample.topic, sample.time):
                yield sample

    def _take(self, samples: Iterable[Sample]) -> int:
        found = self._spool.add(samples)
        self._read += found
        self._say(self._read)
        return found

    # -- a node

    def node(self, url: str, login: Login | None) -> None:
        """Read page by page, each from the time of the last reading on; what comes again with it is left out."""
        from roost.cli._http import ask, path_of

        for each in self._wanted.filters:
            since, seen = self._wanted.since, set[tuple[str, int, int]]()  # of the page before
            limit = _PAGE
            while True:
                path = path_of("topics", each, since=_iso(since), limit=str(limit))
                page = [_told(url, row) for row in _rows(url, ask(url, "GET", path, user=login))]
                new = [sample for sample in page if sample.time >= self._wanted.since and _mark(sample) not in seen]
                if not new:
                    if len(page) < limit:
                        break
                    if limit == _LARGEST:
                        raise Unreachable(f"{url} has {limit:,} readings of one time on {each}: name fewer topics")
                    limit = _LARGEST  # more than that are of one time
                    continue
                self._take(new)
                limit = _PAGE
                seen = {_mark(sample) for sample in page}
                since = max(sample.time for sample in page)


def changed_too_often(group: Name) -> Unreachable:
    """Say that an archive could not be read for all that is done with it."""
    return Unreachable(f"the archive of {group} changed {ATTEMPTS} times while it was read: ask again")


def _mark(sample: Sample) -> tuple[str, int, int]:
    return sample.topic, sample.time, sample.number


def _iso(time: int) -> str:
    from datetime import UTC, datetime, timedelta

    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time // 1000)).isoformat()


def _rows(url: str, answer: object) -> list[dict[str, Any]]:
    if not isinstance(answer, list) or not all(isinstance(row, dict) for row in answer):
        raise BadConfig(f"{url} does not answer with readings; give the address of a node's `http`")
    return answer


def _told(url: str, row: dict[str, Any]) -> Sample:
    """A reading as a node tells it."""
    try:
        stream = row.get("stream") or ""
        value = row["value"]
        if isinstance(value, dict) and value.keys() == {"base64"}:
            value = b64decode(value["base64"])
        return Sample(
            str(row["topic"]),
            int(row["time"]),
            value,
            row.get("unit") or "",
            row.get("quality") or GOOD,
            Name.parse(stream).value if stream else b"",
            int(row.get("number") or 0),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadConfig(f"{url} tells of a reading what cannot be read: {error!r}") from None
