"""Results of macros as rows of the sink: readings as a node would have published them, content and all.

A result is on the stream `Noctua/<name>` behind the panel of the job, with the next number, the event time of what
activated it, and a posting, so that MQTT clients of all nodes of the group get it on its topic. Its lineage has what
activated it, what it was made of, the digest of the program and `Noctua/<name>@<version>`. What is no
topic of a group, or does not fit a packet (a node would cut it, `roost.broker.large`), is an empty reading without a
posting: numbers stay dense, and no client gets it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from roost.broker.large import is_large
from roost.broker.message import Message
from roost.broker.trees import why_not
from roost.naming import Name
from roost.naming.topic import name_of_topic
from roost.pipeline.macros_rows import RUN, Made
from roost.repo.numbering import key_of
from roost.wire.envelope import posting_bytes, reading_bytes
from roost.wire.lineage import MAX_JOB_BYTES, InputRange, lineage_of
from roost.wire.values import format_of

QOS: Final = 1
RESULTS: Final = pa.schema(
    [
        pa.field("stage", pa.string()),
        pa.field("output", pa.string()),
        pa.field("number", pa.int64()),
        pa.field("event_time", pa.timestamp("us", tz="UTC")),
        pa.field("value", pa.float64()),
        pa.field("content", pa.binary()),
    ]
)


def content_of(made: Made) -> bytes:
    """The content of the reading that a result becomes."""
    cause = Name(key_of(made.cause_stream, made.cause_number)) if made.cause_stream else None
    ranges = [InputRange(Name(stream), number, number) for stream, number in made.inputs]
    job = f"{made.topic}@{made.version}"
    named = job if len(job.encode()) <= MAX_JOB_BYTES else ""
    lineage = lineage_of(made.program, ranges=ranges, job=named, cause=cause).encode()
    payload = made.payload or b""
    message = Message(made.topic.encode(), payload, QOS, False, b"", 0, b"", made.time, None, 0, lineage)  # noqa: FBT003  a C call
    panel_bytes = len(made.stream) - len(name_of_topic(made.topic).value)
    if why_not(panel_bytes, message) or is_large(panel_bytes, message):
        return reading_bytes(made.time, format_of(b""), b"", lineage)
    others = lineage + posting_bytes(QOS, False, b"", -1, 0, b"")  # noqa: FBT003  a C call
    return reading_bytes(made.time, format_of(payload), payload, others)


def published(stage: str, panel: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of the sink, of runs that brought something; what has a place elsewhere is published already."""
    for every in batches:
        ours = [stream.startswith(panel) for stream in every.column("stream").to_pylist()]
        batch = every.filter(pa.array(ours, pa.bool_()))
        columns = [batch.column(name).to_pylist() for name in RUN.names]
        made = [
            Made(*row)._replace(inputs=tuple([(each["stream"], each["number"]) for each in row[_INPUTS]]))
            for row in zip(*columns, strict=True)
        ]
        arrays = [
            pa.array([stage] * len(made), pa.string()),
            batch.column("topic"),
            batch.column("number"),
            pa.array([each.time // 1000 for each in made], pa.int64()).cast(RESULTS.field("event_time").type),
            pa.nulls(len(made), pa.float64()),
            pa.array([content_of(each) for each in made], pa.binary()),
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=RESULTS)


_INPUTS: Final = RUN.get_field_index("inputs")
