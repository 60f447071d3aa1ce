"""Where each stream begins for a consumer that looks back to a time: asked of the repos, page by page [`Since`].

A range of streams is sought first, which takes one question for some hundred streams; a stream that no page had, for
the repo that was asked did not know it yet, is sought by itself until somebody knows it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from roost.errors import BadPacket
from roost.forwarding.pending import Question
from roost.machine import MS, Effect, Randomness, Rejected
from roost.naming import Name
from roost.pubsub.asking import Asking
from roost.repo.question import ASK, Since, decode_streams, encode_question
from roost.sync.subscriptions import NameRange
from roost.wire import Data

MAX_OPEN: Final = 8
_LIFETIME_MS: Final = 1000
_RETRY_LOW_MS: Final = 100
_RETRY_HIGH_MS: Final = 500


class _Search(NamedTuple):
    question: Since
    wanted: NameRange
    alone: bool  # one stream, which has to be in the answer


class Beginning:
    """Searches, at most one per stream; `found` is told each stream in the range with the number it begins with."""

    def __init__(
        self, asking: Asking, service: Name, time: int, randomness: Randomness, found: Callable[[Name, int], None]
    ) -> None:
        self._asking: Final = asking
        self._service: Final = service
        self._time: Final = time
        self._randomness: Final = randomness
        self._found: Final = found
        self._waiting: Final[deque[_Search]] = deque()  # bound: the ranges and streams of one consumer
        self._open = 0
        self._again_at: int | None = None

    @property
    def idle(self) -> bool:
        """Whether nothing is being sought."""
        return not self._open and not self._waiting

    def seek(self, wanted: NameRange) -> None:
        """Find out about all streams of a range; `go_on` asks."""
        low, high = wanted
        self._waiting.append(_Search(Since(low, self._time), NameRange(low, low), alone=False))
        if low != high:
            self._waiting.append(_Search(Since(_common(low, high), self._time, low), wanted, alone=False))

    def seek_one(self, stream: Name) -> None:
        """Find out about one stream that somebody knows."""
        self._waiting.append(_Search(Since(stream, self._time), NameRange(stream, stream), alone=True))

    def go_on(self, now: int) -> list[Effect]:
        """Ask what can be asked now."""
        if self._again_at is not None:
            if now < self._again_at:
                return []
            self._again_at = None
        effects: list[Effect] = []
        while self._waiting and self._open < MAX_OPEN and self._again_at is None:
            effects += self._ask(self._waiting.popleft(), now)
        return effects

    def deadline(self) -> int | None:
        """When to ask again what found no answer."""
        return self._again_at

    def _ask(self, search: _Search, now: int) -> list[Effect]:
        name = self._service / ASK / encode_question(search.question)
        question = Question(name, can_be_prefix=True, must_be_fresh=True, lifetime_ms=_LIFETIME_MS)
        self._open += 1

        def answered(data: Data | None, why: str, now: int) -> list[Effect]:  # noqa: ARG001  a continuation's shape
            self._open -= 1
            return self._later(search, now) if data is None else self._answered(search, data, now)

        return self._asking.fetch(question, answered, now)

    def _answered(self, search: _Search, data: Data, now: int) -> list[Effect]:
        try:
            streams = decode_streams(data.content)
        except BadPacket as error:
            return [Rejected(str(self._service), str(error), data.wire[:64]), *self._later(search, now)]
        inside = [(stream, number) for stream, number in streams.entries if search.wanted.covers(stream)]
        for stream, number in inside:
            if number > 0 and (not search.alone or stream == search.wanted.low):
                self._found(stream, number)
        if search.alone:
            known = any(stream == search.wanted.low for stream, _ in inside)
            return [] if known else self._later(search, now)
        if streams.more and len(inside) == len(streams.entries):
            on = search.question
            self._waiting.append(search._replace(question=Since(on.prefix, on.time, streams.entries[-1][0])))
        return []

    def _later(self, search: _Search, now: int) -> list[Effect]:
        self._waiting.append(search)
        self._again_at = now + self._randomness.randint(_RETRY_LOW_MS * MS, _RETRY_HIGH_MS * MS)
        return []


def _common(one: Name, other: Name) -> Name:
    """What both names begin with."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return one.prefix(count)
