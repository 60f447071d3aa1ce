"""What every stage hands to the sink, whoever computes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from roost.pipeline.graph import Stage
from roost.pipeline.operations import INPUTS

Tables = Mapping[str, Mapping[str, str]]

RANGES: Final = pa.list_(
    pa.struct([pa.field("stream", pa.string()), pa.field("low", pa.int64()), pa.field("high", pa.int64())])
)
# What a stage gives for each result: those of windows become rows of the sink once they are numbered.
RESULT: Final = pa.schema(
    [
        pa.field("stage", pa.string()),
        pa.field("output", pa.string()),
        pa.field("number", pa.int64()),
        pa.field("correction", pa.int64()),
        pa.field("event_time", pa.timestamp("us", tz="UTC")),
        pa.field("value", pa.float64()),
        pa.field("unit", pa.string()),
        pa.field("quality", pa.string()),
        pa.field("expected", pa.int64()),
        pa.field("received", pa.int64()),
        pa.field("missing", pa.int64()),
        pa.field("open", pa.int64()),
        pa.field("window_s", pa.float64()),
        pa.field("missing_names", pa.string()),
        pa.field("inputs", RANGES),
    ]
)


def ids_of(stages: Sequence[Stage]) -> list[str]:
    """The inputs of some stages, as the source calls them."""
    return [stage.input_id(each) for stage in stages for each in stage.inputs]


def is_unit_of_inputs(unit: str) -> bool:
    """Whether a stage leaves a unit to its inputs."""
    return unit == INPUTS or unit.startswith(f"{INPUTS}:")
