"""Which macros become machine code, and when: those that have run often enough, and are worth it.

Compiling takes some ten milliseconds, and machine code some memory: so it waits for `after` runs, and there is a number
of macros of a process beyond which it is not done any more. What is short takes as long in quickjs.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from roost.process.engine import Inputs, Limits, Outcome
from roost.process.inlining import Inlined
from roost.process.native.building import built
from roost.process.native.compiled import Compiled


class Tiering(NamedTuple):
    """When to compile."""

    after: int = 200  # runs
    is_picky: bool = True  # whether only what is worth it


TIERING: Final = Tiering()


class Tier:
    """The machine code of one macro, as soon as there is any."""

    def __init__(self, form: Inlined, limits: Limits, tiering: Tiering) -> None:
        self._form: Final = form
        self._limits: Final = limits
        self._tiering: Final = tiering
        self._runs = 0  # before it is tried
        self._compiled: Compiled | None = None

    @property
    def is_compiled(self) -> bool:
        """Whether runs are those of machine code."""
        return self._compiled is not None

    def ran(self, inputs: Inputs) -> Outcome | None:
        """What a run brings; None if quickjs is to do it."""
        compiled = self._compiled
        if compiled is None:
            if self._runs >= self._tiering.after:
                return None
            self._runs += 1
            if self._runs < self._tiering.after:
                return None
            compiled = self._compiled = built(self._form, inputs, self._limits, is_picky=self._tiering.is_picky)
            if compiled is None:
                return None
        outcome = compiled.ran(inputs)
        if compiled.is_over:
            self._compiled = None
        return outcome
