"""What is told of an error that came through Spark, with texts as Spark 4 makes them. No Spark."""

from __future__ import annotations

import pytest

from roost.errors import BadConfig, RoostError
from roost.pipeline.reasons import MAX_CHARACTERS, one_sentence, reason_of

PROXY = """\
[STREAM_FAILED] Query [id = 9b186878, runId = 637a0b67] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] \
An error occurred in the user provided function in foreach batch sink. Reason: An exception was raised by the Python \
Proxy. Return Message: Traceback (most recent call last):
  File "py4j/clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "job.py", line 30, in each
    raise it
{end}
 SQLSTATE: 39000 SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = 9b186878, runId = 637a0b67]
Current State: ACTIVE

Logical Plan:
~WriteToMicroBatchDataSourceV1 ForeachBatchSink, 9b186878, [checkpointLocation=/tmp/cp], Append
+- ~StreamingDataSourceV2ScanRelation[stream#35, seq#36L] roost"""

SOURCE = """\
[PYTHON_DATA_SOURCE_ERROR] Failed to create Python data source instance: Traceback (most recent call last):
  File "roost/pipeline/source.py", line 63, in schema
    options = SourceOptions.read(self.options)
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
roost.errors.BadConfig: there is no option 'repo', is repos meant?
 SQLSTATE: 38000"""

WORKER = """\
An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "rooms.py", line 16, in room
    raise ValueError("no such room: 7")
ValueError: no such room: 7"""

COLUMN = """\
[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `valu` cannot be resolved. Did \
you mean one of the following? [`value`]. SQLSTATE: 42703; line 1 pos 7;
'Project ['valu]
+- SubqueryAlias t
   +- Range (0, 3, step=1, splits=Some(2))
"""
COLUMN_TOLD = COLUMN.partition(". SQLSTATE")[0]

SYNTAX = """
[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'. SQLSTATE: 42601 (line 1, pos 0)

== SQL ==
selec 1
^^^
"""

JOB = """\
An error occurred while calling o123.save.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent \
failure: Lost task 0.3 in stage 3.0 (TID 9) (127.0.0.1 executor driver): org.apache.spark.api.python.PythonException: \
Traceback (most recent call last):
  File "roost/pipeline/sink.py", line 57, in write
    report.add(publisher.publish(batch))
{end}

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1097)
\tat java.base/java.lang.Thread.run(Thread.java:1583)
"""

DISK = """\
An error occurred while calling o80.start.
: org.apache.spark.SparkException: Job aborted.
\tat org.apache.spark.sql.Dataset.collect(Dataset.scala:1)
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
\t... 1 more"""


def sparks(text: str, module: str = "pyspark.errors.exceptions.captured") -> Exception:
    """An error as PySpark raises it."""
    kind: type[Exception] = type("CapturedException", (Exception,), {"__module__": module})
    return kind(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SOURCE, "there is no option 'repo', is repos meant?"),
        (
            PROXY.format(end="roost.errors.Unreachable: no repo of /A/B can be reached"),
            "no repo of /A/B can be reached",
        ),
        (PROXY.format(end="KeyError: 'rooms'"), "KeyError: 'rooms'"),
        (PROXY.format(end=f"RuntimeError: {WORKER}"), "ValueError: no such room: 7"),
        (PROXY.format(end=f"pyspark.errors.exceptions.captured.AnalysisException: {COLUMN}"), COLUMN_TOLD),
        (WORKER, "ValueError: no such room: 7"),
        (COLUMN, COLUMN_TOLD),
        (SYNTAX, "[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'"),
        (JOB.format(end="roost.errors.NoKey: there is no key of /A/B/calc"), "there is no key of /A/B/calc"),
        (JOB.format(end="ZeroDivisionError: division by zero"), "ZeroDivisionError: division by zero"),
        (DISK, "No space left on device"),
        ("", "CapturedException"),
    ],
)
def test_the_innermost_sentence_is_told(text: str, told: str) -> None:
    assert reason_of(sparks(text)) == told
    assert reason_of(sparks(text, "py4j.protocol")) == told


def test_of_several_errors_of_ours_the_last_is_told() -> None:
    both = SOURCE + "\n" + PROXY.format(end="roost.errors.TimedOut: nobody answered")
    assert reason_of(sparks(both)) == "nobody answered"


def test_an_error_that_is_not_of_spark_is_told_as_python_does() -> None:
    assert reason_of(BadConfig("write 24h")) == "write 24h"
    assert reason_of(RuntimeError("poison")) == "RuntimeError: poison"
    assert reason_of(KeyError()) == "KeyError"


def test_what_is_told_has_a_bound() -> None:
    for error in (RuntimeError("x" * 9999), sparks("x" * 9999), BadConfig("x" * 9999)):
        assert len(reason_of(error)) == MAX_CHARACTERS


def test_an_error_whose_text_was_in_a_jvm_that_is_gone_is_told_by_its_kind() -> None:
    class Py4JJavaError(Exception):
        __module__ = "py4j.protocol"

        def __str__(self) -> str:
            raise ConnectionRefusedError

    assert reason_of(Py4JJavaError()) == "Py4JJavaError"


def test_what_spark_raises_becomes_an_error_of_roosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROOST_DEBUG", raising=False)
    with pytest.raises(RoostError, match=r"^ValueError: no such room: 7$"), one_sentence():
        raise sparks(WORKER)
    with pytest.raises(ZeroDivisionError), one_sentence():
        raise ZeroDivisionError
    monkeypatch.setenv("ROOST_DEBUG", "1")
    whole = sparks(WORKER)
    with pytest.raises(type(whole)), one_sentence():
        raise whole
