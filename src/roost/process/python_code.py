"""Macros in Python, for operators: code that is trusted, from the configuration or an installed package.

The same interface as JavaScript: `Noctua.topic(name, required=3)` (or the settings as a mapping), `Noctua.state`,
`Noctua.time`, `Noctua.random()`, `print` for logs. The code is the body of a function: what it returns, or what its
last statement gives, is the result, and None publishes nothing. Output, state and logs are bounded; time and memory
are not, and nothing is forbidden, so this is never for code that came over the network.
"""

from __future__ import annotations

import ast
import builtins
import json
import math
from collections.abc import Iterable, Mapping
from copy import deepcopy
from types import CodeType, TracebackType
from typing import Any, Final

from roost.errors import BadMacro, InvalidInput
from roost.process.chance import Chance
from roost.process.engine import FAILED, MEMORY, OUTPUT, Failure, Inputs, Limits, Outcome
from roost.process.loaded import Loaded
from roost.process.reference import Reference
from roost.process.rendering import json_text, payload_of
from roost.process.sample import Sample

_FILE: Final = "<macro>"
_NS_PER_MS: Final = 1_000_000
_MAX_MESSAGE: Final = 500
_MAX_MISSING: Final = 256
_SETTINGS: Final = ("cutoff", "required", "limit", "detail")


class Python:
    """The engine."""

    language = "python"

    def load(self, code: str, limits: Limits) -> PythonProgram:
        """Load code; raises `BadMacro` with line and column."""
        return PythonProgram(code, limits)


