"""Values in registers, lists in memory, and what is done with them; nothing here knows of nodes.

What is doubtful gives up (`Program.insist`): an index that is none, an element that is not set, no room.
"""

from __future__ import annotations

import struct
from typing import Final

from roost.process.native.functions import OPERATORS
from roost.process.native.kinds import NUMBER, TRUTH, Kind, number, truth
from roost.process.native.layout import UNSET
from roost.process.native.nodes import Refused
from roost.process.native.program import Program
from roost.process.native.scope import Value

_ARITHMETIC: Final = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_BITS: Final = {"&": "and", "|": "or", "^": "xor", "<<": "shl", ">>": "ashr", ">>>": "lshr"}
EQUALITIES: Final = {"===": ("oeq", "eq"), "==": ("oeq", "eq"), "!==": ("une", "ne"), "!=": ("une", "ne")}


class Registers:
    """Instructions for values of known kinds; `functions` are those of `Math`, and operators, that can be called."""

    def __init__(self, functions: frozenset[str]) -> None:
        self.program: Final = Program()
        self._functions: Final = functions

    def _known(self, kind: Kind, word: str) -> Value:
        """A word that has to be set."""
        self.program.insist(self.program.gives(f"icmp ne i64 {word}, {UNSET}"))
        return Value(kind, word, "i64")

    def _word(self, value: Value) -> str:
        if value.form == "i64":
            return value.register
        how = "bitcast" if value.form == "double" else "zext"
        return self.program.gives(f"{how} {value.form} {value.register} to i64")

    def _double(self, value: Value) -> str:
        value.kind.be(number())
        if value.form == "double":
            return value.register
        return self.program.gives(f"bitcast i64 {value.register} to double")

    def _bits(self, register: str) -> str:
        """The lower 32 bits of a number that is not too large to have them."""
        program = self.program
        high = program.gives(f"fcmp olt double {register}, 9007199254740992.0")
        low = program.gives(f"fcmp ogt double {register}, -9007199254740992.0")
        program.insist(program.gives(f"and i1 {high}, {low}"))
        return program.gives(f"trunc i64 {program.gives(f'fptosi double {register} to i64')} to i32")

    def _truth_of(self, value: Value) -> str:
        if value.kind.name == TRUTH:
            return value.register if value.form == "i1" else self.program.gives(f"icmp ne i64 {value.register}, 0")
        if value.kind.name != NUMBER:
            raise Refused("a test of what is no number")
        return self.program.gives(f"fcmp one double {self._double(value)}, 0.0")

    def _calculated(self, operator: str, one: str, two: str) -> str:
        program = self.program
        if operator in _ARITHMETIC:
            return program.gives(f"{_ARITHMETIC[operator]} double {one}, {two}")
        if operator in OPERATORS:
            if operator not in self._functions:
                raise Refused(operator)
            return program.gives(f"call double @{OPERATORS[operator]}(double {one}, double {two})")
        left, right = self._bits(one), self._bits(two)
        if operator in {"<<", ">>", ">>>"}:
            right = program.gives(f"and i32 {right}, 31")
        result = program.gives(f"{_BITS[operator]} i32 {left}, {right}")
        return program.gives(f"{'uitofp' if operator == '>>>' else 'sitofp'} i32 {result} to double")

    def _equal(self, operator: str, left: Value, right: Value) -> Value:
        left.kind.be(right.kind)
        numbers, truths = EQUALITIES[operator]
        if left.kind.name == NUMBER:
            test = self.program.gives(f"fcmp {numbers} double {self._double(left)}, {self._double(right)}")
        elif left.kind.name == TRUTH:
            test = self.program.gives(f"icmp {truths} i64 {self._word(left)}, {self._word(right)}")
        else:
            raise Refused("equality of what is no number")
        return Value(truth(), test, "i1")

    def _kept(self, value: Value) -> tuple[Kind, str]:
        place = self.program.place()
        self.program.line(f"store i64 {self._word(value)}, ptr {place}")
        return value.kind, place

    # -- lists

    def _new(self, length: str) -> str:
        """A list of so many holes."""
        found = self.program.gives(f"call i64 @list(i64 {length})")
        self.program.insist(self.program.gives(f"icmp ne i64 {found}, 0"))
        return found

    def _length(self, array: Value) -> str:
        where = self.program.gives(f"getelementptr i64, ptr %memory, i64 {array.register}")
        return self.program.gives(f"load i64, ptr {where}")

    def _address(self, array: Value, at: str) -> str:
        """Where an element stands that is there."""
        program = self.program
        head = program.gives(f"getelementptr i64, ptr %memory, i64 {array.register}")
        data = program.gives(f"load i64, ptr {program.gives(f'getelementptr i64, ptr {head}, i64 2')}")
        return program.gives(f"getelementptr i64, ptr %memory, i64 {program.gives(f'add i64 {data}, {at}')}")

    def _whole(self, value: Value, below: str) -> str:
        """A number that is whole and from 0 to below another."""
        program, number_ = self.program, self._double(value)
        high = program.gives(f"sitofp i64 {below} to double")
        low_enough = program.gives(f"fcmp olt double {number_}, {high}")
        high_enough = program.gives(f"fcmp oge double {number_}, 0.0")
        program.insist(program.gives(f"and i1 {low_enough}, {high_enough}"))
        whole = program.gives(f"fptosi double {number_} to i64")
        again = program.gives(f"sitofp i64 {whole} to double")
        program.insist(program.gives(f"fcmp oeq double {again}, {number_}"))
        return whole

    def _at(self, array: Value, index: Value) -> str:
        """Where the element of an index stands."""
        return self._address(array, self._whole(index, self._length(array)))

    def _put(self, array: Value, index: Value, word: str) -> None:
        """Set an element, which may be the first behind the last."""
        program = self.program
        old, new, end = program.label(), program.label(), program.label()
        length = self._length(array)
        at = self._whole(index, program.gives(f"add i64 {length}, 1"))
        program.branch(program.gives(f"icmp slt i64 {at}, {length}"), old, new)
        program.here(old)
        program.line(f"store i64 {word}, ptr {self._address(array, at)}")
        program.go(end)
        program.here(new)
        self._append(array, word)
        program.here(end)

    def _append(self, array: Value, word: str) -> None:
        self.program.insist(self.program.gives(f"call i1 @append(i64 {array.register}, i64 {word})"))


def constant(value: float) -> Value:
    """A number as a value."""
    return Value(number(), f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}", "double")
