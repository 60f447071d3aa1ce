"""How far one subscription is in one stream: which numbers are under way, and which have been dealt with.

    dealt with │ delivered, not taken │ under way …            │ not looked at yet
    ───────────┴──────────────────────┴────────────────────────┴─────────────────▶ numbers
             place                  turn                     next               high

In order, an item is delivered when all before it are. As they come, it is delivered when it is there, and what is kept
on the disk is the number up to which all has been dealt with, with a bit for each of the next `BITS`; who crashes with
more than that in disorder gets some again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from roost.pubsub.blobs.history import History
from roost.pubsub.blobs.items import Item
from roost.pubsub.blobs.names import Query
from roost.pubsub.blobs.wanted import Wanted
from roost.sync.port import Stream

WINDOW: Final = 16  # numbers under way for the first times, and as many that are tried again
SPAN: Final = 512  # numbers between the first one under way and the last
BITS: Final = 24
_MASK: Final = (1 << BITS) - 1


@dataclass(slots=True)
class Open:
    """A number that is under way."""

    number: int
    timer: int
    asked: bool = False  # something that was asked for is not answered yet
    tries: int = 0
    stubborn: bool = False  # it failed so often that it holds up no others
    again: bool = False  # it did, and is being tried
    missed_at: int = 0  # when it failed first although something behind it had come
    disbelieved: int = 0  # how often it came and was refused
    settled: bool = False
    parked: bool = False  # until there is room for it
    reserved: int = 0  # bytes of the subscription's allowance
    item: Item | None = None  # to be delivered when its turn comes


@dataclass(slots=True)
class Line:
    """One subscription in one stream."""

    subscription: int
    wanted: Wanted
    stream: Stream
    high: int = 0
    identity: bytes = b""  # by which its place is kept
    timer: int = 0
    over: bool = False  # nobody wants it any more
    next: int = 1  # to be looked at
    turn: int = 1  # before which all is settled
    vain: int = 0  # up to which nobody can tell names any more
    history: History | None = None
    busy: bool = False  # it is being gone on with
    questions: int = 0  # of the history that are not answered yet
    tries: int = 0  # rounds of such questions that brought nothing
    inquired: list[Query] = field(default_factory=list)  # queries under way; bound: WINDOW
    open: dict[int, Open] = field(default_factory=dict)  # bound: SPAN
    unsettled: int = 0  # of those, but for stubborn ones; bound: WINDOW
    again: int = 0  # stubborn ones that are being tried; bound: WINDOW
    due: dict[int, Open] = field(default_factory=dict)  # those that wait until fewer are; bound: SPAN
    past: int = 0  # how far the stream had come when this began
    best: int = 0  # the highest number that came
    heard_at: int = 0  # when something of it came, or was announced
    probing: bool = False  # whether anything of it is to be had is being found out
    _place: int = 0  # up to which all has been dealt with
    _bits: int = 0  # and which of those behind it; bound: SPAN and what is not taken

    def begin(self, kept: int) -> None:
        """Go on where the disk says."""
        if self.wanted.in_order:
            self._place = kept
        else:
            self._place, self._bits = kept >> BITS, kept & _MASK
        self.next = self.turn = self._place + 1

    @property
    def kept(self) -> int:
        """What to keep on the disk; it never becomes less."""
        return self._place if self.wanted.in_order else self._place << BITS | self._bits & _MASK

    def had(self, number: int) -> bool:
        """Whether it was dealt with before."""
        behind = number - self._place - 1
        return behind < 0 or bool(self._bits >> behind & 1)

    def deal(self, number: int) -> None:
        """It has been dealt with, or is not wanted."""
        if self.wanted.in_order:
            self._place = max(self._place, number)
            return
        behind = number - self._place - 1
        if behind >= 0:
            self._bits |= 1 << behind
        while self._bits & 1:
            self._bits >>= 1
            self._place += 1

    def lacks_name(self, each: Open) -> bool:
        """Whether the name of a number under way is to be asked for, and nobody does so."""
        if each.asked or each.settled or each.parked or each.tries:
            return False
        return not any(query.low <= each.number <= query.high for query in self.inquired)

    @property
    def may_begin(self) -> bool:
        """Whether there is another number to look at, and room for it."""
        ready = self.history is None or self.history.over
        return ready and self.next <= self.high and self.unsettled < WINDOW and len(self.open) < SPAN
