"""Stages written one after the other in Python: `pipeline.stage(…).read(…).aggregate(…).publish(…)`.

A draft is a value too: each call gives a new one, so that what stages have in common can be kept and gone on from.
Lengths of time are text, `250ms`, `10s`, `1m`, `24h`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from roost.errors import BadConfig
from roost.machine.times import duration
from roost.naming import Name
from roost.pipeline.graph import Output, Pipeline, Stage
from roost.pipeline.input import DEADLINE, Input
from roost.pipeline.operations import (
    KINDS,
    PANDAS,
    USABLE,
    Aggregate,
    Filter,
    Function,
    Join,
    Macro,
    Map,
    Operation,
    Sql,
    text_of,
)
from roost.process.definition import Definition


@dataclass(frozen=True, slots=True)
class Draft:
    """A stage that is not finished."""

    pipeline: Pipeline
    name: str
    inputs: tuple[Input, ...] = ()
    operation: Operation | None = None

    def read(
        self,
        group: str,
        *wishes: str,
        name: str = "",
        window: str = "",
        key: str = "{stream}",
        deadline: str = "",
        step: str = "",
    ) -> Draft:
        """Read streams of a group; again, for a join. Without wishes, all of it."""
        used = {table for table in self.pipeline.tables if f"{{{table}:" in key}
        given = Input(
            str(Name.parse(group)),
            wishes or ("#",),
            name or f"readings{'' if not self.inputs else f'_{len(self.inputs) + 1}'}",
            duration(window, "window") if window else 0,
            duration(step, "step") if step else 0,
            duration(deadline, "deadline") if deadline else DEADLINE,
            key,
            {table: self.pipeline.tables[table] for table in sorted(used)},
        )
        return replace(self, inputs=(*self.inputs, given))

    def filter(self, where: str) -> Draft:
        """Keep values where a condition of SQL holds."""
        return replace(self, operation=Filter(where))

    def map(self, value: str) -> Draft:
        """Compute a value of each reading, in SQL."""
        return replace(self, operation=Map(value))

    def aggregate(
        self,
        outputs: Mapping[str, str] | None = None,
        *,
        where: str = USABLE,
        interval: str = "",
        scope: str = "{metric}",
        counted: str = "",
        names: bool = False,
        **named: str,
    ) -> Draft:
        """Compute outputs of each key's window; outputs by keyword, or as a mapping where their names are none."""
        length = duration(interval, "interval") if interval else 0
        return replace(self, operation=Aggregate({**(outputs or {}), **named}, where, length, scope, counted, names))

    def join(
        self,
        outputs: Mapping[str, str] | None = None,
        *,
        where: str = USABLE,
        interval: str = "",
        names: bool = False,
        **named: str,
    ) -> Draft:
        """Compute outputs of what several inputs have for the same key and window: `indoor.mean - outdoor.mean`."""
        length = duration(interval, "interval") if interval else 0
        return replace(self, operation=Join({**(outputs or {}), **named}, where, length, names=names))

    def sql(self, text: str) -> Draft:
        """Select from the inputs, which are tables by their names."""
        return replace(self, operation=Sql(text))

    def function(self, path: str, form: str = PANDAS) -> Draft:
        """Hand the rows to a function, `package.module:function`."""
        return replace(self, operation=Function(path, form))

    def macro(self, *definitions: Definition) -> Draft:
        """Run macros over the readings; results are on `Noctua/<name>` behind the panel."""
        return replace(self, operation=Macro(tuple(text_of(each) for each in definitions)))

    def publish(
        self,
        group: str,
        panel: str,
        *,
        device: str = "",
        metric: str = "",
        unit: str = "",
        units: Mapping[str, str] | None = None,
    ) -> Pipeline:
        """Finish the stage: publish as a panel of a group."""
        if self.operation is None:
            raise BadConfig(f"stage {self.name!r} does nothing: {', '.join(KINDS)} first, one of them")
        output = Output(str(Name.parse(group)), panel, device, metric, unit, dict(units or {}))
        stage = Stage(self.name, self.inputs, self.operation, output)
        return replace(self.pipeline, stages=(*self.pipeline.stages, stage))
