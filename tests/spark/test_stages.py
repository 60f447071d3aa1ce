"""Stages on real Spark, without a source: rows as it would give them, results as the sink would take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from roost.columns.readings import WINDOWED, WITH_SUMS
from roost.errors import BadConfig
from roost.pipeline.graph import Pipeline
from roost.pipeline.hierarchy import Comfort, Measures, hierarchy
from roost.pipeline.mapreduce import map_reduce
from roost.pipeline.running import Running
from roost.pipeline.stages_windows import inputs_of
from roost.pipeline.sums import handed_out

MINUTE = 60_000_000_000
GROUP = "/Campus/Hall/Env"
Row = dict[str, Any]


def row(stream: str, seq: int, value: float | None, *, window: int = 10, **more: Any) -> Row:  # noqa: ANN401  any column
    """A row as the source gives it; `stream` is relative to the group."""
    panel, device, metric = stream.split("/")
    made: Row = {
        "stream": f"{GROUP}/{stream}",
        "seq": seq,
        "event_time": datetime.fromtimestamp(window * 60 + seq % 60, UTC),
        "arrival_time": datetime.fromtimestamp(0, UTC),
        "value": value,
        "payload": None,
        "unit": "Cel",
        "quality": "good",
        "panel": panel,
        "device": device,
        "metric": metric,
        "signer": None,
        "verified": True,
        "expected": 1,
        "received": 1,
        "input": "rooms.readings",
        "key": f"{device}/{metric}",
        "window": window,
        "window_start": datetime.fromtimestamp(window * 60, UTC),
        "correction": None,
    }
    return made | more


def absent(stream: str, seq: int, quality: str = "missing", **more: Any) -> Row:  # noqa: ANN401  as above
    """A number without a reading."""
    counts = {"expected": 0, "received": 0} if quality in ("open", "quiet") else {"received": 0}
    return row(stream, seq, None, quality=quality, unit=None, **counts, **more)


class Sink:
    """Keeps what is written, and what the groups have."""

    def __init__(self) -> None:
        self.written: list[Row] = []
        self.held: dict[str, tuple[int, int]] = {}

    def write(self, rows: DataFrame | pa.Table) -> None:
        self.written += (rows if isinstance(rows, pa.Table) else rows.toArrow()).to_pylist()

    def ask(self, group: str, streams: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        return {each: self.held[f"{group}/{each}"] for each in streams if f"{group}/{each}" in self.held}

    def values(self) -> dict[tuple[str, int], float | None]:
        return {(each["output"], each["number"]): each["value"] for each in self.written}


@pytest.fixture
def sink() -> Sink:
    return Sink()


def run(spark: SparkSession, pipeline: Pipeline, sink: Sink, rows: list[Row], number: int = 0, **more: Any) -> Running:  # noqa: ANN401  options
    running = Running(pipeline, write=sink.write, ask=sink.ask, **more)
    running.process(batch_of(spark, running, rows), number)
    return running


def batch_of(spark: SparkSession, running: Running, *tasks: list[Row]) -> DataFrame:
    """What the source makes of rows that tasks have read."""
    inputs = {each.name: each for each in inputs_of(running.pipeline.stages)}
    read = [pa.RecordBatch.from_pylist(rows, schema=WINDOWED) for rows in tasks]
    if any(each.sums for each in inputs.values()):
        return spark.createDataFrame(pa.Table.from_batches(handed_out(read, inputs), WITH_SUMS))
    return spark.createDataFrame(pa.Table.from_batches(read, WINDOWED))


def rooms(**outputs: str) -> Pipeline:
    draft = Pipeline("hall").stage("rooms").read(GROUP, window="1m", key="{device}/{metric}")
    return draft.aggregate(outputs, names=True, interval="10s").publish("/Campus/Hall/Rooms", "calc")


# -- windows


def test_a_window_is_summed_up_exactly_with_what_it_lacks(spark: SparkSession, sink: Sink) -> None:
    rows = [
        row("pi1/room1/temp", 100, 0.1),
        row("pi1/room1/temp", 101, 0.2),
        absent("pi1/room1/temp", 102),
        absent("pi1/room1/temp", 103),
        absent("pi1/room1/temp", 105, "refused"),
        row("pi1/room1/temp", 104, 99.0, quality="bad"),
        row("pi2/room1/temp", 7, 0.3),
        row("pi2/room1/temp", 8, float("nan")),
        absent("pi3/room1/temp", 0, "open"),
    ]
    run(spark, rooms(mean="mean", min="min", max="max", sum="sum", count="count", energy="energy"), sink, rows)
    assert sink.values() == {
        ("room1/temp_mean", 1): 0.6 / 3,
        ("room1/temp_min", 1): 0.1,
        ("room1/temp_max", 1): 0.3,
        ("room1/temp_sum", 1): 0.6,
        ("room1/temp_count", 1): 3.0,
        ("room1/temp_energy", 1): 0.6 * 10 / 3600,
    }
    mean = next(each for each in sink.written if each["output"] == "room1/temp_mean")
    assert (mean["expected"], mean["received"], mean["missing"], mean["open"]) == (8, 5, 3, 1)
    assert (mean["unit"], mean["quality"], mean["window_s"]) == ("Cel", "uncertain", 60.0)
    assert mean["event_time"] == datetime.fromtimestamp(600, UTC)
    assert mean["missing_names"] == "pi1/room1/temp 102-103 105"
    assert mean["inputs"] == [
        {"stream": f"{GROUP}/pi1/room1/temp", "low": 100, "high": 105},
        {"stream": f"{GROUP}/pi2/room1/temp", "low": 7, "high": 8},
    ]
    units = {each["output"]: each["unit"] for each in sink.written}
    assert (units["room1/temp_count"], units["room1/temp_energy"]) == ("count", "Wh")


def test_sums_are_the_same_however_rows_are_shared_out(spark: SparkSession) -> None:
    rows = [row(f"pi{each % 7}/room1/temp", 1 + each, 0.1 * each + 1e-7 / (each + 1)) for each in range(997)]
    found = set()
    for tasks in (1, 2, 7):
        sink = Sink()
        running = Running(rooms(mean="mean"), write=sink.write, ask=sink.ask)
        shared = [[each for each in rows if int(each["panel"][2:]) % tasks == task] for task in range(tasks)]
        running.process(batch_of(spark, running, *shared), 0)
        found.add(sink.values()["room1/temp_mean", 1])
    assert len(found) == 1


def test_a_quiet_window_has_a_result_and_keeps_numbers_dense(spark: SparkSession, sink: Sink) -> None:
    rows = [
        row("pi1/room1/temp", 1, 20.0, window=10),
        absent("pi1/room1/temp", 0, "quiet", window=11),
        row("pi1/room1/temp", 2, 22.0, window=12),
    ]
    run(spark, rooms(mean="mean"), sink, rows)
    assert sink.values() == {
        ("room1/temp_mean", 1): 20.0,
        ("room1/temp_mean", 2): None,
        ("room1/temp_mean", 3): 22.0,
    }


def test_expressions_know_conditions_flags_fields_and_parts(spark: SparkSession, sink: Sink) -> None:
    draft = Pipeline("hall").stage("rooms").read(GROUP, window="1m", key="{device}")
    pipeline = draft.aggregate(
        warm="hours_where(value > 20 and metric = 'temp')",
        humid="count_where(metric = 'hum')",
        odd="flag(temp.max - temp.min > 5)",
        both="temp.mean + hum.mean",
        first="case device when 'room1' then 1 else 2 end",
        none="temp.sum / (count - count)",
        interval="10s",
    ).publish("/Campus/Hall/Rooms", "calc")
    rows = [
        row("pi1/room1/temp", 1, 18.0, key="room1"),
        row("pi1/room1/temp", 2, 24.0, key="room1"),
        row("pi1/room1/hum", 1, 40.0, key="room1", unit="%RH"),
    ]
    run(spark, pipeline, sink, rows)
    assert sink.values() == {
        ("room1/warm", 1): 10 / 3600,
        ("room1/humid", 1): 1.0,
        ("room1/odd", 1): 1.0,
        ("room1/both", 1): 61.0,
        ("room1/first", 1): 1.0,
        ("room1/none", 1): None,
    }
    assert {each["output"]: each["unit"] for each in sink.written}["room1/both"] == "Cel"


def test_numbers_go_on_from_what_the_group_has(spark: SparkSession, sink: Sink) -> None:
    sink.held["/Campus/Hall/Rooms/calc/room1/temp_mean"] = (4, 8 * MINUTE)  # so it began with window 5
    running = run(spark, rooms(mean="mean"), sink, [row("pi1/room1/temp", 1, 20.0, window=10)])
    assert sink.values() == {("room1/temp_mean", 6): 20.0}
    early = [row("pi1/room1/temp", 1, 20.0, window=3), row("pi1/room1/temp", 1, 21.0, window=3, correction=1)]
    running.process(batch_of(spark, running, early), 1)
    told = [(each["number"], each["correction"], each["value"]) for each in sink.written]
    assert told == [(6, None, 20.0), (0, 1, 21.0)]  # an earlier window has no number, its correction has
    assert running.status()["before"] == 1


def test_a_correction_keeps_the_number_of_its_window(spark: SparkSession, sink: Sink) -> None:
    rows = [
        row("pi1/room1/temp", 1, 20.0, window=10),
        row("pi1/room1/temp", 2, 22.0, window=11),
    ]
    running = run(spark, rooms(mean="mean"), sink, rows)
    again = [
        row("pi1/room1/temp", 2, 22.0, window=11, correction=1),
        row("pi1/room1/temp", 3, 24.0, window=11, correction=1),
    ]
    running.process(batch_of(spark, running, again), 1)
    last = sink.written[-1]
    assert (last["number"], last["correction"], last["value"]) == (2, 1, 23.0)


def test_the_status_says_rates_lag_and_completeness(spark: SparkSession, sink: Sink) -> None:
    rows = [row("pi1/room1/temp", 1, 20.0), row("pi1/room1/temp", 2, 20.0), absent("pi1/room1/temp", 3)]
    running = run(spark, rooms(mean="mean"), sink, rows, clock=lambda: 12 * MINUTE)
    told = running.status()["stages"]["rooms"]
    assert (told["rows"], told["expected"], told["received"], told["lag_s"]) == (3, 3, 2, 60.0)
    assert told["completeness"] == pytest.approx(2 / 3)


# -- several inputs


def joined() -> Pipeline:
    return (
        Pipeline("hall")
        .stage("difference")
        .read(GROUP, "+/+/temp", name="inside", window="1m", key="{device}")
        .read("/Campus/Weather", "+/+/temp", name="outside", window="1m", key="{device}")
        .join(warmer="inside.mean - outside.mean")
        .publish("/Campus/Hall/Rooms", "calc")
    )


def test_a_join_waits_for_all_inputs_and_is_corrected_with_either(
    spark: SparkSession, sink: Sink, tmp_path: Path
) -> None:
    def half(name: str, value: float, window: int = 10, **more: Any) -> Row:  # noqa: ANN401  any column
        return row("pi1/room1/temp", window, value, window=window, key="room1", input=f"difference.{name}", **more)

    batches = [
        [half("inside", 20.0), half("inside", 21.0, 11)],
        [half("outside", 5.0)],
        [half("inside", 22.0, correction=1), half("outside", 6.0, 11)],
        [half("outside", 4.0, correction=1)],
    ]
    expected: list[list[tuple[int, int | None, float]]] = [
        [],
        [(1, None, 15.0)],
        [(1, 1, 17.0), (2, None, 15.0)],
        [(1, 2, 18.0)],
    ]
    folder = str(tmp_path / "checkpoint")
    for number, (rows, results) in enumerate(zip(batches, expected, strict=True)):
        for _ in range(2):  # a driver that dies in mid-batch does it again, knowing only what is on the disk
            sink.written.clear()
            run(spark, joined(), sink, rows, number, checkpoint=folder)
            written = [(each["number"], each["correction"], each["value"]) for each in sink.written]
            assert sorted(written) == results, number


# -- readings one by one


def test_filter_and_map_keep_the_numbers_of_their_inputs(spark: SparkSession, sink: Sink) -> None:
    pipeline = (
        Pipeline("hall")
        .stage("warm")
        .read(GROUP, "+/+/temp")
        .filter("value > 20")
        .publish("/Campus/Hall/Warm", "calc", device="{panel}-{device}")
        .stage("fahrenheit")
        .read(GROUP, "+/+/temp")
        .map("value * 9 / 5 + 32")
        .publish("/Campus/Hall/Fahrenheit", "calc", device="{panel}-{device}", unit="degF")
    )
    rows = [
        made | {"input": f"{stage}.readings", "window": made["seq"]}
        for stage in ("warm", "fahrenheit")
        for made in (
            row("pi1/room1/temp", 7, 25.0),
            row("pi1/room1/temp", 8, 15.0, quality="uncertain"),
            absent("pi1/room1/temp", 9, "sealed"),
            row("pi1/room1/temp", 10, 30.0, expected=6, received=5),
            absent("pi1/room1/temp", 11, "refused", event_time=None),
        )
    ]
    running = run(spark, pipeline, sink, rows)
    by_stage = {
        stage: {each["number"]: each for each in sink.written if each["stage"] == stage}
        for stage in ("warm", "fahrenheit")
    }
    assert {number: each["value"] for number, each in by_stage["warm"].items()} == {7: 25.0, 8: None, 9: None, 10: 30.0}
    assert by_stage["fahrenheit"][8]["value"] == 59.0
    assert by_stage["fahrenheit"][8]["unit"] == "degF"
    assert by_stage["fahrenheit"][8]["quality"] == "uncertain"
    assert by_stage["warm"][7]["output"] == "pi1-room1/temp"
    assert by_stage["warm"][7]["inputs"] == [{"stream": f"{GROUP}/pi1/room1/temp", "low": 7, "high": 7}]
    counts = {number: (each["expected"], each["received"]) for number, each in by_stage["warm"].items()}
    assert counts == {7: (None, None), 8: (None, None), 9: (1, 0), 10: (6, 5)}
    assert running.status()["stages"]["warm"]["rows"] == 4
    assert running.status()["stages"]["warm"]["received"] == 7


# -- SQL and functions


def test_sql_in_windows_is_named_counted_and_traced(spark: SparkSession, sink: Sink) -> None:
    text = "select key, window, correction, max(value) - min(value) as value from t group by key, window, correction"
    draft = Pipeline("hall").stage("range").read(GROUP, name="t", window="1m", key="{device}/{metric}")
    pipeline = draft.sql(text + " having count(value) > 1").publish(
        "/Campus/Hall/Rooms", "calc", metric="{metric}_range"
    )
    rows = [
        row("pi1/room1/temp", 1, 18.0, input="range.t"),
        row("pi1/room1/temp", 2, 24.0, input="range.t"),
        row("pi1/room2/temp", 1, 24.0, input="range.t"),
    ]
    run(spark, pipeline, sink, rows)
    assert sink.values() == {("room1/temp_range", 1): 6.0, ("room2/temp_range", 1): None}
    assert sink.written[0]["inputs"][0]["stream"].startswith(GROUP)
    assert {each["expected"] for each in sink.written} == {1, 2}


def test_sql_over_readings_leaves_markers_for_what_it_leaves_out(spark: SparkSession, sink: Sink) -> None:
    draft = Pipeline("hall").stage("s").read(GROUP, "pi1/+/temp", name="t")
    pipeline = draft.sql("select stream, seq, value * 2 as value, 'x' as unit from t where value > 20").publish(
        "/Campus/Hall/Warm", "calc"
    )
    rows = [row("pi1/room1/temp", 1, 25.0, input="s.t"), row("pi1/room1/temp", 2, 15.0, input="s.t")]
    run(spark, pipeline, sink, rows)
    assert sink.values() == {("room1/temp", 1): 50.0, ("room1/temp", 2): None}


def test_sql_that_selects_too_little_says_what_it_needs(spark: SparkSession, sink: Sink) -> None:
    draft = Pipeline("hall").stage("s").read(GROUP, name="t", window="1m", key="{device}/{metric}")
    pipeline = draft.sql("select key, value from t").publish("/Campus/Hall/Rooms", "calc")
    with pytest.raises(BadConfig, match="no column window, correction"):
        run(spark, pipeline, sink, [row("pi1/room1/temp", 1, 1.0, input="s.t")])


def spread(rows: pd.DataFrame) -> dict[str, float]:
    """A function of a window: how far values are apart, and how many there are."""
    return {"spread": float(rows["value"].max() - rows["value"].min()), "rows": float(len(rows))}


def middle(rows: pa.Table) -> float | None:
    """A function of a window that gives one value, or none."""
    values = sorted(each for each in rows["value"].to_pylist() if each is not None)
    return values[len(values) // 2] if len(values) > 1 else None


def halved(rows: pd.DataFrame) -> pd.Series:
    """A function of readings."""
    return rows["value"] / 2


@pytest.fixture
def functions(spark: SparkSession) -> str:
    """Where workers find this module's functions."""
    spark.sparkContext.addPyFile(__file__)
    return Path(__file__).stem


