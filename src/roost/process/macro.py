"""One registered macro: its definition and program, what it looks at, where it stands, and how it fares.

An update replaces definition, program and references; state, position, trace and counters go on, and the version counts
up. The position is the number of the last reading of each stream that activated the macro: what is not above it has
been processed, by this version or an earlier one, and activates it no more. Neither does the result of another macro
that is there twice, since two nodes have run that one: both come from the same reading.

Where both macros catch up with what they missed, results are made again in the order of the readings, which need not be
that of their numbers. Those that come before what is below them are `ahead`; only what is read of the stream moves the
position past what may still be missing.
"""

from __future__ import annotations

from typing import Final

from roost.machine import MS, SECOND
from roost.machine.bucket import Bucket
from roost.process.ahead import Ahead
from roost.process.definition import NODE, Definition
from roost.process.effects import Standing
from roost.process.engine import Limits, Program
from roost.process.reference import Reference
from roost.process.sample import Sample
from roost.process.trace import Trace
from roost.process.trigger import Trigger
from roost.process.use import PERIOD, WINDOW, Use
from roost.process.window import FEW, View, Window

MAX_REFERENCES: Final = 256
MAX_POSITION: Final = 65_536  # streams
REST: Final = 20  # times its time: so much of a node a macro that takes too long leaves to the others
LONG_REST: Final = PERIOD  # of one that kept readings of others waiting
MAX_ROOTS: Final = 1000  # results of other macros that are known again


