"""What code consists of, as far as it can be compiled (`roost.process.native.grammar`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


class Refused(Exception):
    """This code is not compiled, which is no error: quickjs runs it."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is written out."""

    value: float


@dataclass(frozen=True, slots=True)
class Truth:
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Name:
    """What a name stands for."""

    text: str


@dataclass(frozen=True, slots=True)
class Unary:
    """An operator before one operand."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two operands; a comma is one."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Choice:
    """`test ? yes : no`."""

    test: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True, slots=True)
class Assign:
    """An assignment; the operator is empty if it is a plain one."""

    operator: str
    target: Name | Index
    value: Expression


@dataclass(frozen=True, slots=True)
class Step:
    """`++` and `--`, before or after."""

    operator: str
    target: Name | Index
    is_before: bool


@dataclass(frozen=True, slots=True)
class Index:
    """An element."""

    array: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Member:
    """What stands behind a point."""

    owner: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function, of a method, or with `new`."""

    function: Expression
    arguments: tuple[Expression, ...]
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class List:
    """A list that is written out."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function in any of its forms; an arrow with an expression returns it."""

    name: str
    parameters: tuple[str, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Declare:
    """A declaration of several names, each with what it begins with."""

    how: str  # var, let or const
    names: tuple[tuple[str, Expression | None], ...]


@dataclass(frozen=True, slots=True)
class Do:
    """An expression that is a statement."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class If:
    """`if` with its `else`."""

    test: Expression
    yes: Statement
    no: Statement | None


@dataclass(frozen=True, slots=True)
class Loop:
    """`for`, `while` and `do`, which does its body before the first test."""

    before: Statement | None
    test: Expression | None
    after: Expression | None
    body: Statement
    is_do: bool = False


@dataclass(frozen=True, slots=True)
class ForOf:
    """`for (const name of array)`."""

    how: str
    name: str
    array: Expression
    body: Statement


@dataclass(frozen=True, slots=True)
class Jump:
    """`break` or `continue`."""

    is_break: bool


@dataclass(frozen=True, slots=True)
class Return:
    """`return`."""

    value: Expression | None


@dataclass(frozen=True, slots=True)
class Block:
    """Statements in braces."""

    statements: tuple[Statement, ...]


Expression: TypeAlias = (
    Number | Truth | Name | Unary | Binary | Choice | Assign | Step | Index | Member | Call | List | Function
)
Statement: TypeAlias = Declare | Do | If | Loop | ForOf | Jump | Return | Block | Function
