"""A macro in machine code: its inputs are laid out in memory, it runs, and its result is read.

What is there from the run before stays; only what is new is written. A run that gives up says nothing, and quickjs does
it. So does one whose values are of other kinds than those that the code was compiled for, and one whose result quickjs
might print otherwise: of some powers of two it prints one digit more than Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp
from typing import Any, Final

from roost.process.engine import Inputs, Outcome
from roost.process.native.assembly import Machine
from roost.process.native.layout import FREE, GIVEN_UP, HEADER, INPUTS, RESULT, UNDEFINED, UNSET
from roost.process.native.memory import Memory
from roost.process.reference import Reference
from roost.process.rendering import payload_of
from roost.process.sample import Sample
from roost.process.window import FEW

IN_A_ROW: Final = 16  # runs that give up, after which it is not tried again
_LARGEST: Final = 1 << 53  # integers up to this one are doubles
_PRINTED_ALIKE: Final = 64  # powers of two from 2^−20 to 2^64 are printed alike by both
_SMALLEST_ALIKE: Final = -20


class Unlike(Exception):
    """This value is not what the code was compiled for, or not what it can give; quickjs does the run."""


class Compiled:
    """Machine code with the inputs of its last run; `depths` says how many lists each input is in one another."""

    def __init__(
        self,
        machine: Machine,
        memory: Memory,
        references: Sequence[Reference],
        depths: Sequence[int],
        is_truth: bool,  # noqa: FBT001  called once
        depth: int,
        most: int,
    ) -> None:
        self._machine: Final = machine
        self._memory: Final = memory
        self._run: Final[Any] = machine.run
        self._integers: Final[Any] = memory.image
        self._doubles: Final[Any] = memory.image_doubles
        self._words: Final[Any] = memory.words
        self._numbers: Final[Any] = memory.doubles
        self._references: Final = list(references)
        self._depths: Final = list(depths)
        self._is_truth: Final = is_truth  # the result, or what the innermost of its lists consists of
        self._depth: Final = depth  # of the result
        self._most: Final = most  # bytes of output
        self._bound: list[Reference] = []
        self._order: list[int] = []  # which inputs they are, by the order in which they are given
        self._taken: list[Sequence[Sample] | None] = []  # of the last run, by reference, if they were few
        self._is_laid = False
        self._left = 0  # bytes of output
        self.given_up = 0  # runs in a row

    @property
    def is_over(self) -> bool:
        """Whether it has given up too often."""
        return self.given_up >= IN_A_ROW

    def ran(self, inputs: Inputs) -> Outcome | None:
        """What a run brings; None if quickjs is to do it."""
        try:
            self._renew(inputs)
            how: int = self._run()
            if how != GIVEN_UP:
                outcome = Outcome() if how == UNDEFINED else self._outcome()
                self.given_up = 0
                return outcome
        except Unlike:
            pass
        self.given_up += 1
        return None

    # -- inputs

    def _renew(self, inputs: Inputs) -> None:
        """Write what is new since the last run."""
        references = list(inputs)
        if references != self._bound:
            self._bind(references)
        if not self._is_laid:
            self._lay(inputs)
            return
        taken, order = self._taken, self._order
        for at, samples in enumerate(inputs.values()):
            if samples is not taken[at] and order[at] >= 0:
                if not self._write(order[at], samples):
                    self._lay(inputs)
                    return
                taken[at] = samples if len(samples) <= FEW else None

    def _bind(self, references: list[Reference]) -> None:
        places = {each: at for at, each in enumerate(self._references)}
        self._is_laid = False
        self._bound = []
        if not places.keys() <= set(references):
            raise Unlike
        self._order = [places.get(each, -1) for each in references]
        self._bound = references

    def _lay(self, inputs: Inputs) -> None:
        """Write all inputs, one after the other."""
        self._is_laid = False
        self._integers[FREE] = INPUTS + len(self._references)
        self._taken = [None] * len(self._order)
        for at, samples in enumerate(inputs.values()):
            number = self._order[at]
            if number < 0:
                continue
            if not samples:
                raise Unlike
            if self._references[number].is_array:
                values: list[Any] = [each.value for each in samples]
                self._integers[INPUTS + number] = self._list(values, self._depths[number])
            elif self._depths[number]:
                self._integers[INPUTS + number] = self._list(samples[0].value, self._depths[number])
            else:
                self._number(INPUTS + number, samples[0].value)
            self._taken[at] = samples if len(samples) <= FEW else None
        self._is_laid = True

    def _write(self, number: int, samples: Sequence[Sample]) -> bool:
        """Write one input in its place, if it has as much room as it needs."""
        depth = self._depths[number]
        if not samples:
            return False
        if not depth:
            self._number(INPUTS + number, samples[0].value)
            return True
        if depth > 1:
            return False
        place: int = self._integers[INPUTS + number]
        count: int = self._integers[place]
        if self._references[number].is_array:
            if len(samples) != count:
                return False
            for at, each in enumerate(samples):
                self._number(place + HEADER + at, each.value)
            return True
        values: Any = samples[0].value
        if type(values) is not list or len(values) != count:
            return False
        for at, value in enumerate(values):
            self._number(place + HEADER + at, value)
        return True

    def _list(self, values: Any, depth: int) -> int:  # noqa: ANN401  whatever a sensor sends
        if type(values) is not list:
            raise Unlike
        count = len(values)
        place: int = self._integers[FREE]
        if place + HEADER + count > self._memory.room:
            raise Unlike
        self._integers[FREE] = place + HEADER + count
        self._integers[place] = self._integers[place + 1] = count
        self._integers[place + 2] = place + HEADER
        for at, value in enumerate(values):
            if depth > 1:
                self._integers[place + HEADER + at] = self._list(value, depth - 1)
            else:
                self._number(place + HEADER + at, value)
        return place

    def _number(self, place: int, value: Any) -> None:  # noqa: ANN401  as above
        if type(value) is float:
            if value != value:  # noqa: PLR0124  no number, of which there are many
                self._is_laid = False
                raise Unlike
        elif type(value) is not int or not -_LARGEST <= value <= _LARGEST:
            self._is_laid = False
            raise Unlike
        self._doubles[place] = value

    # -- result

    def _outcome(self) -> Outcome:
        self._left = self._most
        value = self._value(RESULT, self._depth)
        payload, format_ = payload_of(value)
        if len(payload) > self._most:
            raise Unlike
        return Outcome(payload, format_)

    def _value(self, place: int, depth: int) -> Any:  # noqa: ANN401  a list of lists of …
        word: int = self._words[place]
        if word == UNSET:
            return None
        if depth:
            count: int = self._words[word]
            begin: int = self._words[word + 2]
            self._left -= 2 * count
            if self._left < 0:
                raise Unlike  # it would not fit
            return [self._value(begin + at, depth - 1) for at in range(count)]
        if self._is_truth:
            return word != 0
        number: float = self._numbers[place]
        half, exponent = frexp(number)
        if (half in {0.5, -0.5}) and not _SMALLEST_ALIKE < exponent <= _PRINTED_ALIKE:
            raise Unlike
        return number
