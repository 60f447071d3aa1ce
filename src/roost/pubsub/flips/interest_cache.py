"""interest_cache: Interests for content that is still to come, each until it expires [FLIPS §III-C, E7]."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from roost.machine import MS
from roost.pubsub.flips.identifiers import TopicHash
from roost.pubsub.flips.port import InterestArrived

MAX_ASKERS: Final = 8  # of one name: this machine itself, and whom its binding tells apart


class _Waiting:
    """Who waits for a name, and until when."""

    __slots__ = ("askers",)

    def __init__(self) -> None:
        self.askers: Final[OrderedDict[object, int]] = OrderedDict()  # token → expiry; bound: MAX_ASKERS

    @property
    def expires(self) -> int:
        return max(self.askers.values())


class InterestCache:
    """By name and by who asks; the longest expiry counts, the oldest goes when there are too many."""

    def __init__(self, bound: int) -> None:
        self.bound: Final = bound
        self.dropped = 0
        self._waiting: Final[OrderedDict[tuple[TopicHash, int], _Waiting]] = OrderedDict()  # bound: `bound`

    def __len__(self) -> int:
        return len(self._waiting)

    def keep(self, interest: InterestArrived, now: int) -> None:
        """Keep one for later."""
        name = (interest.hash, interest.number)
        waiting = self._waiting.pop(name, None) or _Waiting()
        self._waiting[name] = waiting
        expires = max(waiting.askers.pop(interest.token, 0), now + interest.lifetime_ms * MS)
        waiting.askers[interest.token] = expires
        if len(waiting.askers) > MAX_ASKERS:
            waiting.askers.popitem(last=False)
            self.dropped += 1
        if len(self._waiting) > self.bound:
            self._waiting.popitem(last=False)
            self.dropped += 1

    def take(self, topic: TopicHash, number: int, now: int) -> list[object]:
        """Take out who waits for a name, as their tokens; none if nobody does any more."""
        waiting = self._waiting.pop((topic, number), None)
        return [] if waiting is None else [token for token, expires in waiting.askers.items() if expires > now]

    def forget(self, topic: TopicHash) -> None:
        """Nobody will answer for this topic."""
        for name in [name for name in self._waiting if name[0] == topic]:
            del self._waiting[name]

    def expire(self, now: int) -> None:
        """Drop what nobody waits for any more."""
        for name in [name for name, waiting in self._waiting.items() if waiting.expires <= now]:
            del self._waiting[name]
