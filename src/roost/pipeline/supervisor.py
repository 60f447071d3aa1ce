"""Keeps streaming queries running: starts each under the lock of its checkpoint, restarts what fails, says how it goes.

    start ──▶ running ──failed──▶ waiting ──back-off over──▶ running …
                 ├──ended by itself──▶ finished          (`availableNow`, or somebody stopped the query)
                 └──asked to stop────▶ stopped

A query is started by a function that the caller gives, and goes on from its checkpoint; if it takes its session from
`spark_session` each time, it also survives the death of the JVM. The status is a small JSON file, replaced whole, about
once a second. Asked to stop are all queries at once: by `stop`, by SIGTERM (`stop_on_signals`), or by a file beside the
status (`ask_to_stop`), which any process of the user can make. It watches and restarts; what a query does is its own.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from roost.errors import BadConfig
from roost.host.clock import Clock
from roost.machine import SECOND
from roost.pipeline.checkpoint_lock import CheckpointLock
from roost.pipeline.reasons import reason_of
from roost.pipeline.restarts import Restarts

Progress = Mapping[str, Any]  # `StreamingQueryProgress`, as the mapping that it is

RUNNING: Final = "running"
WAITING: Final = "waiting"
FINISHED: Final = "finished"
STOPPED: Final = "stopped"

POLL: Final = SECOND
MAX_QUERIES: Final = 64  # each live query costs worker processes: few queries carry many streams

_log: Final = logging.getLogger("roost.pipeline")


class Query(Protocol):
    """What of a `StreamingQuery` is used here."""

    @property
    def isActive(self) -> bool: ...  # noqa: N802 - Spark's name

    @property
    def lastProgress(self) -> Progress | None: ...  # noqa: N802 - Spark's name

    def exception(self) -> Exception | None: ...

    def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Supervised:
    """A query to keep running; `measure` makes of its progress what the status says beside rates: lag, completeness."""

    name: str
    checkpoint: str
    start: Callable[[], Query]
    measure: Callable[[Progress], Mapping[str, object]] = field(default=lambda _: {})


class Supervisor:
    """Runs in the calling thread until everything has finished, or it is asked to stop."""

    def __init__(
        self,
        supervised: list[Supervised],
        status: Path,
        *,
        clock: Callable[[], int] | None = None,
        restarts: Callable[[], Restarts] = Restarts,
    ) -> None:
        names = [one.name for one in supervised]
        if len(names) > MAX_QUERIES or len(set(names)) < len(names):
            raise BadConfig(f"at most {MAX_QUERIES} queries with names of their own can be supervised, not {names}")
        self._status: Final = status
        self._clock: Final = clock or Clock()
        self._keepers: Final = [_Keeper(one, restarts()) for one in supervised]
        self._asked: Final = threading.Event()
        self._since: Final = self._clock()

    def run(self, wait: Callable[[float], object] | None = None, first: Callable[[], object] = lambda: None) -> None:
        """Supervise; `wait` waits so many seconds at most, and less if it is asked to stop.

        `first` is called once the checkpoints are ours: what it takes to start at all, which is not tried again.
        """
        with ExitStack() as locks:
            for keeper in self._keepers:
                locks.enter_context(CheckpointLock(keeper.supervised.checkpoint))
            self._status.parent.mkdir(parents=True, exist_ok=True)
            stop_file(self._status).unlink(missing_ok=True)  # it was meant for the supervisor before this one
            first()
            try:
                while self.poll():
                    (wait or self._asked.wait)(POLL / SECOND)
            finally:
                for keeper in self._keepers:
                    keeper.stop()
                self._write()

    def poll(self) -> bool:
        """Look after every query once; false when there is nothing more to do."""
        if self._asked.is_set() or stop_file(self._status).exists():
            return False
        for keeper in self._keepers:
            keeper.look(self._clock())
        self._write()
        return any(keeper.state in {RUNNING, WAITING} for keeper in self._keepers)

    def stop(self) -> None:
        """Ask to stop; from any thread, or from a signal handler."""
        self._asked.set()

    def stop_on_signals(self) -> None:
        """Stop on SIGTERM and SIGINT; after the session was made, because Spark sets a handler of its own."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())

    def _write(self) -> None:
        said = {
            "pid": os.getpid(),
            "since_ns": self._since,
            "updated_ns": self._clock(),
            "queries": {keeper.supervised.name: keeper.status() for keeper in self._keepers},
        }
        draft = self._status.with_name(f"{self._status.name}.draft")
        draft.write_text(json.dumps(said, indent=1), encoding="utf-8")
        draft.replace(self._status)


def stop_file(status: Path) -> Path:
    """The file whose being there asks the supervisor of this status to stop."""
    return status.with_name(f"{status.name}.stop")


def ask_to_stop(status: Path) -> None:
    """Ask the supervisor that writes this status, in another process, to stop."""
    stop_file(status).touch()


class _Keeper:
    """One query and how it fares."""

    def __init__(self, supervised: Supervised, restarts: Restarts) -> None:
        self.supervised: Final = supervised
        self.state = WAITING
        self._restarts: Final = restarts
        self._query: Query | None = None
        self._start_at = 0
        self._error = ""
        self._progress: dict[str, object] = {}

    def look(self, now: int) -> None:
        """Start it when it is time; see whether it still runs."""
        try:
            if self.state == WAITING and now >= self._start_at:
                self._query = self.supervised.start()
                self._restarts.started(now)
                self.state = RUNNING
            elif self.state == RUNNING and self._query is not None:
                self._observe(self._query)
        except Exception as error:  # noqa: BLE001 - also of the JVM's connection: whatever it is, it is tried again
            self._fail(error, now)

    def _observe(self, query: Query) -> None:
        active = query.isActive  # asked first: what it did last is in the progress then
        if (progress := query.lastProgress) is not None:
            self._progress = {
                "batch": progress["batchId"],
                "rows": progress["numInputRows"],
                "input_rows_per_s": _number(progress["inputRowsPerSecond"]),
                "processed_rows_per_s": _number(progress["processedRowsPerSecond"]),
                **self.supervised.measure(progress),
            }
        if active:
            return
        if (error := query.exception()) is not None:
            raise error
        self.state = FINISHED

    def _fail(self, error: Exception, now: int) -> None:
        self._error = reason_of(error)
        self._start_at = self._restarts.failed(now)
        self.state = WAITING
        wait_s = (self._start_at - now) / SECOND
        _log.warning("%s failed and starts again in %g s: %s", self.supervised.name, wait_s, self._error.split("\n")[0])

    def stop(self) -> None:
        """End it, if it runs."""
        if self.state == RUNNING and self._query is not None:
            try:
                self._query.stop()
            except Exception as error:  # noqa: BLE001 - a query that is interrupted, or has no JVM left, has stopped
                _log.debug("%s was stopped, and said %s", self.supervised.name, reason_of(error))
        if self.state != FINISHED:
            self.state = STOPPED

    def status(self) -> dict[str, object]:
        """What the status file says of it."""
        waiting = {"starts_at_ns": self._start_at} if self.state == WAITING else {}
        facts = {"state": self.state, "restarts": self._restarts.count, "last_error": self._error}
        return facts | waiting | self._progress


def _number(rate: float) -> float | None:
    """JSON has no words for the rate of a batch that took no time."""
    return rate if abs(rate) < float("inf") else None
