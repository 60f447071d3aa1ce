"""What a person needs of an error that came through Spark: one sentence of the kilobytes that Spark makes of it.

An error in a worker or in `foreachBatch` reaches the driver as text: Python's traceback within Java's, within Spark's.
What says most is innermost: an error of Roost's, else the end of the last traceback of Python's, else what Spark says
first, or Java last. Nothing of Spark is imported here; whoever wants to see all of it sets ROOST_DEBUG.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from roost.errors import RoostError

MAX_CHARACTERS: Final = 2000

_OURS: Final = re.compile(r"\broost\.errors\.\w+: (.+)")
_TRACEBACK: Final = "Traceback (most recent call last):"
_OF_SPARK: Final = re.compile(r"(?:pyspark|py4j)\.[\w.]+: ")
_CALLING: Final = re.compile(r"An error occurred while calling \S+")  # which method of the JVM's: nobody's concern
_JAVA: Final = re.compile(r"^(?:Caused by)?: (?:[\w$]+\.)+[\w$]+: (.+)", re.MULTILINE)
_AROUND: Final = re.compile(r"^.* terminated with exception: ")
_STATE: Final = re.compile(r"[\s.]*\bSQLSTATE: .*$")
_PACKAGES: Final = ("pyspark", "py4j")


def reason_of(error: BaseException) -> str:
    """The innermost sentence of an error, whatever it is."""
    text = _text(error)
    if isinstance(error, RoostError):
        return text[:MAX_CHARACTERS]
    name = type(error).__name__
    if not is_of_spark(error):
        return (f"{name}: {text}" if text else name)[:MAX_CHARACTERS]
    return (_innermost(text) or name)[:MAX_CHARACTERS]


def is_of_spark(error: BaseException) -> bool:
    """Whether PySpark raised it, or what connects it with Java."""
    return type(error).__module__.partition(".")[0] in _PACKAGES


@contextmanager
def one_sentence() -> Iterator[None]:
    """Make a `RoostError` of what Spark raises in here."""
    try:
        yield
    except Exception as error:
        if not is_of_spark(error) or os.environ.get("ROOST_DEBUG"):
            raise
        raise RoostError(reason_of(error)) from None


def _text(error: BaseException) -> str:
    try:
        return str(error).strip()
    except Exception:  # noqa: BLE001  the text of Java's errors is in the JVM, which may be gone, in whatever way
        return ""


def _innermost(text: str) -> str:
    if ours := _OURS.findall(text):
        return _plain(ours[-1])
    ends = [end for end in _ends(text) if not _CALLING.search(end)]
    if ends:
        return _plain(_OF_SPARK.sub("", ends[-1], count=1))
    if java := _JAVA.findall(text):
        return _plain(java[-1])
    return _plain(text.partition("\n")[0])


def _ends(text: str) -> Iterator[str]:
    """The last line of each of Python's tracebacks: the first one after its calls, which are indented."""
    inside = False
    for line in text.splitlines():
        if line.endswith(_TRACEBACK):
            inside = True
        elif inside and not line.startswith("  "):
            inside = False
            yield line


def _plain(line: str) -> str:
    """Without the query that was ended by it, and without the number that SQL has for it."""
    return _STATE.sub("", _AROUND.sub("", line)).strip()
