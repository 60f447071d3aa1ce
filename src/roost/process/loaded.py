"""What programs of all languages have in common: a reference that cannot be one fails the run, and how to explore."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from roost.errors import BadMacro, InvalidInput
from roost.process.engine import FAILED, Failure, Inputs, Outcome
from roost.process.reference import Reference


class Loaded(ABC):
    """A `roost.process.engine.Program`, but for the run itself."""

    def run(self, inputs: Inputs, time: int, seed: int, state: bytes) -> Outcome:
        """Run it."""
        try:
            return self._ran(inputs, time, seed, state)
        except InvalidInput as error:  # a reference that cannot be one
            return Outcome(failure=Failure(FAILED, str(error)))

    def explore(self) -> tuple[Reference, ...]:
        """The references that stand in the code, then those that a run without values asks for."""
        found = dict.fromkeys(self._written())
        try:
            found.update(dict.fromkeys(self._ran({}, 0, 0, b"").missing))
        except InvalidInput as error:
            raise BadMacro(str(error)) from None
        return tuple(found)

    @abstractmethod
    def _ran(self, inputs: Inputs, time: int, seed: int, state: bytes) -> Outcome:
        """Run it; raises `InvalidInput` for a reference that cannot be one."""

    @abstractmethod
    def _written(self) -> Iterable[Reference]:
        """The references that stand in the code."""
