"""A member of an SVS-PS group who publishes and subscribes: both sides over one sync member, as one machine [§8].

                 ┌──▶ Publisher   our numbers, Interests for what we published     ──▶ Published
    Seat (sync) ─┤
                 └──▶ Subscriber  others' numbers, what is wanted of them          ──▶ Deliver

What a member publishes is not delivered to its own subscriptions, as NDNts has it.
"""

from __future__ import annotations

from typing import Final

from roost.machine import Effect, Randomness, earliest
from roost.naming import Name
from roost.pubsub.blobs.publisher import Layers, Publisher
from roost.pubsub.blobs.seat import Seat
from roost.pubsub.blobs.subscriber import Subscriber
from roost.pubsub.resident import Event


class BlobMember:
    """One node in one group; put it on a face as any `Part`."""

    def __init__(self, seat: Seat, node: Name, layers: Layers, randomness: Randomness) -> None:
        self.seat: Final = seat
        self.publisher: Final = Publisher(seat, node, layers)
        self.subscriber: Final = Subscriber(seat, randomness)

    @property
    def prefixes(self) -> tuple[Name, ...]:
        """Under which Interests are ours."""
        return self.publisher.prefixes

    @property
    def routes(self) -> tuple[Name, ...]:
        """What to register, so that they come."""
        return self.publisher.routes

    def publish(self, name: Name, content: bytes | memoryview, now: int) -> list[Effect]:
        """Publish a blob; as `Publisher.publish`."""
        return self.subscriber.absorb(self.publisher.publish(name, content, now), now)

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Join the group."""
        return self.subscriber.absorb(self.publisher.start(now), now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an Interest, an answer, or that something is on the disk."""
        return self.subscriber.absorb(self.publisher.receive(event, now), now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        return self.subscriber.absorb(self.publisher.tick(now), now) + self.subscriber.tick_fetches(now)

    def deadline(self) -> int | None:
        """When one of the two wants to be looked at."""
        return earliest(self.publisher.deadline(), self.subscriber.deadline())

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {**self.publisher.sizes(), **self.subscriber.sizes()}
