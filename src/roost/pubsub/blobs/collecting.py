"""Publications of several segments on their way: fetches (`roost.pubsub.collection`) on a face that others share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from roost.forwarding.endpoint_effects import Delivered, Failed
from roost.forwarding.pending import Question
from roost.machine import Effect, earliest
from roost.naming import Name
from roost.pubsub.asking import Asking
from roost.pubsub.collection import Collection

MAX_AT_ONCE: Final = 8

Collected: TypeAlias = Callable[[bytes | None, int], list[Effect]]  # all contents in one; None: not to be had


class Collecting:
    """At most `MAX_AT_ONCE` objects; who comes later is told that it is not to be had now."""

    def __init__(self, asking: Asking) -> None:
        self.overflowed = 0
        self._asking: Final = asking
        self._under_way: Final[dict[Collection, Collected]] = {}  # bound: MAX_AT_ONCE

    def __len__(self) -> int:
        return len(self._under_way)

    def collect(self, name: Name, then: Collected, now: int) -> list[Effect]:
        """Fetch all segments below this versioned name, each verified."""
        if len(self._under_way) >= MAX_AT_ONCE:
            self.overflowed += 1
            return then(None, now)
        collection = Collection(name)
        self._under_way[collection] = then
        return self._ask(collection, collection.start(now), now)

    def tick(self, now: int) -> list[Effect]:
        """Ask again what is overdue."""
        effects: list[Effect] = []
        for collection in list(self._under_way):
            due = collection.deadline()
            if due is not None and due <= now:
                effects += self._ask(collection, collection.tick(now), now)
        return effects

    def deadline(self) -> int | None:
        """When the first segment is overdue."""
        return earliest(*[collection.deadline() for collection in self._under_way])

    def _ask(self, collection: Collection, questions: list[Question], now: int) -> list[Effect]:
        effects: list[Effect] = []
        for name in collection.take_forgotten():
            effects += self._asking.cancel(collection.tickets.pop(name, 0))
        for question in questions:
            effects += self._asking.cancel(collection.tickets.pop(question.name, 0))
            effects += self._asking.ask(question, self._answer_for(collection, question.name), now)
            collection.tickets[question.name] = self._asking.last_ticket
        then = self._under_way.get(collection)
        if not collection.over or then is None:
            return effects
        del self._under_way[collection]
        for ticket in collection.tickets.values():
            effects += self._asking.cancel(ticket)
        return effects + then(None if collection.trouble else collection.content, now)

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
