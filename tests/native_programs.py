"""Programs in the part of JavaScript that is compiled, made by chance, with the inputs that they are given."""

from __future__ import annotations

import math
from random import Random
from typing import Final

from roost.process.inlining import Inlined, inlined
from roost.process.native.functions import ARITIES, CONSTANTS, FOLDED
from roost.process.reference import Reference
from roost.process.sample import Plain, Sample

NOW: Final = 1_700_000_000_000_000_000
ONE, MANY, LIST, TABLE = Reference("one"), Reference("many", required=3, limit=3), Reference("list"), Reference("table")
HEAD: Final = """\
function() {
  var one = Noctua.topic('one'), many = Noctua.topic('many', {required: 3, limit: 3})
  var list = Noctua.topic('list'), table = Noctua.topic('table')
  var a = 1, b = -0, c = 4, i = 0, flag = false, xs = [5, one], ys = [one, 2, a]
  var holes = new Array(2), rows = [[1, 2], [3, 4]]
  const sum = (p, q) => p + q, twice = function(p) { if (p > 3) return p * 2; return p }
  free = 9
  function clipped(p, low) { return p < low ? low : p }
"""
_LITERALS: Final = "0 1 2 3 5 7 0.5 0.1 1e3 1e-9 1e300 4294967295 2147483648 NaN Infinity".split()  # noqa: SIM905
_MATHS: Final = [f"Math.{name}" for name in CONSTANTS]
_NUMBERS: Final = ["one", "a", "b", "c", "i", "free", "list.length", "xs.length", *_LITERALS, *_MATHS]
_LISTS: Final = [
    *["xs", "ys", "many", "list", "rows[0]"] * 3,
    "holes",
    "list",
    "many",
    "rows[0]",
    "table[0]",
    "rows[1]",
]
_INDICES: Final = [*"00000000000000111111112ia", "i % 2", "i % 2", "xs.length - 1", "xs.length", "i % 2", "-1", "0.5"]
_FUNCTIONS: Final = sorted(ARITIES)
_BINARY: Final = "+ - * / % ** & | ^ << >> >>> + - * /".split()  # noqa: SIM905

_ODD: Final[list[Plain]] = [0.0, -0.0, math.inf, -math.inf, math.nan, 2.0**-30, 2.0**89, 5e-324, 1e21, 2**60, 1e-7, 0.5]
_OTHER: Final[list[Plain]] = ["text", True, None, 3, [], [[1]], {}]


def inputs(random: Random) -> dict[Reference, list[Sample]]:
    """Values for all references; now and then one is not of the kind that it mostly is."""
    values: dict[Reference, list[Plain]] = {
        ONE: [_number(random)],
        MANY: [_number(random) for _ in range(3)],
        LIST: [_list(random)],
        TABLE: [[_list(random), *[_list(random) for _ in range(random.randint(0, 2))]]],
    }
    if random.random() < 0.1:
        values[random.choice([ONE, LIST, TABLE])] = [random.choice(_OTHER)]
    return {key: [Sample(key.topic, NOW - at, each) for at, each in enumerate(row)] for key, row in values.items()}


def _number(random: Random) -> Plain:
    if random.random() < 0.03:
        return random.choice(_ODD)
    if random.random() < 0.5:
        return random.randint(-2, 6)
    return random.choice([1, 100, 1e9]) * (random.random() - 0.3)


def _list(random: Random) -> list[Plain]:
    return [_number(random) for _ in range(random.choice([2, 2, 3, 3, 4, 6, random.randint(0, 1)]))]


