"""How stages hang together: which of them publishes what another reads, and what follows from that.

A stage feeds another if a stream that it may publish is one that the other wishes for; templates of names are matched
level by level against MQTT filters. The results of windows stand for their window's time, so an input that is fed by
stages has their window as its step, unless it says one itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from roost.pipeline.graph import Pipeline, Stage
from roost.pipeline.input import Input
from roost.pipeline.operations import Macro
from roost.pipeline.stages_names import matcher_of, possible


def feeders(pipeline: Pipeline, wanted: Input) -> list[Stage]:
    """The stages that publish something an input wishes for."""
    return [
        stage
        for stage in pipeline.stages
        if stage.output.group == wanted.group
        and any(_overlap(wish, stream) for wish in wanted.wishes for stream in streams(pipeline, stage))
    ]


def unfed(pipeline: Pipeline, wanted: Input) -> dict[str, list[str]]:
    """The wishes of an input that no stage feeds though stages make its group, each with the streams that these do.

    A stage may publish beside what it reads, in the same group: that group has other publishers.
    """
    makers = [stage for stage in pipeline.stages if stage.output.group == wanted.group]
    if any(each.group == wanted.group for stage in makers for each in stage.inputs):
        return {}
    made = sorted({stream for stage in makers for stream in streams(pipeline, stage)})
    return {wish: made for wish in wanted.wishes if made and not any(_overlap(wish, stream) for stream in made)}


def streams(pipeline: Pipeline, stage: Stage) -> list[str]:
    """The streams that a stage can publish, relative to its group; fields that can be anything are left in."""
    wishes = [wish for wanted in stage.inputs for wish in wanted.wishes]
    return possible(stage.patterns(), wishes, stage.key, pipeline.tables)


def wired(pipeline: Pipeline) -> Pipeline:
    """The same pipeline, with the steps of inputs filled in as far as they follow."""
    for _ in pipeline.stages:  # what comes through several stages without windows takes as many rounds
        stages = tuple(
            replace(stage, inputs=tuple(_stepped(pipeline, each) for each in stage.inputs)) for stage in pipeline.stages
        )
        if stages == pipeline.stages:
            break
        pipeline = replace(pipeline, stages=stages)
    return pipeline


def steps(pipeline: Pipeline, wanted: Input) -> set[int]:
    """What the stages that feed an input say a reading stands for."""
    return {stage.window_ns or stage.inputs[0].step_ns for stage in feeders(pipeline, wanted)}


def cycles(pipeline: Pipeline) -> Iterator[list[str]]:
    """Each way from a stage back to itself, once; stages by name, the first one again at the end.

    Macros may be published in the group that they are made of: they know their own results.
    """
    before = {
        stage.name: sorted({each.name for wanted in stage.inputs for each in feeders(pipeline, wanted)} - _apart(stage))
        for stage in pipeline.stages
    }
    done: set[str] = set()

    def follow(name: str, way: list[str]) -> Iterator[list[str]]:
        if name in way:
            yield [*way[way.index(name) :], name][::-1]
            return
        if name in done:
            return
        for each in before[name]:
            yield from follow(each, [*way, name])
        done.add(name)

    for name in before:
        yield from follow(name, [])


def levels(pipeline: Pipeline) -> dict[str, int]:
    """How many stages lie before each one; those in a cycle count themselves once."""
    found: dict[str, int] = {}

    def level(stage: Stage, way: frozenset[str]) -> int:
        if stage.name not in found:
            before = [each for wanted in stage.inputs for each in feeders(pipeline, wanted) if each.name not in way]
            found[stage.name] = max((level(each, way | {each.name}) + 1 for each in before), default=0)
        return found[stage.name]

    for stage in pipeline.stages:
        level(stage, frozenset({stage.name}))
    return found


def _apart(stage: Stage) -> set[str]:
    return {stage.name} if isinstance(stage.operation, Macro) else set()


def _stepped(pipeline: Pipeline, wanted: Input) -> Input:
    told = steps(pipeline, wanted)
    step = next(iter(told)) if len(told) == 1 else 0
    fits = step and not (wanted.window_ns and wanted.window_ns % step)
    return replace(wanted, step_ns=step) if fits and not wanted.step_ns else wanted


def _overlap(wish: str, stream: str) -> bool:
    wanted, levels_ = wish.split("/"), stream.split("/")
    if wanted[-1] == "#" or "+" not in wish:  # a name without wildcards stands for all below it, too
        wanted = wanted[:-1] if wanted[-1] == "#" else wanted
        levels_ = levels_[: len(wanted)]
    return len(wanted) == len(levels_) and all(
        want == "+" or re.match(matcher_of(level), want) for want, level in zip(wanted, levels_, strict=True)
    )
