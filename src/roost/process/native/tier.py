"""Which macros become machine code, and when: those that have run often enough, and are worth it.

Compiling takes some ten milliseconds, and machine code some memory: so it waits for `after` runs, a thousand macros do
not do it all at once, and there is a number of them in a process beyond which it is not done any more. What is short
takes as long in quickjs.
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
    apart: int = 1000  # runs of all macros between two that are compiled
    is_picky: bool = True  # whether only what is worth it


TIERING: Final = Tiering()
_SINCE: Final = [TIERING.apart]  # runs of all macros that are not compiled, since one was


class Tier:
    """The machine code of one macro, as soon as there is any."""

    def __init__(self, form: Inlined, limits: Limits, tiering: Tiering) -> None:
        self._form: Final = form
        self._limits: Final = limits
        self._tiering: Final = tiering
        self._runs = 0  # before that
        self._is_tried = False  # whether it was, or cannot be, compiled
        self._compiled: Compiled | None = None

    @property
    def is_compiled(self) -> bool:
        """Whether runs are those of machine code."""
        return self._compiled is not None

    def ran(self, inputs: Inputs) -> Outcome | None:
        """What a run brings; None if quickjs is to do it."""
        compiled = self._compiled
        if compiled is None:
            if self._is_tried:
                return None
            self._runs += 1
            _SINCE[0] += 1
            if self._runs < self._tiering.after or _SINCE[0] <= self._tiering.apart:
                return None
            self._is_tried = True
            compiled = self._compiled = built(self._form, inputs, self._limits, is_picky=self._tiering.is_picky)
            if compiled is None:
                return None
            _SINCE[0] = 0
        outcome = compiled.ran(inputs)
        if compiled.is_over:
            self._compiled = None
        return outcome