class Macro:
    """A macro; `views` are of the references that its code names, `found` of those that only its runs did."""

    def __init__(
        self, number: int, definition: Definition, program: Program, views: list[View], limits: Limits, now: int
    ) -> None:
        self.number: Final = number  # no other macro had it before
        self.name: Final = definition.name
        self.topic: Final = definition.topic
        self.definition = definition
        self.digest = definition.digest  # worked out once
        self.limits = limits  # those of the definition, as far as they hold here
        self.is_here = definition.engine == NODE  # the results of others arrive
        self.program = program
        self.views = views  # bound: MAX_REFERENCES, with found
        self.found: dict[Reference, View] = {}
        self._given: dict[Reference, list[Sample]] = {}  # of the last run, if its references take few values each
        self._taken: list[list[Sample] | None] = _nothing_taken(views)  # the same by view
        self.version = 1
        self.state = b""
        self.seen: dict[bytes, int] = {}  # by stream; bound: MAX_POSITION
        self.ahead: Final = Ahead()  # of that, while it catches up
        self.is_behind = False  # whether it catches up
        self.roots: Final[dict[tuple[str, bytes, int], bytes]] = {}  # by topic and root, the stream; bound: MAX_ROOTS
        self.trigger = Trigger(definition)
        self.rate = _rate_of(limits, now)
        self.use: Final = Use()  # of the processor, by its runs
        self.trace: Final = Trace()
        self._rests_from = self.rests_until = 0  # by the clock, after it kept others waiting
        self.rests_for = ""  # why
        self.is_limited = False  # whether it rests or exceeds its rate just now
        self.activations = 0
        self.repeated = 0  # samples that it had seen
        self.unplaced = 0  # samples of streams beyond MAX_POSITION: it could not tell
        self.waited = 0  # activations that had to wait for more values
        self.limited = 0  # activations beyond the rate, or while it rested
        self.runs = 0
        self.results = 0
        self.failures = 0

    @property
    def filters(self) -> list[str]:
        """What it refers to."""
        return [view.reference.topic for view in self.views] + [reference.topic for reference in self.found]

    @property
    def position(self) -> tuple[tuple[bytes, int], ...]:
        """How far it has come."""
        return tuple(sorted(self.seen.items()))

    def update(self, definition: Definition, program: Program, views: list[View], limits: Limits, now: int) -> None:
        """Be of another version from now on."""
        trigger = Trigger(definition)
        trigger.take_over(self.trigger, now)
        self.definition, self.digest, self.is_here = definition, definition.digest, definition.engine == NODE
        self.program, self.views, self.trigger = program, views, trigger
        self._given, self._taken = {}, _nothing_taken(views)
        self.found = {}
        self.limits, self.rate = limits, _rate_of(limits, now)
        self.rests_until = 0
        self.version += 1

    def rest(self, now: int) -> None:
        """Leave time to others after a run that took too long."""
        time_ms = self.limits.time_ms
        self._rest(f"it took longer than its {time_ms:,} ms", REST * time_ms * MS, now)

    def rest_long(self, now: int) -> None:
        """Leave time to others after readings had to wait too long for it."""
        used_s = self.use.lately(now) / SECOND
        why = f"it ran for {used_s:.3g} s of the last {WINDOW // SECOND} s while readings waited"
        self._rest(why, LONG_REST, now)

    def _rest(self, why: str, time: int, now: int) -> None:
        begin = self.rests_until if self.is_resting(now) else now
        self._rests_from, self.rests_until, self.rests_for = now, begin + time, why

    def is_resting(self, now: int) -> bool:
        """Whether it rests; a clock that was set back ends that."""
        return self._rests_from <= now < self.rests_until

    def sees(self, sample: Sample, arrival: Sample) -> bool:
        """Whether a sample activates it, which it does once: the arrival itself, or a result that this set off."""
        if sample.stream:
            known = self.seen.get(sample.stream, 0)
            if sample.number <= known or (self.is_behind and self.ahead.has(sample.stream, sample.number)):
                self.repeated += 1
                return False
            if self.is_behind and sample.number > known + 1 and sample.stream != arrival.stream:
                self.ahead.add(sample.stream, sample.number)
            elif known or len(self.seen) < MAX_POSITION:
                self.seen[sample.stream] = self._reach(sample.stream, sample.number)
            else:
                self.unplaced += 1
            if self.is_twin(sample):
                self.repeated += 1
                return False
        self.activations += 1
        return True

    def is_twin(self, sample: Sample) -> bool:
        """Whether a sample is a result that came before, in another stream."""
        stream, number = sample.root
        if not stream:
            return False
        if self.roots.setdefault((sample.topic, stream, number), sample.stream) != sample.stream:
            return True
        if len(self.roots) > MAX_ROOTS:
            del self.roots[next(iter(self.roots))]
        return False

    def pass_by(self, stream: bytes, number: int) -> None:
        """Count what there is of a stream as processed: only what is behind it activates the macro."""
        known = self.seen.get(stream, 0)
        if number > known and (known or len(self.seen) < MAX_POSITION):
            self.seen[stream] = self._reach(stream, number)

    def _reach(self, stream: bytes, number: int) -> int:
        return self.ahead.reach(stream, number) if self.is_behind else number

    def knows(self, reference: Reference) -> bool:
        """Whether it has this reference already."""
        return reference in self.found or any(view.reference == reference for view in self.views)

    def inputs(self, window: Window, now: int) -> dict[Reference, list[Sample]] | None:
        """What its references give, None if they are not satisfied; found ones are left out where they are not.

        A run need not name again what an earlier one named. If it does, it says that it misses it.
        """
        if self._taken and not self.found:
            return self._inputs_again(window, now)
        inputs: dict[Reference, list[Sample]] = {}
        for view in self.views:
            samples = window.read(view, now)
            if len(samples) < view.required:
                return None
            inputs[view.reference] = samples
        for view in self.found.values():
            samples = window.read(view, now)
            if len(samples) >= view.required:
                inputs[view.reference] = samples
        return inputs

    def _inputs_again(self, window: Window, now: int) -> dict[Reference, list[Sample]] | None:
        """The same of what the last run had and what is new since: most of it is as it was."""
        inputs, taken, is_new = self._given, self._taken, False
        for at, view in enumerate(self.views):
            series = view.series
            if view.is_constant and view.version == series.version and view.seen is taken[at] and series.is_loaded:
                series.is_used = True
                continue
            samples = window.read(view, now)
            if len(samples) < view.required:
                return None
            if samples is not taken[at]:
                if not is_new:
                    inputs = self._given = inputs.copy()  # for the last run is traced
                    is_new = True
                inputs[view.reference] = samples
                taken[at] = samples
        return inputs

    def standing(self) -> Standing:
        """Where it stands."""
        return Standing(self.version, self.state, self.position, self.trigger.marks(), self.trigger.due)

    def stand(self, standing: Standing) -> None:
        """Go on from there."""
        self.version, self.state = standing.version, standing.state
        self.seen = dict(standing.position)
        self.trigger.remember(standing.used)
        self.trigger.due = standing.due if self.trigger.every else 0


def _nothing_taken(views: list[View]) -> list[list[Sample] | None]:
    """Nothing yet of each view; none at all if one of them takes many values, which are better not held twice."""
    return [None] * len(views) if all(view.count <= FEW for view in views) else []


def _rate_of(limits: Limits, now: int) -> Bucket:
    """How often it may run; one second's worth may come at once."""
    per_s = limits.runs_per_s
    return Bucket(per_s, SECOND, per_s, now)
