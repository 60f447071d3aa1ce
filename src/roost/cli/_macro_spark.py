"""`roost macro test` and `diff` on Spark, for long histories of archive and repos: the same output in the same order.

Spark takes seconds to start, so short histories stay in this process. How long one is, manifests and repos say before
anything is read.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from roost.cli import note
from roost.cli._macro_past import Groups, say_what_lacks
from roost.cli._past import ATTEMPTS, changed_too_often
from roost.cli._progress import Progress
from roost.cli._spark import spark_for
from roost.errors import BadConfig, RoostError
from roost.process.definition import Definition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from roost.pipeline.macros_compare import Told
    from roost.pipeline.macros_history_rows import Held
    from roost.process.comparing import Comparison

LONG: Final = 500_000  # readings from which on a history is Spark's, unless it is said otherwise
_SHOWN_AT_ONCE: Final = 20_000  # runs that are here at a time
_POLL_S: Final = 0.2


class Tested(NamedTuple):
    """A replay that was done: its runs as JSON, in order, and how macros fared."""

    told: Iterator[str]
    readings: int
    counts: Mapping[str, Sequence[int]]
    found: Mapping[str, Sequence[str]]


def is_for_spark(options: argparse.Namespace, groups: Groups | None) -> bool:
    """Whether Spark does it; raises `BadConfig` if it is asked for and cannot."""
    if groups is None:
        if options.spark:
            raise BadConfig("--spark is for archive and repos, which all machines can read: give --archive or --group")
        return False
    if options.spark is not None:
        return bool(options.spark)
    count = sum(place.count for place in groups.places())
    if count < LONG:
        return False
    from roost.pipeline.java import find_java

    try:
        find_java()
    except RoostError:
        return False
    note(f"there are up to {count:,} readings: Spark goes through them; --no-spark has this process do it")
    return True


@contextmanager
def tested_on_spark(
    options: argparse.Namespace, groups: Groups, definitions: Sequence[Definition], progress: Progress
) -> Iterator[Tested]:
    """Run macros over the history; what is shown of it is fetched piece by piece."""
    from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

    from roost.pipeline.macros import replayed
    from roost.pipeline.macros_replay import COUNTED
    from roost.pipeline.macros_rows import IN_TURN

    with spark_for("roost macro test", options.master) as session:
        spark = session()
        with _watched(spark, progress):
            past = _held(spark, groups)
            done = replayed(past.rows, definitions, remember=False, tells=True)
            at = COUNTED.index("failures" if options.failures else "runs")
            count = sum(counts[at] for counts in done.counts.values())
            runs = done.runs.filter(F.col("kind") != "") if options.failures else done.runs
            pieces = runs.repartitionByRange(count // _SHOWN_AT_ONCE + 1, *IN_TURN).sortWithinPartitions(*IN_TURN)
        told = (str(row["told"]) for row in pieces.select("told").toLocalIterator())
        yield Tested(told, past.count, done.counts, done.found)


def compared_on_spark(
    options: argparse.Namespace,
    groups: Groups,
    versions: tuple[Sequence[Definition], Sequence[Definition]],
    progress: Progress,
) -> tuple[Comparison, list[Told]]:
    """Compare two versions over the history."""
    from roost.pipeline.macros import replayed
    from roost.pipeline.macros_compare import compare_on_spark
    from roost.process.comparing import called_like

    with spark_for("roost macro diff", options.master) as session:
        spark = session()
        with _watched(spark, progress):
            past = _held(spark, groups)
            old, new = [replayed(past.rows, each, remember=False, tells=True).runs for each in versions]
            result, first = compare_on_spark(old, new, called_like(*versions), options.show)
    result.samples = past.count
    return result, first


def _held(spark: SparkSession, groups: Groups) -> Held:
    """Read the history, again if the archive changes under it."""
    from roost.pipeline.macros_history_rows import held

    for _ in range(ATTEMPTS):
        places = groups.places()
        try:
            past = held(spark, groups.archive.folder, places, groups.access, groups.wanted)
        except FileNotFoundError:  # compacted meanwhile
            continue
        before = {place.group: place.manifest.files for place in places}
        if past.dropped and any(archive.manifest().files != before[archive.group] for archive, _ in groups.reached):
            past.release()
            continue
        say_what_lacks(past.lost, past.unreadable)
        return past
    raise changed_too_often(groups.reached[0][0].group)


@contextmanager
def _watched(spark: SparkSession, progress: Progress) -> Iterator[None]:
    """Tell how far Spark has come, by its tasks."""
    ended = threading.Event()
    tracker = spark.sparkContext.statusTracker()

    def watch() -> None:
        while not ended.wait(_POLL_S):
            told = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            stages = [each for each in told if each is not None]
            if stages:
                done, total = (
                    sum(getattr(each, name) for each in stages) for name in ("numCompletedTasks", "numTasks")
                )
                progress.say(done, "tasks of Spark's", total)

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()
        progress.end()
