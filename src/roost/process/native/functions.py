"""The functions of `Math`, as quickjs-ng has them: some are instructions, the others the C library's.

Those of the library are called at the addresses that this process has for them, under names that mean nothing to LLVM:
it would make `x * x` of every `pow(x, 2)`, which can have other bits. But it may know that they depend on nothing but
their arguments. What comes out is compared with quickjs before it is used (`roost.process.native.agreement`).
"""

from __future__ import annotations

import math
from typing import Final

INSTRUCTIONS: Final = {  # those of one argument
    "abs": "llvm.fabs.f64",
    "ceil": "llvm.ceil.f64",
    "floor": "llvm.floor.f64",
    "sqrt": "llvm.sqrt.f64",
    "trunc": "llvm.trunc.f64",
    "round": "roost.round",
    "sign": "roost.sign",
}
FOLDED: Final = {"min": "llvm.minimum.f64", "max": "llvm.maximum.f64", "hypot": "roost.hypot"}  # from left to right
LIBRARY: Final = {  # how many arguments they have
    **dict.fromkeys(
        "acos acosh asin asinh atan atanh cbrt cos cosh exp expm1 log log10 log1p log2 sin sinh tan tanh".split(),  # noqa: SIM905
        1,
    ),
    "atan2": 2,
}
OPERATORS: Final = {"%": "roost.fmod", "**": "roost.pow"}
SYMBOLS: Final = (*LIBRARY, "pow", "hypot", "fmod")  # of the C library
CONSTANTS: Final = {
    "E": math.e,
    "LN10": math.log(10),
    "LN2": math.log(2),
    "LOG10E": 0.4342944819032518,
    "LOG2E": 1.4426950408889634,
    "PI": math.pi,
    "SQRT1_2": math.sqrt(0.5),
    "SQRT2": math.sqrt(2),
}
ARITIES: Final = {**dict.fromkeys(INSTRUCTIONS, 1), **dict.fromkeys(FOLDED, 2), **LIBRARY, "pow": 2}

_UNARY: Final = "".join(
    f"declare double @{name}(double){'' if name.startswith('llvm.') else ' #0'}\n"
    for name in (
        *(each for each in INSTRUCTIONS.values() if each.startswith("llvm.")),
        *(f"roost.{name}" for name, count in LIBRARY.items() if count == 1),
    )
)
_BINARY: Final = "".join(f"declare double @roost.{name}(double, double) #0\n" for name in ("atan2", "hypot", "fmod"))

PRELUDE: Final = f"""\
{_UNARY}{_BINARY}\
declare double @roost.libm.pow(double, double) #2
declare double @llvm.minimum.f64(double, double)
declare double @llvm.maximum.f64(double, double)
declare double @llvm.copysign.f64(double, double)

; Where the base is 1 or -1 and the exponent is not finite, JavaScript has another opinion than the library. The square
; of a number of 26 bits is a double itself, so every library whose results are less than a unit off gives just that.
define internal double @roost.pow(double %base, double %exponent) #1 {{
  %size = call double @llvm.fabs.f64(double %base)
  %two = fcmp oeq double %exponent, 2.0
  %large = fcmp oge double %size, 0x20B0000000000000 ; 2^-500
  %small = fcmp ole double %size, 0x5F30000000000000 ; 2^500
  %bits = bitcast double %base to i64
  %rest = and i64 %bits, 134217727
  %short = icmp eq i64 %rest, 0
  %middle = and i1 %large, %small
  %exact = and i1 %middle, %short
  %easy = and i1 %two, %exact
  br i1 %easy, label %square, label %power
square:
  %squared = fmul double %base, %base
  ret double %squared
power:
  %difference = fsub double %exponent, %exponent
  %finite = fcmp ord double %difference, 0.0
  %one = fcmp oeq double %size, 1.0
  %other = xor i1 %finite, true
  %odd = and i1 %one, %other
  %raised = call double @roost.libm.pow(double %base, double %exponent)
  %result = select i1 %odd, double 0x7FF8000000000000, double %raised
  ret double %result
}}

; Halves go up; what is rounded to nothing keeps its sign.
define internal double @roost.round(double %x) #1 {{
  %low = call double @llvm.floor.f64(double %x)
  %rest = fsub double %x, %low
  %high = fadd double %low, 1.0
  %up = fcmp oge double %rest, 0.5
  %near = select i1 %up, double %high, double %low
  %result = call double @llvm.copysign.f64(double %near, double %x)
  ret double %result
}}

define internal double @roost.sign(double %x) #1 {{
  %signed = fcmp one double %x, 0.0
  %one = call double @llvm.copysign.f64(double 1.0, double %x)
  %result = select i1 %signed, double %one, double %x
  ret double %result
}}
"""
ATTRIBUTES: Final = """\
attributes #0 = { memory(none) nounwind willreturn nofree nosync speculatable }
attributes #1 = { alwaysinline memory(none) nounwind willreturn nofree nosync speculatable }
attributes #2 = { memory(none) nounwind willreturn nofree nosync }
"""


def instructions_of(name: str) -> str:
    """The function to call, by its name in `Math`."""
    return INSTRUCTIONS.get(name) or FOLDED.get(name) or f"roost.{name}"
