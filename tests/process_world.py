"""A processor with programs that are Python functions, and a history that is a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import TypeAlias

from roost.machine import SECOND, Effect
from roost.process.definition import Definition
from roost.process.effects import Publish
from roost.process.engine import FAILED, TIME, Failure, Inputs, Limits, Outcome, Program
from roost.process.processor import MAX_MACROS, Processor
from roost.process.reference import Reference
from roost.process.sample import Sample
from roost.process.wildcards import matches
from roost.process.window import MAX_SAMPLES

NOW = 1_700_000_000 * SECOND
_NUMBERS = count()  # so that no two programs are alike


class Missing(Exception):
    """A program named what it was not given."""


class Late(Exception):
    """A program took too long; what it named until then, and was not given."""


class Call:
    """What a function sees of its run."""

    def __init__(self, inputs: Inputs, time: int, seed: int, state: bytes) -> None:
        self.inputs = inputs
        self.time = time
        self.seed = seed
        self.state = state

    def values(self, reference: Reference) -> list[object]:
        if reference not in self.inputs:
            raise Missing(reference)
        return [sample.value for sample in self.inputs[reference]]

    def value(self, reference: Reference) -> object:
        return next(iter(self.values(reference)), None)


Function: TypeAlias = Callable[[Call], object]


class Scripted:
    """A program: the references its code shows, and what it does; a string or number is its result."""

    draws = True

    def __init__(self, references: Sequence[Reference], function: Function) -> None:
        self.references = tuple(references)
        self.function = function
        self.calls: list[Call] = []
        self.explored = 0

    def written(self) -> tuple[Reference, ...]:
        return self.references

    def explore(self) -> tuple[Reference, ...]:
        self.explored += 1
        return self.references

    def run(self, inputs: Inputs, time: int, seed: int, state: bytes) -> Outcome:
        call = Call(inputs, time, seed, state)
        self.calls.append(call)
        try:
            result = self.function(call)
        except Missing as missing:
            return Outcome(missing=missing.args)
        except Late as late:
            return Outcome(failure=Failure(TIME, "it took longer than it may"), missing=late.args)
        except ValueError as error:
            return Outcome(failure=Failure(FAILED, str(error), 3, 7))
        payload = None if result is None else str(result).encode()
        return Outcome(payload, state=None if call.state == state else call.state, logs=("ran",))


class Scripts:
    """An engine: a program by the name that is its code."""

    language = "python"

    def __init__(self) -> None:
        self.programs: dict[str, Scripted] = {}

    def load(self, code: str, limits: Limits) -> Program:
        assert limits.time_ms
        return self.programs[code]


class Past:
    """A history; what it was asked is remembered."""

    def __init__(self, samples: Sequence[Sample] = ()) -> None:
        self.samples = list(samples)
        self.asked: list[tuple[str, int]] = []

    def latest(self, topic_filter: str, count: int) -> list[Sample]:
        self.asked.append((topic_filter, count))
        found = [each for each in self.samples if matches(topic_filter, each.topic)]
        return sorted(found, key=lambda each: each.time)[::-1][:count]


class World:
    """A processor and a clock."""

    def __init__(
        self, past: Sequence[Sample] = (), *, max_macros: int = MAX_MACROS, max_samples: int = MAX_SAMPLES
    ) -> None:
        self.now = NOW
        self.engine = Scripts()
        self.past = Past(past)
        self.stopwatch = 0
        self.reserved: dict[str, int] = {}
        self.streams = False
        self.processor = Processor(
            {"python": self.engine},
            self.past,
            reserve=self._reserve,
            stopwatch=self._stopwatch,
            max_macros=max_macros,
            max_samples=max_samples,
        )

    def _reserve(self, topic: str, _cause: Sample) -> tuple[bytes, int]:
        if not self.streams:
            return b"", 0
        self.reserved[topic] = self.reserved.get(topic, 0) + 1
        return topic.encode(), self.reserved[topic]

    def _stopwatch(self) -> int:
        self.stopwatch += 1000
        return self.stopwatch

    def program(
        self,
        name: str,
        references: Sequence[Reference | str],
        function: Function | None = None,
        *,
        code: str = "",
        trigger: str = "arrival",
        engine: str = "node",
        limits: Limits | None = None,
    ) -> Definition:
        """Write a program; without a function its result is its newest values, the first reference first."""
        wanted = [Reference(each) if isinstance(each, str) else each for each in references]
        code = code or f"{name} {next(_NUMBERS)}"
        self.engine.programs[code] = Scripted(wanted, function or (lambda call: _newest(call, wanted)))
        return Definition(
            name=name,
            code=code,
            language="python",
            trigger=trigger,
            engine=engine,
            limits=limits or Limits(),
        )

    def define(
        self, name: str, references: Sequence[Reference | str], function: Function | None = None, **how: object
    ) -> Scripted:
        definition = self.program(name, references, function, **how)  # type: ignore[arg-type]
        self.processor.define(definition, self.now)
        return self.engine.programs[definition.code]

    def arrive(
        self, topic: str, value: object, *, stream: bytes = b"", number: int = 0, age_s: float = 0.0
    ) -> list[str]:
        """Have a sample arrive, a second after the last; returns what was published."""
        self.now += SECOND
        time = self.now - round(age_s * SECOND)
        sample = Sample(topic, time, value, stream=stream, number=number)  # type: ignore[arg-type]
        return results(self.processor.arrived([sample], self.now))


def results(effects: Sequence[Effect]) -> list[str]:
    """What is published, as `name=payload`."""
    return [f"{each.name}={each.payload.decode()}" for each in effects if isinstance(each, Publish)]


def _newest(call: Call, wanted: Sequence[Reference]) -> str:
    return ",".join(
        "/".join(str(value) for value in call.values(each)) if each.is_array else str(call.value(each))
        for each in wanted
    )
