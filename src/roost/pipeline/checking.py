"""What is wrong with a pipeline, before it runs: everything at once, each with where it is and what to write."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from roost.columns.readings import ARRIVAL
from roost.errors import BadConfig, InvalidInput
from roost.naming import Name
from roost.naming.topic import TopicFilter
from roost.pipeline.graph import Pipeline, Stage
from roost.pipeline.input import DEADLINE, Input
from roost.pipeline.macros_plan import wrong_with
from roost.pipeline.operations import (
    KNOWN,
    Aggregate,
    Expressions,
    Filter,
    Function,
    Join,
    Macro,
    Map,
    Sql,
    is_timed,
    looks_around,
    texts_of,
)
from roost.pipeline.stages_keys import check_outputs
from roost.pipeline.stages_names import KEY, OUTPUT, fields_of, is_separable, matcher_of
from roost.pipeline.stages_windows import sums_of
from roost.pipeline.sums import check_sums
from roost.pipeline.wiring import cycles, feeders, steps, streams, unfed, wired
from roost.pipeline.yaml_form import length

ERROR: Final = "error"
WARNING: Final = "warning"
_MICROSECOND: Final = 1000
_SHOWN: Final = 8  # streams, in a warning


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that keeps a pipeline from running, or that its author should know."""

    where: str
    what: str
    level: str = ERROR

    def __str__(self) -> str:
        return f"{self.level}: {self.where}: {self.what}"


def check(pipeline: Pipeline, panels: frozenset[str] | None = None) -> list[Problem]:
    """All problems; `panels` are the names that this home has keys of, if that is to be looked at."""
    pipeline = wired(pipeline)
    found = [Problem(pipeline.name, "it has no stages", ERROR)] if not pipeline.stages else []
    for stage in pipeline.stages:
        where = f"stage {stage.name}"
        found += [Problem(where, what) for what in _inputs(pipeline, stage)]
        found += [Problem(where, what) for what in _operation(pipeline, stage)]
        found += [Problem(where, what) for what in _templates(pipeline, stage)]
        if not any(problem.where == where for problem in found):
            found += [Problem(where, what) for what in _tried(pipeline, stage)]
        found += [Problem(where, what, WARNING) for what in _doubtful(pipeline, stage, panels)]
    found += [Problem(pipeline.name, what) for what in _twice(pipeline)]
    for cycle in cycles(pipeline):
        found.append(
            Problem(pipeline.name, f"{' → '.join(cycle)} is a cycle: what it publishes would come back to it for ever")
        )
    return found


def _inputs(pipeline: Pipeline, stage: Stage) -> Iterator[str]:
    held = [each.name for each in stage.inputs]
    if len(set(held)) < len(held):
        yield f"two of its inputs have the same name: {', '.join(held)}"
    for wanted in stage.inputs:
        yield from _names(wanted)
        if wanted.window_ns % _MICROSECOND:
            yield f"input {wanted.name}: a window is a whole number of microseconds"
        if wanted.window_ns != stage.window_ns:
            yield f"input {wanted.name}: all inputs of a stage have the same window"
        if {each.name for each in fields_of(wanted.key)} != {each.name for each in fields_of(stage.inputs[0].key)}:
            yield f"input {wanted.name}: its key {wanted.key!r} has other fields than {stage.inputs[0].key!r}"
        if wanted.window_ns and not is_separable(wanted.key):
            yield f"input {wanted.name}: in the key {wanted.key!r} a slash has to stand between fields"
        yield from _stepped(pipeline, wanted)


def _names(wanted: Input) -> Iterator[str]:
    try:
        if len(Name.parse(wanted.group)) == 0:
            yield f"input {wanted.name}: the group has no name"
        for wish in wanted.wishes:
            if wish.startswith("/"):
                yield f"input {wanted.name}: {wish!r} begins with a slash; filters are relative to {wanted.group}"
            TopicFilter(wish)
    except InvalidInput as error:
        yield f"input {wanted.name}: {error}"


def _stepped(pipeline: Pipeline, wanted: Input) -> Iterator[str]:
    told = sorted(steps(pipeline, wanted))
    if len(told) > 1:
        lengths = ", ".join(f"{step / 1e9:g} s" for step in told)
        yield f"input {wanted.name}: stages with different windows feed it ({lengths}); read each on its own"
    elif told and told[0] and wanted.window_ns % told[0]:
        by = ", ".join(stage.name for stage in feeders(pipeline, wanted))
        yield (
            f"input {wanted.name}: a window of {wanted.window_ns / 1e9:g} s is no multiple of the {told[0] / 1e9:g} s "
            f"that the results of {by} stand for"
        )


def _operation(pipeline: Pipeline, stage: Stage) -> Iterator[str]:
    operation = stage.operation
    if any(re.search(rf"\b{ARRIVAL}\b", text) for text in texts_of(operation)):
        yield f"{ARRIVAL} is another one when a batch is done again, and results have to be the same: use event_time"
    if isinstance(operation, Filter | Map) and stage.window_ns:
        yield "filter and map take readings as they come: leave out the window"
    if isinstance(operation, Filter | Map | Function) and len(stage.inputs) > 1:
        yield "filter, map and function have one input"
    if isinstance(operation, Function):
        yield from _function(operation.path)
    if isinstance(operation, Macro):
        yield from wrong_with(stage, operation)
    if isinstance(operation, Sql) and not re.search(r"\bselect\b", operation.text, re.IGNORECASE):
        yield "its SQL selects nothing"
    if isinstance(operation, Aggregate):
        yield from _aggregate(stage, operation)
        for each in fields_of(operation.scope):
            if each.part not in ("panel", "device", "metric", "input") or (
                each.table and each.table not in pipeline.tables
            ):
                yield f"the scope {operation.scope!r}: there is no {each.table or each.part}"


