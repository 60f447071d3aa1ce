"""Expressions to instructions, in the order in which JavaScript works them out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from roost.process.native.functions import ARITIES, CONSTANTS, FOLDED, instructions_of
from roost.process.native.kinds import Kind, list_of, number, truth
from roost.process.native.nodes import (
    Assign,
    Binary,
    Call,
    Choice,
    Expression,
    Function,
    Index,
    List,
    Member,
    Name,
    Number,
    Refused,
    Step,
    Truth,
    Unary,
)
from roost.process.native.registers import EQUALITIES, Registers, constant
from roost.process.native.scope import Bound, Meaning, Value, Variable

_COMPARED: Final = {"<": "olt", ">": "ogt", "<=": "ole", ">=": "oge"}
_NAMED: Final = {"NaN": "0x7FF8000000000000", "Infinity": "0x7FF0000000000000"}


class Expressions(Registers, ABC):
    """What an expression gives; names and functions are the translation's."""

    def __init__(self, functions: frozenset[str], words: int) -> None:
        super().__init__(functions)
        self._words: Final = words
        self._set: set[Variable] = set()  # those that surely are, here

    # -- what a translation knows

    @abstractmethod
    def _variable(self, name: str) -> Variable:
        """The variable of a name."""

    @abstractmethod
    def _store(self, variable: Variable, word: str) -> None:
        """Set a variable."""

    @abstractmethod
    def _meaning(self, name: str) -> Meaning:
        """What a name stands for; None if nothing here has it."""

    @abstractmethod
    def _is_free(self, name: Name) -> bool:
        """Whether a name is the engine's."""

    @abstractmethod
    def _call(self, function: Bound | Function, arguments: Sequence[Value]) -> tuple[Kind, str]:
        """Put a function here; gives the place of its result, which may not be set."""

    @abstractmethod
    def _done(self, node: Expression) -> None:
        """Work something out for what it does, not for what it gives."""

    @abstractmethod
    def _reduced(self, function: Function, array: Value, first: Sequence[Value]) -> tuple[Kind, str]:
        """Call a function with all elements, one after the other, and with what it has given so far."""

    @abstractmethod
    def _mapped(self, function: Function, array: Value, *, is_kept: bool) -> tuple[Kind, str]:
        """Call a function with all elements, and make a list of what it gives."""

    # -- values

    def _value(self, node: Expression) -> Value:
        if isinstance(node, Number):
            return constant(node.value)
        if isinstance(node, Truth):
            return Value(truth(), str(node.value).lower(), "i1")
        if isinstance(node, Name):
            return self._named(node)
        if isinstance(node, Index):
            return self._element(node)
        if isinstance(node, Member):
            return self._member(node)
        if isinstance(node, Binary):
            return self._binary(node)
        if isinstance(node, Unary):
            return self._unary(node)
        if isinstance(node, Choice):
            return self._choice(node)
        if isinstance(node, Assign):
            return self._assign(node)
        if isinstance(node, Step):
            return self._step(node)
        if isinstance(node, List):
            return self._literal(node)
        if isinstance(node, Call):
            kind, place = self._called(node)
            return self._known(kind, self.program.gives(f"load i64, ptr {place}"))
        raise Refused("a function as a value")

    def _named(self, node: Name) -> Value:
        if node.text in _NAMED and self._is_free(node):
            return Value(number(), _NAMED[node.text], "double")
        variable = self._variable(node.text)
        word = self.program.gives(f"load i64, ptr {variable.place}")
        if variable not in self._set:
            return self._known(variable.kind, word)
        return Value(variable.kind, word, "i64")

    def _member(self, node: Member) -> Value:
        if isinstance(node.owner, Name) and node.owner.text == "Math" and self._is_free(node.owner):
            if node.name not in CONSTANTS:
                raise Refused(node.name)
            return constant(CONSTANTS[node.name])
        if node.name != "length":
            raise Refused(node.name)
        length = self._length(self._list(node.owner))
        return Value(number(), self.program.gives(f"sitofp i64 {length} to double"), "double")

    def _unary(self, node: Unary) -> Value:
        if node.operator == "!":
            return Value(truth(), self.program.gives(f"xor i1 {self._test(node.operand)}, true"), "i1")
        operand = self._double(self._value(node.operand))
        if node.operator == "~":
            flipped = self.program.gives(f"xor i32 {self._bits(operand)}, -1")
            return Value(number(), self.program.gives(f"sitofp i32 {flipped} to double"), "double")
        register = operand if node.operator == "+" else self.program.gives(f"fneg double {operand}")
        return Value(number(), register, "double")

    def _binary(self, node: Binary) -> Value:
        operator = node.operator
        if operator == ",":
            self._done(node.left)
            return self._value(node.right)
        if operator in {"&&", "||"}:
            return self._either(node)
        left = self._value(node.left)
        if operator in EQUALITIES:
            return self._equal(operator, left, self._value(node.right))
        one = self._double(left)
        two = self._double(self._value(node.right))
        if operator in _COMPARED:
            return Value(truth(), self.program.gives(f"fcmp {_COMPARED[operator]} double {one}, {two}"), "i1")
        return Value(number(), self._calculated(operator, one, two), "double")

    def _either(self, node: Binary) -> Value:
        """The left value or the right one, whichever of them the operator wants."""
        program = self.program
        place, other, end = program.place(), program.label(), program.label()
        left = self._value(node.left)
        program.line(f"store i64 {self._word(left)}, ptr {place}")
        test = self._truth_of(left)
        program.branch(test, *((other, end) if node.operator == "&&" else (end, other)))
        program.here(other)
        known = self._set.copy()
        right = self._value(node.right)
        right.kind.be(left.kind)
        program.line(f"store i64 {self._word(right)}, ptr {place}")
        self._set = known
        program.here(end)
        return Value(left.kind, program.gives(f"load i64, ptr {place}"), "i64")

    def _choice(self, node: Choice) -> Value:
        program, kind = self.program, Kind()
        place, yes, no, end = program.place(), program.label(), program.label(), program.label()
        program.branch(self._test(node.test), yes, no)
        known = self._set.copy()
        for label, each in ((yes, node.yes), (no, node.no)):
            program.here(label)
            self._set = known.copy()
            found = self._value(each)
            found.kind.be(kind)
            program.line(f"store i64 {self._word(found)}, ptr {place}")
            program.go(end)
        self._set = known
        program.here(end)
        return Value(kind, program.gives(f"load i64, ptr {place}"), "i64")

    def _test(self, node: Expression) -> str:
        """Whether something is taken for true."""
        if not (isinstance(node, Binary) and node.operator in {"&&", "||"}):
            return self._truth_of(self._value(node))
        program = self.program
        place, other, end = program.place(), program.label(), program.label()
        left = self._test(node.left)
        program.line(f"store i64 {program.gives(f'zext i1 {left} to i64')}, ptr {place}")
        program.branch(left, *((other, end) if node.operator == "&&" else (end, other)))
        program.here(other)
        known = self._set.copy()
        right = self._test(node.right)
        program.line(f"store i64 {program.gives(f'zext i1 {right} to i64')}, ptr {place}")
        self._set = known
        program.here(end)
        return program.gives(f"icmp ne i64 {program.gives(f'load i64, ptr {place}')}, 0")

    def _assign(self, node: Assign) -> Value:
        if isinstance(node.target, Name):
            variable = self._target(node.target)
            if node.operator:
                before = self._double(self._named(node.target))
                value = self._double(self._value(node.value))
                found = Value(number(), self._calculated(node.operator, before, value), "double")
            else:
                found = self._value(node.value)
            found.kind.be(variable.kind)
            self._store(variable, self._word(found))
            return found
        array, index = self._list(node.target.array), self._value(node.target.index)
        if node.operator:
            address = self._at(array, index)
            before = self._double(self._known(array.kind.of, self.program.gives(f"load i64, ptr {address}")))
            value = self._double(self._value(node.value))
            found = Value(number(), self._calculated(node.operator, before, value), "double")
            self.program.line(f"store i64 {self._word(found)}, ptr {self._at(array, index)}")
            return found
        found = self._value(node.value)
        found.kind.be(array.kind.of)
        self._put(array, index, self._word(found))
        return found

    def _target(self, name: Name) -> Variable:
        variable = self._variable(name.text)
        if variable.is_constant:
            raise Refused(name.text)
        return variable

    def _step(self, node: Step) -> Value:
        program = self.program
        if isinstance(node.target, Name):
            variable = self._target(node.target)
            before = self._double(self._named(node.target))
            after = self._calculated(node.operator, before, "1.0")
            number().be(variable.kind)
            self._store(variable, self._word(Value(number(), after, "double")))
        else:
            address = self._at(self._list(node.target.array), self._value(node.target.index))
            element = program.gives(f"load i64, ptr {address}")
            before = self._double(self._known(number(), element))
            after = self._calculated(node.operator, before, "1.0")
            program.line(f"store i64 {self._word(Value(number(), after, 'double'))}, ptr {address}")
        return Value(number(), after if node.is_before else before, "double")

    def _list(self, node: Expression) -> Value:
        value = self._value(node)
        value.kind.be(list_of(Kind()))
        return value

    def _literal(self, node: List) -> Value:
        inner = Kind()
        items = []
        for each in node.items:
            value = self._value(each)
            value.kind.be(inner)
            items.append(self._word(value))
        made = Value(list_of(inner), self._new(str(len(items))), "i64")
        for at, word in enumerate(items):
            self.program.line(f"store i64 {word}, ptr {self._address(made, str(at))}")
        return made

    def _element(self, node: Index) -> Value:
        array = self._list(node.array)
        address = self._at(array, self._value(node.index))
        return self._known(array.kind.of, self.program.gives(f"load i64, ptr {address}"))

    # -- calls

    def _called(self, node: Call) -> tuple[Kind, str]:
        """Call something; gives the place of what it gave, which may not be set."""
        function = node.function
        if isinstance(function, Name):
            found = self._meaning(function.text)
            if isinstance(found, Bound) and not node.is_new:
                return self._call(found, [self._value(each) for each in node.arguments])
            if function.text == "Array" and self._is_free(function) and len(node.arguments) == 1:
                count = self._whole(self._value(node.arguments[0]), str(self._words))
                return self._kept(Value(list_of(Kind()), self._new(count), "i64"))
        if isinstance(function, Function):
            return self._call(function, [self._value(each) for each in node.arguments])
        if not isinstance(function, Member):
            raise Refused("a call")
        if isinstance(function.owner, Name) and function.owner.text == "Math" and self._is_free(function.owner):
            return self._kept(Value(number(), self._math(function.name, node.arguments), "double"))
        return self._method(function.name, self._list(function.owner), node.arguments)

    def _math(self, name: str, arguments: tuple[Expression, ...]) -> str:
        if name not in self._functions or not arguments or (name not in FOLDED and len(arguments) != ARITIES[name]):
            raise Refused(name)
        numbers = [self._double(self._value(each)) for each in arguments]
        if name in FOLDED:
            result = numbers[0]
            if len(numbers) == 1 and name == "hypot":
                result = self.program.gives(f"call double @llvm.fabs.f64(double {result})")
            for each in numbers[1:]:
                result = self.program.gives(f"call double @{FOLDED[name]}(double {result}, double {each})")
            return result
        given = ", ".join([f"double {each}" for each in numbers])
        return self.program.gives(f"call double @{instructions_of(name)}({given})")

    def _method(self, name: str, array: Value, arguments: tuple[Expression, ...]) -> tuple[Kind, str]:
        if name == "push":
            for value in [self._value(each) for each in arguments]:
                value.kind.be(array.kind.of)
                self._append(array, self._word(value))
            length = self.program.gives(f"sitofp i64 {self._length(array)} to double")
            return self._kept(Value(number(), length, "double"))
        if name not in {"reduce", "map", "forEach"} or not arguments or not isinstance(arguments[0], Function):
            raise Refused(name)
        if name == "reduce" and len(arguments) <= 2:
            return self._reduced(arguments[0], array, [self._value(each) for each in arguments[1:]])
        if len(arguments) != 1:
            raise Refused(name)
        return self._mapped(arguments[0], array, is_kept=name == "map")
