"""Light VerSec as data: a compiled schema turned into a tree that names are walked down.

The language and its compiler are python-ndn's (docs/decisions/0001-light-versec.md). Only the walk is ours, because it
runs for every packet and because "why not" is a question here: python-ndn's checker answers yes or no. One difference,
on the strict side: a constraint of a key's rule also holds for a pattern that the packet's name has already bound.

Compiling needs python-ndn, which takes 0.3 s to import, so it is imported when a schema is compiled and not before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, TypeAlias

from roost.errors import BadConfig
from roost.naming import Name
from roost.naming.number import read_var

COMPILED: Final = 8  # schemas that are remembered: a process compiles the same one for each of its groups

Bindings: TypeAlias = dict[int, bytes]  # pattern number → component, as its TLV
Function: TypeAlias = Callable[[bytes, Sequence[bytes | None]], bool]


def _type_of(component: bytes | None) -> int:
    return -1 if component is None else read_var(component, 0, len(component))[0]


# The functions that every implementation of the language has.
FUNCTIONS: Final[Mapping[str, Function]] = {
    "$eq": lambda component, arguments: all(argument == component for argument in arguments),
    "$eq_type": lambda component, arguments: all(_type_of(argument) == _type_of(component) for argument in arguments),
}


@dataclass(frozen=True, slots=True)
class Option:
    """One way to satisfy a constraint: equal to a value, equal to another pattern, or a function says so."""

    value: bytes | None
    pattern: int | None
    function: str
    arguments: tuple[tuple[bytes | None, int | None], ...] = ()

    def holds(self, component: bytes, bound: Bindings) -> bool:
        if self.value is not None:
            return component == self.value
        if self.pattern is not None:
            return component == bound.get(self.pattern)
        arguments = [value if pattern is None else bound.get(pattern) for value, pattern in self.arguments]
        return FUNCTIONS[self.function](component, arguments)


@dataclass(frozen=True, slots=True)
class Edge:
    """A step over a component that a pattern takes; all constraints hold, each by one of its options."""

    pattern: int  # 0 when it is anonymous
    label: str
    constraints: tuple[tuple[Option, ...], ...]
    node: Node

    @property
    def blind(self) -> bool:
        """Whether the step looks at nothing but the component's type."""
        return self.pattern == 0 and all(
            option.function == "$eq_type" and all(pattern is None for _, pattern in option.arguments)
            for options in self.constraints
            for option in options
        )


