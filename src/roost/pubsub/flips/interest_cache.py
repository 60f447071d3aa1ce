"""interest_cache: Interests for content that is still to come, each until it expires [FLIPS §III-C, E7]."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from roost.machine import MS
from roost.pubsub.flips.identifiers import TopicHash
from roost.pubsub.flips.port import InterestArrived


class InterestCache:
    """By name; the longest expiry of a name counts, the oldest name goes when there are too many."""

    def __init__(self, bound: int) -> None:
        self.bound: Final = bound
        self.dropped = 0
        self._waiting: Final[OrderedDict[tuple[TopicHash, int], tuple[int, object]]] = OrderedDict()  # bound: `bound`

    def __len__(self) -> int:
        return len(self._waiting)

    def keep(self, interest: InterestArrived, now: int) -> None:
        """Keep one for later."""
        name = (interest.hash, interest.number)
        expires, _ = self._waiting.pop(name, (0, None))
        self._waiting[name] = (max(expires, now + interest.lifetime_ms * MS), interest.token)
        if len(self._waiting) > self.bound:
            self._waiting.popitem(last=False)
            self.dropped += 1

    def take(self, topic: TopicHash, number: int, now: int) -> tuple[object] | None:
        """Take out the Interest for a name, None if nobody waits any more; what comes is its token."""
        expires, token = self._waiting.pop((topic, number), (0, None))
        return (token,) if expires > now else None

    def forget(self, topic: TopicHash) -> None:
        """Nobody will answer for this topic."""
        for name in [name for name in self._waiting if name[0] == topic]:
            del self._waiting[name]

    def expire(self, now: int) -> None:
        """Drop what nobody waits for any more."""
        for name in [name for name, (expires, _) in self._waiting.items() if expires <= now]:
            del self._waiting[name]
