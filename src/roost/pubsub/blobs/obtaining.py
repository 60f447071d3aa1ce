"""Publications on their way, each fetched once for all who want it at the same time [SVS-PS §8].

    obtain ──▶ first packet ──its name: nobody takes it──▶ not for us
                    └──▶ its other segments ──▶ every inner Data verified ──▶ Item

The first packet may be there already, as it was asked for before it was published (`Prefetching`). What came last is
kept for a moment (`RECENT_BYTES`), for who comes a little later. A publication of several packets is whole before it is
an item, unless who wants it takes it in pieces, or it may be larger than `MAX_WHOLE_BYTES`.

An answer is asked of whoever the name leads to, or, with `held`, of members that carry what others published: their
Interests have a forwarding hint, and find any of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from roost.errors import BadPacket
from roost.forwarding.pending import Question
from roost.machine import Effect, Rejected
from roost.naming import Name
from roost.pubsub.blobs.carrying import Carrying
from roost.pubsub.blobs.collecting import Collecting
from roost.pubsub.blobs.encapsulation import application_name, final_segment, segment_of, unwrap
from roost.pubsub.blobs.items import Disbelieved, Item
from roost.pubsub.blobs.mapping import Entry
from roost.pubsub.blobs.sealing import CLOSED
from roost.pubsub.blobs.seat import Seat
from roost.pubsub.vetting import Unjudged
from roost.sync.port import Stream
from roost.wire import Data
from roost.wire.data import decode_data
from roost.wire.segment import SEGMENT_BYTES, segment_number

LIFETIME_MS: Final = 1000
TRIES: Final = 2
RECENT_BYTES: Final = 1 << 20
MAX_RECENT: Final = 64
MAX_WHOLE_BYTES: Final = 1 << 28  # what may be more comes in pieces, whatever was asked for
_SAMPLE_BYTES: Final = 64

Key: TypeAlias = tuple[Stream, int]
Then: TypeAlias = Callable[[Item | Disbelieved | None, int], list[Effect]]  # None: it was not to be had
Wanted: TypeAlias = Callable[[], bool]  # whether who asked still waits
Takes: TypeAlias = Callable[[Key, Entry, int], bool]  # whether somebody wants what has this entry


@dataclass(slots=True)
class _Obtained:
    """A publication on its way."""

    key: Key
    in_pieces: bool
    then: list[tuple[Then, Wanted]] = field(default_factory=list)  # bound: those who subscribe
    hints: tuple[Name, ...] = ()
    anyway: bool = False  # somebody wants it whatever it is
    taken: bool = False  # its first packet is here
    first: Data | None = None  # of the application's Data that are believed
    pieces: dict[int, bytes] = field(default_factory=dict)  # by segment; bound: MAX_WHOLE_BYTES
    count: int = 0  # of pieces, once all packets are here


class Obtaining:
    """At most one fetch of each publication, and one of each in pieces."""

    def __init__(self, seat: Seat, takes: Takes, carrying: Carrying | None) -> None:
        self._seat: Final = seat
        self._takes: Final = takes
        self._carrying: Final = carrying
        self._collecting: Final = Collecting(seat.asking)
        self._under_way: Final[dict[tuple[Key, bool], _Obtained]] = {}  # bound: what subscribers begin
        self._ahead: Final[dict[Key, Data]] = {}  # first packets that came before; bound: what is prefetched
        self._recent: Final[OrderedDict[Key, Item]] = OrderedDict()  # bound: RECENT_BYTES, MAX_RECENT
        self._recent_bytes = 0

    def __len__(self) -> int:
        return len(self._under_way)

    def obtain(
        self, key: Key, then: Then, wanted: Wanted, now: int, *, in_pieces: bool, held: bool, anyway: bool = False
    ) -> list[Effect]:
        """Get a publication, and go on with it while it is `wanted`; `held`: from members that carry it.

        Who does not want it `anyway` gets it without the blob if its name, once that is here, is of no interest.
        """
        recent = self._recent.get(key)
        if recent is not None:
            return then(recent, now)
        under_way = self._under_way.get((key, in_pieces))
        if under_way is not None:
            under_way.then.append((then, wanted))
            under_way.anyway |= anyway
            return []
        each = _Obtained(key, in_pieces, [(then, wanted)], anyway=anyway)
        self._under_way[key, in_pieces] = each
        each.hints = (self._seat.held,) if held else ()
        ahead = self._ahead.pop(key, None) or self._first_here(each)
        if ahead is not None:
            return self._take(each, ahead, now)

        def fetched(outer: Data | None, _: str, now: int) -> list[Effect]:
            if each.taken or not self._is_under_way(each):
                return []
            return self._over(each, None, now) if outer is None else self._take(each, outer, now)

        name = self._seat.naming.publication(*key)
        question = Question(name, can_be_prefix=True, lifetime_ms=LIFETIME_MS, tries=TRIES, hints=each.hints)
        return self._seat.asking.fetch(question, fetched, now)

    def forsake(self) -> None:
        """Forget what nobody waits for any more: what still comes of it is dropped."""
        for place, each in list(self._under_way.items()):
            each.then = [pair for pair in each.then if pair[1]()]
            if not each.then:
                del self._under_way[place]

    def _held(self, key: Key, segment: int) -> Data | None:
        """A packet that we carry already, from a file say; nobody would answer us for it but ourselves."""
        wire = None if self._carrying is None else self._carrying.packets.get((*key, segment))
        return None if wire is None else decode_data(wire)

    def _first_here(self, each: _Obtained) -> Data | None:
        """The first packet, if we carry it; of what comes in pieces, only if all of it is here."""
        first = self._held(each.key, -1) or self._held(each.key, 0)
        if first is None or segment_of(first) < 0 or not self._in_pieces(each, first):
            return first
        segments = range(final_segment(first) + 1)
        return None if any(self._held(each.key, segment) is None for segment in segments) else first

    def came(self, key: Key, outer: Data, now: int) -> list[Effect] | None:
        """Take a first packet that another Interest brought; None if nobody asked for it yet."""
        effects: list[Effect] = []
        found = [each for in_pieces in (False, True) if (each := self._under_way.get((key, in_pieces))) is not None]
        for each in found:
            effects += self._take(each, outer, now)
        if found:
            return effects
        self._ahead[key] = outer
        return None

    def drop(self, key: Key) -> None:
        """Nobody wants what came before it was asked for."""
        self._ahead.pop(key, None)

    def tick(self, now: int) -> list[Effect]:
        """Ask again what is overdue."""
        return self._collecting.tick(now)

    def deadline(self) -> int | None:
        """When something is."""
        return self._collecting.deadline()

    def pieces(self, highs: Mapping[Stream, int]) -> int:
        """How many packets are here of what is under way, up to these numbers."""
        return sum(len(each.pieces) for (key, _), each in self._under_way.items() if key[1] <= highs.get(key[0], 0))

    @property
    def ahead(self) -> int:
        """How many first packets came before anybody heard of their numbers."""
        return len(self._ahead)

    def _take(self, each: _Obtained, outer: Data, now: int) -> list[Effect]:
        """Go on with the first packet, whichever Interest brought it; a second one is not needed."""
        if each.taken:
            return []
        each.taken = True
        several = segment_of(outer) >= 0 and final_segment(outer) != 0
        try:
            inner = unwrap(outer)
        except BadPacket as error:
            return self._disbelieve(each, outer, str(error), now)
        entry = self._entry(each.key, application_name(inner))
        if several and not each.anyway and not self._takes(each.key, entry, now):
            return self._over(each, self._item(each, inner, b"", now), now)
        if not several or self._in_pieces(each, outer):
            each.count = 1
            return self._check(each, outer, inner, now)

        def collected(complete: bool, now: int) -> list[Effect]:  # noqa: FBT001  a continuation
            if not complete:
                return self._spoil(each, None, now)
            each.count = final_segment(outer) + 1
            return self._go_on(each, outer, now)

        def wanted() -> bool:
            return self._is_under_way(each)

        def segment(data: Data, now: int) -> list[Effect]:
            try:
                inner = unwrap(data)
            except BadPacket as error:
                return self._disbelieve(each, data, str(error), now)
            return self._check(each, data, inner, now)

        def here(name: Name) -> Data | None:
            return self._held(each.key, segment_number(name.at(-1)))

        return self._collecting.collect(outer.name.prefix(-1), segment, collected, wanted, now, each.hints, here)

    def _in_pieces(self, each: _Obtained, outer: Data) -> bool:
        """Whether it is handed out before it is whole."""
        return each.in_pieces or final_segment(outer) * SEGMENT_BYTES > MAX_WHOLE_BYTES

    def _check(self, each: _Obtained, outer: Data, inner: Data, now: int) -> list[Effect]:
        """Verify the application's Data; what has another name than the first is no part of it."""

        def checked(refusal: str, now: int) -> list[Effect]:
            if not self._is_under_way(each):
                return []
            if each.first is None:
                each.first = inner
            elif application_name(inner) != application_name(each.first):
                refusal = refusal or f"{inner.name} is no part of {application_name(each.first)}"
            if refusal:
                return self._disbelieve(each, outer, refusal, now)
            self._carry(each, outer, inner)
            try:
                piece = self._opened(outer, inner)
            except BadPacket as error:
                return self._disbelieve(each, outer, str(error), now)
            if piece is CLOSED:
                item = replace(self._item(each, inner, b"", now), sealed=True)
                return self._over(each, item, now)
            if not isinstance(piece, bytes):
                return self._spoil(each, None, now)
            each.pieces[segment_of(inner)] = piece
            return self._go_on(each, outer, now)

        return self._seat.inner.check(inner, checked, now)

    def _opened(self, outer: Data, inner: Data) -> bytes | str:
        opening = self._seat.opening
        return inner.content if opening is None else opening.open(outer.name, inner.content)

    def _disbelieve(self, each: _Obtained, outer: Data, refusal: str, now: int) -> list[Effect]:
        """Its outer packet is believed, so another copy says the same; unless what is inside was not judged yet."""
        reason = f"{outer.name}: {refusal}"
        outcome = None if isinstance(refusal, Unjudged) else Disbelieved(reason)
        rejected = Rejected(str(self._seat.naming.group), reason, outer.wire[:_SAMPLE_BYTES])
        return [rejected, *self._spoil(each, outcome, now)]

    def _spoil(self, each: _Obtained, outcome: Disbelieved | None, now: int) -> list[Effect]:
        return self._over(each, outcome, now) if self._is_under_way(each) else []

    def _go_on(self, each: _Obtained, outer: Data, now: int) -> list[Effect]:
        """Hand it out if all that was waited for is here and believed."""
        if len(each.pieces) != each.count or each.first is None or not self._is_under_way(each):
            return []
        if segment_of(outer) >= 0 and final_segment(outer) != 0 and self._in_pieces(each, outer):
            item = replace(self._item(each, each.first, b"", now), pieces_at=outer.name.prefix(-1))
            return self._over(each, item, now)
        blob = b"".join([each.pieces[number] for number in sorted(each.pieces)])
        item = self._item(each, each.first, blob, now)
        self._remember(each.key, item)
        return self._over(each, item, now)

    def _item(self, each: _Obtained, inner: Data, blob: bytes, now: int) -> Item:
        entry = self._entry(each.key, application_name(inner))
        size = entry.size_bytes if entry.size_bytes >= 0 else len(blob) or -1
        stream, number = each.key
        signer = inner.signature.key_name
        name = application_name(inner)
        return Item(stream, number, name, blob, signer, entry.time_us or None, now, size, hints=each.hints)

    def _entry(self, key: Key, name: Name) -> Entry:
        """What the mapping says of it; one that says another name than the packet is not heeded."""
        known = self._seat.directory.get(*key)
        return known if known is not None and known.name == name else Entry(key[1], name)

    def _over(self, each: _Obtained, outcome: Item | Disbelieved | None, now: int) -> list[Effect]:
        self._under_way.pop((each.key, each.in_pieces), None)
        effects: list[Effect] = []
        for then, _ in each.then:
            effects += then(outcome, now)
        return effects

    def _is_under_way(self, each: _Obtained) -> bool:
        return self._under_way.get((each.key, each.in_pieces)) is each

    def _remember(self, key: Key, item: Item) -> None:
        self._recent[key] = item
        self._recent_bytes += len(item.blob)
        while self._recent_bytes > RECENT_BYTES or len(self._recent) > MAX_RECENT:
            self._recent_bytes -= len(self._recent.popitem(last=False)[1].blob)

    def _carry(self, each: _Obtained, outer: Data, inner: Data) -> None:
        """Keep a packet for others, if that is what we do: once both layers of it are believed."""
        if self._carrying is not None:
            name, last = application_name(inner), final_segment(outer)
            self._carrying.keep(*each.key, segment_of(outer), outer.wire, name, last)
