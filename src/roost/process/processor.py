"""The processor: macros over what arrives, as a machine.

    define, undefine ─▶ ┌───────────┐ ─▶ Publish                      results, also arrivals for other macros
    arrived          ─▶ │ processor │ ─▶ KeepDefinition, KeepState …  what has to last
    tick             ─▶ └───────────┘ ─▶ Note                         what went wrong

An arrival activates the macros that refer to its topic (`roost.process.dependencies`), and they run in the order of
their dependencies (`roost.process.runner`) on what they look back on (`roost.process.window`). Samples of a batch are
taken one by one, in the order given, and what is due by their times comes before them. An update or deletion falls
between two arrivals: each sample is processed by one version, and the position at which that changed is part of the
effect.

A run happens as of the time of the sample that activated it, or of the time it was due: the clock only says what is
due, and how often macros may run. So the same samples in the same order give the same results, whenever and wherever.

The results of macros that run here may be handed in again, as readings of their streams, and are known by their
numbers. What else arrives on their topics is somebody else's and is turned away. Those of macros that run elsewhere
(`engine: spark`) arrive like everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from roost.errors import BadMacro
from roost.machine import Effect, Note
from roost.process.definition import Definition
from roost.process.dependencies import Dependencies
from roost.process.effects import ForgetDefinition, KeepDefinition, Standing
from roost.process.engine import Engine, Program
from roost.process.macro import MAX_REFERENCES, Macro
from roost.process.reference import Reference
from roost.process.runner import Runner, plain, untimed
from roost.process.sample import Sample
from roost.process.trace import Trace
from roost.process.window import MAX_SAMPLES, History, Window

MAX_MACROS: Final = 10_000


class Processor:
    """The machine.

    `reserve` says which stream and number the result on a topic gets that a sample sets off, and keeps that place for
    it; `stopwatch` is read before and after each run, for the trace alone. `has_rests` says whether a macro rests after
    a run that took too long, which is about the clock: where the past is gone through it does not.
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
    ) -> None:
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
        self._runner: Final = Runner(
            self._macros, self.dependencies, self.window, reserve, stopwatch, has_rests=has_rests
        )

    # -- the macros

    def define(self, definition: Definition, now: int) -> list[Effect]:
        """Take a macro in, or make one another from the next arrival on; raises `BadMacro`, and nothing changes."""
        macro = self._macros.get(definition.name)
        if macro is not None and macro.definition == definition:
            return []
        macro = self._register(definition, now)
        facts = (("macro", macro.name), ("version", macro.version))
        return [KeepDefinition(definition, macro.version, macro.position), Note("macro defined", facts)]

    def restore(self, definition: Definition, standing: Standing, now: int) -> None:
        """Take a macro in that was kept, to go on where it stood; raises `BadMacro`."""
        if definition.name in self._macros:
            raise BadMacro(f"{definition.name}: there is such a macro, and it stands where it stands")
        macro = self._register(definition, now)
        macro.stand(standing)
        self._schedule(macro)

    def undefine(self, name: str, now: int) -> list[Effect]:
        """Run a macro no more from the next arrival on; raises `BadMacro` if there is none."""
        macro = self.macro(name)
        effects = self.tick(now)
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
        timetable = self._runner.timetable
        for sample in samples:
            due = timetable.deadline()
            if due is not None and due <= sample.time:
                self._catch_up(sample.time, now, effects)
            filters, turns = dependencies.touched(sample.topic)
            if not turns:
                self.untouched += 1
                continue
            maker = self._topics.get(sample.topic)
            if maker is not None and maker.is_here and not sample.stream:
                self.foreign += 1
                continue
            window.arrived(sample, filters)
            self._runner.run(turns, sample, sample.time, now, effects)
        return effects

    def tick(self, now: int) -> list[Effect]:
        """Run what is due; a run that is late happens as of the time it was due."""
        effects: list[Effect] = []
        self._catch_up(now, now, effects)
        return effects

    def deadline(self) -> int | None:
        """When the next macro is due."""
        return self._runner.timetable.deadline()

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "macros": (len(self._macros), self.max_macros),
            "samples": (self.window.total, self.window.max_samples),
        }

    def _catch_up(self, until: int, now: int, effects: list[Effect]) -> None:
        """Run what is due by a time."""
        timetable = self._runner.timetable
        while (due := timetable.deadline()) is not None and due <= until:
            turns = []
            for number in timetable.overdue(due):
                trigger = self._macros[self._names[number]].trigger
                trigger.due, trigger.is_due = 0, True
                turns.append(self.dependencies.turn(self._names[number]))
            self._runner.run(sorted(turns), Sample("", due, None), due, now, effects)

    # -- registration

    def _register(self, definition: Definition, now: int) -> Macro:
        """Load, check and link a macro; raises `BadMacro` before anything changes."""
        name = definition.name
        macro = self._macros.get(name)
        if macro is None and len(self._macros) >= self.max_macros:
            self.turned_away += 1
            raise BadMacro(f"{name}: there are {self.max_macros:,} macros, which is the limit")
        program, references = self.load(definition)
        self.dependencies.set(name, definition.topic, [each.topic for each in references])
        views = [self.window.open(each) for each in references]
        if macro is None:
            macro = Macro(self._next_number, definition, program, views, now)
            self._next_number += 1
            self._macros[name] = self._topics[definition.topic] = macro
            self._names[macro.number] = name
            return macro
        for view in [*macro.views, *macro.found.values()]:
            self.window.close(view)
        macro.update(definition, program, views, now)
        self._schedule(macro)
        return macro

    def load(self, definition: Definition) -> tuple[Program, list[Reference]]:
        """Load the code of a macro, and find out what it refers to; raises `BadMacro`."""
        engine = self._engines.get(definition.language)
        if engine is None:
            known = ", ".join(sorted(self._engines))
            raise BadMacro(f"{definition.name}: nothing here runs {definition.language}, only {known}")
        program = engine.load(definition.code, definition.limits)
        if self._explored is None or self._explored[0] != definition:  # who asks first, and then defines, waits once
            self._explored = (definition, list(dict.fromkeys(program.explore())))
        references = self._explored[1]
        if not references:
            raise BadMacro(f"{definition.name}: it names no topic, so nothing would ever activate it")
        if len(references) > MAX_REFERENCES:
            raise BadMacro(f"{definition.name}: it names {len(references)} topics, the limit is {MAX_REFERENCES}")
        return program, references

    def _schedule(self, macro: Macro) -> None:
        if macro.trigger.due:
            self._runner.timetable.set(macro.number, macro.trigger.due)
        else:
            self._runner.timetable.drop(macro.number)
