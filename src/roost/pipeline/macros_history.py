"""Past readings that macros are tried on: which of a group's archive and repos they are, and about how many.

Archive and repos fit by numbers, as for `roost sql`: from the repos comes what the archive lacks. Only streams that a
macro refers to are wanted. `roost macro test` reads them into one process, or has Spark do it
(`roost.pipeline.macros_history_rows`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from roost.errors import BadTopic
from roost.naming import Name
from roost.naming.topic import topic_of_name
from roost.pipeline.archive.lacking import lacking
from roost.pipeline.archive.manifest import GroupArchive, Manifest
from roost.pipeline.archive.ports import Source
from roost.pipeline.archive.query import Asked, files_of
from roost.process.wildcards import matches


@dataclass(frozen=True, slots=True)
class Wanted:
    """Readings of topics that macros refer to, from a time on (ns)."""

    filters: tuple[str, ...]
    since: int = 0

    def may_have(self, group: Name, stream: Name) -> bool:
        """Whether readings of a stream can be among them."""
        return any(self.names(topic) for topic in topics_of(group, stream))

    def names(self, topic: str) -> bool:
        """Whether a topic is referred to."""
        return any(matches(each, topic) for each in self.filters)

    def has(self, topic: str, time: int) -> bool:
        """Whether a reading is among them."""
        return time >= self.since and self.names(topic)


@dataclass(frozen=True, slots=True)
class Lying:
    """Where the readings of a group lie that are wanted."""

    group: Name
    manifest: Manifest
    files: tuple[str, ...]  # of the archive, below the folder of the group
    streams: tuple[str, ...]  # in them
    stretches: tuple[tuple[Name, int, int], ...]  # of repos

    @property
    def count(self) -> int:
        """How many there are, at most: which of a day's are wanted is not known before they are read."""
        archived = sum(self.manifest.covered.count(stream) for stream in self.streams)
        of_days = sum(self.manifest.files[path] for path in self.files)
        return min(archived, of_days) + sum(high - low + 1 for _, low, high in self.stretches)


def where(archive: GroupArchive, source: Source | None, wanted: Wanted) -> Lying:
    """Find out where they lie; without a source, in the archive only."""
    manifest = archive.manifest()
    group = archive.group
    streams = tuple(each for each in manifest.covered.streams if wanted.may_have(group, Name.parse(each)))
    files = tuple(files_of(manifest, Asked(since=wanted.since))) if streams else ()
    if source is None:
        return Lying(group, manifest, files, streams, ())
    lacks = lacking(source, group, manifest, first=source.boundaries(wanted.since))
    return Lying(group, manifest, files, streams, tuple([e for e in lacks.stretches if wanted.may_have(group, e[0])]))


def topics_of(group: Name, stream: Name) -> list[str]:
    """On which topics the readings of a stream may be: behind the panel if they came over MQTT, else its whole name."""
    topics: list[str] = []
    for name in (stream.suffix(len(group) + 1), stream):
        with suppress(BadTopic):
            topics.append(topic_of_name(name))
    return topics
