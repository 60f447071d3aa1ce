"""One row of subscribe_table, and when its content is expected by this machine's clock [FLIPS §III-C].

`next_timestamp` is the publisher's time. Content cannot come before it is published, so each arrival of content that an
Interest was waiting for measures the difference of the clocks: the smallest of the last eight counts. As long as there
is none, the next content is asked for at once and the question kept open, so that clocks may differ by hours. What was
measured is forgotten when it cannot be right any more: content is there already whenever it is asked for, or a clock
was set.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from roost.machine import MS
from roost.machine.rtt import RttEstimator
from roost.pubsub.flips import ring
from roost.pubsub.flips.identifiers import TopicHash
from roost.pubsub.flips.payload import ContentReply
from roost.pubsub.flips.settings import WINDOW, Following

SAMPLES: Final = 8
MAX_LATE: Final = 2  # contents in a row that were there before they were asked for
CATCH_UP: Final = 8  # numbers that are there, or may be, asked for at once
LOSS_MEMORY: Final = 32  # contents in a row without loss, until none is expected any more
SOON: Final = 50 * MS
JUMP: Final = 8  # intervals
JUMP_MS: Final = 10_000


@dataclass
class Question:
    """A CONTENT_REQ that is out."""

    first_asked: int
    asked: int  # for the last time
    due: int = 0  # when it counts as lost
    tries: int = 1


@dataclass
class Subscription:
    """What is known of a topic that is followed."""

    topic: str
    hash: TopicHash
    following: Following
    subscribers: int = 1  # how often `subscribe` was called
    held: bool = False  # whoever takes the content is busy: nothing more is asked for
    subscribed: bool = False
    sub_transmit_count: int = 0
    begun: set[int] = field(default_factory=set)  # numbers of SUB_REQs of this series; bound: sub_tries
    sub_due: int | None = None
    next_number: int | None = None  # what is to be delivered next
    next_ms: int = 0  # publisher's time; 0 if nobody knows
    promised_ms: int = 0  # for what is awaited now
    interval_ms: int = 0
    event_driven: bool = False
    newest: int | None = None  # the highest number known to be published
    ask_at: int | None = None
    questions: dict[int, Question] = field(default_factory=dict)  # bound: the pipeline, at most WINDOW
    early: dict[int, tuple[ContentReply, str]] = field(default_factory=dict)  # ahead of order; bound: as questions
    idle: int = 0  # how often an event-driven publisher was asked in vain
    suspect: int | None = None  # content that is there, and was asked for in vain
    in_vain: int | None = None  # what is not known to be there, and was asked for in vain
    is_behind: bool = False  # the publisher says that it has not come as far as our place
    holes: int = 0  # contents in a row that could not be had
    parts: list[bytes] = field(default_factory=list)  # of segmented content; bound: MAX_PARTS
    first_part: int = 0
    stale: bool = False
    stale_at: int | None = None
    offsets: deque[int] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    late_asks: int = 0
    at_once: int = 0  # contents in a row that were there when they were asked for: we are behind
    lossy: int = 0  # for so many contents loss is expected, since some was seen
    rtt: RttEstimator = field(default_factory=lambda: RttEstimator(SOON))

    def is_there(self, number: int) -> bool:
        """Whether content is known to be published under a number."""
        return self.newest is not None and ring.distance(number, self.newest) >= 0

    def begin_at(self, number: int, newest: int | None) -> None:
        """Go on there, whatever was before."""
        self.next_number = number
        self.newest = newest
        self.is_behind = False
        self.in_vain = self.suspect = None
        self.holes = self.idle = 0
        self.parts.clear()
        self.early.clear()
        self.forget_clock()

    def width(self) -> int:
        """How many numbers are asked for at once: those that are there, or may be, and those that wait for events."""
        width = self.following.pipeline if self.event_driven else min(CATCH_UP, 1 + self.at_once)
        if self.newest is not None and self.next_number is not None:
            width = max(width, min(CATCH_UP, ring.distance(self.next_number, self.newest) + 1))
        return width

    def is_near(self, number: int) -> bool:
        """Whether a number is among those."""
        return 0 <= ring.distance(self.next_number or 0, number) < self.width()

    def incomplete_from(self, number: int) -> int:
        """Give up the content that this number goes on with, if there is some; where it began."""
        low = self.first_part if self.parts else number
        self.parts.clear()
        return low

    def is_soon(self, number: int) -> bool:
        """Whether a number is the next one or a few behind it: others are not asked for, wherever a publisher jumps."""
        return 0 <= ring.distance(self.next_number or 0, number) < WINDOW

    @property
    def knows_clock(self) -> bool:
        """Whether the difference of the clocks was measured: twice, for the publisher may have been late once."""
        return len(self.offsets) > 1

    def expected(self, skew_ms: int, since: int) -> int:
        """When the next content is expected, by our clock; as long as clocks were not compared, a guess.

        That is the publisher's own word, or an interval after `since`, when we heard of it last, if that is earlier.
        """
        if not self.knows_clock:
            return min(self.next_ms * MS, since + self.interval_ms * MS) if self.interval_ms else self.next_ms * MS
        offset = min(self.offsets)
        return self.next_ms * MS + (offset if abs(offset) > skew_ms * MS else 0)

    def lead(self, lead_ms: int) -> int:
        """T: how long before that it is asked for."""
        return (lead_ms if not self.interval_ms else min(lead_ms, self.interval_ms // 2)) * MS

    def notice(self, question: Question, now: int, *, known: bool) -> None:
        """Content that comes as soon as it is asked for was there before; if it was asked for again, it was lost."""
        was_there = now - question.asked < max(SOON, 2 * self.rtt.smoothed)
        if was_there and question.tries > 1:
            self.lossy = LOSS_MEMORY
        elif self.lossy:
            self.lossy -= 1
        if not known:
            self.at_once = self.at_once + 1 if was_there else 0

    def measure(self, question: Question, lead_ms: int, now: int) -> None:
        """Learn from the arrival of what was promised; who is late says nothing about clocks."""
        if not self.promised_ms or self.stale:
            return
        if now - question.asked > min(lead_ms, self.interval_ms or lead_ms) * MS // 4:  # it waited
            offset = now - self.promised_ms * MS
            if (
                question.tries == 1
                and self.offsets
                and offset - min(self.offsets) > max(self.interval_ms, lead_ms) * MS
            ):
                self.forget_clock()
            self.offsets.append(offset)
            self.late_asks = 0
        elif question.tries == 1 and self.offsets and question.asked < self.promised_ms * MS + min(self.offsets):
            self.late_asks += 1
            if self.late_asks >= MAX_LATE:
                self.forget_clock()

    def forget_clock(self) -> None:
        """What was measured is not right any more."""
        self.offsets.clear()
        self.late_asks = 0

    def take_time(self, next_ms: int) -> None:
        """The publisher says when its next content comes; how far that is from the last such time is its interval."""
        further = next_ms - self.next_ms if self.next_ms else 0
        if further < 0 or (self.interval_ms and further > max(JUMP * self.interval_ms, JUMP_MS)):
            self.forget_clock()  # it paused, or its clock was set
        if further > 0:
            self.interval_ms = further
        self.next_ms = next_ms