class PythonProgram(Loaded):
    """One macro's code."""

    def __init__(self, code: str, limits: Limits) -> None:
        self._limits: Final = limits
        self._known: Final[dict[tuple[object, ...], Reference]] = {}  # by what was asked; bound: _MAX_MISSING
        try:
            tree = ast.parse(code, _FILE)
            self._references: Final = _references_in(tree)
            self._code: Final[CodeType] = compile(_function(tree), _FILE, "exec")
        except SyntaxError as error:
            raise BadMacro(f"line {error.lineno or 0}, column {error.offset or 0}: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise BadMacro(f"the code cannot be read: {error}") from None

    def written(self) -> Iterable[Reference]:
        return self._references

    def _ran(self, inputs: Inputs, time: int, seed: int, state: bytes) -> Outcome:
        noctua = Noctua(inputs, time, seed, state, self._limits.log_bytes, self._known)
        names: dict[str, Any] = {"__builtins__": builtins, "Noctua": noctua, "math": math, "print": noctua._log}
        payload, format_, kept = None, 0, None
        failure: Failure | None = None
        try:
            exec(self._code, names)  # noqa: S102  the operator's own code
            result = names["macro"]()
            if result is not None:
                payload, format_ = payload_of(result)
            kept = noctua._changed(state)
        except MemoryError:
            failure = Failure(MEMORY, "it wanted more memory than there is")
        except InvalidInput:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever the macro raises is its own failure
            failure = _failure(error)
        if noctua._missing:
            return Outcome(missing=tuple(noctua._missing))
        if failure is None:
            failure = self._breach(payload, kept)
        if failure is not None:
            return Outcome(failure=failure, logs=noctua._told())
        return Outcome(payload, format_, None, (), kept, noctua._told())

    def _breach(self, payload: bytes | None, kept: bytes | None) -> Failure | None:
        if payload is not None and len(payload) > self._limits.output_bytes:
            return Failure(OUTPUT, f"{len(payload)} bytes are too long for its output")
        if kept is not None and len(kept) > self._limits.state_bytes:
            return Failure(OUTPUT, f"{len(kept)} bytes are too long for its state")
        return None


class Noctua:
    """What a macro sees of its node."""

    def __init__(
        self,
        inputs: Inputs,
        time: int,
        seed: int,
        state: bytes,
        room: int,
        known: dict[tuple[object, ...], Reference],
    ) -> None:
        self.time: Final = time // _NS_PER_MS
        self.state: dict[str, Any] = json.loads(state) if state else {}
        self._seed: Final = seed
        self._chance: Chance | None = None
        self._inputs: Final = inputs
        self._known: Final = known
        self._given: Final[dict[tuple[Reference, bool], list[Any]]] = {}
        self._missing: Final[dict[Reference, None]] = {}
        self._logs: Final[list[str]] = []
        self._room = room
        self._dropped = 0

    def topic(self, name: str, settings: Mapping[str, Any] | None = None, **others: Any) -> Any:  # noqa: ANN401
        """The latest value of a topic, or the newest first."""
        asked = {**settings, **others} if settings else others
        wanted = (name, asked.get("cutoff", 0), asked.get("required", 1), asked.get("limit", 1), *asked)
        reference = self._known.get(wanted)
        if reference is None:
            reference = _reference(name, asked)
            if len(self._known) < _MAX_MISSING:
                self._known[wanted] = reference
        samples = self._inputs.get(reference)
        if samples is None:
            if len(self._missing) < _MAX_MISSING:
                self._missing[reference] = None
            return [] if reference.is_array else None
        detail = bool(asked.get("detail"))
        values = self._given.get((reference, detail))
        if values is None:
            values = [_shaped(sample, reference, detail) for sample in samples]
            self._given[reference, detail] = values
        return values if reference.is_array else values[0] if values else None

    def random(self) -> float:
        """The next number between 0 and 1."""
        self._chance = self._chance or Chance(self._seed)
        return self._chance.random()

    def _log(self, *values: object, sep: str = " ", **_others: object) -> None:
        if self._room <= 0:
            self._dropped += 1
            return
        line = sep.join([str(value) for value in values])[: self._room]
        self._room -= len(line) + 1
        self._logs.append(line)

    def _told(self) -> tuple[str, ...]:
        return (*self._logs, f"{self._dropped} more") if self._dropped else tuple(self._logs)

    def _changed(self, before: bytes) -> bytes | None:
        if not isinstance(self.state, dict):
            raise TypeError("the state of a macro is a mapping")
        text = json_text(self.state).encode()
        return None if text == (before or b"{}") else text


def _reference(name: object, settings: Mapping[Any, Any]) -> Reference:
    for key in settings:
        if key not in _SETTINGS:
            raise TypeError(f"a topic has cutoff, required, limit and detail, not {key}")
    required, limit = settings.get("required", 1), settings.get("limit", 1)
    if not isinstance(name, str) or not isinstance(required, int) or not isinstance(limit, int):
        raise TypeError("a topic is text, required and limit are whole numbers")
    return Reference(name, float(settings.get("cutoff", 0)), required, limit)


def _shaped(sample: Sample, reference: Reference, detail: bool) -> object:  # noqa: FBT001  as the setting is
    value = deepcopy(sample.value) if isinstance(sample.value, (list, dict)) else sample.value
    if detail:
        return {
            "value": value,
            "unit": sample.unit,
            "time": sample.time / _NS_PER_MS,
            "quality": sample.quality,
            "topic": sample.topic,
        }
    return {"topic": sample.topic, "value": value} if reference.is_wild else value


def _function(tree: ast.Module) -> ast.Module:
    """The code as the body of a function that returns what its last statement gives."""
    body = tree.body
    if not body:
        raise ValueError("it is empty")
    last = body[-1]
    if isinstance(last, ast.Expr):
        body[-1] = ast.copy_location(ast.Return(last.value), last)
    shell = ast.parse("def macro(): pass")
    function = shell.body[0]
    assert isinstance(function, ast.FunctionDef)  # noqa: S101  it stands there
    function.body = body
    return shell


def _failure(error: BaseException) -> Failure:
    line, column = _place(error.__traceback__)
    return Failure(FAILED, f"{type(error).__name__}: {error}"[:_MAX_MESSAGE], line, column)


def _place(traceback: TracebackType | None) -> tuple[int, int]:
    place = (0, 0)
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == _FILE:
            line, _, column, _ = list(code.co_positions())[traceback.tb_lasti // 2]
            place = (line or 0, (column or 0) + 1)
        traceback = traceback.tb_next
    return place


def _references_in(tree: ast.Module) -> tuple[Reference, ...]:
    """The references with literals only, in the order of the text."""
    found: dict[Reference, None] = {}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda each: (each.lineno, each.col_offset)):
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func) == "Noctua.topic" and call.args:
            try:
                name, *rest = [ast.literal_eval(argument) for argument in call.args]
                settings = {key: value for each in rest for key, value in each.items()}
                settings |= {each.arg: ast.literal_eval(each.value) for each in call.keywords}
                found[_reference(name, settings)] = None
            except (ValueError, TypeError, AttributeError):
                continue  # computed, or wrong: the run finds it
    return tuple(found)
