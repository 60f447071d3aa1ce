"""A Spark query kept running until somebody stops it: by a signal, or by `roost pipeline stop`; it says how it goes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.cli._output import say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from roost.pipeline.supervisor import Query

EVERY_S: Final = 5  # between two lines about how it goes


def supervise(
    name: str,
    checkpoint: str,
    options: argparse.Namespace,
    begin: Callable[[SparkSession], Query],
    status: Callable[[], Mapping[str, Any]],
    look: Callable[[], None] = lambda: None,
) -> None:
    """Begin it, again when it fails; `look` is called about once a second."""
    import signal
    import threading
    import time

    from roost.cli import note
    from roost.cli._spark import spark_for
    from roost.pipeline.supervisor import Supervised, Supervisor

    stopped = threading.Event()

    def stop(*_: object) -> None:
        supervisor.stop()
        stopped.set()

    def start() -> Query:
        spark = session()  # a new one, should its JVM have died; it sets a handler of its own, and ours come after it
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        return begin(spark)

    supervised = Supervised(name, checkpoint, start, lambda _: status())
    supervisor = Supervisor([supervised], status_file(checkpoint, name))
    said = time.monotonic()

    def wait(seconds: float) -> None:
        nonlocal said
        stopped.wait(seconds)
        if not stopped.is_set():
            look()
        if time.monotonic() - said >= EVERY_S:
            said = time.monotonic()
            now = status()
            say(options, summary(now), **now)

    with spark_for(f"roost {name}", options.master) as session:
        supervisor.run(wait, first=session)  # where Spark cannot start, nothing is to be supervised
    note("stopped; what was begun is done again by the next run, under the same names")


def checkpoint_of(said: str | None, name: str) -> str:
    """Where the checkpoint is: as it is said, or in the home."""
    from roost.host.paths import home

    return said or str(home() / "pipelines" / name)


def status_file(checkpoint: str, name: str) -> Path:
    """Beside a checkpoint of this machine; for one elsewhere, in the home."""
    from roost.host.paths import home

    if "://" in checkpoint.removeprefix("file://"):
        return home() / "pipelines" / f"{name}.status.json"
    folder = Path(checkpoint.removeprefix("file://"))
    return folder.with_name(f"{folder.name}.status.json")


def summary(status: Mapping[str, Any]) -> str:
    """One line about how it goes: all stages together, and the one that lags most."""
    stages: Mapping[str, Mapping[str, Any]] = status["stages"]
    rows = sum(stage["rows_per_s"] for stage in stages.values())
    results = sum(stage["results_per_s"] for stage in stages.values())
    lags = {name: stage["lag_s"] for name, stage in stages.items() if stage["lag_s"] is not None}
    slowest = max(lags, key=lambda name: lags[name], default="")
    lag = f"lag {lags[slowest]:.1f} s ({slowest})" if slowest else "nothing published yet"
    expected, received = (sum(stage[name] for stage in stages.values()) for name in ("expected", "received"))
    complete = percent(received / expected if expected else None)
    return f"{rows:,.0f} readings/s in, {results:,.0f} results/s out, {lag}, {complete} complete"


def percent(part: float | None) -> str:
    """A share as people read it."""
    return "—" if part is None else f"{100 * part:.2f} %"


def add_reach(verb: argparse.ArgumentParser) -> None:
    """Take where repos and Spark are, for what runs on it."""
    verb.add_argument(
        "--repos", metavar="URI", action="append", default=[], help="a repo; repeatable (default: the node that runs)"
    )
    verb.add_argument("--bulk", metavar="DOOR", action="append", default=[], help="a repo's bulk door; repeatable")
    verb.add_argument("--verify", metavar="WHAT", default="boundary", help="boundary (default), always or never")
    verb.add_argument("--master", metavar="URL", help="where Spark runs (default: on this machine)")


def reach_of(options: argparse.Namespace) -> dict[str, str]:
    """The same as options of the source and the sink."""
    said = {"repos": ",".join(options.repos), "bulk": ",".join(options.bulk)}
    said |= {"home": options.home, "verify": options.verify}
    return {name: value for name, value in said.items() if value}
