"""Macros taken up on Spark where a node left them: what `roost.broker.macros.catching_up` does on a node, as values.

    record: position, state, last result ──▶ where the macro stands, and from which reading of each stream it goes on
      of the node, out of the group     └─▶ results behind it ──▶ what has its result, and gets no other
    readings up to the position ──▶ what it looks back on

A record may be older than where its node stopped. What the node did since is found by the causes of its results, so
none is published twice; the readings behind the position are processed by the job, so none is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from typing import Final

from roost.broker.macros.macros import Cause
from roost.broker.macros.record import MAX_PARTS, Parts, Record
from roost.broker.readable import message_of
from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.topic import name_of_topic
from roost.pipeline.archive.ports import Source
from roost.pipeline.macros_history import topics_of
from roost.pipeline.macros_past import Left, united
from roost.pipeline.macros_replay import Replay
from roost.pipeline.macros_rows import reading_of
from roost.process.definition import Definition
from roost.process.effects import Standing
from roost.process.sample import Sample
from roost.process.wildcards import matches
from roost.repo.numbering import numbered
from roost.wire.data import decode_data
from roost.wire.lineage import read_lineage
from roost.wire.reading import decode_reading

MAX_RESULTS: Final = 100_000  # of a stream that are looked through

Sources = Mapping[Name, Source]  # by group


@dataclass(frozen=True, slots=True)
class Taken:
    """A macro as it is taken up: what it goes on from, and the last reading of each stream that is behind it."""

    left: Left
    behind: Mapping[bytes, int]


def record_of(source: Source, group: Name, name: str) -> tuple[Record, Record] | None:
    """What nodes have said of a macro last: its definition, and where it stands by who ran it; None if nothing yet."""
    topic = name_of_topic(Record(name, None, 0).topic.decode())
    found: list[tuple[bytes, Record]] = []
    for stream, high in _streams(source, group, topic):
        told = _last_record(source, stream, high)
        if told is not None:
            found.append((stream.prefix(len(group) + 1).value, told))
    if not found:
        return None
    defined = max([each for _, each in found], key=lambda each: each.changed)
    # Who runs a macro says best where it stands; a record that somebody else told has what that one had heard.
    stands = max(found, key=lambda each: (each[1].claimed, each[1].runner, each[0] == each[1].runner, each[1].changed))
    return defined, stands[1]


def taken_up(sources: Sources, group: Name, definition: Definition, defined: Record, stands: Record) -> Taken:
    """Take a macro up; `group` is the one that has its results."""
    depths = _depths(definition)
    behind = dict(stands.standing.position)
    for own, source in sources.items():
        firsts = source.boundaries(defined.changed)
        for stream in source.numbers():
            if stream.value not in behind and _is_wanted(own, stream, depths):
                behind[stream.value] = firsts.get(stream, 1) - 1  # what was there before the macro is not its
    standing = replace(stands.standing, version=defined.version, position=tuple(sorted(behind.items())))
    samples = looked_back(sources, definition, behind)
    published = {definition.topic: dict(_published(sources[group], group, definition, stands.results))}
    left = Left({definition.name: (definition.digest, standing)}, {}, samples, published)
    return Taken(left, {stream: number for stream, number in behind.items() if _is_in(sources, stream, depths)})


def changed(left: Left, sources: Sources, definition: Definition, version: int, reached: Mapping[bytes, int]) -> Left:
    """What a macro that goes on with another definition goes on from; `reached` is how far each stream has come."""
    _, standing = left.standings[definition.name]
    position = {**reached, **dict(standing.position)}
    standings = {definition.name: (definition.digest, replace(standing, version=version))}
    return Left(standings, {}, looked_back(sources, definition, position))


def looked_back(sources: Sources, definition: Definition, upto: Mapping[bytes, int]) -> dict[str, list[Sample]]:
    """What a macro looks back on, by filter, the oldest first, of the readings up to some numbers."""
    found: dict[str, list[Sample]] = {}
    for each, depth in _depths(definition).items():
        samples: list[Sample] = []
        for group, source in sources.items():
            stretches = [
                (stream, max(1, high - depth + 1), high)
                for stream in source.numbers()
                if (high := upto.get(stream.value, 0)) > 0 and _is_wanted(group, stream, [each])
            ]
            for piece in source.read(stretches):
                reads = [reading_of(len(group), piece.stream, number, wire) for number, wire in piece.packets]
                samples += [read.sample() for read in reads if read is not None and matches(each, read.topic)]
        found[each] = nlargest(depth, samples, key=_order)[::-1]
    return found


def merged(lefts: Sequence[Left]) -> Left:
    """One for all of them; of a filter that several look back on, all that any has."""
    standings: dict[str, tuple[bytes, Standing]] = {}
    numbers: dict[str, int] = {}
    published: dict[str, Mapping[Cause, Cause]] = {}
    samples: dict[str, Sequence[Sample]] = {}
    for each in lefts:
        standings.update(each.standings)
        numbers.update(each.numbers)
        published.update(each.published)
        for filter_, some in each.samples.items():
            samples[filter_] = united(samples.get(filter_, ()), some)
    return Left(standings, numbers, samples, published)


def without(left: Left, gone: Sequence[Definition], kept: Sequence[Definition]) -> Left:
    """The same without some macros, and what only they looked back on."""
    names, topics = {each.name for each in gone}, {each.topic for each in gone}
    theirs, others = ({each for some in macros for each in _depths(some)} for macros in (gone, kept))
    return Left(
        {name: each for name, each in left.standings.items() if name not in names},
        {topic: number for topic, number in left.numbers.items() if topic not in topics},
        {each: some for each, some in left.samples.items() if each in others or each not in theirs},
        {topic: some for topic, some in left.published.items() if topic not in topics},
    )


# -- what is in the group


def _streams(source: Source, group: Name, topic: Name) -> list[tuple[Name, int]]:
    """The streams of a topic, whichever panel's, with their highest numbers."""
    found = source.numbers().items()
    return sorted((stream, number) for stream, number in found if stream.suffix(len(group) + 1) == topic)


