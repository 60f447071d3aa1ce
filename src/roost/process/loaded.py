"""What programs of all languages have in common: a reference that cannot be one fails the run, and how to explore."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Final

from mypy_extensions import mypyc_attr

from roost.errors import BadMacro, InvalidInput
from roost.process.engine import FAILED, Failure, Inputs, Outcome
from roost.process.reference import Reference

EXPLORE_MS: Final = 50  # that a run without values may take, whatever the definition says: all others wait for it


@mypyc_attr(allow_interpreted_subclasses=True)
class Loaded(ABC):
    """A `roost.process.engine.Program`, but for the run itself."""

    draws: bool = True

    def run(self, inputs: Inputs, time: int, seed: int, state: bytes) -> Outcome:
        """Run it."""
        try:
            return self._ran(inputs, time, seed, state)
        except InvalidInput as error:  # a reference that cannot be one
            return Outcome(failure=Failure(FAILED, str(error)))

    def explore(self) -> tuple[Reference, ...]:
        """The references that stand in the code, then those that a run without values asks for.

        Raises `BadMacro` if one cannot be, or if the run fails and there are none: then that is what is wrong.
        """
        found = dict.fromkeys(self.written())
        try:
            outcome = self._tried()
        except InvalidInput as error:
            raise BadMacro(str(error)) from None
        found.update(dict.fromkeys(outcome.missing))
        if not found and outcome.failure is not None:
            raise BadMacro(_why(outcome.failure))
        return tuple(found)

    def _tried(self) -> Outcome:
        """Run it without values, for `EXPLORE_MS` at most where time is bounded."""
        return self._ran({}, 0, 0, b"")

    @abstractmethod
    def _ran(self, inputs: Inputs, time: int, seed: int, state: bytes) -> Outcome:
        """Run it; raises `InvalidInput` for a reference that cannot be one."""

    @abstractmethod
    def written(self) -> Iterable[Reference]:
        """The references that stand in the code."""


def _why(failure: Failure) -> str:
    where = f"line {failure.line}, column {failure.column}: " if failure.line else ""
    breach = "" if failure.kind == FAILED else ", and had named no topic until then"
    return f"{where}{failure.message}{breach}"
