"""What stages wish to have summed up of each stream's windows where it is read, and what the driver gets of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from roost.columns.readings import SUMMED, SUMS, WINDOWED
from roost.pipeline.graph import Stage
from roost.pipeline.input import Input, Sums
from roost.pipeline.operations import USABLE, Aggregate, Expressions, Macro

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WINDOW: Final = ("key", "window", "window_start", "correction")
PARTIAL: Final = ("input", *WINDOW, "stream", "panel", "device", "metric", "expected", "received", *SUMS.names)


def waits(stage: Stage) -> bool:
    """Whether windows of a stage wait for each other: those of several inputs come one by one."""
    return bool(stage.window_ns) and len(stage.inputs) > 1


def needs_rows(stage: Stage) -> bool:
    """Whether a stage in windows looks at rows, beside what has been summed up of them."""
    return not isinstance(stage.operation, Aggregate) and not waits(stage)


def expressions_of(stage: Stage) -> tuple[Expressions, dict[str, str]]:
    """The outputs of a stage as plain SQL; none if it does not aggregate."""
    expressions = Expressions()
    outputs = stage.operation.outputs if isinstance(stage.operation, Aggregate) else {}
    return expressions, {output: expressions.plain(text) for output, text in outputs.items()}


def sums_of(stage: Stage) -> Sums | None:
    """What a stage wishes to have summed up; nothing without windows."""
    if not stage.window_ns:
        return None
    operation = stage.operation
    if not isinstance(operation, Aggregate):
        return Sums(USABLE, rows=needs_rows(stage))
    return Sums(operation.where, tuple(expressions_of(stage)[0].conditions), names=operation.names)


def inputs_of(stages: Sequence[Stage]) -> list[Input]:
    """The inputs of some stages, as the source is to read them."""
    return [
        replace(each, name=stage.input_id(each), sums=sums_of(stage), packets=isinstance(stage.operation, Macro))
        for stage in stages
        for each in stage.inputs
    ]


def partials(batch: DataFrame) -> pa.Table:
    """What has been summed up, of all stages."""
    return batch.filter(f"quality = '{SUMMED}'").select(*PARTIAL).toArrow()


def rows_of(batch: DataFrame) -> DataFrame:
    """What has not."""
    return batch.filter(f"quality <> '{SUMMED}'").select(*WINDOWED.names)
