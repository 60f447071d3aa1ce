"""What runs programs: the interface that JavaScript and Python have in common, and what a run brings.

A `Program` is one macro's code, loaded and isolated from all others. It is given the values of its references and
nothing else: no clock, no randomness but what the run says, no I/O. The same inputs give the same outcome, to the bit,
on a node and on Spark. A program that names a topic it was not given says so (`Outcome.missing`), and is run again
with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeAlias

from roost.process.reference import Reference
from roost.process.sample import Sample

Inputs: TypeAlias = Mapping[Reference, Sequence[Sample]]  # the newest first

OK: Final = ""  # the kinds of failure; breaches of limits are the last four
FAILED: Final = "error"
TIME: Final = "time"
MEMORY: Final = "memory"
OUTPUT: Final = "output"
RATE: Final = "rate"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may take."""

    time_ms: int = 50
    memory_bytes: int = 16 << 20
    output_bytes: int = 64 << 10
    state_bytes: int = 64 << 10
    log_bytes: int = 8 << 10
    runs_per_s: int = 10_000  # over all runs of the macro; enforced by the processor

    def within(self, most: Limits) -> Limits:
        """The same, but nowhere more than that."""
        return Limits(
            min(self.time_ms, most.time_ms),
            min(self.memory_bytes, most.memory_bytes),
            min(self.output_bytes, most.output_bytes),
            min(self.state_bytes, most.state_bytes),
            min(self.log_bytes, most.log_bytes),
            min(self.runs_per_s, most.runs_per_s),
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run brought no result; line and column are those of the macro's own code, 0 if there are none."""

    kind: str
    message: str
    line: int = 0
    column: int = 0


class Outcome(NamedTuple):
    """What a run brought: a payload to publish, None if the program returned nothing, or a failure."""

    payload: bytes | None = None
    format: int = 0  # the content format of the payload
    failure: Failure | None = None
    missing: tuple[Reference, ...] = ()  # topics it named and was not given; then nothing else holds
    state: bytes | None = None  # what it wants to find the next time (JSON), None if that has not changed
    logs: tuple[str, ...] = ()


class Program(Protocol):
    """One macro's code, loaded."""

    draws: bool  # whether it may use the seed: where it does not, any will do

    def run(self, inputs: Inputs, time: int, seed: int, state: bytes) -> Outcome:
        """Run it: `time` and `seed` are the clock and the randomness it sees, `state` what it kept, JSON or empty."""

    def written(self) -> Iterable[Reference]:
        """The references that stand in its code."""

    def explore(self) -> tuple[Reference, ...]:
        """Which topics it names, as far as its code and a run without values tell; raises `BadMacro`."""


class Engine(Protocol):
    """A language."""

    language: str

    def load(self, code: str, limits: Limits) -> Program:
        """Load code; raises `BadMacro` with line and column if it is no program."""
