"""Why a backfill is not the whole history: windows before a stream's first one, and what is published otherwise.

Alarms are heard of what is published from this process; those of Spark's own committer go to the error output only.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_WHOLE_HISTORY: Final = "to have the whole history, publish it under another panel name or metric"


def shortfall(before: int, alarms: int) -> str:
    """Why a backfill is not the whole history, and what to do; empty if it is."""
    reasons: list[str] = []
    if before:
        reasons.append(f"{before} results are of windows before the first of their stream, and have no number in it")
    if alarms:
        reasons.append(
            "some are published already with another content, or cannot be readings, as the alarms above say"
        )
    if not reasons:
        return ""
    return f"not all is published: {'; '.join(reasons)}; {_WHOLE_HISTORY}"


@contextmanager
def alarms_told() -> Iterator[list[str]]:
    """Tell the alarms of what is published from this process, and keep them."""
    from roost.cli import note

    alarms: list[str] = []  # bound: one for each stage

    class Telling(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(record.getMessage())
            if record.levelno >= logging.ERROR:
                alarms.append(record.getMessage())

    telling, log = Telling(), logging.getLogger("roost.pipeline")
    log.addHandler(telling)
    try:
        yield alarms
    finally:
        log.removeHandler(telling)
