"""What machine code may rely on in quickjs: the functions of `Math` that give the same bits, and the names it has.

quickjs calls the C library that it finds, and so does the compiler: the same one, unless somebody has built either in
another way. So both are compared, once in a process; a function that differs in one value is not compiled here.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any, Final

import quickjs

from roost.process.chance import Chance
from roost.process.native.assembly import Machine
from roost.process.native.functions import ARITIES, OPERATORS, instructions_of
from roost.process.native.layout import DONE, INPUTS
from roost.process.native.memory import Memory
from roost.process.native.program import Program

_CHOSEN: Final = (
    *(0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 10.0, 0.1, 0.49999999999999994, 1000.0, 4503599627370495.5, 1e15, 2.0**53),
    *(1e-8, 1e-310, 5e-324, 1e308, 709.7, math.pi, math.inf, math.nan),
)
_DRAWN: Final = 300  # pairs more
_SEED: Final = 7
_OWN: Final = frozenset({"Noctua", "console"})
_NAMES: Final = """\
(() => {
  const names = []
  for (let each = globalThis; each; each = Object.getPrototypeOf(each)) names.push(...Object.getOwnPropertyNames(each))
  return names.join()
})()"""


@cache
def names() -> frozenset[str]:
    """What a macro's own names cannot be: those of the global object, and of what that inherits from."""
    return _OWN.union(quickjs.Context().eval(_NAMES).split(","))


@cache
def functions() -> frozenset[str]:
    """Functions of `Math`, and operators, that give what they give in quickjs."""
    context = quickjs.Context()
    theirs: dict[str, Any] = {name: context.eval(f"(x,y)=>Math.{name}({_given(name)})") for name in ARITIES}
    theirs.update({operator: context.eval(f"(x,y)=>x{operator}y") for operator in OPERATORS})
    memory = Memory(INPUTS + 2 + len(theirs))
    machine = Machine(_program(list(theirs), memory))
    doubles = memory.doubles
    differing: set[str] = set()
    for pair in _pairs():
        doubles[INPUTS], doubles[INPUTS + 1] = pair
        machine.run()
        for at, (name, function) in enumerate(theirs.items(), start=INPUTS + 2):
            if not _is_same(doubles[at], float(function(*pair))):
                differing.add(name)
    return frozenset(theirs) - differing


def _program(all_names: list[str], memory: Memory) -> str:
    """Work all of them out for the two inputs, and leave the results behind these."""
    program = Program()
    for at, name in enumerate(all_names, start=INPUTS + 2):
        where = [program.gives(f"getelementptr double, ptr %memory, i64 {place}") for place in (INPUTS, INPUTS + 1, at)]
        x, y = [program.gives(f"load double, ptr {each}") for each in where[:2]]
        given = f"double {x}" if ARITIES.get(name) == 1 else f"double {x}, double {y}"
        result = program.gives(f"call double @{OPERATORS.get(name) or instructions_of(name)}({given})")
        program.line(f"store double {result}, ptr {where[2]}")
    program.line(f"ret i32 {DONE}")
    return program.text(memory, 1)


def _given(name: str) -> str:
    return "x" if ARITIES[name] == 1 else "x,y"


def _pairs() -> Iterator[tuple[float, float]]:
    signed = [sign * each for each in _CHOSEN for sign in (1, -1)]
    yield from product(signed, _CHOSEN)
    chance = Chance(_SEED)
    for scale in range(_DRAWN):
        yield math.ldexp(math.floor(chance.random() * 2**27 - 2**26), scale % 60 - 30), 2.0  # exact squares
        yield (
            math.ldexp(chance.random() - 0.5, scale % 60 - 20),
            math.ldexp(chance.random() - 0.5, scale % 7),
        )


def _is_same(one: float, other: float) -> bool:
    return struct.pack("d", one) == struct.pack("d", other) or (math.isnan(one) and math.isnan(other))
