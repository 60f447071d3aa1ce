"""Macros in JavaScript, run by quickjs-ng: an expression, an anonymous function that is called, or a script.

The code is tried as an expression in parentheses first, which is also how the paper's `function(){…}()` becomes one;
a semicolon may stand behind it, and a function that it does not call is called. Else it is a script, and what its last
statement gave is the result. Neither is strict. There are no BigInt, async,
import, eval and Proxy: each would be a way around the limits (`shim/`), and code that has them is refused.

What a run may take is counted by the engine, which looks at the clock every 10,000 steps. The longest single step is
one that walks through all the memory a macro may have, so a smaller `memory_bytes` also bounds how late a program that
is made for it can be stopped. After a breach of time or memory the context is remade.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from operator import itemgetter
from typing import Any, Final

import quickjs

from roost.errors import BadMacro
from roost.process.context import LEAD, Context, Parser, failure_from, failure_of
from roost.process.engine import MEMORY, OUTPUT, Failure, Inputs, Limits, Outcome
from roost.process.inlining import inlined, may_draw
from roost.process.literals import references_in
from roost.process.loaded import EXPLORE_MS, Loaded
from roost.process.marking import double, written
from roost.process.native.tier import TIERING, Tier, Tiering
from roost.process.reference import Reference
from roost.process.sample import Plain, Sample
from roost.process.window import FEW
from roost.wire.reading import JSON, OCTET_STREAM, TEXT

_DIRECT: Final = frozenset({float, bool})  # what goes in as it is
_NUMBERS: Final = frozenset({float, bool, int})
_VALUE: Final = itemgetter(2)
_NS_PER_MS: Final = 1_000_000
_MAX_HELD: Final = 1024  # values that a context holds from one run to the next, as in `shim/noctua.js`
_PADDING: Final = "\n" * (LEAD - 1)
_EXPRESSION: Final = ("(()=>{return(\n", "\n)})")
_BRACKETS: Final = ("(()=>{return[\n", "\n]})")  # what is whole in both kinds of brackets closes neither itself
_SCRIPT: Final = ("\n", "\n;")
_ENDS: Final = "; \t\n"  # that may stand behind an expression
_END: Final = "\n@"  # no JavaScript, so that what is checked never runs
_REFUSED: Final = (
    (re.compile(r"(?<![\w$])(\d\w*)n(?![\w$])"), r"\1@", "BigInt"),
    (re.compile(r"(?<![\w$])(?<!(?<!\.\.)\.)async(?![\w$]|\s*:)"), "@", "async"),  # but as the name of a property
    (re.compile(r"(?<![\w$])import(?![\w$])"), "@", "import"),
)


class JavaScript:
    """The engine."""

    language = "javascript"

    def __init__(self, tiering: Tiering = TIERING) -> None:
        self._tiering: Final = tiering

    def load(self, code: str, limits: Limits) -> JavaScriptProgram:
        """Load code; raises `BadMacro` with line and column."""
        return JavaScriptProgram(code, limits, self._tiering)


class JavaScriptProgram(Loaded):
    """One macro's code in its own context."""

    def __init__(self, code: str, limits: Limits, tiering: Tiering = TIERING) -> None:
        try:
            code.encode()
        except UnicodeEncodeError:
            raise BadMacro("the code holds half a surrogate pair, which has no UTF-8 form") from None
        if "\0" in code:
            raise BadMacro("the code holds a NUL")
        self._code = code.replace("\r\n", "\n").replace("\r", "\n")
        self._limits: Final = limits
        self._bound: list[Reference] = []
        self._wild: list[bool] = []
        self._detailed = False
        self._taken: list[Sequence[Sample] | None] = []  # of the last run, by reference, if they were few
        self._parts: list[list[Any]] = []  # the same as arguments
        self._counts: list[int] = []
        self._offsets: list[int] = []  # where they begin among all
        self._shape = ""
        self._is_held = False  # whether the context has the values of the last run
        self._source, self._is_script = self._compiled()
        self._inlined: Final = None if self._is_script else inlined(self._code)
        self._tier: Final = None if self._inlined is None else Tier(self._inlined, limits, tiering)
        self._is_handed = False  # whether the context has that form too
        self.draws = may_draw(self._code)
        self._context: Context | None = None
        self._remade()  # what only compiling finds is found here

    @property
    def is_compiled(self) -> bool:
        """Whether its runs are those of machine code (`roost.process.native`), as far as that gets."""
        return self._tier is not None and self._tier.is_compiled

    def written(self) -> Iterable[Reference]:
        return references_in(self._code)

    def _tried(self) -> Outcome:
        context = self._context or self._remade()
        context.allow(min(EXPLORE_MS, self._limits.time_ms))
        try:
            return super()._tried()
        finally:
            context.allow(self._limits.time_ms)

    def _ran(self, inputs: Inputs, time: int, seed: int, state: bytes) -> Outcome:
        if self._tier is not None and inputs:
            native = self._tier.ran(inputs)
            if native is not None:
                return native
        context = self._context or self._remade()
        references = list(inputs)
        if references != self._bound:
            self._bind(context, references)
        at = self._renewed(inputs)
        high, low = (seed >> 32 & 0xFFFFFFFF) * 1.0, (seed & 0xFFFFFFFF) * 1.0
        time_ms, kept = time // _NS_PER_MS * 1.0, state.decode()
        try:
            text: str
            if at < 0:
                arguments = list(chain.from_iterable(self._parts))
                self._is_held = len(arguments) <= _MAX_HELD
                text = context.run(time_ms, high, low, kept, self._shape, *arguments)
            else:
                text = context.step(time_ms, high, low, kept, self._offsets[at], *self._parts[at])
        except Exception as error:  # noqa: BLE001  besides its own kind, the binding raises what conversions do
            self._context = None
            return Outcome(failure=failure_from(error), missing=_gaps(context))
        if text[0] == "!":
            self._context = None
            text = text[1:]
        if text == "d":
            self._detailed = True
            self._begin_anew()
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
        form, is_script = _EXPRESSION, error is not None
        bare = self._code.rstrip(_ENDS)
        if is_script and bare != self._code and self._is_expression(parser, bare):
            self._code, is_script = bare, False
        elif is_script:
            form = _SCRIPT
            other = self._error(parser, form)
            if other is not None and error is not None:
                raise self._bad(other if _where(other) >= _where(error) else error)
        for pattern, replacement, what in _REFUSED:
            changed = pattern.sub(replacement, self._code)
            if changed != self._code and self._error(parser, form, changed) is not None:
                raise BadMacro(f"a macro has no {what}")
        return f"{_PADDING}{form[0]}{self._code}{form[1]}", is_script

    def _is_expression(self, parser: Parser, code: str) -> bool:
        return self._error(parser, _EXPRESSION, code) is None and self._error(parser, _BRACKETS, code) is None

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
        form = self._inlined
        source = "" if form is None else f"{_PADDING}(({form.parameters})=>{{return(\n{form.code}{_EXPRESSION[1]}"
        self._is_handed = bool(source) and context.hand(source)
        self._bound = []
        self._context = context
        return context

    def _bind(self, context: Context, references: list[Reference]) -> None:
        rows = [
            [each.topic, each.cutoff_s, each.required, each.limit, each.is_array, each.is_wild] for each in references
        ]
        form, numbers = self._inlined, {each: number for number, each in enumerate(references)}
        is_handed = self._is_handed and form is not None and all(each in numbers for each in form.references)
        parameters = json.dumps([numbers[each] for each in form.references]) if is_handed and form is not None else ""
        context.control("bind", json.dumps(rows), parameters)
        self._bound = references
        self._wild = [each.is_wild for each in references]
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Lay out all arguments in the next run."""
        count = len(self._bound)
        self._taken, self._parts, self._counts, self._shape = [None] * count, [[]] * count, [0] * count, ""
        self._is_held = False

    def _renewed(self, inputs: Inputs) -> int:
        """Lay out what is new since the last run; returns the one reference that is, and −1 if there are several.

        If nothing is new it is any. `_shape` says how values are laid out; while that changes, all of them are new.
        """
        taken, parts, is_new, renewed, count = self._taken, self._parts, not self._shape, 0, 0
        for at, samples in enumerate(inputs.values()):
            if samples is not taken[at]:
                how, parts[at] = self._part(samples, self._wild[at])
                taken[at] = samples if len(samples) <= FEW else None
                is_new = is_new or how != self._counts[at]
                self._counts[at] = how
                renewed, count = at, count + 1
        if is_new:
            self._shape = json.dumps([int(self._detailed), *self._counts])
            self._offsets = list(accumulate(map(len, parts), initial=0))
        return renewed if count <= 1 and self._is_held and not is_new and parts else -1

    def _part(self, samples: Sequence[Sample], is_wild: bool) -> tuple[int, list[Any]]:  # noqa: FBT001  a C call
        """The values of a reference, and how they are laid out."""
        if self._detailed:
            values = [part for each in samples for part in _details(each)]
        elif is_wild:
            values = [part for each in samples for part in (each.topic, each.value)]
        else:
            values = list(map(_VALUE, samples))
            if _DIRECT.issuperset(map(type, values)):
                return len(values), values
            if _NUMBERS.issuperset(map(type, values)):
                return len(values), list(map(_number, values))
        how, text = written(values)
        return how, [text]

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


def _number(value: Any) -> Any:  # noqa: ANN401  integers as doubles: the binding cuts them off at 32 bits
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
