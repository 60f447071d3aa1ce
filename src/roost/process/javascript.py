"""Macros in JavaScript, run by quickjs-ng: an expression, an anonymous function that is called, or a script.

The code is tried as an expression in parentheses first, which is also how the paper's `function(){…}()` becomes one;
else it is a script, and what its last statement gave is the result. Neither is strict. There are no BigInt, async,
import, eval and Proxy: each would be a way around the limits (`shim/`), and code that has them is refused.

What a run may take is counted by the engine, which looks at the clock every 10,000 steps. The longest single step is
one that walks through all the memory a macro may have, so a smaller `memory_bytes` also bounds how late a program that
is made for it can be stopped. After a breach of time or memory the context is remade.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import chain
from operator import itemgetter
from typing import Any, Final

import quickjs

from roost.errors import BadMacro
from roost.process.context import LEAD, Context, Parser, failure_from, failure_of
from roost.process.engine import MEMORY, OUTPUT, Failure, Inputs, Limits, Outcome
from roost.process.literals import references_in
from roost.process.loaded import Loaded
from roost.process.marking import double, written
from roost.process.reference import Reference
from roost.process.sample import Plain, Sample
from roost.wire.reading import JSON, OCTET_STREAM, TEXT

_DIRECT: Final = frozenset({float, bool})  # what goes in as it is
_NUMBERS: Final = frozenset({float, bool, int})
_VALUE: Final = itemgetter(2)
_NS_PER_MS: Final = 1_000_000
_PADDING: Final = "\n" * (LEAD - 1)
_EXPRESSION: Final = ("(()=>{return(\n", "\n)})")
_BRACKETS: Final = ("(()=>{return[\n", "\n]})")  # what is whole in both kinds of brackets closes neither itself
_SCRIPT: Final = ("\n", "\n;")
_END: Final = "\n@"  # no JavaScript, so that what is checked never runs
_REFUSED: Final = (
    (re.compile(r"(?<![\w$])(\d\w*)n(?![\w$])"), r"\1@", "BigInt"),
    (re.compile(r"(?<![\w$])async(?![\w$])"), "@", "async"),
    (re.compile(r"(?<![\w$])import(?![\w$])"), "@", "import"),
)


class JavaScript:
    """The engine."""

    language = "javascript"

    def load(self, code: str, limits: Limits) -> JavaScriptProgram:
        """Load code; raises `BadMacro` with line and column."""
        return JavaScriptProgram(code, limits)


class JavaScriptProgram(Loaded):
    """One macro's code in its own context."""

    def __init__(self, code: str, limits: Limits) -> None:
        try:
            code.encode()
        except UnicodeEncodeError:
            raise BadMacro("the code holds half a surrogate pair, which has no UTF-8 form") from None
        if "\0" in code:
            raise BadMacro("the code holds a NUL")
        self._code: Final = code.replace("\r\n", "\n").replace("\r", "\n")
        self._limits: Final = limits
        self._bound: list[Reference] = []
        self._wild: list[bool] = []
        self._has_wild = False
        self._detailed = False
        self._counts: list[int] = []
        self._shape = ""
        self._source, self._is_script = self._compiled()
        self._context: Context | None = None
        self._remade()  # what only compiling finds is found here

    def _written(self) -> Iterable[Reference]:
        return references_in(self._code)

    def _ran(self, inputs: Inputs, time: int, seed: int, state: bytes) -> Outcome:
        context = self._context or self._remade()
        references = list(inputs)
        if references != self._bound:
            self._bind(context, references)
        arguments = self._arguments(inputs)
        high, low = (seed >> 32 & 0xFFFFFFFF) * 1.0, (seed & 0xFFFFFFFF) * 1.0
        try:
            text: str = context.run(time // _NS_PER_MS * 1.0, high, low, state.decode(), self._shape, *arguments)
        except Exception as error:  # noqa: BLE001  besides its own kind, the binding raises what conversions do
            self._context = None
            return Outcome(failure=failure_from(error), missing=_gaps(context))
        if text[0] == "!":
            self._context = None
            text = text[1:]
        if text == "d":
            self._detailed, self._shape = True, ""
            return self._ran(inputs, time, seed, state)
        outcome = self._outcome(text)
        if outcome.failure is not None and outcome.failure.kind == MEMORY:
            self._context = None
        return outcome

    # -- into the engine

    def _compiled(self) -> tuple[str, bool]:
        """The text to evaluate, and whether that is done in every run."""
        parser = Parser(self._limits)
        error = self._error(parser, _EXPRESSION) or self._error(parser, _BRACKETS)
        form = _EXPRESSION
        if error is not None:
            form = _SCRIPT
            other = self._error(parser, form)
            if other is not None:
                raise self._bad(other if _where(other) >= _where(error) else error)
        for pattern, replacement, what in _REFUSED:
            changed = pattern.sub(replacement, self._code)
            if changed != self._code and self._error(parser, form, changed) is not None:
                raise BadMacro(f"a macro has no {what}")
        return f"{_PADDING}{form[0]}{self._code}{form[1]}", form is _SCRIPT

    def _error(self, parser: Parser, form: tuple[str, str], code: str | None = None) -> Failure | None:
        """What is wrong with the code in this form, before the end that is wrong on purpose; nothing runs."""
        source = f"{_PADDING}{form[0]}{self._code if code is None else code}{form[1]}"
        failure = parser.error(source + _END)
        return None if failure.line == source.count("\n") + 2 - LEAD else failure

    def _bad(self, failure: Failure) -> BadMacro:
        lines = self._code.split("\n")
        line, column = failure.line, failure.column
        if line > len(lines):  # at the end, where something is missing
            line, column = len(lines), len(lines[-1]) + 1
        return BadMacro(f"line {line}, column {column}: {failure.message}")

    def _remade(self) -> Context:
        context = Context(self._limits)
        try:
            context.control("load", self._source, self._is_script)
        except quickjs.JSException as error:
            raise self._bad(failure_from(error)) from None
        self._bound = []
        self._context = context
        return context

    def _bind(self, context: Context, references: list[Reference]) -> None:
        rows = [
            [each.topic, each.cutoff_s, each.required, each.limit, each.is_array, each.is_wild] for each in references
        ]
        context.control("bind", json.dumps(rows))
        self._bound = references
        self._wild = [each.is_wild for each in references]
        self._has_wild = any(self._wild)

    def _arguments(self, inputs: Inputs) -> list[Any]:
        """The values as arguments, all or one by one; `_shape` says how."""
        if not self._detailed and not self._has_wild:
            values = list(map(_VALUE, chain.from_iterable(inputs.values())))
            if _NUMBERS.issuperset(map(type, values)):
                self._lay(list(map(len, inputs.values())))
                return values if _DIRECT.issuperset(map(type, values)) else list(map(_number, values))
        arguments: list[Any] = []
        counts: list[int] = []
        for samples, is_wild in zip(inputs.values(), self._wild, strict=True):
            if self._detailed:
                values = [part for each in samples for part in _details(each)]
            elif is_wild:
                values = [part for each in samples for part in (each.topic, each.value)]
            else:
                values = list(map(_VALUE, samples))
                if _NUMBERS.issuperset(map(type, values)):
                    counts.append(len(values))
                    arguments += map(_number, values)
                    continue
            how, text = written(values)
            counts.append(how)
            arguments.append(text)
        self._lay(counts)
        return arguments

    def _lay(self, counts: list[int]) -> None:
        if counts != self._counts or not self._shape:
            self._counts = counts
            self._shape = json.dumps([int(self._detailed), *counts])

    # -- out of the engine

    def _outcome(self, text: str) -> Outcome:
        kind = text[0]
        if kind == "n":
            return Outcome(text[1:].encode(), TEXT)
        if kind == "u":
            return Outcome()
        if kind == "f":
            return Outcome(failure=failure_of(*json.loads(text[1:])))
        if kind == "m":
            return Outcome(missing=_references(text))
        if kind == "e":
            inner, state, logs = json.loads(text[1:])
            outcome = self._outcome(inner)
            kept = None if state is None or outcome.failure is not None else state.encode()
            return Outcome(outcome.payload, outcome.format, outcome.failure, (), kept, tuple(logs))
        return self._payload(kind, text[1:])

    def _payload(self, kind: str, text: str) -> Outcome:
        if kind == "o":
            what = "state" if text[0] == "-" else "output"
            return Outcome(failure=Failure(OUTPUT, f"{text.lstrip('-')} characters are too long for its {what}"))
        if kind == "b":
            return Outcome(bytes.fromhex(text), OCTET_STREAM)
        payload = (json.loads(text) if kind == "t" else text).encode()
        if len(payload) > self._limits.output_bytes:
            return Outcome(failure=Failure(OUTPUT, f"{len(payload)} bytes are too long for its output"))
        return Outcome(payload, JSON if kind == "j" else TEXT)


def _where(failure: Failure) -> tuple[int, int]:
    return failure.line, failure.column


def _number(value: float) -> float:  # integers as doubles: the binding cuts them off at 32 bits
    return value if type(value) is not int else double(value)


def _details(sample: Sample) -> tuple[Plain, ...]:
    return sample.value, sample.unit, sample.time / _NS_PER_MS, sample.quality, sample.topic


def _references(text: str) -> tuple[Reference, ...]:
    return tuple(
        Reference(topic, float(cutoff), int(required), int(limit))
        for topic, cutoff, required, limit in json.loads(text[1:])
    )


def _gaps(context: Context) -> tuple[Reference, ...]:
    try:
        text = context.control("gaps")
    except quickjs.JSException:
        return ()
    return _references(text) if text else ()
