"""Macros over readings on Spark: one `roost.process.processor.Processor`, and a row for each of its runs.

It does what `roost.process.replay` does for authors, by the same rules: the clock is the event time of what comes,
macros run whatever their definitions say about where, and how often they may run and when they rest, which is about the
clock, does not matter. Besides, results have streams and numbers, macros go on where they stood, and what came is
remembered if it has to be: so this is what a task does with a part of a history, and with a batch of a stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter_ns
from typing import Final

from roost.broker.macros.macros import Cause, cause_of
from roost.errors import BadMacro
from roost.machine import Effect
from roost.pipeline.macros_past import Left, Past
from roost.pipeline.macros_programs import ENGINES
from roost.pipeline.macros_rows import Made, Read
from roost.process.definition import NODE, Definition
from roost.process.effects import KeepState, Publish
from roost.process.engine import Engine
from roost.process.macro import Macro
from roost.process.parsing import sample_of
from roost.process.processor import Processor
from roost.process.runner import untimed
from roost.process.sample import Sample
from roost.process.telling import replayed_told
from roost.process.trace import Run

COUNTED: Final = ("activations", "waited", "runs", "results", "failures")  # of a macro
MAX_SAMPLES: Final = 100_000_000  # in the window of a replay, which references bound long before
_UNLIMITED: Final = 1_000_000  # runs per second, the most that a definition can say
_DUE: Final = Sample("", 0, None)  # what sets off what is due


class Replay:
    """Some macros.

    `streams` are the names of the streams of their results, by topic, where these have one. They go on from what
    another replay `left`; one that has another code now is of the next version. With `remember`, runs find what came
    before them under names that their code does not show. With `tells`, rows say all that people are told of a run.
    """

    def __init__(
        self,
        definitions: Iterable[Definition],
        *,
        engines: Mapping[str, Engine] = ENGINES,
        streams: Mapping[str, bytes] | None = None,
        left: Left | None = None,
        remember: bool = False,
        tells: bool = False,
    ) -> None:
        """Take all macros in; raises `BadMacro`."""
        before = Left() if left is None else left
        self.taken = 0  # readings
        self.results = 0
        self.newest = 0  # event time
        self.is_stateful = False  # whether a run kept state
        self._numbers: Final = dict(before.numbers)  # by topic
        self._streams: Final = dict(streams or {})
        self._published: Final = {topic: dict(some) for topic, some in before.published.items()}
        self._remember: Final = remember
        self._tells: Final = tells
        self._past: Final = Past(before.samples)
        self._clock = 0
        self.processor: Final = Processor(
            engines,
            self._past,
            reserve=self._reserve,
            stopwatch=perf_counter_ns if tells else untimed,
            max_samples=MAX_SAMPLES,
            has_rests=False,
        )
        for definition in definitions:
            self._begin(definition, before)
        self._macros: Final = [self.processor.macro(name) for name in self.processor.macros()]
        self._runs: Final = dict.fromkeys(self.processor.macros(), 0)  # counted so far, by macro
        self._last: Final[dict[str, Run]] = {}  # by macro

    def counts(self) -> dict[str, tuple[int, ...]]:
        """How each macro fared, as `COUNTED` says."""
        return {macro.name: tuple([getattr(macro, each) for each in COUNTED]) for macro in self._macros}

    def found(self) -> dict[str, list[str]]:
        """By macro, what runs named and their code does not show."""
        return {macro.name: sorted(each.topic for each in macro.found) for macro in self._macros if macro.found}

    # -- what comes

    def take(self, read: Read) -> list[Made]:
        """A reading arrives, and what was due before it is done."""
        sample = read.sample()
        self.taken += 1
        self.newest = max(self.newest, sample.time)
        made = self._due(sample.time)
        self._clock = max(self._clock, sample.time)
        if self._remember:
            self._past.add(sample)  # before it arrives: a run may name its topic for the first time
        return made + self._made(self.processor.arrived([sample], self._clock), sample)

    def finish(self) -> list[Made]:
        """Nothing more comes: do all that is due."""
        return self._due(None)

    def _due(self, until: int | None) -> list[Made]:
        made: list[Made] = []
        while (due := self.processor.deadline()) is not None and (until is None or due <= until):
            made += self._made(self.processor.tick(due), _DUE)
        return made

    # -- where they stand

    def left(self) -> Left:
        """Where they stand, for who goes on."""
        window, samples = self.processor.window, {}
        for macro in self._macros:
            for view in [*macro.views, *macro.found.values()]:
                window.read(view, self._clock)  # what nobody has read may not be there yet
                samples[view.reference.topic] = view.series.samples[-view.series.depth :]
        standings = {macro.name: (macro.digest, macro.standing()) for macro in self._macros}
        numbers = {macro.topic: self._numbers[macro.topic] for macro in self._macros if macro.topic in self._numbers}
        published = {macro.topic: self._ahead(macro) for macro in self._macros if macro.topic in self._published}
        return Left(standings, numbers, samples, published)

    def _ahead(self, macro: Macro) -> dict[Cause, Cause]:
        """What has its result already, as far as it is still to come."""
        seen, clock = macro.seen, self._clock
        known = self._published[macro.topic].items()
        return {cause: place for cause, place in known if cause[1] > (seen.get(cause[0], 0) if cause[0] else clock)}

    def _begin(self, definition: Definition, before: Left) -> None:
        here = replace(definition, engine=NODE, limits=replace(definition.limits, runs_per_s=_UNLIMITED))
        if here.name in self.processor.macros():
            raise BadMacro(f"{here.name}: two macros have this name")
        if here.name not in before.standings:
            self.processor.define(here, 0)
            return
        digest, standing = before.standings[here.name]
        is_other = digest != here.digest
        self.processor.restore(here, replace(standing, version=standing.version + is_other), 0)

    # -- what it brought

    def _made(self, effects: Sequence[Effect], origin: Sample) -> list[Made]:
        """A row for each run; a macro runs at most once for one reason, which all effects of a call have."""
        ran = [macro for macro in self._macros if macro.runs != self._runs[macro.name]]
        if not ran:
            return []
        published = {each.name: each for each in effects if isinstance(each, Publish)}
        self.results += len(published)
        self.is_stateful = self.is_stateful or any(isinstance(each, KeepState) for each in effects)
        made: list[Made] = []
        for macro in sorted(ran, key=lambda macro: self.processor.dependencies.turn(macro.name)):
            self._runs[macro.name] = macro.runs
            run = next(iter(macro.trace.runs()), None)
            if run is None or run is self._last.get(macro.name):  # it named what has too few values, and waits
                continue
            self._last[macro.name] = run
            row = _row(macro, run, published.get(macro.name))
            made.append(self._told(row, run, effects, origin) if self._tells else row)
        if self._remember:
            self._recall(made)
        return made

    def _told(self, row: Made, run: Run, effects: Sequence[Effect], origin: Sample) -> Made:
        state = next((each.state for each in effects if isinstance(each, KeepState) and each.name == row.name), None)
        told = replayed_told(row.name, run._replace(payload=row.payload), state)
        rank, _ = self.processor.dependencies.turn(row.name)
        return row._replace(origin_stream=origin.stream, origin_number=origin.number, rank=rank, told=json.dumps(told))

    def _recall(self, made: Sequence[Made]) -> None:
        for each in made:
            if each.payload is not None:
                self._past.add(sample_of(each.topic, each.time, each.format, each.payload, each.stream, each.number))

    def _reserve(self, topic: str, cause: Sample) -> tuple[bytes, int]:
        """The place of a result: the next of its stream, or where it is published already, maybe by a node."""
        if (known := self._published.get(topic)) and (place := known.get(cause_of(cause))) is not None:
            return place
        stream = self._streams.get(topic)
        if stream is None:
            return b"", 0
        self._numbers[topic] = self._numbers.get(topic, 0) + 1
        return stream, self._numbers[topic]


def _row(macro: Macro, run: Run, publish: Publish | None) -> Made:
    cause, failure = run.cause, run.failure
    used = [(each.stream, each.number) for some in run.inputs.values() for each in some if each.stream]
    return Made(
        macro.name,
        macro.topic,
        run.time,
        None if publish is None else publish.payload,
        run.format,
        b"" if publish is None else publish.stream,
        0 if publish is None else publish.number,
        cause.topic,
        *cause.origin,  # as a node names it in the lineage
        tuple(dict.fromkeys(used)) if publish is None else publish.inputs,  # of a result all, else what a trace shows
        macro.digest,
        run.version,
        "" if failure is None else failure.kind,
        "" if failure is None else failure.message,
        0 if failure is None else failure.line,
        0 if failure is None else failure.column,
        run.logs,
    )