def _aggregate(stage: Stage, operation: Aggregate) -> Iterator[str]:
    if not stage.window_ns:
        yield 'aggregate and join need a window: window="1m"'
    if not operation.outputs:
        yield "it has no outputs"
    if isinstance(operation, Join) and len(stage.inputs) < 2:
        yield "a join has two inputs or more: read once more, or aggregate"
    fields = {each.name for each in fields_of(stage.key)}
    if taken := sorted(fields & {*KNOWN}):
        yield f"its key has fields called as aggregates are: {', '.join(taken)}; rename the table"
    expressions = Expressions()
    for output, text in operation.outputs.items():
        try:
            expressions.plain(text)
        except InvalidInput as error:
            yield f"output {output}: {error}"
        if is_timed(text) and not stage.interval_ns:
            yield f'output {output}: how long does a reading stand for? Write interval: "10s"'
    for condition in (operation.where, *expressions.conditions):
        if looks_around(condition):
            yield f"the condition {condition!r} is of one reading, and cannot ask for others: leave out select and over"
    if isinstance(operation, Join):
        held = [each.name for each in stage.inputs]
        for part in sorted({*expressions.parts} - {*held}):
            yield f"{part}.… is no input of it; there are {', '.join(held)}"
    if taken := sorted({*expressions.parts} & {*KNOWN, *fields}):
        yield f"parts are called as aggregates or fields are: {', '.join(taken)}; rename the input, or the scope"


def _tried(pipeline: Pipeline, stage: Stage) -> Iterator[str]:
    """What the database says that is to do it, of nothing."""
    sums = sums_of(stage)
    try:
        if sums is not None:
            check_sums(sums)
        if isinstance(stage.operation, Aggregate):
            check_outputs(stage, pipeline.tables)
    except BadConfig as error:
        yield str(error)


def _function(path: str) -> Iterator[str]:
    module, _, function = path.partition(":")
    if not function:
        yield f"function {path!r}: write package.module:function"
        return
    try:
        found = getattr(importlib.import_module(module), function, None)
    except ImportError as error:
        yield f"function {path!r}: {error}; it has to be installed here, and on every worker"
        return
    if not callable(found):
        yield f"function {path!r}: {module} has no function {function}"


def _templates(pipeline: Pipeline, stage: Stage) -> Iterator[str]:
    try:
        Name.parse(stage.output.group)
    except InvalidInput as error:
        yield str(error)
    if not stage.output.panel or "/" in stage.output.panel:
        yield f"the panel {stage.output.panel!r} is one part of a name"
    has_window = bool(stage.window_ns)
    known = {each.name for each in fields_of(stage.key)} | ({KEY, OUTPUT} if has_window else set())
    for kind, template in (("device", stage.device), ("metric", stage.metric)):
        for each in fields_of(template):
            if each.table and (has_window or each.table not in pipeline.tables):
                yield f"the {kind} {template!r}: look {each.table} up in the key, and write {{{each.table}}} here"
            elif not each.table and each.name not in known:
                yield f"the {kind} {template!r}: there is no field {each.name}; there are {', '.join(sorted(known))}"
        if "/" in template:
            yield f"the {kind} {template!r} is one level of a name, and has no slash"
    if len(stage.outputs) > 1 and f"{{{OUTPUT}}}" not in stage.device + stage.metric:
        yield f"its {len(stage.outputs)} outputs would be one stream: put {{{OUTPUT}}} into the metric"


def _twice(pipeline: Pipeline) -> Iterator[str]:
    for one, other in combinations(pipeline.stages, 2):
        if one.output.group != other.output.group:
            continue
        theirs = [re.compile(matcher_of(stream)) for stream in streams(pipeline, other)]
        for ours in streams(pipeline, one):
            if any(each.match(ours) for each in theirs):
                yield f"stages {one.name} and {other.name} both publish {one.output.group}/{ours}"


def _doubtful(pipeline: Pipeline, stage: Stage, panels: frozenset[str] | None) -> Iterator[str]:
    for wanted in stage.inputs:
        for wish, made in unfed(pipeline, wanted).items():
            some = ", ".join(made[:_SHOWN]) + (", …" if len(made) > _SHOWN else "")
            yield f"input {wanted.name}: stages make {wanted.group}, and none of them {wish!r}; there are {some}"
        for before in feeders(pipeline, wanted):
            if before.window_ns and wanted.window_ns and wanted.deadline_ns <= before.inputs[0].deadline_ns:
                later = length(max(each.deadline_ns for each in before.inputs) + DEADLINE)
                yield (
                    f"input {wanted.name}: its deadline is not after that of {before.name}, which feeds it; windows "
                    f"would be published incomplete, and corrected at once: read it with deadline: {later}"
                )
    panel = f"{stage.output.group}/{stage.output.panel}"
    if panels is not None and panel not in panels:
        yield f"there is no key of {panel} here; make one with: roost key make {panel}"
    templates = {each.part for each in fields_of(f"{stage.device}/{stage.metric}")}
    if not stage.window_ns and not isinstance(stage.operation, Macro):
        several = any("+" in wish.split("/")[0] or wish.startswith("#") for wish in stage.inputs[0].wishes)
        if several and "panel" not in templates:
            yield "devices of the same name at different panels would be one stream: put {panel} into the device"
