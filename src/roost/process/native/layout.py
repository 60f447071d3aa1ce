"""How values lie in memory, in words of eight bytes: what machine code and `roost.process.native.compiled` agree on.

    word 0    the result
    word 1    where free memory begins
    word 2 …  the inputs, one word each
    then      lists, one after the other: length, room, where the elements begin, elements …

A number is its double, a truth value 0 or 1, a list where it begins. What is not set, and a hole in a list, is
`UNSET`: as a double it is no number, and one that no arithmetic gives.
"""

from __future__ import annotations

from typing import Final

RESULT: Final = 0
FREE: Final = 1
INPUTS: Final = 2
HEADER: Final = 3  # words of a list before its elements
UNSET: Final = 0xFFFA5A5A5A5A5A5A - (1 << 64)

DONE: Final = 0  # how a run ends
UNDEFINED: Final = 1
GIVEN_UP: Final = 2
