"""A pipeline as one Spark query: all inputs in one source, all stages in each batch, one write.

    running = Running(pipeline, checkpoint="…", options={"repos": "unix:///…"})
    query = running.start(spark)                      until it is stopped; goes on from its checkpoint
    running.backfill(spark, since="7d")               the same windows of the past, under the same names

What a batch does is in `roost.pipeline.processing`. Options are those of the source and of the sink.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from roost.errors import BadConfig
from roost.host.stretch_access import Access
from roost.pipeline.archive.folder import Folder
from roost.pipeline.checking import ERROR, check
from roost.pipeline.faces import face_of
from roost.pipeline.graph import Pipeline, Stage
from roost.pipeline.measuring import Measured
from roost.pipeline.options import LATEST
from roost.pipeline.origins import Ask, Origins, asking
from roost.pipeline.processing import Processing, Write
from roost.pipeline.publishing import Publisher, SinkOptions
from roost.pipeline.reasons import reason_of
from roost.pipeline.source import FORMAT
from roost.pipeline.stages_windows import inputs_of
from roost.pipeline.wiring import levels, wired

BESIDE: Final = "roost"  # the folder of ours in a checkpoint
TRIGGER: Final = "100 milliseconds"


class Running:
    """One pipeline; `write` and `ask` are for who has neither sink nor repos."""

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        checkpoint: str = "",
        options: Mapping[str, str] | None = None,
        write: Write | None = None,
        ask: Ask | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        problems = [str(problem) for problem in check(pipeline) if problem.level == ERROR]
        if problems:
            raise BadConfig(f"pipeline {pipeline.name} cannot run:\n" + "\n".join(problems))
        self.pipeline: Final = wired(pipeline)
        self.measured: Final = Measured([stage.name for stage in pipeline.stages], clock())
        self._options: Final = dict(options or {})
        self._checkpoint: Final = checkpoint
        self._clock: Final = clock
        access = Access.from_options(self._options)
        folder = Folder(f"{checkpoint.removeprefix('file://')}/{BESIDE}") if checkpoint else None
        asked = ask or asking(lambda: face_of(access))
        self._origins: Final = Origins(self.pipeline, asked, folder)
        self._processing: Final = Processing(self.pipeline, self._origins, asked, write or self._publish, folder)

    def start(self, spark: SparkSession, *, since: str = LATEST, available_now: bool = False) -> StreamingQuery:
        """Start the query; `since` says where to begin if there is no checkpoint yet."""
        if not self._checkpoint:
            raise BadConfig("where is the checkpoint to be? Without one a query cannot go on where it stopped")
        rows = spark.readStream.format(FORMAT).options(**self._read(self.pipeline.stages, since=since)).load()
        writer = rows.writeStream.foreachBatch(self.process).queryName(self.pipeline.name)
        writer = writer.option("checkpointLocation", self._checkpoint)
        return (writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime=TRIGGER)).start()

    def backfill(
        self, spark: SparkSession, *, since: str, until: str = LATEST, stages: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Do what lies between two times, stage after stage: what one publishes, the next one reads.

        What is published already stays as it is. Windows before a stream's first one have no number, and are counted as
        `before`.
        """
        level = levels(self.pipeline)
        if unknown := sorted({*stages} - level.keys()):
            raise BadConfig(f"there is no stage {', '.join(unknown)}; there are {', '.join(level)}")
        for stage in sorted(self.pipeline.stages, key=lambda each: level[each.name]):
            if not stages or stage.name in stages:
                read = self._read([stage], since=since, until=until)
                rows = spark.newSession().read.format(FORMAT).options(**read).load()
                self._do(rows, None, [stage])
        return self.status()

    def process(self, batch: DataFrame, number: int) -> None:
        """Do one batch: what `foreachBatch` calls."""
        try:
            self._do(batch, number, self.pipeline.stages)
        except Py4JJavaError as error:
            raise _shortened(error) from None

    def status(self) -> dict[str, Any]:
        """How it goes, as `graph_json` and the status file want it."""
        measured = self.measured.status(self._clock())
        for stage in self.pipeline.stages:
            groups = dict.fromkeys([each.group for each in stage.inputs])
            measured[stage.name] |= {"inputs": list(groups), "output": stage.output.group}
        return {"stages": measured, "before": self._origins.before}

    def _do(self, batch: DataFrame, number: int | None, stages: tuple[Stage, ...] | list[Stage]) -> None:
        done = self._processing.run(batch, number, stages)
        self.measured.note(self._clock(), done)

    def _publish(self, rows: DataFrame | pa.Table) -> None:
        options = {**self._options, "targets": json.dumps(self.pipeline.targets(), sort_keys=True)}
        if isinstance(rows, pa.Table):
            publisher = Publisher(SinkOptions.read(options))
            for batch in rows.combine_chunks().to_batches():
                publisher.publish(batch).warn()
        else:
            rows.write.format(FORMAT).options(**options).mode("append").save()

    def _read(self, stages: tuple[Stage, ...] | list[Stage], **more: str) -> dict[str, str]:
        inputs = [json.loads(each.to_json()) for each in inputs_of(stages)]
        return {**self._options, **more, "inputs": json.dumps(inputs, sort_keys=True)}


def _shortened(error: Py4JJavaError) -> Exception:
    """The same trouble in few words.

    Spark looks through what `foreachBatch` raises for a sign that it was interrupted, because the query is stopped,
    with an expression that overflows its stack over the long text of a failed job.
    """
    text = str(error)
    if "InterruptedException" in text:
        return RuntimeError(
            "py4j.protocol.Py4JJavaError: An error occurred while calling: java.lang.InterruptedException"
        )
    return RuntimeError(reason_of(error))
