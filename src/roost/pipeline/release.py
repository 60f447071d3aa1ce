"""What is handed out next: readings as they come, or windows once they are whole.

A stream has closed a window when it has a reading from after it: numbers are dense, so everything of the window lies
below that number. A key's window is released when all its streams have closed it, or at the deadline; what was not
there then is remembered in the place (`holes`: numbers that nobody had; `open`: streams that were silent), and when it
comes, the window is released again as a correction. Which window a reading belongs to is a matter of numbers: those
from the first one at or after its start, to the one before the first at or after its end. So every number is in one
window exactly, whatever its clock said.

    plan = Planner(input)
    place = plan.advance(place, view, now)          the next place; the same one if there is nothing

The view is what the repos of the group say right now; nothing here waits, or knows of Spark. What is kept in memory is
only what saves questions: a new planner with the same place goes on the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from roost.pipeline.input import Input
from roost.pipeline.place import CORRECTIONS, Place, Run, below, holes_after
from roost.pipeline.release_windows import Step
from roost.pipeline.view import View


class Planner:
    """Advances one input."""

    def __init__(self, wanted: Input) -> None:
        self.input: Final = wanted
        self._keys: Final[dict[str, str | None]] = {}  # by stream; bound: the streams of the group
        self.waits = True  # for others who may lag behind; not where nothing more is to come
        self.heard: Final[list[tuple[int, int]]] = []  # newest windows and when we heard of them; bound: of a deadline
        self.closed: Final[dict[str, tuple[int, int]]] = {}  # by stream: its number, and what it had closed then

    def begin(self, view: View, since_ns: int) -> Place:
        """The place to begin at: a time; windows begin whole, at the first one that starts then or later."""
        length = self.input.window_ns
        first = -(-since_ns // length) * length if length else since_ns
        lows, holes = view.boundaries(first), view.holes()
        begun = {stream: below(low - 1, holes.get(stream, ())) for stream, low in lows.items() if low > 1}
        return Place(numbers=begun, begun=first // length if length else 0)

    def advance(self, place: Place, view: View, now: int, limit: int | None = None, *, flush: bool = False) -> Place:
        """The next place; at most `limit` readings further where that can be, `flush` waits for no deadline."""
        numbers = {stream: number for stream, number in view.numbers().items() if self.key(stream) is not None}
        if not self.input.window_ns:
            if not place.holes and all(place.number(stream) >= number for stream, number in numbers.items()):
                return place
            return _as_they_come(place, numbers, view.holes(), limit)
        after = Step(self, place, view, numbers, now, flush=flush).taken(limit)
        return place if replace(after, redo=place.redo) == place else after

    def corrections(self, numbers: Mapping[str, int]) -> Iterator[tuple[str, str, str]]:
        """The streams that correct ours, each with the stream that it corrects and its key."""
        for stream in sorted(numbers):
            corrected = stream.removesuffix(CORRECTIONS)
            if corrected != stream and (key := self.key(corrected)) is not None:
                yield stream, corrected, key

    # -- what saves questions

    def key(self, stream: str) -> str | None:
        if stream not in self._keys:
            is_ours = not (self.input.window_ns and stream.endswith(CORRECTIONS))
            self._keys[stream] = self.input.key_of(stream) if is_ours else None
        return self._keys[stream]


def _as_they_come(
    place: Place, numbers: Mapping[str, int], holes: Mapping[str, Sequence[Run]], limit: int | None
) -> Place:
    steps = {stream: number - place.number(stream) for stream, number in numbers.items()}
    steps = {stream: step for stream, step in steps.items() if step > 0}
    total = sum(steps.values())
    if limit is not None and total > limit:
        steps = {stream: max(1, step * limit // total) for stream, step in sorted(steps.items())[: max(1, limit)]}
    after = dict(place.numbers)
    for stream, step in steps.items():
        after[stream] = place.number(stream) + step
    return Place(numbers=after, holes=holes_after(place, after, holes))
