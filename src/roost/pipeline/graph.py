"""A pipeline: stages from groups to groups, as plain values.

    hall = (
        Pipeline("hall")
        .stage("rooms")
        .read("/Campus/Hall/Env", "+/+/temp", window="1m", key="{device}/{metric}")
        .aggregate(mean="mean", max="max")
        .publish("/Campus/Hall/Rooms", "hierarchy")
    )

Which stage comes after which is nowhere said: it follows from the groups they read and publish (`wiring`). The same as
text is in `yaml_form`, what can be wrong with it in `checking`, and `running` runs it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Final

from roost.errors import BadConfig
from roost.pipeline import stages_names as names
from roost.pipeline.input import Input
from roost.pipeline.operations import INPUTS, Aggregate, Macro, Operation, kind_of, natural_unit

if TYPE_CHECKING:
    from roost.pipeline.drafting import Draft

_NAME: Final = re.compile(r"\w[\w-]*")
ONLY: Final = "value"  # what the output of a stage is called that names none


@dataclass(frozen=True, slots=True)
class Output:
    """Where a stage publishes: as a panel of a group, in streams named by templates.

    `unit` is for all outputs, `units` for some; where neither says it, values have the unit that follows from the
    inputs.
    """

    group: str
    panel: str
    device: str = ""
    metric: str = ""
    unit: str = ""
    units: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stage:
    """One step: what it reads, what it does, where it publishes."""

    name: str
    inputs: tuple[Input, ...]
    operation: Operation
    output: Output

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise BadConfig(f"stage {self.name!r}: a name has letters, digits, _ and - only")
        if not self.inputs:
            raise BadConfig(f"stage {self.name!r} reads nothing: give it an input")

    def input_id(self, wanted: Input) -> str:
        """What the source calls an input: stages may use the same names."""
        return f"{self.name}.{wanted.name}"

    @property
    def key(self) -> str:
        """The key of its results, which all its inputs have."""
        return self.inputs[0].key if self.window_ns else "{stream}"

    @property
    def window_ns(self) -> int:
        """The length of its windows; 0 if readings are handed on one by one."""
        return self.inputs[0].window_ns

    @property
    def interval_ns(self) -> int:
        """How long a reading of its inputs stands for, 0 if nobody says it."""
        own = self.operation.interval_ns if isinstance(self.operation, Aggregate) else 0
        return own or self.inputs[0].step_ns

    @property
    def device(self) -> str:
        """The template of its devices."""
        return self.output.device or names.default_device(self.key)

    @property
    def metric(self) -> str:
        """The template of its metrics."""
        has_outputs = isinstance(self.operation, Aggregate)
        return self.output.metric or names.default_metric(self.key, has_outputs=has_outputs)

    @property
    def outputs(self) -> tuple[str, ...]:
        """What it calls its values."""
        return tuple(self.operation.outputs) if isinstance(self.operation, Aggregate) else (ONLY,)

    def unit_of(self, output: str) -> str:
        """The unit of an output, `inputs` or `inputs:<part>` if it is that of what it is made of."""
        said = self.output.units.get(output) or self.output.unit
        if said or not isinstance(self.operation, Aggregate):
            return said or INPUTS
        return natural_unit(self.operation.outputs[output])

    def patterns(self) -> list[str]:
        """Its streams as templates, relative to the group."""
        if isinstance(self.operation, Macro):
            return [f"{self.output.panel}/{each.topic}" for each in self.operation.definitions]
        both = f"{self.device}/{self.metric}"
        return [f"{self.output.panel}/{names.filled(both, {names.OUTPUT: each})}" for each in self.outputs]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages under one name; they run together, in one Spark query. `tables` are what keys look things up in."""

    name: str
    version: str = "1"
    stages: tuple[Stage, ...] = ()
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise BadConfig(f"pipeline {self.name!r}: a name has letters, digits, _ and - only")
        held = [stage.name for stage in self.stages]
        if twice := sorted({name for name in held if held.count(name) > 1}):
            raise BadConfig(f"pipeline {self.name}: two stages are called {', '.join(twice)}")

    def stage(self, name: str) -> Draft:
        """Begin a stage; `Draft.publish` ends it, and gives the pipeline with it."""
        from roost.pipeline.drafting import Draft

        return Draft(self, name)

    def table(self, name: str, entries: Mapping[str, str]) -> Pipeline:
        """The same with one more table for keys."""
        return replace(self, tables={**self.tables, name: dict(entries)})

    def job(self, stage: Stage) -> str:
        """What lineage calls a stage."""
        return f"{self.name}/{stage.name}@{self.version}"

    def program(self, stage: Stage) -> bytes:
        """The digest of what a stage does: SHA-256 of its definition as JSON, in one form only."""
        used = {name: dict(self.tables[name]) for name in sorted(self.tables) if f"{{{name}:" in str(stage)}
        said = {"kind": kind_of(stage.operation), "version": self.version, "tables": used, **asdict(stage)}
        return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).digest()

    def targets(self) -> dict[str, dict[str, str]]:
        """Where each stage publishes, as the sink wants it."""
        return {
            stage.name: {
                "group": stage.output.group,
                "panel": stage.output.panel,
                "job": self.job(stage),
                "program": self.program(stage).hex(),
            }
            for stage in self.stages
        }
