"""One step of an input in windows: which windows are whole, what came late, and how far numbers go with that.

The rules are told in `roost.pipeline.release`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from roost.pipeline.place import Part, Place, Redo, below, holes_after, without
from roost.pipeline.release_closed import last_closed
from roost.pipeline.view import View

if TYPE_CHECKING:
    from roost.pipeline.release import Planner

MAX_REDO: Final = 256  # windows of a stream that are done again in one step
MAX_TARGETS: Final = 16  # different windows up to which keys are released in one step; each costs a question
_NEVER: Final = -1


class Step:
    """One step of an input in windows."""

    def __init__(
        self,
        planner: Planner,
        place: Place,
        view: View,
        numbers: Mapping[str, int],
        now: int,
        *,
        flush: bool,
    ) -> None:
        self._planner: Final = planner
        self._input: Final = planner.input
        self._length: Final = planner.input.window_ns
        self._place: Final = place
        self._view: Final = view
        self._numbers: Final = numbers
        self._holes: Final = view.holes()
        self._there: Final = dict(numbers)  # by stream, the highest that is: when the ones behind it were, nobody knows
        for stream in self._holes.keys() & numbers.keys():
            self._there[stream] = below(numbers[stream], self._holes[stream])
        self._lows: Final[dict[int, Mapping[str, int]]] = {}  # by time; bound: the questions of a step
        self._top: Final = now // self._length - 1  # the last window that is over
        self._streams: Final[dict[str, list[str]]] = defaultdict(list)  # by key
        for stream in sorted(numbers):
            key = planner.key(stream)
            assert key is not None  # noqa: S101  streams without one were left out
            self._streams[key].append(stream)
        self._closed: Final = self._all_closed()
        newest = max(self._closed.values(), default=_NEVER)
        if not self._input.step_ns:
            newest += 1  # its last reading is in the window after the last it has closed
        # Time goes on as long as anybody in the group speaks: who is silent then is late, and all of them are asleep.
        self._due: Final = min(newest, self._top if flush else self._overdue(newest, now))

    def taken(self, limit: int | None) -> Place:
        """The place behind this step."""
        after = dict(self._place.numbers)
        open_ = dict(self._place.open)
        windows = dict(self._place.windows)
        redo, counts = self._corrected(after, open_)
        targets = self._targets()
        if limit is not None:
            targets = self._fitted(targets, after, limit)
        for key, target in targets.items():
            before = windows.get(key, _NEVER)
            windows[key] = target
            for stream in self._streams[key]:
                closed = self._closed[stream]
                if closed >= before:  # else its numbers belong to windows that were released without them
                    after[stream] = max(after.get(stream, 0), self._below(stream, target))
                if closed < target:
                    open_.setdefault(stream, max(closed + 1, self._place.begun))
        return Place(
            numbers=after,
            holes=holes_after(self._place, after, self._holes),
            windows=windows,
            open=open_,
            corrections=counts,
            redo=redo,
            begun=self._place.begun,
        )

    # -- which windows are whole

    def _overdue(self, newest: int, now: int) -> int:
        """The last window whose deadline has passed: that long after its end, and after we first heard of it.

        The second is for whoever lags behind: what is published late by all is not late by one.
        """
        ended = (now - self._input.deadline_ns) // self._length - 1
        if not self._planner.waits:
            return ended
        heard = self._planner.heard
        if not heard or newest > heard[-1][0]:
            heard.append((newest, now))
        while len(heard) > 1 and heard[1][1] + self._input.deadline_ns <= now:
            heard.pop(0)
        window, since = heard[0]
        return min(window, ended) if since + self._input.deadline_ns <= now else _NEVER

    def _all_closed(self) -> dict[str, int]:
        """By stream, the last window it has closed."""

        def before(stream: str) -> int:
            return self._place.open.get(stream, self._before(stream) + 1) - 1

        def lows(window: int) -> Mapping[str, int]:
            return self._boundaries((window + 1) * self._length - self._input.step_ns)

        return last_closed(self._planner.closed, self._there, self._top, before, lows)

    def _targets(self) -> dict[str, int]:
        """By key, up to which window it is released in this step."""
        found: dict[str, int] = {}
        for key, streams in self._streams.items():
            target = max(min(self._closed[stream] for stream in streams), self._due)
            if target > self._released(key):
                found[key] = target
        several = sorted(set(found.values()))
        if len(several) > MAX_TARGETS:  # the others in the next step
            found = {key: target for key, target in found.items() if target in several[:MAX_TARGETS]}
        return found

    def _fitted(self, targets: Mapping[str, int], after: Mapping[str, int], limit: int) -> dict[str, int]:
        """Release less where it would be too many readings, but one window with readings at least."""

        def size(top: int) -> int:
            ends = [(stream, min(top, target)) for key, target in targets.items() for stream in self._streams[key]]
            return sum(max(0, self._below(stream, end) - after.get(stream, 0)) for stream, end in ends)

        if not targets or size(max(targets.values())) <= limit:
            return dict(targets)
        low, high = min(self._released(key) for key in targets), max(targets.values())
        while high - low > 1:  # the highest that fits, and `high` the lowest that does not
            middle = (low + high) // 2
            low, high = (middle, high) if size(middle) <= limit else (low, middle)
        top = low if low >= 0 and size(low) else high
        cut = {key: min(top, target) for key, target in targets.items()}
        return {key: target for key, target in cut.items() if target > self._released(key)}

    # -- what came late

    def _corrected(self, after: dict[str, int], open_: dict[str, int]) -> tuple[tuple[Redo, ...], dict[str, int]]:
        """The windows to do again; moves the numbers of streams that were silent and have closed them."""
        again: dict[str, set[int]] = defaultdict(set)
        for key, streams in self._streams.items():
            released = self._place.windows.get(key, _NEVER)
            for stream in streams:
                first = self._opened(stream, released)
                if first == _NEVER:
                    continue
                closed = min(self._closed[stream], released, first + MAX_REDO - 1)
                again[key].update(range(first, closed + 1))
                last = closed
                # What a stream has of windows that it has not closed is all in the one after the last it has.
                is_behind = closed == self._closed[stream] < released
                if is_behind and self._below(stream, closed + 1) > after.get(stream, 0):
                    last += 1
                    again[key].add(last)
                if first > last:
                    continue
                after[stream] = max(after.get(stream, 0), self._below(stream, last))
                open_.pop(stream, None)
                if closed < released:
                    open_[stream] = closed + 1
                    self._closed[stream] = closed
            for stream in streams:
                if filled := self._filled(stream, released):
                    again[key].update(filled)
                    after[stream] = max(after.get(stream, 0), self._below(stream, max(filled)))
        for key, window in self._cascaded(after):
            again[key].add(window)
        counts = dict(self._place.corrections)
        redo: list[Redo] = []
        for key in sorted(again):
            for window in sorted(again[key]):
                counts[key] = counts.get(key, 0) + 1
                redo.append(Redo(key, window, counts[key], self._parts(key, window, after)))
        return tuple(redo), counts

    def _opened(self, stream: str, released: int) -> int:
        """The first window that was released without knowing what this stream has of it."""
        first = self._place.open.get(stream, _NEVER)
        if first == _NEVER and released >= 0 and stream not in self._place.numbers:
            lows = self._boundaries(0)  # a stream that came after its key: it may reach back
            low = lows.get(stream, 1)
            time = self._view.times(stream, low, low).get(low)
            window = _NEVER if time is None else max(time // self._length, self._place.begun)
            return _NEVER if window > released else window
        return first

    def _filled(self, stream: str, released: int) -> set[int]:
        """The windows in which numbers stood that nobody had, and of which some are there now.

        A number that was missing counted for the window of the reading behind it, so that one is done again too.
        """
        found: set[int] = set()
        for low, high in self._place.holes.get(stream, ()):
            holes = self._holes.get(stream, ())
            if without([(low, high)], holes):
                known = without([(low, min(high + 1, self._numbers[stream]))], holes)
                there = [self._view.times(stream, *run) for run in known]
                windows = {time // self._length for times in there for time in times.values()}
                if windows:
                    found.update(range(max(min(windows), self._place.begun), max(windows) + 1))
        return {window for window in found if window <= released}

    def _cascaded(self, after: dict[str, int]) -> Iterator[tuple[str, int]]:
        """The windows of which an input was corrected itself; moves the numbers of the streams that say so."""
        everything = self._view.numbers()
        for stream, _, key in self._planner.corrections(everything):
            low, high = self._place.number(stream) + 1, everything[stream]
            times = self._view.times(stream, low, high) if low <= high else {}
            while low in times:  # one that is on its way is waited for
                after[stream] = low
                window = times[low] // self._length
                if self._place.begun <= window <= self._place.windows.get(key, _NEVER):
                    yield key, window
                low += 1

    def _parts(self, key: str, window: int, after: Mapping[str, int]) -> tuple[Part, ...]:
        found = []
        for stream in self._streams[key]:
            low = self._below(stream, window - 1) + 1
            high = min(self._below(stream, window), after.get(stream, 0))
            found.append(Part(stream, low, max(high, low - 1)))
        return tuple(found)

    # -- questions

    def _released(self, key: str) -> int:
        """The last window of a key that has been released, or lies before the beginning."""
        return max(self._place.windows.get(key, _NEVER), self._place.begun - 1)

    def _before(self, stream: str) -> int:
        key = self._planner.key(stream)
        return self._place.windows.get(key or "", _NEVER) if stream in self._place.numbers else _NEVER

    def _below(self, stream: str, window: int) -> int:
        """The highest number of a stream that belongs to this window or one before."""
        low, number = self._boundaries((window + 1) * self._length).get(stream), self._numbers[stream]
        if low is not None and low <= number:
            number = low - 1
        return below(number, self._holes[stream]) if stream in self._holes else number

    def _boundaries(self, time_ns: int) -> Mapping[str, int]:
        if time_ns not in self._lows:
            self._lows[time_ns] = self._view.boundaries(time_ns)
        return self._lows[time_ns]
