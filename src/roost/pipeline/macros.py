"""Macros over a history on Spark: the runs that `roost.process.replay` makes of the same readings, to the bit.

    rows = past.rows(spark)                      of archive and repos, `roost.pipeline.macros_history`
    runs = replay_on_spark(rows, [definition_of({"name": "home/tempC", "code": "…"})])

The result has a row for each run (`roost.pipeline.macros_rows.RUN`), in no order; `replayed` also tells how macros
fared, and what people are told of each run (`TOLD`), which has an order, `IN_TURN`.
How the work is shared out, and why that changes nothing, is in `roost.pipeline.macros_plan`. Whether runs kept state or
named topics that their code does not show is known when they are done; if they did, it is done again as it has to be:
in one go, or, where topics were not known, all macros together over all readings.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import cbor2
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.storagelevel import StorageLevel

from roost.pipeline import macros_tasks as tasks
from roost.pipeline.macros_past import Left
from roost.pipeline.macros_plan import Together, can_be_cut, is_sound, looked_back_on, sets_of
from roost.pipeline.macros_replay import COUNTED
from roost.pipeline.macros_rows import ORDER, RUN, TOLD, Read, read
from roost.pipeline.macros_tasks import ENDED, FILTER, PART, RAN, ROUTED, SEEN, Work
from roost.process.definition import Definition

MIN_SLICE: Final = 20_000  # readings that are worth a task of their own
_CAUSE: Final = ("time", "cause_stream", "cause_number", "cause_topic")


class Ended(NamedTuple):
    """What a part says at its end; `left` is empty if nobody goes on from there."""

    is_stateful: bool
    found: Mapping[str, Sequence[str]]  # by macro, what runs named and its code does not show
    taken: int  # readings
    results: int
    newest: int  # event time of a reading
    counts: Mapping[str, Sequence[int]]  # by macro, see `COUNTED`
    left: bytes


class Replayed(NamedTuple):
    """What came of a replay."""

    runs: DataFrame
    counts: Mapping[str, Sequence[int]]  # by macro, see `COUNTED`
    found: Mapping[str, Sequence[str]]  # by macro, the topics that runs named and its code does not show


def replay_on_spark(
    rows: DataFrame,
    definitions: Sequence[Definition],
    *,
    streams: Mapping[str, bytes] | None = None,
    slices: int | None = None,
) -> DataFrame:
    """Run macros over readings (`roost.pipeline.macros_rows.READING`).

    `streams` are the names of the streams of results by topic, if these are to be numbered; `slices` is into how many
    slices of time a macro may be cut, by default as many as pay. It is done when this returns, and held on disk.
    """
    return replayed(rows, definitions, streams=streams, slices=slices).runs


def replayed(
    rows: DataFrame,
    definitions: Sequence[Definition],
    *,
    streams: Mapping[str, bytes] | None = None,
    slices: int | None = None,
    remember: bool = True,
    tells: bool = False,
) -> Replayed:
    """The same, with how macros fared. With `tells`, runs are rows of `TOLD`.

    Without `remember`, what runs name and their code does not show begins empty, as in `roost.process.replay`.
    """
    sets = sets_of(definitions)
    bounds = _bounds(rows, slices)
    cuts = [can_be_cut(together, len(bounds) + 1) for together in sets]
    work = Work(
        tuple(replace(each, bounds=bounds) if cut else each for each, cut in zip(sets, cuts, strict=True)),
        streams=dict(streams or {}),
        tells=tells,
    )
    work = _sound(rows, work) if any(each.bounds for each in work.sets) else work
    runs, ends = run(rows, work)
    if any(end.found for end in ends.values()):
        work = replace(work, sets=(Together(tuple(definitions), ()),), left={}, remember=remember)
        runs, ends = run(rows, work)
    elif any(end.is_stateful for part, end in ends.items() if work.of(part).bounds):
        work = replace(work, sets=tuple(replace(each, bounds=()) for each in work.sets), left={})
        runs, ends = run(rows, work)
    made = runs.filter(F.col(ENDED).isNull()).select(*(TOLD if tells else RUN).names)
    return Replayed(_numbered(made, work), _summed(definitions, ends.values()), _found(ends.values()))


def _summed(definitions: Sequence[Definition], ends: Collection[Ended]) -> dict[str, list[int]]:
    sums = {each.name: [0] * len(COUNTED) for each in definitions}
    for end in ends:
        for name, counts in end.counts.items():
            sums[name] = [one + other for one, other in zip(sums[name], counts, strict=True)]
    return sums


def _found(ends: Collection[Ended]) -> dict[str, list[str]]:
    names = sorted({name for end in ends for name in end.found})
    return {name: sorted({topic for end in ends for topic in end.found.get(name, ())}) for name in names}


def _bounds(rows: DataFrame, slices: int | None) -> tuple[int, ...]:
    """The times at which to cut, so that slices have about as many readings each."""
    most = slices or rows.sparkSession.sparkContext.defaultParallelism
    if most == 1:
        return ()
    shares = [at / most for at in range(1, most)]
    told = rows.agg(F.count("*").alias("count"), F.percentile_approx("time", shares, 1000).alias("cuts")).collect()[0]
    if not told["count"] or (slices is None and told["count"] < most * MIN_SLICE):
        return ()
    return tuple(sorted(set(told["cuts"])))


def _in_order(rows: DataFrame, work: Work) -> DataFrame:
    """The readings of each part together, in replay order."""
    handed = rows.mapInArrow(partial(tasks.routed, work), from_arrow_schema(ROUTED))
    return handed.repartitionById(work.firsts[-1], PART).sortWithinPartitions(PART, *ORDER)


def _sound(rows: DataFrame, work: Work) -> Work:
    """The same, with what slices look back on; without slices where the readings do not allow them."""
    cut = Work(tuple(each for each in work.sets if each.bounds))
    told: pa.Table = _in_order(rows, cut).mapInArrow(partial(tasks.seen, cut), from_arrow_schema(SEEN)).toArrow()
    tails: dict[int, dict[str, list[Read]]] = {}
    numbers: dict[int, dict[bytes, tuple[int, int]]] = {}
    for batch in told.to_batches():
        extra = zip(*(batch.column(name).to_pylist() for name in (PART, FILTER, ENDED)), strict=True)
        for entry, (part, each, ended) in zip(read(batch), extra, strict=True):
            if ended is None:
                tails.setdefault(part, {}).setdefault(each, []).append(entry)
            else:
                numbers[part] = cbor2.loads(ended)
    sets: list[Together] = []
    looks: list[dict[str, list[Read]]] = []  # by part
    firsts = iter(cut.firsts)
    for together in work.sets:
        parts = range(first := next(firsts), first + together.parts) if together.bounds else ()
        is_cut = bool(parts) and is_sound([numbers.get(part, {}) for part in parts])
        sets.append(together if is_cut else replace(together, bounds=()))
        looks += looked_back_on(together, [tails.get(part, {}) for part in parts]) if is_cut else [{}]
    left = {
        part: Left(samples={each: [entry.sample() for entry in entries] for each, entries in look.items()})
        for part, look in enumerate(looks)
    }
    return replace(work, sets=tuple(sets), left=left)


def run(rows: DataFrame, work: Work) -> tuple[DataFrame, dict[int, Ended]]:
    """Do it; returns all rows, held until nobody refers to them, and what each part says at its end."""
    runs = _in_order(rows, work).mapInArrow(partial(tasks.ran, work), from_arrow_schema(RAN))
    runs = runs.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)
    ends = runs.filter(F.col(ENDED).isNotNull()).select(PART, ENDED).collect()
    return runs, {row[PART]: Ended(*cbor2.loads(bytes(row[ENDED]))) for row in ends}


def _numbered(runs: DataFrame, work: Work) -> DataFrame:
    """Give results of slices their numbers: which of all it is."""
    cut = {each.definitions[0].topic for each in work.sets if each.bounds} & work.streams.keys()
    if not cut:
        return runs
    is_result = F.col("topic").isin(sorted(cut)) & F.col("payload").isNotNull()
    place = F.sum(is_result.cast("long")).over(
        Window.partitionBy("topic").orderBy(*_CAUSE).rowsBetween(Window.unboundedPreceding, 0)
    )
    stream = F.create_map(*[F.lit(each) for topic in sorted(cut) for each in (topic, bytearray(work.streams[topic]))])
    return runs.withColumns(
        {
            "number": F.when(is_result, place).otherwise(F.col("number")),
            "stream": F.when(is_result, stream[F.col("topic")]).otherwise(F.col("stream")),
        }
    )
