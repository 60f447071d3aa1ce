"""Publications of several segments on their way: fetches (`roost.pubsub.collection`) on a face that others share.

A segment that is `here` already is not asked for: it was believed when it came. Of those, `MAX_HERE` are taken at once,
and the next ones at the next tick, so that a large one that is all here holds up nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from roost.forwarding.endpoint_effects import Delivered, Failed
from roost.forwarding.pending import Question
from roost.machine import Effect, earliest
from roost.naming import Name
from roost.pubsub.asking import Asking
from roost.pubsub.collection import Collection
from roost.pubsub.discovery import EXACT
from roost.pubsub.fetch_effects import FetchSettings
from roost.wire import Data

MAX_AT_ONCE: Final = 8
MAX_HERE: Final = 64
CAPACITY: Final = 256  # segments of one object that are asked for or out of order

Segment: TypeAlias = Callable[[Data, int], list[Effect]]  # each one in order, believed
Collected: TypeAlias = Callable[[bool, int], list[Effect]]  # whether all segments came
Wanted: TypeAlias = Callable[[], bool]  # whether the object still is
Here: TypeAlias = Callable[[Name], Data | None]  # a segment that needs not be asked for


@dataclass(slots=True)
class _Whole:
    """Who goes on with an object."""

    segment: Segment
    then: Collected
    wanted: Wanted
    here: Here
    put_off: list[Question] = field(default_factory=list)  # of what is here; bound: CAPACITY
    put_off_at: int = 0
    arrived: list[Data] = field(default_factory=list)  # and not handed on yet; bound: CAPACITY


class Collecting:
    """At most `MAX_AT_ONCE` objects; who comes later waits until one of them is over."""

    def __init__(self, asking: Asking) -> None:
        self._asking: Final = asking
        self._under_way: Final[dict[Collection, _Whole]] = {}  # bound: MAX_AT_ONCE
        self._waiting: Final[deque[tuple[Collection, _Whole]]] = deque()  # bound: what lines have under way

    def __len__(self) -> int:
        return len(self._under_way)

    def collect(
        self,
        name: Name,
        segment: Segment,
        then: Collected,
        wanted: Wanted,
        now: int,
        hints: tuple[Name, ...] = (),
        here: Here = lambda _: None,
    ) -> list[Effect]:
        """Fetch all segments below this versioned name, each verified, while it is `wanted`."""
        whole = _Whole(segment, then, wanted, here)
        settings = FetchSettings(discovery=EXACT, capacity=CAPACITY, tries=4, lifetime_ms=1000, hints=hints)
        collection = Collection(name, whole.arrived.append, settings=settings)
        self._waiting.append((collection, whole))
        return self._begin(now)

    def _begin(self, now: int) -> list[Effect]:
        """Begin with those that wait, as long as there is room; what nobody wants any more is over."""
        effects: list[Effect] = []
        while self._waiting and len(self._under_way) < MAX_AT_ONCE:
            collection, whole = self._waiting.popleft()
            if whole.wanted():
                self._under_way[collection] = whole
                effects += self._ask(collection, collection.start(now), now)
        return effects

    def tick(self, now: int) -> list[Effect]:
        """Ask again what is overdue."""
        effects: list[Effect] = []
        for collection, whole in list(self._under_way.items()):
            put_off, whole.put_off = whole.put_off, []
            if put_off:
                effects += self._ask(collection, put_off, now)
            due = collection.deadline()
            if due is not None and due <= now:
                effects += self._ask(collection, collection.tick(now), now)
        return effects

    def deadline(self) -> int | None:
        """When the first segment is overdue."""
        overdue = [collection.deadline() for collection in self._under_way]
        return earliest(None, *overdue, *[each.put_off_at for each in self._under_way.values() if each.put_off])

    def _ask(self, collection: Collection, questions: list[Question], now: int) -> list[Effect]:
        whole = self._under_way.get(collection)
        queue = deque(questions)
        effects = self._forget(collection, queue)
        left = MAX_HERE
        while queue and not collection.over:
            question = queue.popleft()
            data = None if whole is None else whole.here(question.name)
            if whole is None or data is None:
                effects += self._asking.cancel(collection.tickets.pop(question.name, 0))
                effects += self._asking.ask(question, self._answer_for(collection, question.name), now)
                collection.tickets[question.name] = self._asking.last_ticket
                continue
            if not left:
                whole.put_off, whole.put_off_at = [question, *queue], now
                break
            left -= 1
            queue.extend(collection.delivered(question.name, Delivered(0, data, congested=False), "", now))
            effects += self._forget(collection, queue)
        return effects + self._hand_on(collection, now)

    def _forget(self, collection: Collection, queue: deque[Question]) -> list[Effect]:
        """Neither wait for what lies behind the end, nor ask for it."""
        effects: list[Effect] = []
        for name in collection.take_forgotten():
            effects += self._asking.cancel(collection.tickets.pop(name, 0))
            for question in [each for each in queue if each.name == name]:
                queue.remove(question)
        return effects

    def _hand_on(self, collection: Collection, now: int) -> list[Effect]:
        """Hand on what is there in order, and say when it is over."""
        effects: list[Effect] = []
        whole = self._under_way.get(collection)
        if whole is None:
            return effects
        while whole.arrived and whole.wanted():
            effects += whole.segment(whole.arrived.pop(0), now)
        if not collection.over and whole.wanted():
            return effects
        del self._under_way[collection]
        for ticket in collection.tickets.values():
            effects += self._asking.cancel(ticket)
        return effects + whole.then(collection.over and not collection.trouble, now) + self._begin(now)

    def _answer_for(self, collection: Collection, name: Name) -> Callable[[Delivered | Failed, int], list[Effect]]:
        def answered(event: Delivered | Failed, now: int) -> list[Effect]:
            collection.tickets.pop(name, None)
            if isinstance(event, Failed):
                return self._ask(collection, collection.failed(name, event, now), now)

            def checked(refusal: str, now: int) -> list[Effect]:
                refused: list[Effect] = [self._asking.rejected(event.data, refusal)] if refusal else []
                if collection not in self._under_way:
                    return refused
                return refused + self._ask(collection, collection.delivered(name, event, refusal, now), now)

            return self._asking.check(event.data, checked, now)

        return answered