class Writer:
    """Writes a program, choice by choice."""

    def __init__(self, random: Random) -> None:
        self._random: Final = random
        self._loops = 0

    def program(self) -> str:
        """All of it; it returns something in the end, mostly."""
        body = self._block(self._random.randint(1, 6), 3)
        ends = [
            f"return {self._number(3)}",
            f"return {self._number(3)}",
            f"return {self._test(3)}",
            f"return {self._list()}",
            f"return [{self._number(2)}, {self._number(2)}]",
            "return rows",
            "return [xs, list, many]",
            f"return {self._test(2)} ? {self._number(2)} : undefined",
            f"if ({self._test(2)}) return {self._number(2)}",
            "",
        ]
        return f"{HEAD}{body}\n  {self._any(ends)}\n}}()"

    def _any(self, choices: list[str]) -> str:
        return self._random.choice(choices)

    def _block(self, count: int, depth: int) -> str:
        return "\n".join([self._statement(depth) for _ in range(count)])

    def _statement(self, depth: int) -> str:
        choice = self._random.randint(0, 15 if depth else 7)
        if choice <= 2:
            operator = self._any(["", "", "+", "-", "*", "/", "%", "**", "|", ">>>"])
            return f"{self._any(['a', 'b', 'c', 'free'])} {operator}= {self._number(depth)}"
        if choice == 3:
            return f"{self._list()}.push({self._number(depth)})"
        if choice == 4:
            return f"{self._list()}[{self._any(_INDICES)}] {self._any(['', '', '+', '*'])}= {self._number(depth)};"
        if choice == 5:
            return f"flag = {self._test(depth)}"
        if choice == 6:
            return self._any(
                ["a++", "--b;", "rows.push([a, b])", "xs = many", "ys = [1, 2, 3]", f"{self._list()}[0]++"]
            )
        if choice == 7:
            return self._any(["", "break", "continue", "return a", "if (flag) return b"]) if self._loops else "a += 1"
        inner = self._block(self._random.randint(1, 3), depth - 1)
        if choice <= 9:
            other = f" else {{ {self._block(1, depth - 1)} }}" if choice == 9 else ""
            return f"if ({self._test(depth)}) {{\n{inner}\n}}{other}"
        self._loops += 1
        inner = self._block(self._random.randint(1, 3), depth - 1)
        self._loops -= 1
        limit = self._any(["3", "5", "list.length", "many.length", "xs.length"])
        if choice == 10:
            return f"for (var i = 0; i < {limit}; ++i) {{\n{inner}\n}}"
        if choice == 11:
            return f"for (let j = {limit}; j > 0; j--) {{\nlet c = j * 2\n{inner}\n}}"
        if choice == 12:
            return f"for (const x of {self._list()}) {{\na = x\n{inner}\n}}"
        if choice == 13:
            return f"var n = 0; while (n++ < 4) {{\n{inner}\n}}"
        if choice == 14:
            return f"var m = 0; do {{\n{inner}\n}} while (++m < 3 && {self._test(1)})"
        return (
            f"{self._list()}.forEach((x, i) => {{ {self._any(['a += x', 'ys[i] = x', 'xs.push(x * i)', 'c = x'])} }})"
        )

    def _number(self, depth: int) -> str:
        if depth <= 0 or self._random.random() < 0.25:
            return self._any(_NUMBERS) if self._random.random() < 0.7 else f"{self._list()}[{self._any(_INDICES)}]"
        one, two = self._number(depth - 1), self._number(depth - 1)
        choice = self._random.randint(0, 13)
        if choice <= 4:
            return f"(({one}) {self._any(_BINARY)} ({two}))"
        if choice <= 6:
            name = self._any(_FUNCTIONS)
            count = self._random.randint(1, 3) if name in FOLDED else ARITIES[name]
            return f"Math.{name}({', '.join([self._number(depth - 1) for _ in range(count)])})"
        if choice == 7:
            return f"({self._test(depth - 1)} ? {one} : {two})"
        if choice == 8:
            return f"({self._any(['-', '+', '~'])}({one}))"
        if choice == 9:
            step = self._any(["sum", "(p, q, k) => p + q * k", "(p, q) => { if (q > p) return q; return p }"])
            if step == "sum":
                return f"sum({one}, {two})"
            return f"{self._list()}.reduce({step}{self._any([f', {one}', ''])})"
        if choice == 10:
            return self._any([f"twice({one})", f"clipped({one}, {two})", f"(a = {one})", "a++", "--b"])
        if choice == 11:
            return f"(({one}) {self._any(['&&', '||'])} ({two}))"
        return f"{self._list()}[{self._any(_INDICES)}]"

    def _test(self, depth: int) -> str:
        choice = self._random.randint(0, 6 if depth > 0 else 3)
        if choice <= 2:
            operator = self._any("< > <= >= === !== == !=".split())  # noqa: SIM905
            return f"{self._number(depth - 1)} {operator} {self._number(depth - 1)}"
        if choice == 3:
            return self._any(["flag", "true", "false", "!a"])
        if choice == 4:
            return f"!({self._test(depth - 1)})"
        return f"({self._test(depth - 1)} {self._any(['&&', '||'])} {self._test(depth - 1)})"

    def _list(self) -> str:
        if self._random.random() < 0.1:
            return self._any(
                ["list.map(x => x / 2)", "xs.map((x, i) => x - i)", "[a, one, 3]", "many.map(x => [x].length)"]
            )
        return self._any(_LISTS)


def form_of(code: str) -> Inlined:
    """The macro with its inputs as parameters."""
    form = inlined(code)
    assert form is not None
    return form
