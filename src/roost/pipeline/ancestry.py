"""Lineage, checked and not believed: from a virtual reading back to the raw readings it comes from.

    ancestry = await trace(face, "/…/Energy/Meter/Heater/Mean/seq=7")
    print(ancestry.text())

A reading is fetched and verified, then what it names as its inputs, then theirs, level by level, until readings name
none: those are raw. Each is asked for once. A level says per stream who signed, which program made it, and what could
not be had (`ancestry_report`). Where a lineage has only the digest of its inputs, or `max_depth` or `max_readings` ends
the way, it says so.

That a program, run again on these inputs, gives this value is not checked here: who has the program can.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from roost.errors import InvalidInput, Unreachable, Untrusted
from roost.host.face import Face
from roost.naming import Name, NameLike, as_name
from roost.naming.building import Group, numbered
from roost.pipeline.ancestry_report import Ancestry, Maker, Origin
from roost.pubsub.consumers.arrival import Arrival, arrival_of
from roost.repo import intervals
from roost.repo.numbering import numbered as stream_and_number
from roost.wire.lineage import InputRange, Lineage, joined_ranges

MAX_DEPTH: Final = 16
MAX_READINGS: Final = 100_000
_AT_ONCE: Final = 16  # stretches, or readings of one, that are fetched at the same time
_BELOW_GROUP: Final = 3  # panel, device, metric
_LIFETIME_MS: Final = 1000


async def trace(
    face: Face, name: NameLike, *, max_depth: int = MAX_DEPTH, max_readings: int = MAX_READINGS
) -> Ancestry:
    """Fetch and verify a reading and all it comes from; raises `Unreachable` or `Untrusted` if itself cannot be had."""
    reading = as_name(name)
    value, number = stream_and_number(reading)
    if not number:
        raise InvalidInput(f"{reading} is no reading: its name ends in seq= and a number from 1")
    asked = _Asked(max_readings)
    groups = _Groups()
    following = asked.fresh([InputRange(Name(value), number, number)])
    found = [_Found(following[0], [await _by_name(face, groups.of(Name(value)), Name(value), number)])]
    levels: list[tuple[Origin, ...]] = [(_origin(found[0]),)]
    while not asked.is_cut and (following := asked.fresh(_named(found))):
        if len(levels) > max_depth:
            asked.is_cut = True
            break
        groups.learn(found)
        found = await _fetch_all(face, groups, following)
        levels.append(tuple(_origin(each) for each in found))
    return Ancestry(reading, tuple(levels), asked.is_cut)


class _Asked:
    """What was asked for, so that nothing is twice, and not too much is."""

    def __init__(self, limit: int) -> None:
        self.is_cut = False
        self._room = limit
        self._numbers: Final[dict[Name, list[int]]] = {}  # by stream, intervals; bound: as many readings as the limit

    def fresh(self, named: Iterable[InputRange]) -> list[InputRange]:
        """Those that were not asked for, as far as there is room."""
        fresh: list[InputRange] = []
        for each in joined_ranges(named):
            bounds = self._numbers.setdefault(each.stream, [])
            for low, high in _without(bounds, each.low, each.high):
                last = min(high, low + self._room - 1)
                self.is_cut = self.is_cut or last < high
                if last >= low:
                    fresh.append(InputRange(each.stream, low, last))
                    intervals.add(bounds, low, last)
                    self._room -= last - low + 1
        return fresh


class _Found(NamedTuple):
    """What came of a stretch."""

    inputs: InputRange
    arrivals: list[Arrival]
    dropped: int = 0
    missing: tuple[int, ...] = ()
    refused: tuple[tuple[int, str], ...] = ()


class _Groups:
    """Which group a stream is of: one that who signed has shown, as a panel's name is its group's and its own.

    A topic of MQTT has any number of levels. Of a stream that no known group has, they are a device and a metric.
    """

    def __init__(self) -> None:
        self._known: Final[dict[Name, None]] = {}  # bound: the signers of what is fetched

    def learn(self, found: Iterable[_Found]) -> None:
        """See who signed."""
        for arrival in [each for stretch in found for each in stretch.arrivals]:
            if arrival.stream.starts_with(arrival.signer):
                self._known[arrival.signer.prefix(-1)] = None

    def of(self, stream: Name) -> Name:
        """The group of a stream."""
        known = [group for group in self._known if stream.starts_with(group)]
        return max(known, key=len, default=stream.prefix(-_BELOW_GROUP) if len(stream) > _BELOW_GROUP else Name())


async def _fetch_all(face: Face, groups: _Groups, wanted: Sequence[InputRange]) -> list[_Found]:
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def fetch(each: InputRange) -> _Found:
        group = groups.of(each.stream)
        async with at_once:
            try:
                return await _fetch(face, group, each)
            except (Unreachable, Untrusted):  # one of them: which, the others show
                return await _fetch_one_by_one(face, group, each)

    return list(await asyncio.gather(*[fetch(each) for each in wanted]))


async def _fetch(face: Face, of: Name, wanted: InputRange) -> _Found:
    """Fetch a stretch from the repos of its group."""
    stream, low, high = wanted.stream, wanted.low, wanted.high
    group = face.group(of)
    arrivals = await group.read(stream, low, high)
    highest = (await group.streams(stream)).get(stream, 0)
    dropped = max(0, min(high, highest) - low + 1) - len(arrivals)
    return _Found(wanted, arrivals, dropped, tuple(range(max(low, highest + 1), high + 1)))


async def _fetch_one_by_one(face: Face, group: Name, wanted: InputRange) -> _Found:
    arrivals: list[Arrival] = []
    missing: list[int] = []
    refused: list[tuple[int, str]] = []
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def fetch(number: int) -> None:
        async with at_once:
            try:
                arrivals.append(await _by_name(face, group, wanted.stream, number))
            except Unreachable:
                missing.append(number)
            except Untrusted as error:
                refused.append((number, str(error)))

    await asyncio.gather(*[fetch(number) for number in range(wanted.low, wanted.high + 1)])
    return _Found(wanted, arrivals, 0, tuple(sorted(missing)), tuple(sorted(refused)))


async def _by_name(face: Face, group: Name, stream: Name, number: int) -> Arrival:
    """Fetch a reading from the repos of its group, or from wherever its name leads."""
    name = numbered(stream, number)
    if group:
        service = Group.at(group).service
        with contextlib.suppress(Unreachable):
            data = await face.fetch(name, lifetime_ms=_LIFETIME_MS, tries=2, hints=(service,))
            return arrival_of(stream, number, data, 0)
    return arrival_of(stream, number, await face.fetch(name, lifetime_ms=_LIFETIME_MS, tries=2), 0)


def _origin(found: _Found) -> Origin:
    lineages = [_lineage(each) for each in found.arrivals]
    made = [lineage for lineage in lineages if lineage is not None]
    unnamed = sum(each.digest.count for each in made if each.digest is not None)
    unnamed += sum(not stream_and_number(name)[1] for each in made for name in each.inputs)
    return Origin(
        found.inputs,
        len(found.arrivals),
        len(lineages) - len(made),
        tuple(sorted({each.signer for each in found.arrivals})),
        tuple(sorted({Maker(each.job, each.program) for each in made})),
        unnamed,
        found.dropped,
        found.missing,
        found.refused,
    )


def _named(found: Iterable[_Found]) -> list[InputRange]:
    """All that readings name as their inputs."""
    named: list[InputRange] = []
    for lineage in [_lineage(arrival) for each in found for arrival in each.arrivals]:
        if lineage is not None:
            parts = [stream_and_number(name) for name in lineage.inputs]
            named += [InputRange(Name(stream), number, number) for stream, number in parts if number]
            named += lineage.ranges
    return named


def _lineage(arrival: Arrival) -> Lineage | None:
    return None if arrival.reading is None else arrival.reading.lineage


def _without(bounds: list[int], low: int, high: int) -> list[tuple[int, int]]:
    """What of low to high is not within intervals."""
    left: list[tuple[int, int]] = []
    for first, last in intervals.pairs(bounds):
        if last >= low and first <= high:
            if first > low:
                left.append((low, first - 1))
            low = last + 1
    return [*left, (low, high)] if low <= high else left
