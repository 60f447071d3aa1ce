"""A macro to instructions: its functions, its statements, and what its names stand for.

A kind is found as the code is walked through, once, in the order of its text; what fits no kind is `Refused`. Functions
are put in the place of their calls. Too many steps, and a variable that is not set, give up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from roost.process.native.expressions import Expressions
from roost.process.native.kinds import Kind, list_of, number
from roost.process.native.layout import INPUTS, UNSET
from roost.process.native.nodes import (
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
    Jump,
    Loop,
    Name,
    Refused,
    Return,
    Statement,
)
from roost.process.native.scope import (
    CONSTANT,
    FUNCTION,
    Bound,
    Meaning,
    Scope,
    Value,
    Variable,
    functions_of,
    own_names,
    variables_of,
)

_MAX_CALLS: Final = 16  # of functions in one another
_MAX_LOOPS: Final = 8  # likewise; LLVM takes long for more


class _Frame(NamedTuple):
    """A function that is being walked through."""

    end: str
    result: str  # a place
    kind: Kind


class Translation(Expressions):
    """One macro; `reserved` are the names that the engine has, `functions` those of `Math` that can be called."""

    def __init__(
        self,
        parameters: Sequence[tuple[str, Kind]],
        reserved: frozenset[str],
        functions: frozenset[str],
        words: int,
    ) -> None:
        super().__init__(functions, words)
        self.has_loop = False
        self._reserved: Final = reserved
        self._root: Final = Scope(None)
        self._scope = self._root
        self._frames: Final[list[_Frame]] = []
        self._loops: list[tuple[str, str]] = []  # where break and continue go
        self._nested = 0  # loops, in all functions
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

    def _call(self, function: Bound | Function, arguments: Sequence[Value]) -> tuple[Kind, str]:
        bound = Bound(function, self._scope) if isinstance(function, Function) else function
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

    def _meaning(self, name: str) -> Meaning:
        holder = self._scope.holder(name)
        return None if holder is None else holder.names[name]

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
        since = program.weight
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
        self._enter(end, following)
        self._inner(node.body)
        self._leave()
        program.here(following)
        self._set = known.copy()
        if node.after is not None:
            self._done(node.after)
        program.step(since)
        program.go(again)
        program.here(end)
        self._scope, self._set = outer, known

    def _enter(self, end: str, following: str) -> None:
        self._nested += 1
        if self._nested > _MAX_LOOPS:
            raise Refused("loops too deep in one another")
        self._loops.append((end, following))

    def _leave(self) -> None:
        self._nested -= 1
        self._loops.pop()

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

    def _walk(
        self, array: Value, each: Callable[[Value, str], None], *, begin: str = "0", is_live: bool = False
    ) -> None:
        """Do something with every element and its place; the length is that of the start, or of every turn."""
        program, self.has_loop = self.program, True
        place = program.place()
        again, body, following, end = [program.label() for _ in range(4)]
        since = program.weight
        program.line(f"store i64 {begin}, ptr {place}")
        length = self._length(array)
        program.here(again)
        at = program.gives(f"load i64, ptr {place}")
        if is_live:
            length = self._length(array)
        program.branch(program.gives(f"icmp slt i64 {at}, {length}"), body, end)
        program.here(body)
        known = self._set.copy()
        self._enter(end, following)
        each(self._known(array.kind.of, program.gives(f"load i64, ptr {self._address(array, at)}")), at)
        self._leave()
        program.here(following)
        self._set = known
        program.line(f"store i64 {program.gives(f'add i64 {at}, 1')}, ptr {place}")
        program.step(since)
        program.go(again)
        program.here(end)

    # -- calls

    def _reduced(self, function: Function, array: Value, first: Sequence[Value]) -> tuple[Kind, str]:
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
            given, result = self._call(function, [so_far, element, index, array])
            given.be(kind)
            program.line(f"store i64 {program.gives(f'load i64, ptr {result}')}, ptr {place}")

        self._walk(array, each, begin="0" if first else "1")
        return kind, place

    def _mapped(self, function: Function, array: Value, *, is_kept: bool) -> tuple[Kind, str]:
        program = self.program
        made = Value(list_of(Kind()), self._new(self._length(array)), "i64") if is_kept else None

        def each(element: Value, at: str) -> None:
            index = Value(number(), program.gives(f"sitofp i64 {at} to double"), "double")
            given, result = self._call(function, [element, index, array])
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
