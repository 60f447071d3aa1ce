"""A JavaScript context of quickjs-ng, tamed (the files in `shim/`): one runtime, one macro, nothing of the node in it.

The binding is careless with what it is given: integers lose their upper half or bring the process down, text ends at
its first NUL. So only floats, truth values, small integers and ASCII go in, and text without NUL comes out; the shim
and `roost.process.javascript` see to it. A context belongs to one thread at a time.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any, Final

import quickjs

from roost.process.engine import FAILED, MEMORY, TIME, Failure, Limits

LEAD: Final = 1000  # lines before a macro's own: what stands in lower ones is the shim's
_STACK_BYTES: Final = 256 << 10
_FILES: Final = ("noctua.js", "chance.js", "bounds.js", "frozen.js")
_SHIM: Final = tuple((files("roost.process") / "shim" / name).read_text("utf-8") for name in _FILES)
_PLACE: Final = re.compile(r"<input>:(\d+):(\d+)")
_NO_MEMORY: Final = (
    "InternalError: out of memory",
    "thrown: null",
    "null",
    "[uninitialized]",
    "thrown: [uninitialized]",
)
_MAX_MESSAGE: Final = 500


class Context:
    """The shim, loaded and frozen, with its limits set."""

    def __init__(self, limits: Limits) -> None:
        context = quickjs.Context()
        context.set_max_stack_size(_STACK_BYTES)
        shared = context.eval("({})")
        noctua, *others = [context.eval(source) for source in _SHIM]
        self.control: Final[Any] = noctua(shared)
        for other in others:
            other(shared)
        self.control("limits", limits.output_bytes, limits.state_bytes, limits.log_bytes)
        self.run: Final[Any] = self.control("run")
        self.step: Final[Any] = self.control("step")
        self._context: Final = context
        self._memory_bytes = limits.memory_bytes + self._used()
        context.set_memory_limit(self._memory_bytes)
        self.allow(limits.time_ms)

    def allow(self, time_ms: int) -> None:
        """Let a run take so long from now on."""
        self._context.set_time_limit(time_ms / 1000)

    def hand(self, source: str) -> bool:
        """Take a second form of the macro in, one with parameters, beside what it may use; says whether there was room.

        See `roost.process.inlining`.
        """
        before = self._used()
        try:
            self.control("hand", source)
        except quickjs.JSException:
            return False
        self._memory_bytes += self._used() - before
        self._context.set_memory_limit(self._memory_bytes)
        return True

    def _used(self) -> int:
        used: int = self._context.memory()["malloc_size"]
        return used


class Parser:
    """A context without the shim, for code that is looked at and never runs."""

    def __init__(self, limits: Limits) -> None:
        self._context: Final = quickjs.Context()
        self._context.set_max_stack_size(_STACK_BYTES)
        self._context.set_memory_limit(self._context.memory()["malloc_size"] + limits.memory_bytes)
        self._context.set_time_limit(limits.time_ms / 1000)

    def error(self, source: str) -> Failure:
        """The first error of a source, which has one, if only at its end."""
        try:
            self._context.eval(source)
        except quickjs.JSException as error:
            return failure_from(error)
        raise AssertionError("there was no error")


def failure_of(message: str, stack: str) -> Failure:
    """What went wrong, and where in the macro's own code."""
    kind = FAILED
    if message.startswith("InternalError: interrupted"):
        kind, message = TIME, "it took longer than it may"
    elif message.startswith(_NO_MEMORY):
        kind, message = MEMORY, "it wanted more memory than it may have"
    line, column = place(stack)
    return Failure(kind, message[:_MAX_MESSAGE], line, column)


def failure_from(error: Exception) -> Failure:
    """What an exception out of the engine says."""
    message, _, stack = str(error).partition("\n")
    return failure_of(message, stack)


def place(stack: str) -> tuple[int, int]:
    """Line and column of the innermost frame in the macro's own code, 0 and 0 if there is none."""
    for line, column in _PLACE.findall(stack):
        if int(line) > LEAD:
            return int(line) - LEAD, int(column)
    return 0, 0
