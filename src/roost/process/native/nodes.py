"""What code consists of, as far as it can be compiled (`roost.process.native.grammar`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


class Refused(Exception):  # noqa: N818  it is no error: quickjs runs the macro
    """This code is not compiled."""


@dataclass(frozen=True, slots=True)
class Number:
    value: float


@dataclass(frozen=True, slots=True)
class Truth:
    value: bool


@dataclass(frozen=True, slots=True)
class Name:
    text: str


@dataclass(frozen=True, slots=True)
class Unary:
    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Choice:
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
    array: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Member:
    owner: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Call:
    function: Expression
    arguments: tuple[Expression, ...]
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class List:
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function in any of its forms; an arrow with an expression returns it."""

    name: str
    parameters: tuple[str, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Declare:
    how: str  # var, let or const
    names: tuple[tuple[str, Expression | None], ...]


@dataclass(frozen=True, slots=True)
class Do:
    expression: Expression


@dataclass(frozen=True, slots=True)
class If:
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
    how: str
    name: str
    array: Expression
    body: Statement


@dataclass(frozen=True, slots=True)
class Jump:
    is_break: bool


@dataclass(frozen=True, slots=True)
class Return:
    value: Expression | None


@dataclass(frozen=True, slots=True)
class Block:
    statements: tuple[Statement, ...]


Expression: TypeAlias = (
    Number | Truth | Name | Unary | Binary | Choice | Assign | Step | Index | Member | Call | List | Function
)
Statement: TypeAlias = Declare | Do | If | Loop | ForOf | Jump | Return | Block | Function