def _last_record(source: Source, stream: Name, high: int) -> Record | None:
    """The record that the last readings of a stream are; None while one is being told."""
    low = high
    while low >= 1:
        parts = Parts()
        told: Record | None = None
        try:
            for payload in _payloads(source, stream, low, high):
                told = parts.take(stream.value, payload)
        except BadPacket:
            return None
        if told is not None or high - low > 2 * MAX_PARTS:
            return told
        low = max(1, low - (high - low + 1)) if low > 1 else 0
    return None


def _payloads(source: Source, stream: Name, low: int, high: int) -> Iterator[bytes]:
    for piece in source.read([(stream, low, high)]):
        for _, wire in piece.packets:
            yield decode_reading(decode_data(wire).content).payload


def _published(
    source: Source, group: Name, definition: Definition, included: Mapping[bytes, int]
) -> Iterator[tuple[Cause, Cause]]:
    """What has its result, of those behind what a record includes: the cause, and where the result is."""
    for stream, high in _streams(source, group, name_of_topic(definition.topic)):
        low = max(included.get(stream.value, 0) + 1, high - MAX_RESULTS + 1)
        for piece in source.read([(stream, low, high)] if low <= high else []):
            for number, wire in piece.packets:
                message = message_of(len(group), stream, number, wire)
                if message is not None and message.lineage:
                    cause = read_lineage(message.lineage).cause
                    yield (b"", message.time) if cause is None else numbered(cause), (stream.value, number)


# -- what a macro refers to


def _depths(definition: Definition) -> dict[str, int]:
    """The filters that its code names, and how many values each takes."""
    depths: dict[str, int] = {}
    for view in Replay([definition]).processor.macro(definition.name).views:
        depths[view.reference.topic] = max(depths.get(view.reference.topic, 0), view.count)
    return depths


def _is_wanted(group: Name, stream: Name, filters: Iterable[str]) -> bool:
    return any(matches(each, topic) for topic in topics_of(group, stream) for each in filters)


def _is_in(sources: Sources, stream: bytes, filters: Iterable[str]) -> bool:
    name = Name(stream)
    return any(name.starts_with(group) and _is_wanted(group, name, filters) for group in sources)


def _order(sample: Sample) -> tuple[int, bytes, int]:
    return sample.time, sample.stream, sample.number
