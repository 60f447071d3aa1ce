"""Mapping queries on their way, each asked once for all who want it at the same time [SVS-PS §8].

What is answered is in the directory before `then` hears of it: whether there was an answer, and anything new in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from roost.errors import BadPacket
from roost.forwarding.pending import Question
from roost.machine import Effect, Rejected
from roost.pubsub.blobs.mapping import decode_mapping
from roost.pubsub.blobs.names import Query
from roost.pubsub.blobs.seat import Seat
from roost.sync.port import Stream
from roost.wire import Data

LIFETIME_MS: Final = 1000
TRIES: Final = 2
_SAMPLE_BYTES: Final = 64

Then: TypeAlias = Callable[[bool, bool, int], list[Effect]]  # answered, something new in it, now


class Inquiring:
    """What is asked of producers, or, with `held`, of members that carry what others published."""

    def __init__(self, seat: Seat) -> None:
        self.asked = 0
        self._seat: Final = seat
        self._under_way: Final[dict[tuple[Stream, Query, bool], list[Then]]] = {}  # bound: what lines begin

    def ask(self, stream: Stream, query: Query, then: Then, now: int, *, held: bool) -> list[Effect]:
        """Ask for the names of some numbers."""
        key = (stream, query, held)
        waiting = self._under_way.get(key)
        if waiting is not None:
            waiting.append(then)
            return []
        self._under_way[key] = [then]
        self.asked += 1

        def fetched(data: Data | None, _: str, now: int) -> list[Effect]:
            answered = data is not None
            fresh = False
            effects: list[Effect] = []
            if data is not None:
                try:
                    fresh = self._learn(stream, data)
                except BadPacket as error:
                    answered = False
                    reason = f"{data.name}: {error}"
                    effects.append(Rejected(str(self._seat.naming.group), reason, data.wire[:_SAMPLE_BYTES]))
            for each in self._under_way.pop(key):
                effects += each(answered, fresh, now)
            return effects

        name = self._seat.naming.query(stream, query.low, query.high)
        hints = (self._seat.held,) if held else ()
        question = Question(name, lifetime_ms=LIFETIME_MS, tries=TRIES, hints=hints)
        return self._seat.asking.fetch(question, fetched, now, self._seat.mapping)

    def _learn(self, stream: Stream, data: Data) -> bool:
        mapping = decode_mapping(data.content)
        directory = self._seat.directory
        directory.learn_oldest(stream, mapping.oldest)
        return bool(directory.learn(stream, mapping.entries))
