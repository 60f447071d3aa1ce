"""What a stage does with the rows of its inputs: filter, map, aggregate, join, SQL, a function of Python's, macros.

| operation   | input      | result                                                                                    |
| ----------- | ---------- | ----------------------------------------------------------------------------------------- |
| `Filter`    | readings   | the reading under its own number, an empty marker where the condition does not hold       |
| `Map`       | readings   | the value of an SQL expression under the input's number, an empty marker where it is null |
| `Aggregate` | windows    | per key and window one reading of each output, exact, with what was expected and received |
| `Join`      | windows    | as `Aggregate`, where several inputs, by their names, have a part in each output          |
| `Sql`       | both       | what a query over the inputs as tables selects                                            |
| `Function`  | both       | what a function makes of the rows of a window, or of readings as they come                |
| `Macro`     | readings   | what macros make of them, as a node would: results on `Noctua/<name>`, numbered from 1    |

An output of an `Aggregate` is one of the words `mean min max sum count energy`, or an SQL expression over them and over
`expected received missing open hours window_s`, the fields of the key, and parts: `temp.mean` is the mean of those rows
only whose scope is `temp`. Outputs, and conditions over readings in them and in `where`, are SQL of DuckDB's
(`roost.pipeline.sums` and `roost.pipeline.stages_keys` say why); `Filter`, `Map` and `Sql` are SQL of Spark's. Three
calls are known in outputs beside its own:

    hours_where(value > 26)       for how many hours readings were so; each stands for `interval`
    count_where(value > 26)       how many readings were so
    flag(max - min > 5)           1 where it holds, 0 where it does not
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from roost.errors import BadConfig
from roost.process.definition import SPARK, Definition, definition_of

USABLE: Final = "quality <> 'bad'"
PANDAS: Final = "pandas"
ARROW: Final = "arrow"

WORDS: Final = ("mean", "min", "max", "sum", "count")  # of a part, too
KNOWN: Final = (*WORDS, "energy", "expected", "received", "missing", "open", "hours", "window_s")
INPUTS: Final = "inputs"  # in place of a unit: that of the inputs, or of a part's: `inputs:temp`

_CALL: Final = re.compile(r"\b(hours_where|count_where|flag)\s*\(")
_PART: Final = re.compile(rf"(?<![\w.])(\w+)\.(?:{'|'.join(WORDS)})\b(?!\s*\()")
_TIMED: Final = re.compile(r"\b(energy|hours_where)\b")
_AROUND: Final = re.compile(r"\b(select|over)\b", re.IGNORECASE)
_FIRST: Final = re.compile(r"\s*(\w+)\.(mean|min|max|sum)\b")
_UNITS: Final = (("count", "count"), ("energy", "Wh"), ("hours_where", "h"), ("count_where", "count"))
_QUOTED: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'")


@dataclass(frozen=True, slots=True)
class Filter:
    """Keep the value where a condition holds."""

    where: str


@dataclass(frozen=True, slots=True)
class Map:
    """Compute a value of each reading."""

    value: str


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Compute values of each key's window.

    `where` says whose values count; `interval_ns` how long a reading stands for, if its input's step does not say it;
    `scope` which part a row belongs to. `counted`, if given, is the part whose readings are expected and received:
    streams that come from the same readings are counted once. With `names`, results name what is missing.
    """

    outputs: Mapping[str, str]
    where: str = USABLE
    interval_ns: int = 0
    scope: str = "{metric}"
    counted: str = ""
    names: bool = False


@dataclass(frozen=True, slots=True)
class Join(Aggregate):
    """As `Aggregate`, of several inputs: each is a part by its name."""

    scope: str = "{input}"


