"""Macros over what was: the runs that a history sets off, one by one, as a node would have had them.

    replay = Replay([definition], engines)
    for sample in samples:                       in replay order: by time, stream and number
        for each in replay.take(sample): …       runs, with inputs, log, result or failure
    replay.finish()                              what was due after the last sample

A run happens as of the time of the sample that activated it, so the same samples give the same results here, on a node
and on Spark. Two things a node has are not here. Macros run whatever their definitions say of the engine, and what is
about the clock does not hold: the limit on runs per second, and the rest after a run that took too long. What lies
before the first sample comes from the `history` that is handed in, and there is none unless one is. State begins empty.

Nothing is gathered: memory is that of the processor. The cost of a sample grows with the number of macros here, which
are those of an author and not those of a building.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from roost.machine import Effect
from roost.process.definition import NODE, Definition
from roost.process.effects import KeepState, Publish
from roost.process.engine import Engine
from roost.process.macro import Macro
from roost.process.processor import Processor
from roost.process.runner import untimed
from roost.process.sample import Sample
from roost.process.trace import Run
from roost.process.window import History

_UNLIMITED: Final = 1_000_000  # runs per second, the most that a definition can say


class Replayed(NamedTuple):
    """One run of one macro; its payload is whole."""

    macro: str
    run: Run
    state: bytes | None = None  # what it keeps from here on, None if that is as before
    origin: Sample | None = None  # what arrived, and set all of it off; None if that was due


class NoHistory:
    """Nothing was before."""

    def latest(self, _topic_filter: str, _count: int) -> Sequence[Sample]:
        """Nothing."""
        return ()


class Replay:
    """Macros that are handed samples."""

    def __init__(
        self,
        definitions: Iterable[Definition],
        engines: Mapping[str, Engine],
        history: History | None = None,
        stopwatch: Callable[[], int] = untimed,
    ) -> None:
        """Take all macros in; raises `BadMacro`."""
        self.processor: Final = Processor(engines, history or NoHistory(), stopwatch=stopwatch, has_rests=False)
        for each in definitions:
            self.processor.define(_anywhere(each), 0)
        self._macros: Final = [self.processor.macro(name) for name in self.processor.macros()]
        self._runs: Final = dict.fromkeys(self.processor.macros(), 0)  # counted so far, by macro
        self._last: Final[dict[str, Run]] = {}  # by macro

    @property
    def filters(self) -> list[str]:
        """The topics and filters that the macros refer to, but for each other's results; once each."""
        own = {macro.topic for macro in self._macros}
        return sorted({each for macro in self._macros for each in macro.filters if each not in own})

    def take(self, sample: Sample) -> list[Replayed]:
        """Hand a sample in, after what is due by then; the runs, each behind those it depends on."""
        found: list[Replayed] = []
        while (due := self.processor.deadline()) is not None and due <= sample.time:
            found += self._ran(self.processor.tick(due), None)
        return found + self._ran(self.processor.arrived([sample], sample.time), sample)

    def finish(self) -> list[Replayed]:
        """Run what is due after the last sample."""
        found: list[Replayed] = []
        while (due := self.processor.deadline()) is not None:
            found += self._ran(self.processor.tick(due), None)
        return found

    def _ran(self, effects: Sequence[Effect], origin: Sample | None) -> list[Replayed]:
        """Find which macros have run: each has at most once."""
        ran = [macro for macro in self._macros if macro.runs != self._runs[macro.name]]
        if not ran:
            return []
        payloads = {each.name: each.payload for each in effects if isinstance(each, Publish)}
        states = {each.name: each.state for each in effects if isinstance(each, KeepState)}
        found: list[Replayed] = []
        for macro in sorted(ran, key=self._turn):
            self._runs[macro.name] = macro.runs
            run = next(iter(macro.trace.runs()), None)
            if run is None or run is self._last.get(macro.name):  # it named what has too few values, and waits
                continue
            self._last[macro.name] = run
            whole = run._replace(payload=payloads.get(macro.name))
            found.append(Replayed(macro.name, whole, states.get(macro.name), origin))
        return found

    def _turn(self, macro: Macro) -> tuple[int, str]:
        return self.processor.dependencies.turn(macro.name)


def replay(
    definitions: Iterable[Definition],
    samples: Iterable[Sample],
    engines: Mapping[str, Engine],
    history: History | None = None,
) -> Iterator[Replayed]:
    """Run macros over samples, which are in replay order; raises `BadMacro`."""
    macros = Replay(definitions, engines, history)
    for sample in samples:
        yield from macros.take(sample)
    yield from macros.finish()


def _anywhere(definition: Definition) -> Definition:
    """The same macro without what holds for nodes only; its digest, which seeds its randomness, stays as it is."""
    return replace(definition, engine=NODE, limits=replace(definition.limits, runs_per_s=_UNLIMITED))
