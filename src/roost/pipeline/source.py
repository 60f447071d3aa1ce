"""A group as a Spark source: `spark.readStream.format("roost").option("group", …)`, and the same as a batch read.

The driver's side watches the group and says how far to go (`release.py`); offsets are places (`place.py`). The tasks'
side fetches what lies between two of them (`rows.py`). Both are small here, because both work without Spark.

What Spark 4.3 does with Python sources, and we heed: an exception while offsets are asked for ends the query, so
trouble with repos leaves the offset where it is; offsets are compared as text; `stop` is never called, and `commit`
tells of one batch too late, so that neither means anything. Spark also loads this module in processes that only want to
know what formats there are: what reads is imported where something is read.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from roost.columns.readings import READINGS, WINDOWED, WITH_SUMS
from roost.errors import Backpressure, NoKey, Unreachable, Untrusted
from roost.pipeline import offsets

if TYPE_CHECKING:
    from roost.pipeline.driving import Driving, Narrow
    from roost.pipeline.input import Input
    from roost.pipeline.options import SourceOptions
    from roost.pipeline.units import Unit

_log: Final = logging.getLogger("roost.pipeline")
FORMAT: Final = "roost"


class RoostSource(DataSource):
    """The format `roost`, for reading and for writing."""

    @classmethod
    def name(cls) -> str:
        """What stands in `format(…)`."""
        return FORMAT

    def schema(self) -> StructType:
        """The columns of `roost.columns.readings`."""
        from roost.pipeline.options import SourceOptions

        options = SourceOptions.read(self.options)
        summed = any(wanted.sums for wanted in options.inputs)
        found: StructType = from_arrow_schema(WITH_SUMS if summed else WINDOWED if options.windowed else READINGS)
        return found

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002  Spark's arguments
        """A batch read."""
        return (FilteringReader if _PUSHING in sys.argv else BatchReader)(self.options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802  as above
        """A streaming read."""
        return StreamReader(self.options)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001  Spark's order
        """A batch write."""
        from roost.pipeline.sink import BatchWriter

        return BatchWriter(self.options, schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: FBT001, N802  as above
        """A streaming write."""
        from roost.pipeline.sink import StreamWriter

        return StreamWriter(self.options, schema, overwrite=overwrite)


class UnitPartition(InputPartition):
    """What one task reads."""

    def __init__(self, units: Sequence[Unit]) -> None:
        super().__init__(None)
        self.units: Final = tuple(units)

    def __reduce__(self) -> tuple[Any, ...]:
        return _partition, ([unit.brief for unit in self.units],)


def _partition(briefs: Sequence[tuple[Any, ...]]) -> UnitPartition:
    from roost.pipeline.units import Unit

    return UnitPartition([Unit(*brief) for brief in briefs])


class _Reading:
    """What reading in batches and in streams have in common."""

    def __init__(self, options: Mapping[str, str]) -> None:
        from roost.pipeline.options import SourceOptions

        self.options: Final[SourceOptions] = SourceOptions.read(options)

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The rows of a partition; where there is none to read, Spark asks for that."""
        if not isinstance(partition, UnitPartition):
            return
        inputs = {wanted.name: wanted for wanted in self.options.inputs}
        rows = self._rows(inputs, partition.units)
        if any(wanted.sums for wanted in self.options.inputs):
            from roost.pipeline.sums import handed_out

            rows = handed_out(rows, inputs)
        yield from rows

    def _rows(self, inputs: Mapping[str, Input], units: Sequence[Unit]) -> Iterator[pa.RecordBatch]:
        """Rows of units, group by group: topics have as many levels as they like, so readers are told the group."""
        from roost.host.stretches import StretchReader
        from roost.pipeline.rows import Rows

        options = self.options
        for group in dict.fromkeys([inputs[unit.input].group for unit in units]):
            with StretchReader(replace(options.access, group=group)) as reader:
                ours = [unit for unit in units if inputs[unit.input].group == group]
                yield from Rows(inputs, options.windowed, options.lost).read(ours, reader)