def test_a_function_makes_values_of_each_window(spark: SparkSession, sink: Sink, functions: str) -> None:
    rows = [
        row("pi1/room1/temp", 1, 18.0, input="s.readings"),
        row("pi1/room1/temp", 2, 24.0, input="s.readings"),
        row("pi1/room2/temp", 2, 24.0, input="s.readings"),
    ]
    draft = Pipeline("hall").stage("s").read(GROUP, window="1m", key="{device}/{metric}")
    several = draft.function(f"{functions}:spread").publish("/Campus/Hall/Rooms", "calc", metric="{metric}_{output}")
    run(spark, several, sink, rows)
    assert sink.values()["room1/temp_spread", 1] == 6.0
    assert sink.values()["room2/temp_rows", 1] == 1.0
    sink.written.clear()
    one = draft.function(f"{functions}:middle", "arrow").publish("/Campus/Hall/Rooms", "calc", metric="{metric}_mid")
    run(spark, one, sink, rows)
    assert sink.values() == {("room1/temp_mid", 1): 24.0, ("room2/temp_mid", 1): None}


def test_a_function_makes_a_value_of_each_reading(spark: SparkSession, sink: Sink, functions: str) -> None:
    draft = Pipeline("hall").stage("s").read(GROUP, "pi1/+/temp")
    pipeline = draft.function(f"{functions}:halved").publish("/Campus/Hall/Half", "calc")
    rows = [row("pi1/room1/temp", 1, 18.0, input="s.readings"), row("pi1/room1/temp", 2, None, input="s.readings")]
    run(spark, pipeline, sink, rows)
    assert sink.values() == {("room1/temp", 1): 9.0, ("room1/temp", 2): None}


