"""What names stand for, where the code says them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from roost.process.native.kinds import Kind
from roost.process.native.nodes import Block, Declare, ForOf, Function, If, Loop, Refused, Statement

CHANGING: Final = "let"
CONSTANT: Final = "const"
FUNCTION: Final = "function"  # a constant one


class Value(NamedTuple):
    """A value in a register; its form says what that holds: `double`, `i1`, or `i64`, the word as it lies in memory."""

    kind: Kind
    register: str
    form: str


class Variable:
    """A variable has a place."""

    __slots__ = ("is_constant", "kind", "place")

    def __init__(self, place: str, kind: Kind, *, is_constant: bool = False) -> None:
        self.place: Final = place
        self.kind: Final = kind
        self.is_constant: Final = is_constant


class Bound(NamedTuple):
    """A function that a name stands for for ever, and the names that it sees."""

    function: Function
    scope: Scope


Meaning: TypeAlias = Variable | Bound | None  # None: something that is not compiled


class Scope:
    """Names of a function or of a block, and of all around it."""

    def __init__(self, outer: Scope | None) -> None:
        self.names: Final[dict[str, Meaning]] = {}
        self._outer: Final = outer

    def holder(self, name: str) -> Scope | None:
        """The innermost scope that has a name."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope._outer
        return scope


def variables_of(body: Block) -> Iterator[str]:
    """The names that `var` declares in a function, wherever it does."""
    pending: list[Statement | None] = list(body.statements)
    while pending:
        each = pending.pop()
        if isinstance(each, Declare) and each.how == "var":
            yield from [name for name, _ in each.names]
        elif isinstance(each, Block):
            pending += each.statements
        elif isinstance(each, If):
            pending += [each.yes, each.no]
        elif isinstance(each, Loop):
            pending += [each.before, each.body]
        elif isinstance(each, ForOf):
            pending.append(each.body)
            if each.how == "var":
                yield each.name


def own_names(statements: tuple[Statement, ...]) -> Iterator[tuple[str, str]]:
    """The names that `let` and `const` declare in a block, and how."""
    for each in statements:
        if isinstance(each, Declare) and each.how != "var":
            for name, value in each.names:
                is_function = each.how == "const" and isinstance(value, Function)
                yield name, FUNCTION if is_function else CONSTANT if each.how == "const" else CHANGING


def functions_of(body: Block) -> Iterator[Function]:
    """The functions that are declared in a function, outside its blocks."""
    found: set[str] = set()
    for each in body.statements:
        if isinstance(each, Function):
            if not each.name or each.name in found:
                raise Refused("two functions of one name")
            found.add(each.name)
            yield each
