"""An object of several segments on its way into a sync member: a `SegmentFetch` whose content is kept whole.

Who gives a `take` gets the segments in order instead, and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.forwarding.endpoint_effects import NACKED, OVERFLOWED, Delivered, Failed
from roost.forwarding.pending import Question
from roost.machine import Effect
from roost.naming import Name
from roost.pubsub.discovery import EXACT
from roost.pubsub.fetch import SegmentFetch
from roost.pubsub.fetch_effects import (
    Answered,
    Distrusted,
    Express,
    FetchSettings,
    Finished,
    Forget,
    GaveUp,
    Refused,
    Segment,
)
from roost.wire import Data
from roost.wire.lp import CONGESTION

MAX_BYTES: Final = 1 << 24
CAPACITY: Final = 64  # segments that are asked for or out of order
_SETTINGS: Final = FetchSettings(discovery=EXACT, capacity=CAPACITY, tries=4, lifetime_ms=1000)


class Collection:
    """One object; each call returns what to ask next, and `over` says when `content` or `trouble` is there."""

    def __init__(
        self, name: Name, take: Callable[[Data], None] | None = None, *, settings: FetchSettings = _SETTINGS
    ) -> None:
        self.tickets: Final[dict[Name, int]] = {}  # kept by the owner; bound: the settings' capacity
        self.over = False
        self.trouble = ""
        self._fetch: Final = SegmentFetch(name, settings)
        self._hints: Final = settings.hints
        self._take: Final = take
        self._parts: Final[list[bytes]] = []  # bound: MAX_BYTES
        self._size = 0
        self._forgotten: list[Name] = []

    @property
    def content(self) -> bytes:
        """All of it, once it is over without trouble."""
        return b"".join(self._parts)

    def take_forgotten(self) -> list[Name]:
        """The names that need not be waited for any more."""
        names, self._forgotten = self._forgotten, []
        return names

    def start(self, now: int) -> list[Question]:
        """Ask the first segments."""
        return self._execute(self._fetch.start(now), now)

    def delivered(self, name: Name, event: Delivered, refusal: str, now: int) -> list[Question]:
        """Take in a segment that was verified, or refused."""
        answer = Distrusted(name, refusal) if refusal else Answered(event.data, event.congested)
        return self._execute(self._fetch.receive(answer, now), now)

    def failed(self, name: Name, event: Failed, now: int) -> list[Question]:
        """Take in that no segment came; time-outs are the fetch's own business."""
        if event.kind not in {NACKED, OVERFLOWED}:
            return []
        reason = event.nack if event.kind == NACKED else CONGESTION
        return self._execute(self._fetch.receive(Refused(name, reason), now), now)

    def tick(self, now: int) -> list[Question]:
        """Ask again what is overdue."""
        return self._execute(self._fetch.tick(now), now)

    def deadline(self) -> int | None:
        """When the first segment is overdue."""
        return None if self.over else self._fetch.deadline()

    def _execute(self, effects: list[Effect], now: int) -> list[Question]:
        asks: dict[Name, Question] = {}
        taken = 0
        for effect in effects:
            if isinstance(effect, Express):
                asks[effect.name] = Question(
                    effect.name, effect.can_be_prefix, effect.must_be_fresh, effect.lifetime_ms, hints=self._hints
                )
            elif isinstance(effect, Forget):
                asks.pop(effect.name, None)
                self._forgotten.append(effect.name)
            elif isinstance(effect, Segment):
                taken += 1
                if self._take is not None:
                    self._take(effect.data)
                    continue
                self._parts.append(effect.data.content)
                self._size += len(self._parts[-1])
            elif isinstance(effect, Finished):
                self.over = True
            elif isinstance(effect, GaveUp):
                self._end(effect.reason)
        if self._size > MAX_BYTES:
            self._end(f"{self._fetch.name} has more than {MAX_BYTES} bytes")
        if taken and not self.over:
            for question in self._execute(self._fetch.take(taken, now), now):
                asks[question.name] = question
        return [] if self.over else list(asks.values())

    def _end(self, reason: str) -> None:
        self.over = True
        self.trouble = reason
        self._parts.clear()
