"""What an arrival sets off: macros run one after the other, each after all that it depends on.

    arrived ──▶ celsius ──▶ average        a macro runs once for an arrival, however many of its inputs were renewed,
       └──────▶ fahrenheit ──┘             and finds them all renewed

So the runs of one arrival are bounded by the macros it touches. The time of all of them and the seed of what is random
in them follow from it (`roost.process.seeding`). What activated a macro is the arrival if it refers to that, else the
first result that it refers to: by this a macro knows what it has processed, wherever what it depends on was run.

A program may name a topic during a run that nobody knew of. Then the macro gets the reference, its values come from the
history, its turn among the others may change, and it runs again for the same arrival. This happens a bounded number of
times. A reference that closes a cycle fails the run.

A call may have a budget: when its runs have taken that long, the rest of an arrival's turns waits for the next call
(`resume`), and nothing else arrives before that.

A failure stays with its macro: it is counted, traced and noted; nothing is published, and the state is as before. After
a run that took too long the macro rests for a while by the clock (`Macro.rest`), so that the others have their time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Final, TypeAlias

from roost.errors import BadMacro
from roost.machine import SECOND, Effect, Note
from roost.machine.timetable import Timetable
from roost.process.dependencies import Dependencies, Turn
from roost.process.effects import KeepState, Publish
from roost.process.engine import FAILED, RATE, TIME, Failure, Inputs, Outcome
from roost.process.macro import MAX_REFERENCES, Macro
from roost.process.parsing import sample_of
from roost.process.reference import Reference
from roost.process.sample import Sample
from roost.process.seeding import seed_of
from roost.process.window import Window

MAX_ROUNDS: Final = 8  # that a program may name topics it was not given, in one activation

_Given: TypeAlias = dict[Reference, list[Sample]]


def plain(_topic: str, _cause: Sample) -> tuple[bytes, int]:
    """Results belong to no stream."""
    return b"", 0


def not_computed(topic: str) -> str:
    """What is wrong with a name that a run has computed."""
    return f"it computed the name {topic}, for which it has no filter in `computed`: write the name out, or give one"


def untimed() -> int:
    """Nobody measures how long runs take."""
    return 0


def _nobody() -> None:
    pass


class Paused:
    """What is left of an arrival: turns that are still to be taken, and what activated them."""

    def __init__(
        self, pending: list[Turn], causes: dict[str, list[Sample]], rounds: dict[str, int], cause: Sample, time: int
    ) -> None:
        self.pending: Final = pending
        self.causes: Final = causes
        self.rounds: Final = rounds
        self.cause: Final = cause
        self.time: Final = time


class Runner:
    """Runs macros; who they are, and what they look at, is the processor's."""

    def __init__(
        self,
        macros: dict[str, Macro],
        dependencies: Dependencies,
        window: Window,
        reserve: Callable[[str, Sample], tuple[bytes, int]],
        stopwatch: Callable[[], int],
        *,
        has_rests: bool = True,
        budget_ns: int = 0,
    ) -> None:
        self.paused: Paused | None = None  # the arrival that the budget of a call did not suffice for
        self.opened: Callable[[], None] = _nobody  # is told when a run has something new to be looked at
        self.timetable: Final = Timetable()  # when macros that run every n seconds are due, by their numbers
        self._macros: Final = macros
        self._dependencies: Final = dependencies
        self._window: Final = window
        self._reserve: Final = reserve
        self._stopwatch: Final = stopwatch
        self._has_rests: Final = has_rests
        self._budget_ns: Final = budget_ns  # of a call; 0: as long as it takes
        self._left_ns = budget_ns

    @property
    def is_spent(self) -> bool:
        """Whether this call has no time for more runs."""
        return self._left_ns <= 0 and self._budget_ns > 0

    def begin(self) -> None:
        """Begin a call, with all of its budget."""
        self._left_ns = self._budget_ns

    def run(self, turns: Iterable[Turn], cause: Sample, time: int, now: int, effects: list[Effect]) -> None:
        """Let macros take their turns as of a time: they are in order, and so are those that their results touch."""
        pending = list(turns)  # in order it is a heap
        causes = {turn[1]: [cause] for turn in pending}
        self._run(pending, causes, {}, cause, time, now, effects)

    def resume(self, now: int, effects: list[Effect]) -> None:
        """Go on with the arrival that was interrupted; macros may be others, and their order another one."""
        paused, self.paused = self.paused, None
        if paused is not None:
            pending = sorted([self._dependencies.turn(each) for _, each in paused.pending if each in self._macros])
            self._run(pending, paused.causes, paused.rounds, paused.cause, paused.time, now, effects)

    def _run(
        self,
        pending: list[Turn],
        causes: dict[str, list[Sample]],
        rounds: dict[str, int],
        cause: Sample,
        time: int,
        now: int,
        effects: list[Effect],
    ) -> None:
        while pending:
            if self._left_ns <= 0 and self._budget_ns > 0:
                self.paused = Paused(pending, causes, rounds, cause, time)
                return
            turn = heappop(pending)
            while pending and pending[0] == turn:
                heappop(pending)
            name = turn[1]
            macro = self._macros[name]
            again = rounds.get(name, 0)
            inputs = self._inputs(macro, again, causes[name], cause, time, now, effects)
            if inputs is None:
                continue
            started = self._stopwatch()
            program = macro.program
            outcome = program.run(inputs, time, seed_of(macro.digest, cause) if program.draws else 0, macro.state)
            took_ns = self._stopwatch() - started
            macro.runs += 1
            if took_ns:
                self._left_ns -= took_ns
                macro.use.add(took_ns, now)
            if self._has_rests and outcome.failure is not None and outcome.failure.kind == TIME:
                macro.rest(now)
            if outcome.missing:
                new = [each for each in dict.fromkeys(outcome.missing) if not macro.knows(each)]
                refusal = self._find(macro, new, again)
                if not refusal:
                    if new:
                        rounds[name] = again + 1
                        pending = self._in_order(name, pending)
                    else:  # it named what has too few values
                        macro.waited += 1
                    continue
                outcome = Outcome(failure=Failure(FAILED, refusal))
            macro.trigger.ran(inputs)
            macro.trace.add(macro.version, time, causes[name][0], inputs, outcome, took_ns)
            published = self._settle(macro, inputs, outcome, causes[name][0], time, effects)
            if published is not None:
                filters, following = self._dependencies.touched(macro.topic)
                if following and (published.number or not published.stream):
                    result = _seen(published)
                    self._window.arrived(result, filters)
                    for turn in following:
                        causes.setdefault(turn[1], []).append(result)
                        heappush(pending, turn)

    # -- before a run

    def _inputs(
        self,
        macro: Macro,
        again: int,
        causes: list[Sample],
        arrival: Sample,
        time: int,
        now: int,
        effects: list[Effect],
    ) -> _Given | None:
        """What a macro is given, None if it does not run."""
        if not again and not self._is_its_turn(macro, causes, arrival, time):
            return None
        inputs = macro.inputs(self._window, time)
        if inputs is None or not macro.trigger.admits(inputs, macro.found):
            macro.waited += 1
            return None
        if again or (not macro.is_resting(now) and macro.rate.take(now)):
            macro.is_limited = False
            return inputs
        macro.limited += 1
        if not macro.is_limited:
            macro.is_limited = True
            failure = _limit(macro, now)
            macro.trace.add(macro.version, time, causes[0], inputs, Outcome(failure=failure), 0)
            effects.append(_note(macro, failure))
        return None

    def _is_its_turn(self, macro: Macro, causes: list[Sample], arrival: Sample, time: int) -> bool:
        """Whether an activation is one, and not only a reason to be due later."""
        if not macro.is_here or not [each for each in causes if macro.sees(each, arrival)]:
            return False
        trigger = macro.trigger
        if not trigger.every:
            return True
        if trigger.is_due:
            trigger.due, trigger.is_due = 0, False
            return True
        if not trigger.due:
            trigger.due = trigger.next_due(time)
            self.timetable.set(macro.number, trigger.due)
        return False

    # -- after a run

    def _find(self, macro: Macro, new: list[Reference], again: int) -> str:
        """Have a macro look at topics that a run named; says why it cannot, if so."""
        if again >= MAX_ROUNDS:
            return f"it named other topics each of {again + 1} times that it ran"
        if len(macro.views) + len(macro.found) + len(new) > MAX_REFERENCES:
            return f"it names more than {MAX_REFERENCES} topics"
        for each in new:
            if each.topic not in macro.filters and not macro.definition.may_compute(each.topic):
                return not_computed(each.topic)
        try:
            filters = macro.filters + [each.topic for each in new]
            self._dependencies.set(macro.name, macro.topic, filters)
        except BadMacro as error:
            return str(error)
        for each in new:
            macro.found[each] = self._window.open(each)
        self.opened()
        return ""

    def _in_order(self, name: str, pending: list[Turn]) -> list[Turn]:
        """A macro has its turn again, and the order may be another."""
        names = dict.fromkeys([name, *[each for _, each in pending]])
        return sorted([self._dependencies.turn(each) for each in names])

    def _settle(
        self, macro: Macro, inputs: Inputs, outcome: Outcome, cause: Sample, time: int, effects: list[Effect]
    ) -> Publish | None:
        """Act on what a run brought; returns the result, if there is one."""
        if outcome.failure is not None:
            macro.failures += 1
            effects.append(_note(macro, outcome.failure))
            return None
        if outcome.state is not None and outcome.state != macro.state:
            macro.state = outcome.state
            effects.append(KeepState(macro.name, outcome.state, macro.version, cause))
        payload = outcome.payload
        if payload is None:
            return None
        macro.results += 1
        topic, format_ = macro.topic, outcome.format
        stream, number = self._reserve(topic, cause)
        digest, version = macro.digest, macro.version
        published = Publish(macro.name, topic, payload, format_, time, cause, inputs, digest, version, stream, number)
        effects.append(published)
        return published


def _seen(published: Publish) -> Sample:
    """A result as other macros see it."""
    each = published
    sample = sample_of(each.topic, each.time, each.format, each.payload, each.stream, each.number)
    return sample._replace(root=each.cause.origin)


def _limit(macro: Macro, now: int) -> Failure:
    """Why it does not run just now."""
    if macro.is_resting(now):
        left_s = (macro.rests_until - now) / SECOND
        return Failure(TIME, f"{macro.rests_for}, and rests for {left_s:.3g} s")
    return Failure(RATE, f"it may run {macro.limits.runs_per_s:,} times a second, and was to run more often")


def _note(macro: Macro, failure: Failure) -> Note:
    facts = (("macro", macro.name), ("kind", failure.kind), ("message", failure.message))
    return Note("macro failed", (*facts, ("line", failure.line), ("column", failure.column)))
