"""The highest number of every stream of a group, live: what somebody who plans reads needs, without any reading.

    async with group.watch("+/Heater/#") as watch:
        await watch.ready()
        numbers = watch.numbers()                  stream → highest number
        holes = await watch.holes()                stream → runs of those numbers that the nearest repo has not got
        times = await watch.times(stream, 1, 100)  number → event time of the readings that it has got
        await watch.changed(timeout_s=1)           whether there is news since `numbers` or `news` was called

Partial sync with the nearest repo says what changes, streams that come to be included; a number that was told stays,
whichever repo answers next. So it may be ahead of a repo that took over: what that one has not heard of yet is a hole
like any other. That a hole is filled is no news; who waits for it asks for the holes again, and asks for the numbers
first, so that the holes are the newer of the two. An answer that cannot be read is as good as none: `Unreachable`.

Left out are the records of repos, of which partial sync does not tell, and the catalogues of panels, unless a wish
begins with the name of one (`Panel1/catalogue/streams`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from typing import Final, TypeVar

from roost.errors import BadPacket, Unreachable, Untrusted
from roost.host.history import History
from roost.host.residence import Residence, Way
from roost.machine import Effect, Note
from roost.naming import Name
from roost.naming.building import REPO, Group
from roost.pubsub.consumers.wishes import Wish, Wishes
from roost.pubsub.membership import Membership
from roost.repo import intervals
from roost.repo.catalogue import catalogue_of
from roost.repo.gaps import decode_gapped
from roost.repo.question import Asked, Bundle, Gaps, Run, Since, decode_bundle, decode_streams
from roost.repo.shelving import event_time
from roost.sync.port import Learned
from roost.sync.presets import ROOST_PARTIAL
from roost.sync.psync_consumer import UNHEARD, PSyncConsumer
from roost.sync.subscriptions import NameRange, Ranges
from roost.wire import Data
from roost.wire.reading import decode_reading

Answer = TypeVar("Answer")

_PER_QUESTION: Final = 64  # readings; what does not fit an answer is asked for again


class Selection:
    """Which streams of a group are watched; pure."""

    def __init__(self, group: Name, wishes: Sequence[Wish]) -> None:
        whole = Wishes(group, wishes)
        self.subscriptions: Final = whole.subscriptions
        self.ranges: Final = Ranges(whole.ranges).ranges
        self._records: Final = group / REPO
        self._each: Final = [Wishes(group, [wish]) for wish in wishes or (group,)]

    def covers(self, stream: Name) -> bool:
        """Whether a stream is watched."""
        hidden = self._hidden(stream)
        return any(
            each.covers(stream) and (hidden is None or each.ranges[0].low.starts_with(hidden)) for each in self._each
        )

    def _hidden(self, stream: Name) -> Name | None:
        """What a wish begins with that means a stream which is no measurement; None for all others."""
        if stream.starts_with(self._records):
            return self._records
        return stream.prefix(-1) if stream == catalogue_of(stream.prefix(-2)) else None


class Watch(Residence[Membership[PSyncConsumer]]):
    """A group that is watched; made by `StreamGroup.watch`."""

    def __init__(self, way: Way, group: Group, wishes: Sequence[Wish], history: History) -> None:
        self._group: Final = group
        self._history: Final = history
        self._selection: Final = Selection(group.name, wishes)
        self._numbers: Final[dict[Name, int]] = {}  # bound: the preset's streams
        self._risen: Final[dict[Name, int]] = {}  # since somebody asked for news; bound: as above
        self._others: Final[set[Name]] = set()  # streams in the same ranges that are not watched; bound: as above
        self._ready = False
        self._moves = 0  # how often a number rose
        self._seen = 0  # how many of these were seen
        subscriptions = self._selection.subscriptions()

        def make(found: bytes) -> Membership[PSyncConsumer]:
            place = group.subscriptions
            member = PSyncConsumer(place, ROOST_PARTIAL, subscriptions, way.session.randomness, found, "")
            return Membership(member, way.verifier)

        super().__init__(way, make, None)

    @property
    def name(self) -> Name:
        """The group's name."""
        return self._group.name

    @property
    def turned_away(self) -> int:
        """How often there was news of a stream for which there is no room."""
        return self.part.member.turned_away

    async def ready(self, timeout_s: float | None = None) -> bool:
        """Wait until a repo has said all it has; whether it did within the time."""
        return await self._within(timeout_s, lambda: self._ready)

    async def changed(self, timeout_s: float | None = None) -> bool:
        """Wait until a number has risen since `numbers` or `news` was called; whether one did within the time."""
        return await self._within(timeout_s, lambda: self._moves != self._seen)

    def numbers(self) -> dict[Name, int]:
        """The highest number of every watched stream that any repo has told of; they only rise."""
        self._seen = self._moves
        return dict(self._numbers)

    def news(self) -> dict[Name, int]:
        """Those of the numbers that have risen since this was called; at first all of them."""
        self._seen = self._moves
        risen = dict(self._risen)
        self._risen.clear()
        return risen

    async def holes(self) -> dict[Name, list[Run]]:
        """The numbers up to the highest that the nearest repo neither holds nor dropped, of streams that lack some."""
        return await self._lacking(self._selection.ranges)

    async def boundaries(self, time_ns: int) -> dict[Name, int]:
        """The lowest number of every watched stream at or after a time, or the one behind its highest."""
        found: dict[Name, int] = {}  # bound: the streams of a repo
        for each in self._selection.ranges:
            page = {stream: number async for stream, number in self._since(each, time_ns) if self._watched(stream)}
            found.update(page)
        return found

    async def times(self, stream: Name, low: int, high: int) -> dict[int, int]:
        """The event times of readings low to high of a watched stream, as the nearest repo has them; no others."""
        found: dict[int, int] = {}  # bound: what was asked for
        lacking: list[Run] | None = None  # until a bundle leaves something open
        number, high = low, min(high, self._numbers.get(stream, 0))
        while number <= high:
            asked = Bundle(stream, number, min(high, number + _PER_QUESTION - 1))
            bundled = await self._answer(asked, partial(decode_bundle, asked=asked))
            found.update(_times(bundled.readings))
            after = bundled.readings[-1][0] + 1 if bundled.readings else _behind(bundled.dropped, number)
            if after == number:
                if lacking is None:
                    lacking = (await self._lacking([NameRange(stream, stream)])).get(stream, [])
                after = _behind(lacking, number)
            if after == number:  # too large for a bundle
                found.update(await self._time(stream, number))
                after += 1
            number = after
        return found

    # -- what partial sync tells

    def note(self, effect: Effect) -> bool:
        """Take in what the consumer tells."""
        if isinstance(effect, Learned):
            stream = effect.stream.name
            if not self._watched(stream):
                return False
            self._numbers[stream] = self._risen[stream] = effect.high
            self._moves += 1
            return True
        if isinstance(effect, Note) and effect.event == UNHEARD:
            unheard = "%s: no repo answers, which is waited for; is one running, and is there a route to it? %s"
            self._session.journal.warn(unheard, self.name, dict(effect.facts)["reason"])
        return False

    def _execute(self, effects: list[Effect], now: int) -> None:
        super()._execute(effects, now)
        if not self._ready and self.part.member.hellos:  # which tells nothing where there are no streams
            self._ready = True
            self._told()

    def _watched(self, stream: Name) -> bool:
        if stream in self._numbers or stream in self._others:
            return stream in self._numbers
        watched = self._selection.covers(stream)
        if not watched and len(self._others) < ROOST_PARTIAL.max_streams:
            self._others.add(stream)
        return watched

    async def _within(self, timeout_s: float | None, condition: Callable[[], bool]) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.until(condition)
                return True
        return False

    # -- what repos are asked

    async def _lacking(self, ranges: Sequence[NameRange]) -> dict[Name, list[Run]]:
        found: dict[Name, list[int]] = {}  # as `intervals` has them; bound: the watched streams and a repo's runs
        for each in ranges:
            async for stream, runs in self._gaps(each):
                highest = self._numbers.get(stream, 0)
                for low, high in runs:
                    if low <= highest:
                        intervals.add(found.setdefault(stream, []), low, min(high, highest))
        for stream, number in self.part.member.behind.items():
            highest = self._numbers.get(stream, 0)
            if number < highest and any(each.covers(stream) for each in ranges):
                intervals.add(found.setdefault(stream, []), number + 1, highest)
        return {stream: intervals.pairs(bounds) for stream, bounds in found.items()}

    async def _gaps(self, wanted: NameRange) -> AsyncIterator[tuple[Name, tuple[Run, ...]]]:
        for prefix, after in _searches(wanted):
            question: Gaps | None = Gaps(prefix, after)
            while question is not None:
                gapped = await self._answer(question, partial(decode_gapped, asked=question))
                for entry in gapped.entries:
                    yield entry
                more = gapped.after is not None and wanted.covers(gapped.after)
                question = Gaps(prefix, gapped.after, gapped.low) if more else None

    async def _since(self, wanted: NameRange, time_ns: int) -> AsyncIterator[tuple[Name, int]]:
        for prefix, start in _searches(wanted):
            after, more = start, True
            while more:
                streams = await self._answer(Since(prefix, time_ns, after), decode_streams)
                for entry in streams.entries:
                    yield entry
                last = streams.entries[-1][0] if streams.entries else None
                more = streams.more and last is not None and wanted.covers(last) and (after is None or last > after)
                after = last

    async def _time(self, stream: Name, number: int) -> dict[int, int]:
        try:
            readings = await self._history.read(stream, number, number)
        except (Unreachable, BadPacket, Untrusted):
            return {}
        return {each.number: each.event_time for each in readings if each.reading is not None}

    async def _answer(self, question: Asked, decode: Callable[[bytes], Answer]) -> Answer:
        content = (await self._history.ask(question)).content
        try:
            return decode(content)
        except BadPacket as error:
            raise Unreachable(
                f"{self.name}: a repo gave an answer that cannot be read, the next one may do better: {error}"
            ) from None


def _times(readings: Sequence[tuple[int, Data]]) -> Iterator[tuple[int, int]]:
    for number, data in readings:
        with contextlib.suppress(BadPacket):  # it does not say
            yield number, event_time(data) or decode_reading(data.content).time


def _behind(runs: Sequence[Run], number: int) -> int:
    """The first number from this one on that is in none of the runs, which rise."""
    for low, high in runs:
        if low <= number <= high:
            number = high + 1
    return number


def _searches(wanted: NameRange) -> list[tuple[Name, Name | None]]:
    """The prefixes, and behind which stream in them, that a range is searched by: questions know no ranges."""
    low, high = wanted
    if low == high:
        return [(low, None)]
    shared = 0
    while shared < min(len(low), len(high)) and low.at(shared) == high.at(shared):
        shared += 1
    return [(low, None), (low.prefix(shared), low)]
