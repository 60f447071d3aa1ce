"""FLIPS as one machine: register, publish, subscribe, unsubscribe, unregister [FLIPS §III].

It speaks of Interests and Data of (topic hash, control number) through `port`, and knows neither hICN nor NDN. The
publisher's half is `publishing`, the subscriber's `subscribing`. A machine that follows a topic of its own
is answered by itself: a forwarder sends no Interest back to where it came from.
"""

from __future__ import annotations

from collections import deque
from typing import Final, TypeAlias

from roost.machine import Effect, Randomness, earliest
from roost.machine.disk import Saved
from roost.pubsub.flips.content_store import ContentStore
from roost.pubsub.flips.identifiers import COLLISION
from roost.pubsub.flips.port import DataArrived, InterestArrived, SendData, SendInterest
from roost.pubsub.flips.publishing import Publishing
from roost.pubsub.flips.settings import FlipsSettings, Following
from roost.pubsub.flips.subscribing import Subscribing

FILE: Final = "flips"
_HERE: Final = object()  # the token of our own Interests

Event: TypeAlias = InterestArrived | DataArrived | Saved


class Flips:
    """The machine; `found` is what is on its disk."""

    def __init__(self, settings: FlipsSettings, randomness: Randomness, found: bytes = b"", file: str = FILE) -> None:
        self.settings: Final = settings
        self.store: Final = ContentStore(
            file, found, settings.store_items, settings.store_bytes, settings.skip, settings.topics
        )
        self.publishing: Final = Publishing(settings, randomness, self.store)
        self.subscribing: Final = Subscribing(settings, randomness)

    # -- commands

    def register(self, topic: str, interval_ms: int, now: int) -> list[Effect]:
        """Make a topic ours; content comes every `interval_ms`, 0 if nobody knows when."""
        return self._out(self.publishing.register(topic, interval_ms, now), now)

    def unregister(self, topic: str, now: int) -> list[Effect]:
        """Publish a topic no longer."""
        return self._out(self.publishing.unregister(topic), now)

    def publish(self, topic: str, content: bytes, now: int) -> list[Effect]:
        """Publish content of a registered topic."""
        return self._out(self.publishing.publish(topic, content, now), now)

    def subscribe(self, topic: str, now: int, following: Following | None = None) -> list[Effect]:
        """Follow a topic."""
        return self._out(self.subscribing.subscribe(topic, following or Following(), now), now)

    def unsubscribe(self, topic: str, now: int) -> list[Effect]:
        """Follow it no longer."""
        return self._out(self.subscribing.unsubscribe(topic), now)

    def hold(self, topic: str, now: int, *, held: bool) -> list[Effect]:
        """Ask for no more of a topic while whoever takes its content is busy, or go on."""
        return self._out(self.subscribing.hold(topic, now, held=held), now)

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:  # noqa: ARG002  the contract's shape
        """Nothing happens before a command."""
        return []

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an Interest, Data, or that something is on the disk."""
        return self._out(self._taken(event, now), now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        return self._out(self.publishing.tick(now) + self.subscribing.tick(now), now)

    def deadline(self) -> int | None:
        """When either half wants to be called."""
        return earliest(self.publishing.deadline(), self.subscribing.deadline())

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "publish_table": (len(self.publishing.table), self.settings.topics),
            "subscribe_table": (len(self.subscribing.table), self.settings.topics),
            "interest_cache": (len(self.publishing.cache), self.settings.cached_interests),
        }

    def _taken(self, event: Event, now: int) -> list[Effect]:
        if isinstance(event, InterestArrived):
            return self.publishing.interest(event, now)
        if isinstance(event, Saved):
            return self.publishing.saved(event, now) if event.file == self.store.file else []
        if event.number == COLLISION:
            return self.publishing.collision(event)
        return self.subscribing.data(event, now)

    def _out(self, effects: list[Effect], now: int) -> list[Effect]:
        """Answer our own Interests ourselves; the rest goes out. One answer may lead to the next question."""
        out: list[Effect] = []
        left = deque(effects)
        while left:
            effect = left.popleft()
            event: Event
            if isinstance(effect, SendInterest) and effect.number != COLLISION and self._ours(effect):
                event = InterestArrived(effect.hash, effect.number, effect.lifetime_ms, effect.payload, _HERE)
            elif isinstance(effect, SendData) and effect.token is _HERE:
                event = DataArrived(effect.hash, effect.number, effect.payload)
            else:
                out.append(effect)
                continue
            left.extendleft(reversed(self._taken(event, now)))
        return out

    def _ours(self, interest: SendInterest) -> bool:
        row = self.publishing.table.get(interest.hash)
        return row is not None and row.ready