@dataclass(slots=True, eq=False)
class Node:
    """A place in the tree: the rules that end here, and which nodes' keys may sign such a name."""

    path: tuple[str, ...]
    patterns: tuple[int, ...]  # of each step, 0 for a value or an anonymous pattern
    blind: bool
    rules: tuple[str, ...] = ()
    signers: frozenset[int] = frozenset()
    number: int = 0
    values: dict[bytes, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    @property
    def rule(self) -> str:
        return self.rules[0] if self.rules else f"#_{self.number}"

    def shown(self, bound: Bindings) -> str:
        """The pattern of this node, with what is bound filled in."""
        parts = [
            str(Name(bound[pattern]).at(0)) if pattern in bound else label
            for label, pattern in zip(self.path, self.patterns, strict=True)
        ]
        return "/" + "/".join(parts)


def components(name: Name) -> list[bytes]:
    """Cut a name into the TLVs of its components."""
    value, cuts = name.value, name.cuts
    return [value[low:high] for low, high in pairwise(cuts)]


def walk(node: Node, parts: Sequence[bytes], bound: Bindings, depth: int = 0) -> Iterator[tuple[Node, Bindings]]:
    """Yield every node that the components lead to, with what they bind; ends where the schema does."""
    if depth == len(parts):
        yield node, bound
        return
    part = parts[depth]
    fixed = node.values.get(part)
    if fixed is not None:
        yield from walk(fixed, parts, bound, depth + 1)
    for edge in node.edges:
        step = take(edge, part, bound)
        if step is not None:
            yield from walk(edge.node, parts, step, depth + 1)


def take(edge: Edge, part: bytes, bound: Bindings) -> Bindings | None:
    """What is bound after this step, None if the component does not fit."""
    pattern = edge.pattern
    if pattern and bound.get(pattern, part) != part:
        return None
    for options in edge.constraints:
        if not any(option.holds(part, bound) for option in options):
            return None
    return {**bound, pattern: part} if pattern and pattern not in bound else bound


@lru_cache(maxsize=COMPILED)
def compile_text(text: str) -> tuple[Node, ...]:
    """Compile Light VerSec; the first node is the root of the tree. Errors are `BadConfig` with the line."""
    import lark
    from ndn.app_support.light_versec import Checker, LvsModelError, SemanticError, compile_lvs

    try:
        model = compile_lvs(text)
        Checker(model, {})  # its sanity checks: no rule signs itself in a circle, no dangling reference
    except lark.exceptions.UnexpectedInput as error:
        raise BadConfig(_syntax_message(text, error)) from None
    except (SemanticError, LvsModelError) as error:
        raise BadConfig(_semantic_message(text, str(error))) from None
    except ValueError as error:  # a component that is none
        raise BadConfig(_component_message(text, str(error))) from None
    return tuple(_build(model))


def _syntax_message(text: str, error: Any) -> str:  # noqa: ANN401  lark ships types, its exceptions have none
    line, column = int(getattr(error, "line", -1)), int(getattr(error, "column", -1))
    lines = text.splitlines()
    if not 1 <= line <= len(lines) or getattr(getattr(error, "token", None), "type", "") == "$END":
        return f"trust schema ends in the middle of a rule (line {len(lines)}); complete or remove it"
    return (
        f"trust schema, line {line}, column {column}: {lines[line - 1].strip()!r} is not Light VerSec; a rule reads"
        f' #rule: "fixed"/pattern & {{pattern: "a"|"b"}} <= #signer'
    )


def _semantic_message(text: str, message: str) -> str:
    for rule in re.findall(r"#\w+", message):
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(rf"{re.escape(rule)}\b", line):
                return f"trust schema, line {number}: {message}"
    if message.startswith("Loop detected"):
        return f"trust schema: some rules sign each other in a circle ({message}); every chain must end at the anchor"
    return f"trust schema: {message}"


def _component_message(text: str, message: str) -> str:
    component = message.partition(" ")[0]
    for number, line in enumerate(text.splitlines(), 1):
        if f'"{component}"' in line:
            return f'trust schema, line {number}: {message}; components are written as in a name: "32=CK", "%3D"'
    return f"trust schema: {message}"


def _build(model: Any) -> list[Node]:  # noqa: ANN401  python-ndn has no types
    labels = {symbol.tag: symbol.ident for symbol in model.symbols}
    nodes: list[Node] = [Node((), (), blind=False)] * len(model.nodes)

    def visit(number: int, path: tuple[str, ...], patterns: tuple[int, ...], blind: bool) -> Node:  # noqa: FBT001
        source = model.nodes[number]
        node = Node(path, patterns, blind, tuple(source.rule_name or ()), frozenset(source.sign_cons or ()), number)
        nodes[number] = node
        for step in source.v_edges:
            value = bytes(step.value)
            node.values[value] = visit(step.dest, (*path, str(Name(value).at(0))), (*patterns, 0), blind=False)
        for step in source.p_edges:
            pattern = step.tag if step.tag <= model.named_pattern_cnt else 0
            label = f"<{labels[pattern]}>" if pattern else "<any>"
            edge = Edge(pattern, label, _constraints(step.cons_sets), node)
            target = visit(step.dest, (*path, label), (*patterns, pattern), edge.blind)
            node.edges.append(Edge(pattern, label, edge.constraints, target))
        return node

    root = visit(model.start_id, (), (), blind=False)
    return [root, *[node for node in nodes if node is not root]]


def _constraints(sets: Any) -> tuple[tuple[Option, ...], ...]:  # noqa: ANN401
    return tuple(tuple(_option(option) for option in constraint.options) for constraint in sets or ())


def _option(option: Any) -> Option:  # noqa: ANN401
    if option.fn is None:
        return Option(None if option.value is None else bytes(option.value), option.tag, "")
    name = str(option.fn.fn_id)
    if name not in FUNCTIONS:
        raise BadConfig(f"trust schema: function {name} is unknown; there are {', '.join(sorted(FUNCTIONS))}")
    arguments = tuple(
        (None if argument.value is None else bytes(argument.value), argument.tag) for argument in option.fn.args or ()
    )
    return Option(None, None, name, arguments)