class StreamReader(_Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The streaming read."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._driving: Driving | None = None
        self._keys = 0  # when they had changed last, as it knows them
        self._trouble = ""

    @property
    def driving(self) -> Driving:
        """The driver's side, when it is first needed: tasks have none. It ends with the process that Spark gives it."""
        changed = self.options.access.keys.changed
        if self._driving is not None and changed != self._keys and not self._driving.is_frozen:
            self._driving.close()  # it would go on believing what was trusted then
            self._driving = None
        if self._driving is None:
            from roost.pipeline.driving import Driving

            self._driving = Driving(self.options)
            self._keys = changed
        return self._driving

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_driving": None}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        """Where a new query begins."""
        return offsets.to_json(self.driving.begin())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """At most so many readings in one batch."""
        return ReadMaxRows(self.options.max_rows)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """How far to go from here; back at `start` if there is nothing, or no repo gives an answer to go by."""
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        place = offsets.from_json(start)
        try:
            after = self.driving.advance(place, most)
        except NoKey:
            raise  # the home of this job is no home: waiting would not help
        except (Unreachable, Untrusted, Backpressure) as error:
            if str(error) != self._trouble:  # what lasts is asked for many times a second
                _log.warning("no news, the query waits: %s", error)
            self._trouble = str(error)
            return start
        self._trouble = ""
        return start if after == place else offsets.to_json(after)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Take what there is now for all there is."""
        self.driving.freeze()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """How far the group is; nobody waits for it."""
        return None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """What lies between two offsets, shared out."""
        shares = self.driving.partitions(offsets.from_json(start), offsets.from_json(end))
        return [UnitPartition(share) for share in shares]


class BatchReader(_Reading, DataSourceReader):
    """The batch read."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._filters: list[Filter] = []

    def partitions(self) -> Sequence[InputPartition]:
        """All there is in the range that was asked for."""
        from roost.pipeline.driving import Driving

        with Driving(self.options) as driving:  # this process may live on, with nobody who wants to hear of the group
            shares = driving.stretch(narrowed(self._filters))
        return [UnitPartition(share) for share in shares]


class FilteringReader(BatchReader):
    """A batch read that takes over filters on stream, panel, device, metric and times where they say less to read.

    Spark refuses a reader that can do so in sessions that do not want it, which is what they do unless they are told:
    so there is one without, and this one for the process in which filters are handed over.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802  Spark's name
        """Read less where filters allow; all are still checked by Spark, which costs nothing beside the reading."""
        self._filters = [each for each in filters if isinstance(each, _HEEDED)]
        yield from filters


_PUSHING: Final = "pyspark.sql.worker.data_source_pushdown_filters"
_HEEDED: Final = (EqualTo, In, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual)


def narrowed(filters: Sequence[Filter]) -> Narrow:
    """Read Spark's filters, as far as they say which streams or which times."""
    from roost.pipeline.driving import Narrow

    found = Narrow()
    for each in filters:
        column = ".".join(each.attribute)  # type: ignore[attr-defined]
        if column in ("stream", "panel", "device", "metric") and isinstance(each, EqualTo | In):
            allowed = set(each.value) if isinstance(each, In) else {each.value}
            found.values[column] = found.values.get(column, allowed) & allowed
        elif column == "event_time" and hasattr(getattr(each, "value", None), "timestamp"):
            at = round(each.value.timestamp() * 1_000_000) * 1000  # type: ignore[attr-defined]
            if isinstance(each, GreaterThan | GreaterThanOrEqual | EqualTo):
                found.since_ns = max(found.since_ns, at)
            if isinstance(each, LessThan | LessThanOrEqual | EqualTo):
                found.until_ns = min(found.until_ns or at + 1000, at + 1000)
    return found
