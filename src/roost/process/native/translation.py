"""Nodes to instructions: what a macro works out, as long as nothing is doubtful.

What is doubtful gives up (`Program.insist`): an index that is none, a variable or an element that is not set, too many
steps, no room. A kind is found as the code is walked through, once, in the order of its text; what fits no kind is
`Refused`. Functions are put in the place of their calls.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from roost.process.native.functions import ARITIES, CONSTANTS, FOLDED, OPERATORS, instructions_of
from roost.process.native.kinds import NUMBER, TRUTH, Kind, list_of, number, truth
from roost.process.native.layout import INPUTS, UNSET
from roost.process.native.nodes import (
    Assign,
    Binary,
    Block,
    Call,
    Choice,
    Declare,
    Do,
    Expression,
    ForOf,
    Function,
    If,
    Index,
    Jump,
    List,
    Loop,
    Member,
    Name,
    Number,
    Refused,
    Return,
    Statement,
    Step,
    Truth,
    Unary,
)
from roost.process.native.program import Program
from roost.process.native.scope import CONSTANT, FUNCTION, Bound, Scope, Value, Variable, functions_of, own_names, variables_of

_ARITHMETIC: Final = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_BITS: Final = {"&": "and", "|": "or", "^": "xor", "<<": "shl", ">>": "ashr", ">>>": "lshr"}
_COMPARED: Final = {"<": "olt", ">": "ogt", "<=": "ole", ">=": "oge"}
_EQUAL: Final = {"===": ("oeq", "eq"), "==": ("oeq", "eq"), "!==": ("une", "ne"), "!=": ("une", "ne")}
_NAMED: Final = {"NaN": "0x7FF8000000000000", "Infinity": "0x7FF0000000000000"}
_MAX_CALLS: Final = 16  # of functions in one another


class _Frame(NamedTuple):
    """A function that is being walked through."""

    end: str
    result: str  # a place
    kind: Kind


class Translation:
    """One macro; `reserved` are the names that the engine has, `functions` those of `Math` that can be called."""

    def __init__(
        self,
        parameters: Sequence[tuple[str, Kind]],
        reserved: frozenset[str],
        functions: frozenset[str],
        words: int,
    ) -> None:
        self.program: Final = Program()
        self.has_loop = False
        self._functions: Final = functions
        self._words: Final = words
        self._reserved: Final = reserved
        self._root: Final = Scope(None)
        self._scope = self._root
        self._set: set[Variable] = set()  # those that surely are, here
        self._frames: Final[list[_Frame]] = []
        self._loops: list[tuple[str, str]] = []  # where break and continue go
        for at, (name, kind) in enumerate(parameters):
            variable = self._declare(name, kind)
            where = self.program.gives(f"getelementptr i64, ptr %memory, i64 {INPUTS + at}")
            self._store(variable, self.program.gives(f"load i64, ptr {where}"))

    def whole(self, code: Expression) -> Kind:
        """All of a macro; gives the kind of its result."""
        if isinstance(code, Call) and isinstance(code.function, Function) and not (code.arguments or code.is_new):
            code = code.function
        frame = self._open()
        if isinstance(code, Function):
            if code.parameters:
                raise Refused("parameters")
            if code.name:
                self._root.names[code.name] = None
            self._body(code, Scope(self._root), [])
        else:
            self._returned(code)
        self._close(frame)
        self.program.end(frame.result)
        _ = frame.kind.depth
        return frame.kind

    # -- functions

    def _open(self) -> _Frame:
        frame = _Frame(self.program.label(), self.program.place(), Kind())
        if len(self._frames) >= _MAX_CALLS:
            raise Refused("calls too deep in one another")
        self._frames.append(frame)
        self.program.line(f"store i64 {UNSET}, ptr {frame.result}")
        return frame

    def _close(self, frame: _Frame) -> None:
        self.program.here(frame.end)
        self._frames.pop()

    def _body(self, function: Function, scope: Scope, arguments: Sequence[Value]) -> None:
        outer, loops, known = self._scope, self._loops, self._set.copy()
        self._scope, self._loops = scope, []
        for at, name in enumerate(function.parameters):
            variable = self._declare(name, arguments[at].kind if at < len(arguments) else Kind())
            if at < len(arguments):
                self._store(variable, self._word(arguments[at]))
        for name in variables_of(function.body):
            if name not in scope.names:
                self._declare(name, Kind())
        for each in functions_of(function.body):
            if each.name in scope.names or each.name in self._reserved:
                raise Refused(each.name)
            scope.names[each.name] = Bound(each, scope)
        self._statements(function.body.statements, is_function=True)
        self._scope, self._loops, self._set = outer, loops, known

    def _call(self, bound: Bound, arguments: Sequence[Value]) -> tuple[Kind, str]:
        """Put a function here; gives the place of its result, which may not be set."""
        frame = self._open()
        self._body(bound.function, Scope(bound.scope), arguments)
        self._close(frame)
        return frame.kind, frame.result

    def _returned(self, value: Expression | None) -> None:
        """Return a value, or one of two, or nothing."""
        program, frame = self.program, self._frames[-1]
        if isinstance(value, Choice):
            yes, no = program.label(), program.label()
            program.branch(self._test(value.test), yes, no)
            known = self._set.copy()
            for label, each in ((yes, value.yes), (no, value.no)):
                program.here(label)
                self._set = known.copy()
                self._returned(each)
            self._set = known
            return
        if value is not None and not (isinstance(value, Name) and value.text == "undefined" and self._is_free(value)):
            found = self._value(value)
            found.kind.be(frame.kind)
            program.line(f"store i64 {self._word(found)}, ptr {frame.result}")
        program.go(frame.end)

    def _is_free(self, name: Name) -> bool:
        return self._scope.holder(name.text) is None

    # -- variables

    def _declare(self, name: str, kind: Kind, *, is_constant: bool = False) -> Variable:
        if name in self._reserved:
            raise Refused(name)
        variable = Variable(self.program.place(), kind, is_constant=is_constant)
        self._scope.names[name] = variable
        self.program.line(f"store i64 {UNSET}, ptr {variable.place}")
        return variable

    def _variable(self, name: str) -> Variable:
        """The variable of a name; one that nobody has declared is the global object's."""
        holder = self._scope.holder(name)
        if holder is not None:
            found = holder.names[name]
            if not isinstance(found, Variable):
                raise Refused(name)
            return found
        if name in self._reserved:
            raise Refused(name)
        variable = self._root.names[name] = Variable(self.program.place(), Kind())
        return variable

    def _store(self, variable: Variable, word: str) -> None:
        self.program.line(f"store i64 {word}, ptr {variable.place}")
        self._set.add(variable)

    # -- statements

    def _statements(self, statements: tuple[Statement, ...], *, is_function: bool = False) -> None:
        for name, how in own_names(statements):
            if name in self._scope.names:
                raise Refused(name)
            if how == FUNCTION:
                self._scope.names[name] = None
            else:
                self._declare(name, Kind(), is_constant=how == CONSTANT)
        for each in statements:
            if isinstance(each, Function) and not is_function:
                raise Refused("a function in a block")
            self._statement(each)

    def _inner(self, *statements: Statement) -> None:
        """Statements with names of their own."""
        outer, self._scope = self._scope, Scope(self._scope)
        self._statements(statements)
        self._scope = outer

    def _statement(self, node: Statement) -> None:
        if isinstance(node, Block):
            self._inner(*node.statements)
        elif isinstance(node, Declare):
            self._declaration(node)
        elif isinstance(node, Do):
            self._done(node.expression)
        elif isinstance(node, If):
            self._if(node)
        elif isinstance(node, Loop):
            self._loop(node)
        elif isinstance(node, ForOf):
            self._for_of(node)
        elif isinstance(node, Jump):
            self.program.go(self._loops[-1][0 if node.is_break else 1])
        elif isinstance(node, Return):
            self._returned(node.value)

    def _declaration(self, node: Declare) -> None:
        for name, value in node.names:
            if isinstance(value, Function):
                if node.how != "const" or name in self._reserved:
                    raise Refused(name)
                self._scope.names[name] = Bound(value, self._scope)
            elif value is not None:
                found = self._value(value)
                variable = self._variable(name)
                found.kind.be(variable.kind)
                self._store(variable, self._word(found))

    def _done(self, node: Expression) -> None:
        """Work something out for what it does, not for what it gives."""
        if isinstance(node, Binary) and node.operator == ",":
            self._done(node.left)
            self._done(node.right)
        elif isinstance(node, Call):
            self._called(node)
        else:
            self._value(node)

    def _if(self, node: If) -> None:
        program = self.program
        yes, no, end = program.label(), program.label(), program.label()
        program.branch(self._test(node.test), yes, no)
        known = self._set.copy()
        program.here(yes)
        self._inner(node.yes)
        one, self._set = self._set, known
        program.go(end)
        program.here(no)
        if node.no is not None:
            self._inner(node.no)
        program.here(end)
        self._set &= one

    def _loop(self, node: Loop) -> None:
        program, outer = self.program, self._scope
        self._scope, self.has_loop = Scope(outer), True
        if node.before is not None:
            self._statements((node.before,))
        again, body, following, end = [program.label() for _ in range(4)]
        if node.is_do:
            program.go(body)
        program.here(again)
        known = self._set.copy()
        if node.test is not None:
            program.branch(self._test(node.test), body, end)
            after_test = self._set.copy()
        else:
            after_test = known
        self._set = known.copy() if node.is_do else after_test.copy()
        program.here(body)
        self._loops.append((end, following))
        self._inner(node.body)
        self._loops.pop()
        program.here(following)
        self._set = known.copy()
        if node.after is not None:
            self._done(node.after)
        program.step()
        program.go(again)
        program.here(end)
        self._scope, self._set = outer, known

    def _for_of(self, node: ForOf) -> None:
        array = self._list(node.array)
        variable: Variable | None = None if node.how != "var" else self._variable(node.name)
        known = self._set.copy()

        def each(element: Value, _at: str) -> None:
            outer, self._scope = self._scope, Scope(self._scope)
            own = variable or self._declare(node.name, Kind(), is_constant=node.how == "const")
            element.kind.be(own.kind)
            self._store(own, self._word(element))
            self._inner(node.body)
            self._scope = outer

        self._walk(array, each, is_live=True)
        self._set = known

    def _walk(self, array: Value, each: Callable[[Value, str], None], *, begin: str = "0", is_live: bool = False) -> None:
        """Do something with every element and its place; the length is that of the start, or of every turn."""
        program, self.has_loop = self.program, True
        place = program.place()
        again, body, following, end = [program.label() for _ in range(4)]
        program.line(f"store i64 {begin}, ptr {place}")
        length = self._length(array)
        program.here(again)
        at = program.gives(f"load i64, ptr {place}")
        if is_live:
            length = self._length(array)
        program.branch(program.gives(f"icmp slt i64 {at}, {length}"), body, end)
        program.here(body)
        known = self._set.copy()
        self._loops.append((end, following))
        each(self._known(array.kind.of, program.gives(f"load i64, ptr {self._address(array, at)}")), at)
        self._loops.pop()
        program.here(following)
        self._set = known
        program.line(f"store i64 {program.gives(f'add i64 {at}, 1')}, ptr {place}")
        program.step()
        program.go(again)
        program.here(end)

    # -- values

    def _value(self, node: Expression) -> Value:  # noqa: C901
        if isinstance(node, Number):
            return _constant(node.value)
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
            return _constant(CONSTANTS[node.name])
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
        if operator in _EQUAL:
            return self._equal(operator, left, self._value(node.right))
        one = self._double(left)
        two = self._double(self._value(node.right))
        if operator in _COMPARED:
            return Value(truth(), self.program.gives(f"fcmp {_COMPARED[operator]} double {one}, {two}"), "i1")
        return Value(number(), self._calculated(operator, one, two), "double")

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
        numbers, truths = _EQUAL[operator]
        if left.kind.name == NUMBER:
            test = self.program.gives(f"fcmp {numbers} double {self._double(left)}, {self._double(right)}")
        elif left.kind.name == TRUTH:
            test = self.program.gives(f"icmp {truths} i64 {self._word(left)}, {self._word(right)}")
        else:
            raise Refused("equality of what is no number")
        return Value(truth(), test, "i1")

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

    def _truth_of(self, value: Value) -> str:
        if value.kind.name == TRUTH:
            return value.register if value.form == "i1" else self.program.gives(f"icmp ne i64 {value.register}, 0")
        if value.kind.name != NUMBER:
            raise Refused("a test of what is no number")
        return self.program.gives(f"fcmp one double {self._double(value)}, 0.0")

    # -- assignments

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

    # -- lists

    def _list(self, node: Expression) -> Value:
        value = self._value(node)
        value.kind.be(list_of(Kind()))
        return value

    def _new(self, length: str) -> str:
        """A list of so many holes."""
        found = self.program.gives(f"call i64 @list(i64 {length})")
        self.program.insist(self.program.gives(f"icmp ne i64 {found}, 0"))
        return found

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

    def _element(self, node: Index) -> Value:
        array = self._list(node.array)
        address = self._at(array, self._value(node.index))
        return self._known(array.kind.of, self.program.gives(f"load i64, ptr {address}"))

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

    # -- calls

    def _called(self, node: Call) -> tuple[Kind, str]:
        """Call something; gives the place of what it gave, which may not be set."""
        function = node.function
        if isinstance(function, Name):
            holder = self._scope.holder(function.text)
            found = None if holder is None else holder.names[function.text]
            if isinstance(found, Bound) and not node.is_new:
                return self._call(found, [self._value(each) for each in node.arguments])
            if holder is None and function.text == "Array" and len(node.arguments) == 1:
                count = self._value(node.arguments[0])
                return self._kept(Value(list_of(Kind()), self._new(self._whole(count, str(self._words))), "i64"))
        if isinstance(function, Function):
            return self._call(Bound(function, self._scope), [self._value(each) for each in node.arguments])
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
        bound = Bound(arguments[0], self._scope)
        if name == "reduce" and len(arguments) <= 2:
            return self._reduced(bound, array, [self._value(each) for each in arguments[1:]])
        if len(arguments) != 1:
            raise Refused(name)
        return self._mapped(bound, array, is_kept=name == "map")

    def _reduced(self, bound: Bound, array: Value, first: list[Value]) -> tuple[Kind, str]:
        program = self.program
        if not first:
            program.insist(program.gives(f"icmp sgt i64 {self._length(array)}, 0"))
            element = program.gives(f"load i64, ptr {self._address(array, '0')}")
            kind, place = self._kept(self._known(array.kind.of, element))
        else:
            kind, place = self._kept(first[0])

        def each(element: Value, at: str) -> None:
            so_far = self._known(kind, program.gives(f"load i64, ptr {place}"))
            index = Value(number(), program.gives(f"sitofp i64 {at} to double"), "double")
            given, result = self._call(bound, [so_far, element, index, array])
            given.be(kind)
            program.line(f"store i64 {program.gives(f'load i64, ptr {result}')}, ptr {place}")

        self._walk(array, each, begin="0" if first else "1")
        return kind, place

    def _mapped(self, bound: Bound, array: Value, *, is_kept: bool) -> tuple[Kind, str]:
        program = self.program
        made = Value(list_of(Kind()), self._new(self._length(array)), "i64") if is_kept else None

        def each(element: Value, at: str) -> None:
            index = Value(number(), program.gives(f"sitofp i64 {at} to double"), "double")
            given, result = self._call(bound, [element, index, array])
            if made is not None:
                given.be(made.kind.of)
                word = self._word(self._known(given, program.gives(f"load i64, ptr {result}")))
                program.line(f"store i64 {word}, ptr {self._address(made, at)}")

        self._walk(array, each)
        if made is not None:
            return self._kept(made)
        place = program.place()
        program.line(f"store i64 {UNSET}, ptr {place}")
        return Kind(), place

    # -- registers

    def _kept(self, value: Value) -> tuple[Kind, str]:
        place = self.program.place()
        self.program.line(f"store i64 {self._word(value)}, ptr {place}")
        return value.kind, place

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


def _constant(value: float) -> Value:
    return Value(number(), f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}", "double")
