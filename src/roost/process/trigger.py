"""When an activated macro runs; that all its references are satisfied goes without saying.

- `arrival`: on every activation, as the paper has it.
- `set`: once per complete new set: when the newest sample of every reference that is not optional is another than at
  the last run. Which those were is the trigger's memory (`used`).
- `every n seconds`: at the multiples of n since 1970, if there was an activation since the last run; only then is it
  due at all, so nothing wakes up for nothing.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final, TypeAlias

from roost.process.definition import SET, Definition
from roost.process.engine import Inputs
from roost.process.reference import Reference
from roost.process.sample import Sample

Mark: TypeAlias = tuple[bytes, int, int]  # which sample it was: stream, number, time


def _is_used(newest: Sample, used: Sample | None) -> bool:
    """Whether the newest sample is the one that was used; plain ones, which may be alike, are not compared."""
    if used is None or newest is used:
        return used is not None
    if newest.stream or used.stream:
        return newest.stream == used.stream and newest.number == used.number
    return not used.topic and newest.time == used.time  # of one used before a restart only the mark is known


class Trigger:
    """The trigger of one macro, with what it remembers."""

    def __init__(self, definition: Definition) -> None:
        self.is_set: Final = definition.trigger == SET
        self.every: Final = definition.every_ns
        self.used: dict[str, Sample] = {}  # the newest ones, by filter; bound: the references of the macro
        self.due = 0  # when it is to run next, 0 if nothing is new
        self.is_due = False

    def take_over(self, other: Trigger, now: int) -> None:
        """Go on where another trigger of the same macro was."""
        self.used = other.used
        if self.every and other.due:
            self.due = self.next_due(now)

    def next_due(self, now: int) -> int:
        """The next multiple of its period."""
        return (now // self.every + 1) * self.every

    def admits(self, inputs: Inputs, found: Container[Reference]) -> bool:
        """Whether these samples, which satisfy all references, are reason enough; those found by runs do not count."""
        if not self.is_set:
            return True
        for reference, samples in inputs.items():
            if reference.required and reference not in found and _is_used(samples[0], self.used.get(reference.topic)):
                return False
        return True

    def ran(self, inputs: Inputs) -> None:
        """These samples were used."""
        if self.is_set:
            self.used = {reference.topic: samples[0] for reference, samples in inputs.items() if samples}

    def marks(self) -> tuple[tuple[str, Mark], ...]:
        """What was used, for the disk."""
        return tuple(sorted((each, (used.stream, used.number, used.time)) for each, used in self.used.items()))

    def remember(self, marks: tuple[tuple[str, Mark], ...]) -> None:
        """These were used, before a restart."""
        self.used = {
            each: Sample("", time, None, stream=stream, number=number) for each, (stream, number, time) in marks
        }
