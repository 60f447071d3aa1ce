"""A pipeline told to people, as text, and to the page, as JSON: groups, stages, and how it goes.

    graph_json(pipeline, status)  →  {"pipeline": …, "nodes": [{"id", "kind": "group" or "stage", …}], "edges": […]}

The status is what `roost.pipeline.running` writes; without one, the graph has no rates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from roost.pipeline.graph import Pipeline, Stage
from roost.pipeline.operations import INPUTS, Aggregate, Filter, Function, Macro, Map, kind_of
from roost.pipeline.wiring import feeders, levels, streams, wired
from roost.pipeline.yaml_form import length

_MEASURED: Final = ("rows_per_s", "results_per_s", "lag_s", "expected", "received", "completeness")
_DIGEST: Final = 16  # hexadecimal digits of a digest that are shown


def explain(pipeline: Pipeline) -> str:
    """What a pipeline reads, does and publishes, and when."""
    return "\n".join(_lines(wired(pipeline)))


def _lines(pipeline: Pipeline) -> Iterator[str]:
    inputs = sum(len(stage.inputs) for stage in pipeline.stages)
    yield (
        f"pipeline {pipeline.name}, version {pipeline.version}: {_many(len(pipeline.stages), 'stage')}, "
        f"{_many(inputs, 'input')}, one Spark query"
    )
    level = levels(pipeline)
    for stage in sorted(pipeline.stages, key=lambda each: level[each.name]):
        yield ""
        yield f"stage {stage.name} ({pipeline.job(stage)}, program {pipeline.program(stage).hex()[:_DIGEST]}…)"
        for wanted in stage.inputs:
            by = ", ".join(each.name for each in feeders(pipeline, wanted))
            yield f"  reads      {wanted.group}: {', '.join(wanted.wishes)}" + (f"   from {by}" if by else "")
            if wanted.window_ns:
                step = f", each reading stands for {length(wanted.step_ns)}" if wanted.step_ns else ""
                yield f"             windows of {length(wanted.window_ns)} by {wanted.key}{step}"
        yield from (f"  {line}" for line in _does(stage))
        for stream in stage.patterns():
            yield f"  publishes  {stage.output.group}/{stream}"
        yield f"  {_lateness(stage)}"


def _does(stage: Stage) -> Iterator[str]:
    operation = stage.operation
    kind = f"{kind_of(operation):<9}"
    if isinstance(operation, Aggregate):
        for output, text in operation.outputs.items():
            unit = stage.unit_of(output)
            yield f"{kind}  {output} = {text}" + (f" [{unit}]" if unit and not unit.startswith(INPUTS) else "")
            kind = " " * len(kind)
        yield f"{kind}  of values where {operation.where}"
    elif isinstance(operation, Filter):
        yield f"{kind}  {operation.where}; an empty marker where it does not hold"
    elif isinstance(operation, Map):
        yield f"{kind}  {operation.value}"
    elif isinstance(operation, Macro):
        for each in operation.definitions:
            yield f"{kind}  {each.name}: {each.language}, on {each.trigger}, program {each.digest.hex()[:_DIGEST]}…"
            kind = " " * len(kind)
    elif isinstance(operation, Function):
        yield f"{kind}  {operation.path}, of {operation.form}"
    else:
        yield f"{kind}  {' '.join(operation.text.split())}"


def _lateness(stage: Stage) -> str:
    if isinstance(stage.operation, Macro):
        return "when       as readings come, in the order of their times; results are numbered as they come"
    if not stage.window_ns:
        return "when       as readings come, under their numbers"
    latest = max(each.deadline_ns for each in stage.inputs)
    return (
        f"when       a window is whole, or {length(latest)} after its end marked incomplete; "
        "corrected when what was missing comes"
    )


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


# -- for the page


def graph_json(pipeline: Pipeline, status: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The graph of groups and stages, each stage with what the status says of it."""
    pipeline = wired(pipeline)
    told: Mapping[str, Any] = (status or {}).get("stages", {})
    level = levels(pipeline)
    groups: dict[str, int] = {}
    stages: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    for stage in sorted(pipeline.stages, key=lambda each: level[each.name]):
        identifier = f"stage:{stage.name}"
        at = 2 * level[stage.name]
        for wanted in stage.inputs:
            groups.setdefault(wanted.group, at)
            edges.append({"from": f"group:{wanted.group}", "to": identifier, "wishes": list(wanted.wishes)})
        groups.setdefault(stage.output.group, at + 2)
        edges.append({"from": identifier, "to": f"group:{stage.output.group}", "streams": streams(pipeline, stage)})
        measured = told.get(stage.name, {})
        stages.append(
            {
                "id": identifier,
                "kind": "stage",
                "name": stage.name,
                "level": at + 1,
                "operation": kind_of(stage.operation),
                "window_s": stage.window_ns / 1e9,
                "job": pipeline.job(stage),
                **{name: measured.get(name) for name in _MEASURED},
            }
        )
    nodes = [{"id": f"group:{name}", "kind": "group", "name": name, "level": at} for name, at in groups.items()]
    state = (status or {}).get("state", "unknown")
    return {
        "pipeline": pipeline.name,
        "version": pipeline.version,
        "state": state,
        "nodes": nodes + stages,
        "edges": edges,
    }
