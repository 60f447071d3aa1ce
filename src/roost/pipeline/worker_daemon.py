"""Spark's parent of Python workers, without the fuss that it makes when Spark closes a connection to an idle one.

A worker that waits for its next task takes the end of its connection for a failed task, and cannot tell anybody: every
session ended, and every pause of a minute was followed, by tracebacks that mean nothing. `launchers.py` starts it.
"""

from __future__ import annotations

from typing import Any

from pyspark import daemon

_worker = daemon.worker


def worker(sock: Any, authenticated: bool) -> int:  # noqa: ANN401, FBT001  Spark's arguments
    """Work until there is no more to do; 1 if nobody is left to hear of it."""
    try:
        code: int = _worker(sock, authenticated)
    except BrokenPipeError:
        return 1
    return code


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()
