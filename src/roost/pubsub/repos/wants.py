"""One run of readings that is missing here, on its way from round to round: what is asked for next, and of whom."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container
from typing import Final, TypeAlias

from roost.machine import Effect
from roost.naming import Name
from roost.repo import intervals
from roost.repo.holdings import Holdings
from roost.repo.question import Run

BUNDLED: Final = 40  # readings that are asked for at once

Ended: TypeAlias = Callable[[int, int], list[Effect]]  # how many are missing, once the rest is here


class Want:
    """A run of one stream; each round asks one repo for what the rounds before did not bring."""

    __slots__ = ("flying", "left", "order", "queued", "round", "stream", "then", "ticket", "todo")

    def __init__(self, ticket: int, stream: Name, low: int, high: int, order: list[Name], then: Ended) -> None:
        self.ticket: Final = ticket
        self.stream: Final = stream
        self.order: Final = order  # in which repos are asked; bound: the peers
        self.then: Final = then
        self.todo: deque[Run] = deque([(low, high)])  # of this round
        self.left: list[Run] = []  # for the next one; bound of both: the run's numbers
        self.round = 0
        self.flying = 0  # questions
        self.queued = False

    @property
    def whom(self) -> Name:
        """Who is asked in this round."""
        return self.order[self.round % len(self.order)]

    @property
    def count(self) -> int:
        """How many numbers are to be asked for."""
        return sum([high - low + 1 for low, high in self.todo])

    def next_run(self, holdings: Holdings, on_the_way: Container[tuple[Name, int]]) -> Run | None:
        """The next numbers to ask for, at most a bundle; what is on its way already is looked at in the next round."""
        stream = self.stream
        while self.todo:
            number, high = self.todo.popleft()
            first = 0
            while number <= high:
                missing = not holdings.is_held(stream, number) and not holdings.is_gone(stream, number)
                flying = missing and (stream, number) in on_the_way
                if first and (flying or not missing or number - first >= BUNDLED):
                    break
                if flying:
                    self.left.append((number, number))
                elif missing:
                    first = first or number
                number += 1
            if first:
                if number <= high:
                    self.todo.appendleft((number, high))
                return first, number - 1
        return None

    def next_round(self) -> tuple[int, int]:
        """Ask the next repo for what is left; how often all were asked by now, and how many of this cycle."""
        self.round += 1
        bounds: list[int] = []
        for low, high in self.left:
            intervals.add(bounds, low, high)
        self.todo.extend(intervals.pairs(bounds))
        self.left = []
        return divmod(self.round, len(self.order))

    def pass_over(self, low: int, high: int) -> None:
        """Do not ask for numbers that were dropped elsewhere: a bundle tells such a run to its end."""
        todo = [(high + 1 if low <= begin <= high else begin, end) for begin, end in self.todo]
        self.todo = deque([run for run in todo if run[0] <= run[1]])
