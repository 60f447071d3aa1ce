"""The processor: macros over what arrives, as a machine.

    define, undefine ─▶ ┌───────────┐ ─▶ Publish                      results, also arrivals for other macros
    arrived          ─▶ │ processor │ ─▶ KeepDefinition, KeepState …  what has to last
    tick             ─▶ └───────────┘ ─▶ Note                         what went wrong

An arrival activates the macros that refer to its topic (`roost.process.dependencies`), and they run in the order of
their dependencies (`roost.process.runner`) on what they look back on (`roost.process.window`). Samples of a batch are
taken one by one, in the order given, and what is due by their times comes before them. An update or deletion falls
between two arrivals: each sample is processed by one version, and the position at which that changed is part of the
effect.

Where runs are timed, a call has a budget: what it has no time for waits (`roost.process.backlog`), and goes on in order
with the next `tick`, which is due at once. When samples have waited for `LATE`, macros rest that used more of the
processor than their share, or the one that used most.

A run happens as of the time of the sample that activated it, or of the time it was due: the clock only says what is
due, and how often macros may run. So the same samples in the same order give the same results, whenever and wherever.

The results of macros that run here may be handed in again, as readings of their streams, and are known by their
numbers. What else arrives on their topics is somebody else's and is turned away. Those of macros that run elsewhere
(`engine: spark`) arrive like everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from roost.errors import BadMacro
from roost.machine import SECOND, Effect, Note
from roost.process.backlog import Backlog
from roost.process.definition import MOST, Definition
from roost.process.dependencies import Dependencies
from roost.process.effects import ForgetDefinition, KeepDefinition, Standing
from roost.process.engine import Engine, Limits, Program
from roost.process.macro import MAX_REFERENCES, Macro
from roost.process.reference import Reference
from roost.process.runner import Runner, not_computed, plain, untimed
from roost.process.sample import Sample
from roost.process.trace import Trace
from roost.process.use import WINDOW
from roost.process.window import MAX_SAMPLES, History, Window

MAX_MACROS: Final = 10_000
LATE: Final = SECOND  # so long a sample may wait for its turn before somebody has to rest
GRACE: Final = SECOND // 10  # so long that is given time to help
SHARE: Final = 0.25  # of the processor, for a macro

Code: TypeAlias = tuple[Program, list[Reference]]  # as loaded, and what it refers to


class Processor:
    """The machine.

    `reserve` says which stream and number the result on a topic gets that a sample sets off, and keeps that place for
    it; `stopwatch` is read before and after each run, for the trace and for `budget_ns`, which is what the runs of one
    call may take; with 0 they take what they take. `most` are limits that hold whatever definitions say. `has_rests`
    says whether a macro rests after it kept others waiting, which is about the clock: where the past is gone through it
    does not.
    """

    def __init__(
        self,
        engines: Mapping[str, Engine],
        history: History,
        *,
        reserve: Callable[[str, Sample], tuple[bytes, int]] = plain,
        stopwatch: Callable[[], int] = untimed,
        max_macros: int = MAX_MACROS,
        max_samples: int = MAX_SAMPLES,
        has_rests: bool = True,
        budget_ns: int = 0,
        share: float = SHARE,
        most: Limits = MOST,
    ) -> None:
        self.backlog: Final = Backlog()
        self.most: Final = most
        self.max_macros: Final = max_macros
        self.turned_away = 0  # definitions beyond max_macros
        self.untouched = 0  # samples that no macro refers to
        self.foreign = 0  # samples on the topic of a macro that runs here
        self.dependencies: Final = Dependencies()
        self.window: Final = Window(history, max_samples)
        self._engines: Final = engines
        self._macros: Final[dict[str, Macro]] = {}  # by name; bound: max_macros
        self._names: Final[dict[int, str]] = {}  # by number
        self._topics: Final[dict[str, Macro]] = {}  # by the topic of their results
        self._next_number = 1
        self._explored: tuple[Definition, list[Reference]] | None = None  # the last, with what it refers to
        self._has_rests: Final = has_rests
        self._share_ns: Final = round(share * WINDOW)
        self._relieved = 0  # when somebody had to rest
        self._runner: Final = Runner(
            self._macros,
            self.dependencies,
            self.window,
            reserve,
            stopwatch,
            has_rests=has_rests,
            budget_ns=budget_ns,
        )
        self._runner.opened = self._expect_waiting

    # -- the macros

    def define(self, definition: Definition, now: int, code: Code | None = None) -> list[Effect]:
        """Take a macro in, or make one another from the next arrival on; raises `BadMacro`, and nothing changes.

        It is loaded if `code` was not yet.
        """
        macro = self._macros.get(definition.name)
        if macro is not None and macro.definition == definition:
            return []
        macro = self._register(definition, now, code)
        facts = (("macro", macro.name), ("version", macro.version))
        return [KeepDefinition(definition, macro.version, macro.position), Note("macro defined", facts)]

    def restore(self, definition: Definition, standing: Standing, now: int, code: Code | None = None) -> None:
        """Take a macro in that was kept, to go on where it stood; raises `BadMacro`. It is loaded if it was not yet."""
        if definition.name in self._macros:
            raise BadMacro(f"{definition.name}: there is such a macro, and it stands where it stands")
        macro = self._register(definition, now, code)
        macro.stand(standing)
        self._schedule(macro)

    def undefine(self, name: str, now: int) -> list[Effect]:
        """Run a macro no more from the next arrival on; raises `BadMacro` if there is none."""
        macro = self.macro(name)
        effects = [] if self.is_busy else self.tick(now)
        for view in [*macro.views, *macro.found.values()]:
            self.window.close(view)
        self.dependencies.drop(name)
        self._runner.timetable.drop(macro.number)
        del self._macros[name], self._names[macro.number], self._topics[macro.topic]
        facts = (("macro", name), ("version", macro.version))
        return [*effects, ForgetDefinition(name, macro.version, macro.position), Note("macro deleted", facts)]

    def macros(self) -> list[str]:
        """The names of all."""
        return sorted(self._macros)

    def macro(self, name: str) -> Macro:
        """One of them; raises `BadMacro` if there is none of this name."""
        macro = self._macros.get(name)
        if macro is None:
            raise BadMacro(f"{name}: there is no such macro")
        return macro

    def trace(self, name: str) -> Trace:
        """The last runs of one; raises `BadMacro` if there is none of this name."""
        return self.macro(name).trace

    def touches(self, topic: str) -> bool:
        """Whether any macro refers to a topic: what does not need not be handed in."""
        return bool(self.dependencies.touched(topic).turns)

    # -- the machine's verbs

    def arrived(self, samples: Sequence[Sample], now: int) -> list[Effect]:
        """Take samples in and run what they activate."""
        dependencies, window = self.dependencies, self.window
        for sample in samples:
            filters, turns = dependencies.touched(sample.topic)
            if turns:
                window.expect(sample, filters)
        effects: list[Effect] = []
        if self.is_busy:
            self.backlog.add(samples, now)
            return effects
        self._runner.begin()
        for at, sample in enumerate(samples):
            if not self._is_taken(sample, now, effects):
                self.backlog.add(samples[at:], now)
                break
        return effects

    def go_on(self, now: int) -> list[Effect]:
        """Process what waits, as far as there is time."""
        effects: list[Effect] = []
        runner, backlog = self._runner, self.backlog
        runner.begin()
        if runner.paused is not None:
            runner.resume(now, effects)
        while backlog and self._is_taken(backlog.first(), now, effects):
            backlog.drop_first()
        if backlog and self._has_rests:
            self._relieve(now)
        return effects

    def tick(self, now: int) -> list[Effect]:
        """Process what waits, and run what is due; a run that is late happens as of the time it was due."""
        effects = self.go_on(now)
        if not self.is_busy:
            self._catch_up(now, now, effects)
        return effects

    def deadline(self) -> int | None:
        """When the next macro is due; at once if something waits."""
        return 0 if self.is_busy else self._runner.timetable.deadline()

    @property
    def is_busy(self) -> bool:
        """Whether something waits for the next call."""
        return self._runner.paused is not None or bool(self.backlog)

    def is_idle(self, now: int) -> bool:
        """Whether there is nothing to do by a time."""
        due = self.deadline()
        return due is None or due > now

    def ahead(self) -> dict[bytes, int]:
        """The first number of each stream that is still to be processed, though it has come."""
        paused = self._runner.paused
        waiting = [*([] if paused is None else [paused.cause]), *self.backlog.samples()]
        return {each.stream: each.number for each in reversed(waiting) if each.stream}

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "macros": (len(self._macros), self.max_macros),
            "samples": (self.window.total, self.window.max_samples),
            "waiting": (len(self.backlog), self.backlog.max_samples),
        }

    def _is_taken(self, sample: Sample, now: int, effects: list[Effect]) -> bool:
        """Process one, after what is due by its time; False if there is no time to begin with it."""
        runner = self._runner
        due = runner.timetable.deadline()
        if due is not None and due <= sample.time:
            self._catch_up(sample.time, now, effects)
        if runner.is_spent:
            return False
        filters, turns = self.dependencies.touched(sample.topic)
        if not turns:
            self.untouched += 1
            return True
        maker = self._topics.get(sample.topic)
        if maker is not None and maker.is_here and not sample.stream:
            self.foreign += 1
            return True
        self.window.arrived(sample, filters)
        runner.run(turns, sample, sample.time, now, effects)
        return True

    def _catch_up(self, until: int, now: int, effects: list[Effect]) -> None:
        """Run what is due by a time, as far as this call has time."""
        runner = self._runner
        timetable = runner.timetable
        while not runner.is_spent and (due := timetable.deadline()) is not None and due <= until:
            turns = []
            for number in timetable.overdue(due):
                self._macros[self._names[number]].trigger.is_due = True
                turns.append(self.dependencies.turn(self._names[number]))
            runner.run(sorted(turns), Sample("", due, None), due, now, effects)

    def _relieve(self, now: int) -> None:
        """Have macros rest that others wait for, if these have waited for long."""
        if now - self.backlog.since < LATE or 0 <= now - self._relieved < GRACE:
            return
        awake = [each for each in self._macros.values() if not each.is_resting(now)]
        used = [(each.use.lately(now), each) for each in awake]
        greedy = [each for took, each in used if took > self._share_ns]
        if not greedy:
            most = max([took for took, _ in used], default=0)
            greedy = [each for took, each in used if took == most > 0][:1]
        for each in greedy:
            each.rest_long(now)
            self._relieved = now

    def _expect_waiting(self) -> None:
        """Something new is looked at: history is not to bring what waits before its turn."""
        for sample in self.backlog.samples():
            filters, turns = self.dependencies.touched(sample.topic)
            if turns:
                self.window.expect(sample, filters)

    # -- registration

    def _register(self, definition: Definition, now: int, code: Code | None = None) -> Macro:
        """Load, check and link a macro; raises `BadMacro` before anything changes."""
        name = definition.name
        macro = self._macros.get(name)
        if macro is None and len(self._macros) >= self.max_macros:
            self.turned_away += 1
            raise BadMacro(f"{name}: there are {self.max_macros:,} macros, which is the limit")
        program, references = self.load(definition) if code is None else code
        limits = definition.limits.within(self.most)
        self.dependencies.set(name, definition.topic, [each.topic for each in references])
        views = [self.window.open(each) for each in references]
        self._expect_waiting()
        if macro is None:
            macro = Macro(self._next_number, definition, program, views, limits, now)
            self._next_number += 1
            self._macros[name] = self._topics[definition.topic] = macro
            self._names[macro.number] = name
            return macro
        for view in [*macro.views, *macro.found.values()]:
            self.window.close(view)
        macro.update(definition, program, views, limits, now)
        self._schedule(macro)
        return macro

    def load(self, definition: Definition) -> Code:
        """Load the code of a macro, and find out what it refers to; raises `BadMacro`."""
        engine = self._engines.get(definition.language)
        if engine is None:
            known = ", ".join(sorted(self._engines))
            raise BadMacro(f"{definition.name}: nothing here runs {definition.language}, only {known}")
        program = engine.load(definition.code, definition.limits.within(self.most))
        if self._explored is None or self._explored[0] != definition:  # who asks first, and then defines, waits once
            self._explored = (definition, list(dict.fromkeys(program.explore())))
        references = self._explored[1]
        if not references:
            raise BadMacro(f"{definition.name}: it names no topic, so nothing would ever activate it")
        written = {each.topic for each in program.written()}
        for each in references:
            if each.topic not in written and not definition.may_compute(each.topic):
                raise BadMacro(f"{definition.name}: {not_computed(each.topic)}")
        if len(references) > MAX_REFERENCES:
            raise BadMacro(f"{definition.name}: it names {len(references)} topics, the limit is {MAX_REFERENCES}")
        return program, references

    def _schedule(self, macro: Macro) -> None:
        if macro.trigger.due:
            self._runner.timetable.set(macro.number, macro.trigger.due)
        else:
            self._runner.timetable.drop(macro.number)
