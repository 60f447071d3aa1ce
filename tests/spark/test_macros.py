"""Macros on real Spark: over a history, and as a stage of a pipeline, the same to the bit as on one node."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.macros_world import SEARCHING, SEVERAL, history, in_order, on_one_node, streams_of
from tests.pipeline_world import JOB, RAW, ROOMS, SECOND, World

from roost.naming import Name
from roost.naming.building import numbered
from roost.pipeline.graph import Pipeline
from roost.pipeline.macros import replay_on_spark
from roost.pipeline.macros_results import content_of
from roost.pipeline.macros_rows import RUN, Made, reading_of, readings
from roost.pipeline.running import Running
from roost.process.definition import definition_of
from roost.wire.data import decode_data

READS = history()
CUT = [each for each in SEVERAL if each.name in {"weighted", "newest", "dice", "wrong"}]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    shuffled = [READS[(at * 7) % len(READS)] for at in range(len(READS))]
    assert len(READS) % 7
    return spark.createDataFrame(pa.Table.from_batches([readings(shuffled)])).repartition(3).cache()


def made_of(runs: DataFrame) -> list[Made]:
    found = []
    for row in runs.toArrow().to_pylist():
        row["inputs"] = tuple((each["stream"], each["number"]) for each in row["inputs"])
        row["log"] = tuple(row["log"])
        found.append(Made(**{name: row[name] for name in RUN.names}))
    return in_order(found)


def test_all_kinds_of_macros_give_what_they_give_on_one_node(rows: DataFrame) -> None:
    streams = streams_of(SEVERAL)
    made = made_of(replay_on_spark(rows, SEVERAL, streams=streams))
    assert made == on_one_node(SEVERAL, READS, streams)
    assert len({each.name for each in made if each.payload is not None}) == len(SEVERAL)


def test_slices_give_what_one_task_gives_numbers_and_all(rows: DataFrame) -> None:
    streams = streams_of(CUT)
    assert made_of(replay_on_spark(rows, CUT, streams=streams, slices=4)) == on_one_node(CUT, READS, streams)


def test_macros_with_state_or_unknown_topics_are_done_again_as_they_have_to_be(rows: DataFrame) -> None:
    stateful = [each for each in SEVERAL if each.name in {"counted", "tempC"}]
    assert made_of(replay_on_spark(rows, stateful, slices=3)) == on_one_node(stateful, READS)
    searching = [SEARCHING, *stateful]
    made = made_of(replay_on_spark(rows, searching, slices=3))
    assert [each for each in made if each.name != "search"] == on_one_node(stateful, READS)
    assert any(len(each.inputs) == 3 for each in made if each.name == "search")


# -- a stage


FIRST = 1_700_000_000 * SECOND
TEMP = "Big/B1/Raw/P1/d1/temp"
STAGE = [
    definition_of(
        {"name": "mean", "code": f"var t = Noctua.topic('{TEMP}', {{required: 3}}); (t[0] + t[1] + t[2]) / 3"}
    ),
    definition_of({"name": "room/sum", "code": f"Noctua.state.s = (Noctua.state.s || 0) + Noctua.topic('{TEMP}')"}),
    definition_of(
        {"name": "high", "code": "Noctua.topic('Noctua/mean') > 16 ? Noctua.topic('Noctua/mean') : undefined"}
    ),
    definition_of({"name": "both", "trigger": "set", "code": "Noctua.topic('Big/B1/Raw/+/d1/temp', {limit: 2})"}),
    definition_of({"name": "tick", "trigger": "every 20s", "code": f"Noctua.topic('{TEMP}', {{limit: 9}}).length"}),
]
PIPELINE = (
    Pipeline("refined")
    .stage("macros")
    .read(str(RAW.name), "+/+/temp")
    .macro(*STAGE)
    .publish(str(ROOMS.name), JOB)
    .stage("strong")
    .read(str(RAW.name), "+/+/temp")
    .filter("value > 15")
    .publish(str(ROOMS.name), JOB, device="{panel}-{device}", metric="strong")
)


def test_a_stage_publishes_what_a_node_would_once_whatever_is_done_again(spark: SparkSession, tmp_path: Path) -> None:
    world = World(tmp_path / "world")
    packets = [
        world.reading(f"{panel}/d1/temp", number, 10.0 + 7 * number % 13, FIRST + (number * 10 + at) * SECOND, "C")
        for number in range(1, 25)
        for at, panel in enumerate(("P1", "P2"))
    ]
    checkpoint = tmp_path / "checkpoint"
    with world.repo() as repo:

        def go(*, again: bool = False) -> None:
            if again:  # as if it had died after it had published, and before Spark wrote that down
                max((checkpoint / "commits").glob("[0-9]*"), key=lambda file: int(file.name)).unlink()
            options = {"repos": repo.uri, "home": str(world.home(JOB)), "onConflict": "fail"}
            running = Running(PIPELINE, checkpoint=str(checkpoint), options=options)
            running.start(spark, since="earliest", available_now=True).awaitTermination()

        world.insert(repo, packets[:17])
        go()
        world.insert(repo, packets[17:])
        go()
        before = world.published(repo, ROOMS)
        go(again=True)
        assert world.published(repo, ROOMS) == before

    reads = [
        reading_of(len(RAW.name), data.name.prefix(-1), at // 2 + 1, bytes(data.wire))
        for at, data in enumerate(packets)
    ]
    panel = ROOMS.panel(JOB).name
    expected = on_one_node(STAGE, [read for read in reads if read is not None], streams_of(STAGE, panel))
    due = max(read.time for read in reads if read is not None)
    results = {
        str(numbered(Name(each.stream), each.number)): content_of(each)
        for each in expected
        if each.payload is not None and each.time <= due
    }
    found = {name: bytes(decode_data(wire).content) for name, wire in before.items() if "/Noctua/" in name}
    assert found == results
    assert {each.name for each in expected if each.payload is not None} == {each.name for each in STAGE}
    assert sum("strong" in name for name in before) == len(packets)
