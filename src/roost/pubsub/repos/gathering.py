"""The newest version of an object of another repo, whole: its metadata first, then its segments, each verified.

For objects that are too large for one packet, such as a repo's holdings [RDR; `roost.pubsub.collection`].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from roost.errors import BadPacket
from roost.forwarding.endpoint_effects import Delivered, Failed
from roost.forwarding.pending import Question
from roost.machine import Effect, Rejected
from roost.naming import Name
from roost.pubsub.asking import Asking
from roost.pubsub.collection import Collection
from roost.pubsub.discovery import METADATA, Discovery
from roost.wire import Data

LIFETIME_MS: Final = 1000
TRIES: Final = 3
_SAMPLE_BYTES: Final = 64

Gathered: TypeAlias = Callable[[bytes | None, str, int], list[Effect]]  # the content; or None, and why


class Gathering:
    """One object on its way; `then` is called once."""

    def __init__(self, asking: Asking, name: Name, then: Gathered) -> None:
        self._asking: Final = asking
        self._discovery: Final = Discovery(name, METADATA)
        self._then: Final = then
        self._collection: Collection | None = None

    def start(self, now: int) -> list[Effect]:
        """Ask which version is the newest."""
        name = self._discovery.asked
        question = Question(name, can_be_prefix=True, must_be_fresh=True, lifetime_ms=LIFETIME_MS, tries=TRIES)
        return self._asking.fetch(question, self._discovered, now)

    def tick(self, now: int) -> list[Effect]:
        """Ask again what is overdue."""
        collection = self._collection
        if collection is None or collection.over or (collection.deadline() or now + 1) > now:
            return []
        return self._go_on(collection, collection.tick(now), now)

    def deadline(self) -> int | None:
        """When a segment is overdue."""
        return None if self._collection is None else self._collection.deadline()

    def _discovered(self, data: Data | None, why: str, now: int) -> list[Effect]:
        if data is None:
            return self._then(None, why, now)
        try:
            versioned = self._discovery.versioned(data)
        except BadPacket as error:
            rejected = Rejected(str(self._discovery.name), str(error), data.wire[:_SAMPLE_BYTES])
            return [rejected, *self._then(None, str(error), now)]
        collection = self._collection = Collection(versioned)
        return self._go_on(collection, collection.start(now), now)

    def _go_on(self, collection: Collection, questions: list[Question], now: int) -> list[Effect]:
        """Ask for more, or hand over what it came to."""
        effects: list[Effect] = []
        for name in collection.take_forgotten():
            effects += self._cancel(collection, name)
        if collection.over:
            for name in list(collection.tickets):
                effects += self._cancel(collection, name)
            content = None if collection.trouble else collection.content
            return effects + self._then(content, collection.trouble, now)
        for question in questions:
            if not self._asking.room:
                break  # the fetch asks again what does not come
            effects += self._cancel(collection, question.name)
            effects += self._asking.ask(question, self._answer_to(collection, question.name), now)
            collection.tickets[question.name] = self._asking.last_ticket
        return effects

    def _cancel(self, collection: Collection, name: Name) -> list[Effect]:
        return self._asking.cancel(collection.tickets.pop(name, 0))

    def _answer_to(self, collection: Collection, name: Name) -> Callable[[Delivered | Failed, int], list[Effect]]:
        def answered(event: Delivered | Failed, now: int) -> list[Effect]:
            collection.tickets.pop(name, None)
            if collection.over:
                return []
            if isinstance(event, Failed):
                return self._go_on(collection, collection.failed(name, event, now), now)
            delivered = event

            def checked(refusal: str, now: int) -> list[Effect]:
                if collection.over:
                    return []
                rejected: list[Effect] = [self._asking.rejected(delivered.data, refusal)] if refusal else []
                again = self._cancel(collection, name)  # it may have been asked again meanwhile
                return (
                    rejected + again + self._go_on(collection, collection.delivered(name, delivered, refusal, now), now)
                )

            return self._asking.check(delivered.data, checked, now)

        return answered
