"""What is handed out next: readings as they come, or windows once they are whole.

A stream has closed a window when it has a reading from after it: numbers are dense, so everything of the window lies
below that number. A key's window is released when all its streams have closed it, or at the deadline; what was not
there then is remembered in the place (`holes`: numbers that nobody had; `open`: streams that were silent), and when it
comes, the window is released again as a correction. Which window a reading belongs to is a matter of numbers: those
from the first one at or after its start, to the one before the first at or after its end. So every number is in one
window exactly, whatever its clock said.

Readings as they come do not wait for others, but for those that macros are made of: a macro gets a stream in its order.

    plan = Planner(input)
    place = plan.advance(place, view, now)          the next place; the same one if there is nothing

The view is what the repos of the group say right now; nothing here waits, or knows of Spark. What is kept in memory is
only what saves questions: a new planner with the same place goes on the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from roost.machine import SECOND
from roost.pipeline.input import EACH, Input
from roost.pipeline.place import CORRECTIONS, Place, Run, below, holes_after
from roost.pipeline.release_windows import Step
from roost.pipeline.view import View

GAP: Final = 30 * SECOND  # that macros wait for a reading before those behind it


class _Rest(NamedTuple):
    """Nothing was to be released at a place, and will not be while all is as it was then, until some time."""

    place: Place
    numbers: Mapping[str, int]
    holes: Mapping[str, Sequence[Run]]
    until: int
    waits: bool

    def lasts(self, place: Place, numbers: Mapping[str, int], view: View, now: int) -> bool:
        return now < self.until and numbers == self.numbers and place == self.place and view.holes() == self.holes


class Planner:
    """Advances one input."""

    def __init__(self, wanted: Input) -> None:
        self.input: Final = wanted
        self._keys: Final[dict[str, str | None]] = {}  # by stream; bound: the streams of the group
        self.waits = True  # for others who may lag behind; not where nothing more is to come
        self.heard: Final[list[tuple[int, int]]] = []  # newest windows and when we heard of them; bound: of a deadline
        self.closed: Final[dict[str, tuple[int, int]]] = {}  # by stream: its number, and what it had closed then
        self._gaps: dict[str, tuple[int, int]] = {}  # by stream: the first number of a gap, and since when it is known
        self._rest: _Rest | None = None  # when there was nothing to release last

    def begin(self, view: View, since_ns: int) -> Place:
        """The place to begin at: a time; windows begin whole, at the first one that starts then or later."""
        length = self.input.window_ns
        first = -(-since_ns // length) * length if length else since_ns
        lows, holes = view.boundaries(first), view.holes()
        begun = {stream: below(low - 1, holes.get(stream, ())) for stream, low in lows.items() if low > 1}
        return Place(numbers=begun, begun=first // length if length else 0)

    def advance(self, place: Place, view: View, now: int, limit: int | None = None, *, flush: bool = False) -> Place:
        """The next place; at most `limit` readings further where that can be, `flush` waits for no deadline."""
        seen = view.numbers()
        rest = self._rest
        if rest is not None and not flush and rest.waits == self.waits and rest.lasts(place, seen, view, now):
            return place
        numbers = self._ours(seen)
        if not self.input.window_ns:
            before = place.numbers.get
            if self.input.packets and self.waits and not flush and numbers != place.numbers:
                numbers = self._in_order(place, numbers, view.holes(), now)
            steps = {stream: step for stream, number in numbers.items() if (step := number - before(stream, 0)) > 0}
            return _as_they_come(place, steps, view.holes(), limit) if steps or place.holes else place
        holes = view.holes()
        after = Step(self, place, view, numbers, now, flush=flush).taken(limit)
        if replace(after, redo=place.redo) != place:
            return after
        self._rest = None if flush else _Rest(place, dict(seen), dict(holes), self._until(now), self.waits)
        return place

    def corrections(self, numbers: Mapping[str, int]) -> Iterator[tuple[str, str, str]]:
        """The streams that correct ours, each with the stream that it corrects and its key."""
        for stream in sorted(numbers):
            corrected = stream.removesuffix(CORRECTIONS)
            if corrected != stream and (key := self.key(corrected)) is not None:
                yield stream, corrected, key

    def _ours(self, numbers: Mapping[str, int]) -> Mapping[str, int]:
        """The numbers of the streams that have a key."""
        if self.input.key == EACH and not self.input.window_ns:
            return numbers
        return {stream: number for stream, number in numbers.items() if self.key(stream) is not None}

    def _in_order(
        self, place: Place, numbers: Mapping[str, int], holes: Mapping[str, Sequence[Run]], now: int
    ) -> Mapping[str, int]:
        """How far streams go without a gap that may be filled yet: macros want a stream in its order, as on a node."""
        found = dict(numbers)
        gaps: dict[str, tuple[int, int]] = {}
        for stream in holes.keys() & numbers.keys():
            low = next((low for low, high in holes[stream] if high > place.number(stream)), numbers[stream] + 1)
            if place.number(stream) < low <= numbers[stream]:
                known = self._gaps.get(stream, (0, 0))
                gaps[stream] = known if known[0] == low else (low, now)
                if now - gaps[stream][1] < GAP:
                    found[stream] = low - 1
        self._gaps = gaps
        return found

    # -- what saves questions

    def _until(self, now: int) -> int:
        """When a window may be over or overdue that is not now; within a second, for what was out of reach."""
        length, deadline = self.input.window_ns, self.input.deadline_ns
        heard = [since + deadline for _, since in self.heard if since + deadline > now]
        over = [(now // length + 1) * length, ((now - deadline) // length + 1) * length + deadline]
        return min(*over, *heard, now + SECOND)

    def key(self, stream: str) -> str | None:
        if stream not in self._keys:
            is_ours = not (self.input.window_ns and stream.endswith(CORRECTIONS))
            self._keys[stream] = self.input.key_of(stream) if is_ours else None
        return self._keys[stream]


def _as_they_come(
    place: Place, steps: Mapping[str, int], holes: Mapping[str, Sequence[Run]], limit: int | None
) -> Place:
    total = sum(steps.values())
    if limit is not None and total > limit:
        steps = {stream: max(1, step * limit // total) for stream, step in sorted(steps.items())[: max(1, limit)]}
    after = dict(place.numbers)
    for stream, step in steps.items():
        after[stream] = place.number(stream) + step
    return Place(numbers=after, holes=holes_after(place, after, holes))
