"""One row of subscribe_table, and when its content is expected by this machine's clock [FLIPS §III-C].

`next_timestamp` is the publisher's time. Content cannot come before it is published, so each arrival of content that an
Interest was waiting for measures the difference of the clocks: the smallest of the last eight counts. While content is
there already whenever it is asked for, the lead doubles, until an Interest is the first to be there: that is how a
clock that is behind is found out.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from roost.machine import MS
from roost.machine.rtt import RttEstimator
from roost.pubsub.flips.identifiers import TopicHash
from roost.pubsub.flips.payload import ContentReply
from roost.pubsub.flips.settings import Following

SAMPLES: Final = 8
MAX_DOUBLINGS: Final = 10


@dataclass(slots=True)
class Question:
    """A CONTENT_REQ that is out."""

    first_asked: int
    asked: int  # for the last time
    due: int = 0  # when it counts as lost
    tries: int = 1


@dataclass(slots=True)
class Subscription:
    """What is known of a topic that is followed."""

    topic: str
    hash: TopicHash
    following: Following
    subscribers: int = 1  # how often `subscribe` was called
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
    holes: int = 0  # contents in a row that could not be had
    parts: list[bytes] = field(default_factory=list)  # of segmented content; bound: MAX_PARTS
    first_part: int = 0
    stale: bool = False
    stale_at: int | None = None
    offsets: deque[int] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    late_asks: int = 0
    rtt: RttEstimator = field(default_factory=lambda: RttEstimator(50 * MS))

    def expected(self, skew_ms: int) -> int:
        """When the next content is expected, by our clock."""
        offset = min(self.offsets) if self.offsets else 0
        return self.next_ms * MS + (offset if abs(offset) > skew_ms * MS else 0)

    def lead(self, lead_ms: int) -> int:
        """T: how long before that it is asked for."""
        lead = lead_ms if not self.interval_ms else min(lead_ms, self.interval_ms // 2)
        extra = lead * ((1 << min(self.late_asks, MAX_DOUBLINGS)) - 1)
        return (lead + min(extra, max(self.interval_ms, lead_ms) * 64)) * MS

    def measure(self, question: Question, lead_ms: int, now: int) -> None:
        """Learn from the arrival of what was promised."""
        if not self.promised_ms or (self.stale and self.offsets):  # who is late says nothing about known clocks
            return
        waited = now - question.asked > min(lead_ms, self.interval_ms or lead_ms) * MS // 4
        if waited or (question.tries > 1 and not self.offsets):  # the latter is too late, and better than nothing
            self.offsets.append(now - self.promised_ms * MS)
            self.late_asks = 0
        elif question.tries == 1 and (self.offsets or question.asked < self.promised_ms * MS):
            self.late_asks += 1
