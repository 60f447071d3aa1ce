"""The repo's side of questions (`roost.repo.question`): what is newest or missing, where a time begins, bundles.

    <prefix>/32=ask/<question>  ──▶  <prefix>/32=ask/<question>/v=<ms>/seg=0

Whatever is asked is answered from the tables and the store at once, in one packet; nothing is remembered about who
asked. An answer is fresh for as long as it stays useful: a complete bundle is immutable, so that caches may keep it for
10 s; anything else changes with the next insertion, and 100 ms are enough to answer many consumers that ask together.
Only what is missing is never fresh: who asks has just heard of a number, and a cache would say that nothing is missing.

A reading that is damaged on the disk is missing in its bundle, and `damaged` is told, which fetches it again. Streams
with names too long for an answer are left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, Protocol

from roost.errors import BadPacket
from roost.forwarding.endpoint_effects import Asked
from roost.machine import MS, Effect, Rejected
from roost.naming import Name
from roost.naming.building import numbered
from roost.naming.conventions import segment, version
from roost.repo.gaps import encode_gapped, fitting_gaps, longest_name
from roost.repo.numbering import MAX_NUMBER
from roost.repo.question import (
    ASK,
    MAX_CONTENT_BYTES,
    MAX_DROPPED,
    Bundle,
    Gaps,
    Latest,
    Run,
    Since,
    Streams,
    decode_question,
    dropped_bytes,
    encode_bundle,
    encode_streams,
    fitting,
)
from roost.repo.store import Damaged, Store
from roost.sync.port import Reply
from roost.wire import Signer, encode_data
from roost.wire.segment import default_bytes

CHANGING_MS: Final = 100
COMPLETE_MS: Final = 10_000
MIN_CONTENT_BYTES: Final = 1000
PAGE: Final = 512  # streams looked at for one answer, more than fit
AT_ONCE: Final = 64  # of them for which the store is asked together
MAX_LOOKED: Final = 16_384  # streams looked at for one answer about what is missing: they may lack nothing
MAX_BUNDLED: Final = 128  # readings looked at for one answer, more than fit
_MAX_LOOKED_AFTER: Final = 8  # holes in a bundle that are looked at one by one, for damage
_SAMPLE_BYTES: Final = 64


class Holdings(Protocol):
    """What is asked of the table of what a repo holds (`roost.repo.holdings`)."""

    def highest(self, stream: Name) -> int:
        """The highest number of a stream that is here, 0 without any."""
        ...

    def lowest(self, stream: Name) -> int:
        """The lowest number of a stream that is here, 0 without any."""
        ...

    def under(self, prefix: Name, after: Name | None, limit: int) -> list[Name]:
        """The streams at or below a prefix and behind `after`, in canonical order, at most `limit`."""
        ...

    def dropped(self, stream: Name, low: int, high: int) -> list[tuple[int, int]]:
        """Which runs of numbers that touch low to high were dropped on purpose, rising."""
        ...

    def is_held(self, stream: Name, number: int) -> bool:
        """Whether a number of a stream is here, as far as the table knows."""
        ...

    def holes(self, stream: Name, limit: int) -> list[tuple[int, int]]:
        """Which runs of numbers below the highest are missing, rising, at most `limit`."""
        ...

    def gaps(self, stream: Name) -> list[tuple[int, int]]:
        """The same below the highest number that was ever held or dropped, all of them."""
        ...

    def lacking(
        self, prefix: Name, after: Name | None, limit: int, max_bytes: int
    ) -> Iterator[tuple[Name, list[tuple[int, int]]]]:
        """Of the next `limit` streams those with gaps; then, if there are more, the last one, without any."""
        ...


class Questions:
    """Answers in the name of one repo, under each of `prefixes`: the group's service and the repo's own name."""

    def __init__(
        self,
        store: Store,
        holdings: Holdings,
        signer: Signer,
        prefixes: Sequence[Name],
        damaged: Callable[[Name, int], list[Effect]],
    ) -> None:
        self.answered = 0
        self.unlisted = 0  # streams with names too long for an answer
        self._store: Final = store
        self._holdings: Final = holdings
        self._signer: Final = signer
        self._places: Final = tuple(prefix / ASK for prefix in prefixes)
        self._damaged: Final = damaged

    def asked(self, asked: Asked, now: int) -> list[Effect] | None:
        """Answer a question; None if this Interest is none."""
        interest = asked.interest
        place = next((place for place in self._places if interest.name.starts_with(place)), None)
        if place is None:
            return None
        if len(interest.name) != len(place) + 1 or not interest.can_be_prefix:
            return []  # an answer asked for by its own name is with caches, if anywhere
        try:
            question = decode_question(interest.name.at(-1))
        except BadPacket as error:
            return [Rejected(str(place), str(error), interest.wire[:_SAMPLE_BYTES])]
        name = interest.name / version(now // MS)
        room = min(MAX_CONTENT_BYTES, default_bytes(name, self._signer))
        if room < MIN_CONTENT_BYTES:
            reason = f"a name of {len(name.value)} bytes leaves no room for an answer"
            return [Rejected(str(place), reason, interest.wire[:_SAMPLE_BYTES])]
        effects: list[Effect] = []
        freshness_ms = CHANGING_MS
        if isinstance(question, Bundle):
            content, complete, effects = self._bundle(question, room, now)
            freshness_ms = COMPLETE_MS if complete else CHANGING_MS
        elif isinstance(question, Gaps):
            content, freshness_ms = self._gaps(question, room), 0
        else:
            content = self._streams(question, room)
        self.answered += 1
        first = segment(0)
        packet = encode_data(name / first, content, self._signer, freshness_ms=freshness_ms, final_block=first)
        return [Reply(packet, asked.token), *effects]

    def _streams(self, question: Latest | Since, room: int) -> bytes:
        """List streams, as many as fit; what is too long for a page of its own is passed over."""
        page = self._holdings.under(question.prefix, question.after, PAGE)
        short = [stream for stream in page if 2 * len(stream.value) <= room]
        self.unlisted += len(page) - len(short)
        entries = fitting(self._numbers(short, question), room)
        more = bool(entries) and (len(entries) < len(short) or len(page) == PAGE)
        return encode_streams(Streams(tuple(entries), more))

    def _numbers(self, streams: Sequence[Name], question: Latest | Since) -> Iterator[tuple[Name, int]]:
        """The streams with what is asked of each, looked up when they are taken: some at once, as far as that costs."""
        if isinstance(question, Latest):
            yield from ((stream, self._highest(stream)) for stream in streams)
            return
        for at in range(0, len(streams), AT_ONCE):
            some = streams[at : at + AT_ONCE]
            lows = self._store.since_each(some, question.time) if question.time else map(self._holdings.lowest, some)
            yield from ((stream, self._since(stream, low)) for stream, low in zip(some, lows, strict=True))

    def _since(self, stream: Name, found: int) -> int:
        if not found:
            return self._highest(stream) + 1
        # What is missing right before it may be of that time too, and come yet: rather too early than too late.
        return next((low for low, high in self._holdings.holes(stream, MAX_NUMBER) if high == found - 1), found)

    def _highest(self, stream: Name) -> int:
        """The highest number there ever was, held or dropped: a panel that lost its disk goes on behind it."""
        dropped = self._holdings.dropped(stream, 1, MAX_NUMBER)
        return max(self._holdings.highest(stream), dropped[-1][1] if dropped else 0)

    def _gaps(self, question: Gaps, room: int) -> bytes:
        """List what is missing, as much as fits, of some streams that are looked at."""
        found: Iterable[tuple[Name, list[Run]]] = self._holdings.lacking(
            question.prefix, question.after, MAX_LOOKED, longest_name(room)
        )
        if question.after is not None and question.low:
            gaps = self._holdings.gaps(question.after)
            rest = [(max(question.low, low), high) for low, high in gaps if high >= question.low]
            found = chain([(question.after, rest)] if rest else [], found)
        return encode_gapped(fitting_gaps(found, room))

    def _bundle(self, question: Bundle, room: int, now: int) -> tuple[bytes, bool, list[Effect]]:
        """Bundle readings, as many as fit; also whether it is all that was asked for, and what follows."""
        stream, low, high = question.stream, question.low, question.high
        gone = self._holdings.dropped(stream, low, high)[:MAX_DROPPED]
        dropped = [(max(low, run[0]), run[1]) for run in gone]  # the last one to its end, however far that is
        left = room - dropped_bytes(dropped)
        found = self._store.range(stream, low, high, MAX_BUNDLED)
        readings: list[bytes] = []
        for _, wire in found:
            left -= len(wire)
            if left < 0:
                break
            readings.append(wire)
        last = found[len(readings) - 1][0] if len(readings) < len(found) else high
        numbers = {number for number, _ in found[: len(readings)]}
        complete = len(readings) + sum(min(run[1], high) - run[0] + 1 for run in dropped) == high - low + 1
        effects = [] if complete else self._look_after(stream, low, min(high, last), numbers, dropped, now)
        return encode_bundle(readings, dropped), complete, effects

    def _look_after(
        self, stream: Name, low: int, high: int, numbers: set[int], dropped: list[tuple[int, int]], now: int
    ) -> list[Effect]:
        """Find out which of the missing readings are held, but damaged, or lost when what was damaged was left out."""
        effects: list[Effect] = []
        ends = dict(dropped)  # where a run begins → where it ends
        looked = 0
        number = low
        while number <= high and looked < _MAX_LOOKED_AFTER:
            if number in ends:
                number = ends[number]
            elif number not in numbers:
                looked += 1
                name = numbered(stream, number)
                try:
                    is_lost = self._store.get(name) is None and self._holdings.is_held(stream, number)
                except Damaged:
                    is_lost = True
                if is_lost:
                    effects += self._damaged(name, now)
            number += 1
        return effects
