"""A macro made machine code: its text, and the kinds of the values that it has just been given."""

from __future__ import annotations

from typing import Any, Final

from roost.process.engine import Inputs, Limits
from roost.process.inlining import Inlined
from roost.process.native import agreement, assembly
from roost.process.native.compiled import Compiled
from roost.process.native.grammar import parsed
from roost.process.native.kinds import TRUTH, Kind, list_of, number
from roost.process.native.memory import Memory
from roost.process.native.nodes import Refused
from roost.process.native.translation import Translation
from roost.process.reference import Reference

MAX_COMPILED: Final = 256  # macros of a process
_MANY: Final = 8  # inputs of a macro that is worth it without a loop
_MOST_BYTES: Final = 1 << 20  # of memory
_SHARE: Final = 16  # of its memory that a macro has here, where all takes a fraction of what it takes in quickjs
_STEPS_PER_MS: Final = 250_000  # instructions; for as many quickjs takes about a millisecond, machine code less


def built(form: Inlined, inputs: Inputs, limits: Limits, *, is_picky: bool) -> Compiled | None:
    """Compile a macro; None if it cannot be, or is not worth it."""
    if assembly.alive() >= MAX_COMPILED or not assembly.is_there():
        return None
    try:
        kinds = [_input(each, inputs) for each in form.references]
        memory = Memory(min(limits.memory_bytes // _SHARE, _MOST_BYTES) // 8)
        parameters = list(zip(form.parameters.split(","), kinds, strict=True))
        translation = Translation(parameters, agreement.names(), agreement.functions(), memory.count)
        result = translation.whole(parsed(form.code))
        if is_picky and not translation.has_loop and len(kinds) < _MANY:
            return None
        machine = assembly.Machine(translation.program.text(memory, limits.time_ms * _STEPS_PER_MS))
        depths = [each.depth for each in kinds]
    except (Refused, RecursionError):
        return None
    inner, depth = result, result.depth
    for _ in range(depth):
        inner = inner.of
    return Compiled(machine, memory, form.references, depths, inner.name == TRUTH, depth, limits.output_bytes)


def _input(reference: Reference, inputs: Inputs) -> Kind:
    samples = inputs.get(reference)
    if not samples:
        raise Refused(reference.topic)
    values: list[Any] = [each.value for each in samples]
    return _kind(values if reference.is_array else values[0])


def _kind(value: Any) -> Kind:  # noqa: ANN401  whatever a sensor sends
    if type(value) in {int, float}:
        return number()
    if type(value) is not list:
        raise Refused("a value that is no number")
    kind = list_of(Kind())
    for each in value:
        _kind(each).be(kind.of)
    _ = kind.depth
    return kind