def test_map_reduce_takes_three_lines(spark: SparkSession) -> None:
    rows = [row("pi1/room1/temp", 1, 18.0), row("pi1/room1/temp", 2, 24.0), row("pi1/room2/temp", 1, 20.0)]
    rows += [absent("pi1/room2/temp", 2)]
    read = spark.createDataFrame(pa.Table.from_pylist(rows, schema=WINDOWED))
    found = map_reduce(
        spark, read, map=lambda each: [(each["device"], each["value"])], reduce=lambda _, values: values[-1] - values[0]
    )
    assert found == {"room1": 6.0, "room2": 0.0}


# -- the hierarchy


def test_means_of_the_hierarchy_weigh_readings_and_count_them_once(spark: SparkSession, sink: Sink) -> None:
    measures = Measures({"temp": "Cel", "hum": "%RH"}, ranges={"temp": (5, 40)}, spread={"temp": 3}, comfort=Comfort())
    pipeline = hierarchy(GROUP, {"room1": "floor1", "room2": "floor1"}, measures)
    running = Running(pipeline, write=sink.write, ask=sink.ask)
    raw = [row("pi1/room1/temp", each, 21.0 + each) for each in range(1, 5)]
    raw += [row("pi2/room2/temp", 1, 29.0), absent("pi2/room2/temp", 2)]
    raw += [row("pi1/room1/hum", 1, 40.0, unit="%RH")]
    running.process(batch_of(spark, running, raw), 0)
    made = {each["output"]: each for each in sink.written}
    assert made["room1/temp_mean"]["value"] == 23.5
    assert made["room1/temp_anomaly"]["value"] == 0.0
    sink.written.clear()

    def virtual(each: Row, input_: str, key: str) -> Row:
        device, metric = each["output"].split("/")
        counts = {"expected": each["expected"], "received": each["received"]}
        found = row(f"hierarchy/{device}/{metric}", 1, each["value"], input=input_, key=key, unit=each["unit"])
        return found | counts | {"stream": f"/Campus/Hall/Rooms/hierarchy/{device}/{metric}"}

    parts = ("mean", "min", "max", "sum", "count")
    floors = [
        virtual(made[f"{room}/temp_{part}"], "floors.readings", "floor1/temp")
        for room in ("room1", "room2")
        for part in parts
    ]
    comfort = [virtual(made[f"room1/{each}_mean"], "rooms-comfort.readings", "room1") for each in ("temp", "hum")]
    running.process(batch_of(spark, running, floors + comfort), 1)
    found = {each["output"]: each for each in sink.written}
    assert found["floor1/temp_mean"]["value"] == pytest.approx((94.0 + 29.0) / 5)
    assert found["floor1/temp_mean"]["unit"] == "Cel"
    assert (found["floor1/temp_max"]["value"], found["floor1/temp_count"]["value"]) == (29.0, 5.0)
    assert found["floor1/temp_count"]["unit"] == "count"
    assert found["floor1/temp_anomaly"]["value"] == 1.0
    assert (found["floor1/temp_mean"]["expected"], found["floor1/temp_mean"]["received"]) == (6, 5)
    assert found["room1/comfort_hours"]["value"] == pytest.approx(1 / 60)
    assert found["room1/comfort_hours"]["unit"] == "h"