@dataclass(frozen=True, slots=True)
class Sql:
    """A query; see `roost.pipeline.stages_sql` for its tables and what it has to select."""

    text: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function by its import path, `package.module:function`; see `roost.pipeline.stages_function`."""

    path: str
    form: str = PANDAS

    def __post_init__(self) -> None:
        if self.form not in (PANDAS, ARROW):
            raise BadConfig(f"function {self.path}: form {self.form!r} is unknown: write {PANDAS} or {ARROW}")


@dataclass(frozen=True, slots=True)
class Macro:
    """Macros, each as the JSON of its definition; see `roost.pipeline.macros_stage`."""

    said: tuple[str, ...]

    @property
    def definitions(self) -> list[Definition]:
        """What they are; raises `BadMacro`."""
        return [definition_of(json.loads(each)) for each in self.said]


Operation: TypeAlias = Filter | Map | Aggregate | Join | Sql | Function | Macro

KINDS: Final[Mapping[str, type[Operation]]] = {
    "filter": Filter,
    "map": Map,
    "aggregate": Aggregate,
    "join": Join,
    "sql": Sql,
    "function": Function,
    "macro": Macro,
}


def text_of(definition: Definition) -> str:
    """A definition as `Macro` has it: for Spark, whatever it says, and in one form only."""
    return json.dumps(replace(definition, engine=SPARK).mapping(), sort_keys=True, ensure_ascii=False)


def kind_of(operation: Operation) -> str:
    """The word for an operation."""
    return next(kind for kind, made in KINDS.items() if type(operation) is made)


def texts_of(operation: Operation) -> tuple[str, ...]:
    """What an operation says in SQL."""
    match operation:
        case Filter(where):
            return (where,)
        case Map(value):
            return (value,)
        case Aggregate(outputs, where):
            return (where, *outputs.values())
        case Sql(text):
            return (text,)
        case _:
            return ()


def natural_unit(expression: str) -> str:
    """The unit that follows from an output: of its inputs, of the part that it begins with, or of what it counts."""
    if expression in ("mean", "min", "max", "sum"):
        return INPUTS
    if found := _FIRST.match(expression):
        return f"{INPUTS}:{found[1]}"
    return next((unit for word, unit in _UNITS if re.match(rf"{word}\b", expression)), "")


def is_timed(expression: str) -> bool:
    """Whether an output needs to know how long a reading stands for."""
    return _TIMED.search(_QUOTED.sub("''", expression)) is not None


def looks_around(condition: str) -> bool:
    """Whether a condition over a reading asks for others: which these are differs from batch to batch."""
    return _AROUND.search(_QUOTED.sub("''", condition)) is not None


@dataclass(slots=True)
class Expressions:
    """The outputs of an aggregate as plain SQL; conditions over rows are set apart, and counted as `where_<n>`."""

    conditions: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    def plain(self, text: str) -> str:
        """An output as SQL over what has been aggregated."""
        found = _CALL.search(text)
        while found is not None:
            end = _closing(text, found.end())
            inside = text[found.end() : end]
            text = f"{text[: found.start()]}{self._call(found[1], inside)}{text[end + 1 :]}"
            found = _CALL.search(text)
        for part in _PART.findall(_QUOTED.sub("''", text)):
            if part not in self.parts:
                self.parts.append(part)
        return text

    def _call(self, call: str, inside: str) -> str:
        if call == "flag":
            return f"(case when {inside} then 1 when not ({inside}) then 0 end)"
        if inside not in self.conditions:
            self.conditions.append(inside)
        counted = f"where_{self.conditions.index(inside)}"
        return counted if call == "count_where" else f"({counted} * interval_s / 3600)"


def _closing(text: str, start: int) -> int:
    """Where the parenthesis before `start` is closed."""
    depth = 1
    bare = _QUOTED.sub(lambda found: "'" + "_" * (len(found[0]) - 2) + "'", text)
    for at in range(start, len(bare)):
        depth += {"(": 1, ")": -1}.get(bare[at], 0)
        if not depth:
            return at
    raise BadConfig(f"the expression {text!r} lacks a closing parenthesis")
