"""A group as a Spark sink: `df.writeStream.format("roost").option("group", …)`, and `df.write` for batches.

Tasks publish while they run; Spark's commit only adds up what they tell. A batch that is tried again publishes the same
readings under the same names, and repos keep one of each: that is effectively once, without a transaction. A batch
write of which no row could be a reading raises in the end; a query tells it as an alarm, and goes on. In complete mode,
and in update mode through `publish_changes` in `foreachBatch`, rows have no number of their own
(`roost.pipeline.changes`).

Spark unpickles a writer in a process of its own for every batch, to commit it: what only tasks need is imported there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from roost.errors import BadConfig
from roost.pipeline.report import Report


@dataclass
class Told(WriterCommitMessage):
    """What a task reports."""

    report: Report


class _Writing:
    """What writing in batches and in streams have in common."""

    def __init__(self, options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> None:
        from roost.pipeline.publishing import SinkOptions
        from roost.pipeline.virtual_rows import check_columns

        self.options: Final = dict(options)
        read = SinkOptions.read(self.options)
        told_anew = str(self.options.get("changes", "")).lower() == "true"
        self._changes: Final = overwrite or told_anew
        # So `publish_changes` and pipelines write, in `foreachBatch`: to Spark a batch, and still part of a query.
        self._is_of_query: Final = told_anew or "targets" in self.options
        try:
            check_columns([*schema.names, "number"] if self._changes else schema.names, read.output)
        except BadConfig as error:
            if self._changes or {"number", "seq"} & {*schema.names}:
                raise
            raise BadConfig(
                f"{error}; in append mode a reading's number comes from its row, for results that change with every "
                "batch use complete mode, or publish_changes in foreachBatch"
            ) from None

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish the rows of a task."""
        from roost.pipeline.publishing import Publisher, SinkOptions

        report = Report()
        publisher: Publisher | None = None
        for batch in iterator:
            if len(batch):
                publisher = publisher or Publisher(SinkOptions.read(self.options), changes=self._changes)
                report.add(publisher.publish(batch))
        return Told(report)


def _tell(messages: list[WriterCommitMessage | None]) -> Report:
    whole = Report()
    for message in messages:
        if isinstance(message, Told):
            whole.add(message.report)
    whole.warn()
    return whole


class BatchWriter(_Writing, DataSourceArrowWriter):
    """The batch write."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Tell what is wrong, if something is; raises where no row could be a reading, unless a query is to go on."""
        report = _tell(messages)
        if not self._is_of_query:
            report.check()


class StreamWriter(_Writing, DataSourceStreamArrowWriter):
    """The streaming write."""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803  Spark's
        """Tell what is wrong, if something is; everything is published by now."""
        _tell(messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Nothing is taken back: what was published is right, and will be there when the batch is tried again."""


def publish_changes(**options: str) -> Callable[[DataFrame, int], None]:
    """For update mode: `df.writeStream.outputMode("update").foreachBatch(publish_changes(group=…, panel=…))`."""

    def publish(batch: DataFrame, number: int) -> None:  # noqa: ARG001  names do not come from the batch
        options_: dict[str, Any] = {**options, "changes": "true"}
        batch.write.format("roost").options(**options_).mode("append").save()

    return publish
