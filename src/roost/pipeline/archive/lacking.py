"""What repos have and the archive lacks, by numbers: what is to be fetched, by the archiver or for a question.

Left out are numbers that are known to be dropped, and those that the nearest repo has not got: it fetches them from
others, and is not waited for. They are counted.

No readings, and so left out too: the repos' own records, and what archives say themselves (`confirming`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from roost.naming import Name
from roost.naming.building import REPO
from roost.naming.topic import TopicFilter
from roost.pipeline.archive.covered import Covered
from roost.pipeline.archive.manifest import Manifest
from roost.pipeline.archive.ports import Source

CONFIRMED: Final = Name.parse("/Archive/Confirmed")  # below the archiver's panel
EVERYTHING: Final = (TopicFilter("#"),)


@dataclass(frozen=True, slots=True)
class Lacking:
    """Streams with the numbers low to high that can be had, and how many cannot be now."""

    stretches: list[tuple[Name, int, int]]
    absent: int


def lacking(
    source: Source,
    group: Name,
    manifest: Manifest,
    wishes: Sequence[TopicFilter] = EVERYTHING,
    first: Mapping[Name, int] | None = None,
) -> Lacking:
    """What is to be fetched of streams that match a wish; `first` says from which number on, where not from 1."""
    numbers = source.numbers()  # before the holes, which are to be the newer of the two
    holes = source.holes()
    begin = first or {}
    found: list[tuple[Name, int, int]] = []
    absent = 0
    for stream, highest in sorted(numbers.items()):
        if not is_archivable(stream, group) or not any(wish.matches(stream.suffix(len(group))) for wish in wishes):
            continue
        text = str(stream)
        gaps = Covered()
        gaps.add_all((text, low, high) for low, high in holes.get(stream, ()))
        for low, high in manifest.covered.lacks(text, begin.get(stream, 1), highest):
            for run in manifest.dropped.lacks(text, low, high):
                there = gaps.lacks(text, *run)
                found += [(stream, *each) for each in there]
                absent += run[1] - run[0] + 1 - sum(end - start + 1 for start, end in there)
    return Lacking(found, absent)


def is_archivable(stream: Name, group: Name) -> bool:
    """Whether a stream is one of readings: no repo's records, and no archive's own."""
    return (
        stream.starts_with(group)
        and not stream.starts_with(group / REPO)
        and stream.suffix(len(stream) - len(CONFIRMED)) != CONFIRMED
    )
