"""Finding out where a line begins in the past: the queries of its `History`, in rounds, until it is over.

A round that brings nothing new is repeated with those who carry what others published; if they cannot tell either, or
nobody answers although the producer says it has none of it any more, these names are given up. Where nobody answers at
all, the round is repeated later, without end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from roost.machine import Effect
from roost.pubsub.blobs.directory import Directory
from roost.pubsub.blobs.history import History
from roost.pubsub.blobs.inquiring import Inquiring
from roost.pubsub.blobs.line import Line
from roost.pubsub.blobs.names import Query

MAX_QUERIES: Final = 8  # of one round


@dataclass(slots=True)
class _Round:
    """Queries that were asked together."""

    queries: list[Query]
    left: int
    held: bool
    answered: bool = False
    fresh: bool = False


class Surveying:
    """Goes on with a line by `go_on`, at once, or `later` than now.

    That is by its timer, how often that was, and for how long the stream was silent.
    """

    def __init__(
        self,
        directory: Directory,
        inquiring: Inquiring,
        go_on: Callable[[Line, int], list[Effect]],
        later: Callable[[int, int, int, int], None],
    ) -> None:
        self._directory: Final = directory
        self._inquiring: Final = inquiring
        self._go_on: Final = go_on
        self._later: Final = later

    def survey(self, line: Line, history: History, now: int) -> list[Effect]:
        """Ask what has to be asked next; once nothing has, the line goes on from where it begins."""
        line.heard_at = line.heard_at or now
        queries = history.queries(line.stream, self._directory, lambda entry: line.wanted.takes(entry, now))
        if history.over:
            line.next = line.turn = max(line.next, history.first)
            return self._go_on(line, now)
        queries = queries[:MAX_QUERIES]
        round_ = _Round(queries, len(queries), held=line.tries % 2 == 1)
        line.questions = len(queries)

        def answered(answered: bool, fresh: bool, now: int) -> list[Effect]:  # noqa: FBT001  a continuation
            round_.left -= 1
            round_.answered |= answered
            round_.fresh |= fresh
            return [] if round_.left else self._end(line, history, round_, now)

        effects: list[Effect] = []
        for query in queries:
            effects += self._inquiring.ask(line.stream, query, answered, now, held=round_.held)
        return effects

    def _end(self, line: Line, history: History, round_: _Round, now: int) -> list[Effect]:
        line.questions = 0
        if line.over:
            return []
        line.tries = 0 if round_.fresh else line.tries + 1
        if round_.fresh:
            line.heard_at = now
            return self._go_on(line, now)
        lost = round_.queries[-1].high < self._directory.oldest(line.stream)
        if round_.held and (round_.answered or lost):
            for query in round_.queries:
                history.missed(query)
            return self._go_on(line, now)
        if round_.answered:
            return self._go_on(line, now)
        self._later(line.timer, line.tries, now, now - line.heard_at)
        return []
