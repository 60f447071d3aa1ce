"""The driver's side of the source, without Spark: where to begin, how far to go, what lies in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

from roost.host.background import Closing
from roost.host.stretch_access import Access
from roost.pipeline.input import Input
from roost.pipeline.options import LATEST, SourceOptions, moment
from roost.pipeline.place import Place, Run
from roost.pipeline.release import Planner
from roost.pipeline.units import Unit, partitions, units
from roost.pipeline.view import View
from roost.pipeline.watching import GroupView

MAX_STEPS: Final = 100_000  # of a batch read in windows, each of which makes progress


@dataclass(slots=True)
class Narrow:
    """What a batch read may leave out: the values that columns may have, and event times from and to, in ns."""

    values: dict[str, set[str]] = field(default_factory=dict)
    since_ns: int = 0
    until_ns: int | None = None

    def leaves(self, wanted: Input, stream: str) -> bool:
        """Whether a stream is left to be read."""
        parts = dict(zip(("metric", "device", "panel"), reversed(stream.split("/")), strict=False))
        parts["stream"] = f"{wanted.group}/{stream}"
        return all(parts.get(column) in allowed for column, allowed in self.values.items())


class Frozen:
    """A view in which no number rises any more."""

    def __init__(self, view: View) -> None:
        self._view: Final = view
        self._numbers: Final = dict(view.numbers())

    def numbers(self) -> Mapping[str, int]:
        """As they were."""
        return self._numbers

    def holes(self) -> Mapping[str, Sequence[Run]]:
        """As they are."""
        return self._view.holes()

    def boundaries(self, time_ns: int) -> Mapping[str, int]:
        """As they are, which may be behind what is seen here."""
        return self._view.boundaries(time_ns)

    def times(self, stream: str, low: int, high: int) -> Mapping[int, int]:
        """As they are."""
        return self._view.times(stream, low, high)


class Driving(Closing):
    """All inputs of a source; `look` makes the view of one, which is closed with this if it has to be."""

    def __init__(
        self,
        options: SourceOptions,
        look: Callable[[Access, Input], View] = GroupView,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._options: Final = options
        self._clock: Callable[[], int] = clock
        self.is_frozen = False
        self._planners: Final = {wanted.name: Planner(wanted) for wanted in options.inputs}
        self._views: Final[dict[str, View]] = {}
        with ExitStack() as opened:
            for wanted in options.inputs:
                view = self._views[wanted.name] = look(options.access, wanted)
                if isinstance(view, Closing):
                    opened.enter_context(view)
            self._opened: Final = opened.pop_all()

    def close(self) -> None:
        """Look no longer."""
        self._opened.close()

    # -- in a stream

    def begin(self) -> dict[str, Place]:
        """Where a new query begins."""
        if self._options.start is not None:
            return dict(self._options.start)
        return {name: self._begin(name, self._since()) for name in self._planners}

    def advance(self, offset: Mapping[str, Place], most: int | None) -> dict[str, Place]:
        """How far to go; inputs that an older query did not have begin where a new one would."""
        now = self._clock()
        after: dict[str, Place] = {}
        for name, planner in self._planners.items():
            place = offset[name] if name in offset else self._begin(name, self._since())
            after[name] = planner.advance(place, self._views[name], now, most)
        return after

    def freeze(self) -> None:
        """Let nothing be newer than now."""
        now = self._clock()
        self._clock = lambda: now
        self.is_frozen = True
        for planner in self._planners.values():
            planner.waits = False
        for name, view in self._views.items():
            self._views[name] = Frozen(view)

    def partitions(self, start: Mapping[str, Place], end: Mapping[str, Place]) -> list[list[Unit]]:
        """What lies between two offsets, shared out."""
        found = [
            unit
            for name, planner in self._planners.items()
            if name in end
            for unit in units(planner, start.get(name, Place()), end[name])
        ]
        return partitions(found, self._options.partitions)

    # -- in a batch

    def stretch(self, narrow: Narrow) -> list[list[Unit]]:
        """All there is from `since` to `until`, or from one exact offset to another, as far as filters leave it."""
        found: list[Unit] = []
        for name, planner in self._planners.items():
            wanted = planner.input
            start = (self._options.start or {}).get(name)
            end = (self._options.end or {}).get(name)
            view = Frozen(self._views[name])
            if start is None:
                since = self._since() if wanted.window_ns else max(self._since(), narrow.since_ns)
                start = self._begin(name, since)
            steps = units(planner, start, end) if end is not None else self._steps(planner, start, view, narrow)
            found += [unit for unit in steps if narrow.leaves(wanted, unit.stream)]
        return partitions(found, self._options.partitions)

    def _steps(self, planner: Planner, place: Place, view: View, narrow: Narrow) -> list[Unit]:
        until = moment(self._options.until, self._clock(), "until")
        if not planner.input.window_ns:
            if narrow.until_ns is not None:
                until = min(until, narrow.until_ns)
            if self._options.until == LATEST and narrow.until_ns is None:
                return list(units(planner, place, planner.advance(place, view, until)))
            ends = view.boundaries(until)
            highest = {stream: min(number, ends.get(stream, 1) - 1) for stream, number in view.numbers().items()}
            return list(units(planner, place, planner.advance(place, _Ended(view, highest), until)))
        found: list[Unit] = []
        for _ in range(MAX_STEPS):
            following = planner.advance(place, view, until, self._options.max_rows, flush=True)
            if following == place:
                break
            found += units(planner, place, following)
            place = following
        return found

    def _begin(self, name: str, since_ns: int) -> Place:
        planner, view = self._planners[name], self._views[name]
        if self._options.since == LATEST and planner.input.window_ns:
            since_ns -= planner.input.window_ns - 1  # the window that is under way is the first one
        elif self._options.since == LATEST:
            return Place(numbers=dict(view.numbers()))
        return planner.begin(view, since_ns)

    def _since(self) -> int:
        return moment(self._options.since, self._clock(), "since")


class _Ended(Frozen):
    """A view that ends at some numbers."""

    def __init__(self, view: View, numbers: Mapping[str, int]) -> None:
        super().__init__(view)
        self._ends: Final = numbers

    def numbers(self) -> Mapping[str, int]:
        """Up to the end."""
        return self._ends
