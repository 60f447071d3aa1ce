"""Macros as a stage of a pipeline: batch after batch, each as if there had been no batches.

    read: {group: /BigCompany/Building1/Electricity}
    macro: {file: macros.yaml}
    publish: {group: /BigCompany/Building1/Electricity, panel: Job}

Readings of a batch are taken in replay order, and batches in theirs: what comes late arrives late, as on a node. Where
macros stand when a batch is done (state, position, what they look back on, the number of the last result) is kept
beside the checkpoint under the number of the batch. A batch that is done again begins with what the one before it left,
and so publishes the same readings under the same names. What numbers go on from when there is nothing yet is asked of
the repos once, and written down before anything is published.

Macros that need each other are one task, the others are as many as there are. When a run names a topic that its code
does not show, the batch is done again with all macros together over all readings, and so are all batches from then on;
what such a reference finds begins with that batch. What is due is done when a reading of a later time comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from roost.naming import Name
from roost.naming.topic import name_of_topic
from roost.pipeline.archive.folder import Folder
from roost.pipeline.graph import Stage
from roost.pipeline.macros import Ended, run
from roost.pipeline.macros_leavings import Leavings
from roost.pipeline.macros_past import Left
from roost.pipeline.macros_plan import Together, sets_of
from roost.pipeline.macros_results import RESULTS, published
from roost.pipeline.macros_rows import READING, RUN, Read, reading_of, readings
from roost.pipeline.macros_tasks import ENDED, Work
from roost.pipeline.measuring import Batch
from roost.pipeline.operations import Macro
from roost.pipeline.origins import Ask
from roost.pipeline.results import ids_of
from roost.process.definition import Definition

_REMEMBERED: Final = 65_536  # names of streams


class MacroStages:
    """Does batches of stages of macros; without a folder, all there is comes at once."""

    def __init__(self, folder: Folder | None, ask: Ask, write: Callable[[DataFrame], None]) -> None:
        self._folder: Final = folder
        self._ask: Final = ask
        self._write: Final = write

    def run(self, stage: Stage, batch: DataFrame, number: int | None) -> Batch:
        """Do one batch of one stage; without a `number`, it is a whole history."""
        assert isinstance(stage.operation, Macro)  # noqa: S101  others have a way of their own
        definitions = stage.operation.definitions
        panel = Name.parse(f"{stage.output.group}/{stage.output.panel}")
        streams = {each.topic: (panel + name_of_topic(each.topic)).value for each in definitions}
        kept = None if self._folder is None or number is None else Leavings(self._folder, stage.name)
        left, together = Left(), False
        if kept is not None and number is not None:
            left, together = kept.before(number, list(streams), partial(self._numbers, stage))
        reads = _reads(stage, batch)
        runs, ends, work = self._done(reads, definitions, left, streams, together=together, stays=kept is not None)
        if kept is not None and number is not None:
            after = [Left.decode(end.left) for end in ends.values()]
            kept.keep(number, left.with_(after), together=not work.sets[0].wanted)
        results = runs.filter(F.col(ENDED).isNull() & F.col("payload").isNotNull()).select(*RUN.names)
        self._write(results.mapInArrow(partial(published, stage.name, panel.value), from_arrow_schema(RESULTS)))
        taken = sum(end.taken for end in ends.values())
        newest = max((end.newest for end in ends.values()), default=0)
        return Batch(taken, sum(end.results for end in ends.values()), taken, taken, newest)

    def _done(
        self,
        reads: DataFrame,
        definitions: Sequence[Definition],
        left: Left,
        streams: Mapping[str, bytes],
        *,
        together: bool,
        stays: bool,
    ) -> tuple[DataFrame, Mapping[int, Ended], Work]:
        everything = (Together(tuple(definitions), ()),)
        sets = everything if together else tuple(sets_of(definitions))
        work = Work(sets, dict.fromkeys(range(len(sets)), left), streams, remember=together, stays=stays)
        runs, ends = run(reads, work)
        if not together and any(end.found for end in ends.values()):
            work = replace(work, sets=everything, left={0: left}, remember=True)
            runs, ends = run(reads, work)
        return runs, ends, work

    def _numbers(self, stage: Stage, topics: Sequence[str]) -> dict[str, int]:
        """The last numbers of results that repos have."""
        panel = stage.output.panel
        asked = self._ask(stage.output.group, [f"{panel}/{topic}" for topic in topics])
        return {topic: asked.get(f"{panel}/{topic}", (0, 0))[0] for topic in topics}


def _reads(stage: Stage, batch: DataFrame) -> DataFrame:
    """The readings of a stage's inputs, whose payloads are packets."""
    parts = {stage.input_id(each): len(Name.parse(each.group)) for each in stage.inputs}
    ours = batch.filter(F.col("input").isin(ids_of([stage])) & F.col("payload").isNotNull())
    packets = ours.select("input", "stream", "seq", "payload")
    return packets.mapInArrow(partial(_read, parts), from_arrow_schema(READING))


def _read(parts: Mapping[str, int], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found: list[Read] = []
        for input_, stream, number, wire in zip(*[column.to_pylist() for column in batch.columns], strict=True):
            each = reading_of(parts[input_], _named(stream), number, wire)
            if each is not None:
                found.append(each)
        yield readings(found)


@lru_cache(_REMEMBERED)
def _named(stream: str) -> Name:
    return Name.parse(stream)
