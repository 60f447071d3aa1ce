"""Pipelines as values and as text: what they say, what is wrong with them, how they are explained. No Spark."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roost.errors import BadConfig
from roost.pipeline import hierarchy as hierarchy_module
from roost.pipeline.checking import ERROR, WARNING, check
from roost.pipeline.explaining import explain, graph_json
from roost.pipeline.graph import Output, Pipeline, Stage
from roost.pipeline.hierarchy import Comfort, Measures, hierarchy
from roost.pipeline.input import Input
from roost.pipeline.operations import Aggregate, Expressions, Filter, Function, Join
from roost.pipeline.stages_names import filled, is_separable, possible, taken_apart
from roost.pipeline.stages_windows import inputs_of
from roost.pipeline.wiring import cycles, feeders, levels, streams, wired
from roost.pipeline.yaml_form import dumps, length, load, loads
from roost.sim.deployment import GROUP, PANELS, UNITS, floor_of, rooms

ENV = "/Campus/Hall/Env"
ROOMS = "/Campus/Hall/Rooms"
FLOORS = {room: f"floor{floor_of(panel)}" for panel in PANELS for room in rooms(panel)}
SAMPLE = Path(hierarchy_module.__file__).with_name("hierarchy.yaml")


def two_levels() -> Pipeline:
    return (
        Pipeline("hall")
        .table("floor", {"room1": "floor1"})
        .stage("rooms")
        .read(ENV, "+/+/temp", window="1m", key="{device}/{metric}")
        .aggregate(mean="mean", max="max")
        .publish(ROOMS, "calc")
        .stage("floors")
        .read(ROOMS, "+/+/temp_max", window="5m", key="{floor:device}", deadline="20s")
        .aggregate(max="max")
        .publish("/Campus/Hall/Floors", "calc")
    )


def problems(pipeline: Pipeline, level: str = ERROR) -> list[str]:
    return [str(problem) for problem in check(pipeline) if problem.level == level]


# -- the model


def test_a_pipeline_is_written_in_python_one_stage_after_the_other() -> None:
    pipeline = two_levels()
    assert pipeline.stages[0] == Stage(
        "rooms",
        (Input(ENV, ("+/+/temp",), window_ns=60_000_000_000, key="{device}/{metric}"),),
        Aggregate({"mean": "mean", "max": "max"}),
        Output(ROOMS, "calc"),
    )
    assert pipeline.stages[1].inputs[0].tables == {"floor": {"room1": "floor1"}}
    assert pipeline.stages[0].patterns() == ["calc/{device}/{metric}_mean", "calc/{device}/{metric}_max"]
    assert pipeline.stages[1].patterns() == ["calc/{key}/max"]
    assert problems(pipeline) == []


def test_the_program_digest_changes_with_what_a_stage_does_and_with_nothing_else() -> None:
    pipeline = two_levels()
    first, second = pipeline.stages
    assert len(pipeline.program(first)) == 32
    assert two_levels().program(first) == pipeline.program(first)
    assert replace(pipeline, version="2").program(first) != pipeline.program(first)
    assert pipeline.table("floor", {"room1": "other"}).program(first) == pipeline.program(first)
    other = replace(first, operation=Aggregate({"mean": "mean"}))
    assert pipeline.program(other) != pipeline.program(first)
    assert pipeline.program(second) != pipeline.program(first)


def test_the_digest_knows_the_tables_of_a_scope() -> None:
    def made(table: dict[str, str]) -> bytes:
        draft = Pipeline("p").table("part", table).stage("s").read(ENV, window="1m", key="{device}")
        pipeline = draft.aggregate(x="a.sum", scope="{part:metric}").publish(ROOMS, "calc")
        return pipeline.program(pipeline.stages[0])

    assert made({"temp": "a"}) != made({"hum": "a"})


def test_source_and_sink_are_told_what_they_want() -> None:
    pipeline = two_levels()
    assert [each.name for each in inputs_of(pipeline.stages)] == ["rooms.readings", "floors.readings"]
    assert pipeline.targets()["rooms"] == {
        "group": ROOMS,
        "panel": "calc",
        "job": "hall/rooms@1",
        "program": pipeline.program(pipeline.stages[0]).hex(),
    }


def test_units_follow_from_outputs_unless_they_are_said() -> None:
    outputs = {"mean": "mean", "n": "count", "e": "energy", "p": "temp.max - 1", "f": "flag(max > 1)", "h": "hours"}
    stage = Stage("s", (Input(ENV, window_ns=1000),), Aggregate(outputs), Output(ROOMS, "calc", units={"h": "h"}))
    assert [stage.unit_of(each) for each in outputs] == ["inputs", "count", "Wh", "inputs:temp", "", "h"]


def test_expressions_set_conditions_apart_and_find_parts() -> None:
    expressions = Expressions()
    text = expressions.plain("hours_where(value > 1 and (metric = 'a)b')) + count_where(value > 2) + temp.mean")
    assert text == "(where_0 * interval_s / 3600) + where_1 + temp.mean"
    assert expressions.conditions == ["value > 1 and (metric = 'a)b')", "value > 2"]
    assert expressions.plain("flag(count_where(value > 2) > hum.sum)") == (
        "(case when where_1 > hum.sum then 1 when not (where_1 > hum.sum) then 0 end)"
    )
    assert expressions.parts == ["temp", "hum"]
    assert expressions.plain("'x.mean'") == "'x.mean'"
    assert expressions.parts == ["temp", "hum"]
    with pytest.raises(BadConfig, match="closing parenthesis"):
        expressions.plain("flag(value > (1)")


def test_keys_are_taken_apart_and_names_filled_in() -> None:
    fields = taken_apart("{floor:panel}/x/{metric}", "f.1/x/temp")
    assert fields == {"floor": "f.1", "metric": "temp", "key": "f.1-x-temp"}
    assert taken_apart("{stream}", "pi1/room1/temp")["device"] == "room1"
    assert filled("{floor}_{metric}_{output}", fields) == "f.1_temp_{output}"
    assert is_separable("a{floor:panel}/{metric}")
    assert not is_separable("{panel}-{metric}")
    assert possible(["{f}/{metric}"], ["+/r1/a", "+/r2/b"], "{f:device}/{metric}", {"f": {"r1": "x", "r9": "y"}}) == [
        "x/a",
        "x/b",
    ]
    assert possible(["{metric}"], ["#"], "{metric}", {}) == ["{metric}"]


# -- how stages hang together


def test_an_input_that_a_stage_feeds_has_its_window_as_step() -> None:
    pipeline = wired(two_levels())
    assert [each.name for each in feeders(pipeline, pipeline.stages[1].inputs[0])] == ["rooms"]
    assert pipeline.stages[0].inputs[0].step_ns == 0
    assert pipeline.stages[1].inputs[0].step_ns == 60_000_000_000
    assert levels(pipeline) == {"rooms": 0, "floors": 1}
    assert streams(pipeline, pipeline.stages[0]) == ["calc/{device}/temp_mean", "calc/{device}/temp_max"]


def test_a_step_comes_through_stages_without_windows() -> None:
    pipeline = (
        two_levels()
        .stage("celsius")
        .read("/Campus/Hall/Floors", "calc/+/max")
        .map("value")
        .publish("/Campus/Hall/Copy", "calc")
        .stage("hours")
        .read("/Campus/Hall/Copy", "calc/+/max", window="1h", deadline="1m")
        .aggregate(max="max")
        .publish("/Campus/Hall/Hours", "calc")
    )
    assert wired(pipeline).stages[-1].inputs[0].step_ns == 300_000_000_000


def test_stages_that_read_and_publish_the_same_group_are_no_cycle_unless_they_are() -> None:
    draft = Pipeline("p").stage("s").read(ROOMS, "+/+/temp", window="1m", key="{device}")
    assert list(cycles(draft.aggregate(mean="mean").publish(ROOMS, "calc"))) == []
    itself = draft.aggregate(temp="mean").publish(ROOMS, "calc", metric="{output}")
    assert list(cycles(itself)) == [["s", "s"]]


def test_a_cycle_is_named() -> None:
    pipeline = (
        Pipeline("p")
        .stage("there")
        .read(ENV, "calc/+/x", window="1m", key="{device}")
        .aggregate(x="max")
        .publish(ROOMS, "calc")
        .stage("back")
        .read(ROOMS, "calc/+/x", window="1m", key="{device}")
        .aggregate(x="max")
        .publish(ENV, "calc")
    )
    assert any("there → back → there is a cycle" in each for each in problems(pipeline))


# -- what is wrong


def test_a_window_has_to_be_a_multiple_of_the_windows_that_feed_it() -> None:
    pipeline = two_levels()
    wrong = replace(pipeline.stages[1], inputs=(replace(pipeline.stages[1].inputs[0], window_ns=90_000_000_000),))
    (found,) = problems(replace(pipeline, stages=(pipeline.stages[0], wrong)))
    assert (
        "stage floors: input readings: a window of 90 s is no multiple of the 60 s that the results of rooms" in found
    )


def test_one_stream_from_two_stages_is_found() -> None:
    draft = two_levels().stage("again").read(ENV, "+/+/temp", window="1m", key="{device}/{metric}")
    found = problems(draft.aggregate(mean="mean").publish(ROOMS, "calc"))
    assert "error: hall: stages rooms and again both publish /Campus/Hall/Rooms/calc/{device}/temp_mean" in found


@pytest.mark.parametrize(
    ("path", "what"),
    [("nowhere.at_all:f", "No module named"), ("json:nothing", "has no function nothing"), ("json", "write package")],
)
def test_a_function_that_cannot_be_loaded_is_found(path: str, what: str) -> None:
    pipeline = Pipeline("p").stage("s").read(ENV, "pi1/+/temp").function(path).publish(ROOMS, "calc")
    (found,) = problems(pipeline)
    assert what in found


@pytest.mark.parametrize(
    ("read", "outputs", "publish", "what"),
    [
        ({"window": ""}, {"a": "mean"}, {}, "need a window"),
        ({"key": "{panel}-{device}"}, {"a": "mean"}, {}, "a slash has to stand between"),
        ({}, {}, {}, "it has no outputs"),
        ({}, {"a": "energy"}, {}, "how long does a reading stand for"),
        ({}, {"a": "flag(mean > 1"}, {}, "closing parenthesis"),
        ({}, {"a": "mean"}, {"device": "{panel}"}, "there is no field panel; there are device, key, metric, output"),
        ({}, {"a": "mean", "b": "max"}, {"metric": "{metric}"}, "2 outputs would be one stream"),
        ({}, {"a": "mean"}, {"metric": "a/b"}, "has no slash"),
        ({}, {"a": "open.mean"}, {}, "parts are called as aggregates or fields"),
    ],
)
def test_what_an_aggregate_lacks_is_told(
    read: dict[str, str], outputs: dict[str, str], publish: dict[str, Any], what: str
) -> None:
    draft = Pipeline("p").stage("s").read(ENV, **{"window": "1m", "key": "{device}/{metric}", **read})
    found = problems(draft.aggregate(outputs).publish(ROOMS, "calc", **publish))
    assert any(what in each for each in found), found


def test_a_scope_of_a_table_that_is_not_there_is_found() -> None:
    draft = Pipeline("p").stage("s").read(ENV, window="1m", key="{device}")
    (found,) = problems(draft.aggregate(x="a.sum", scope="{part:metric}").publish(ROOMS, "calc"))
    assert "the scope '{part:metric}': there is no part" in found


def test_wishes_and_joins_are_checked() -> None:
    draft = Pipeline("p").stage("s").read(ENV, "/pi1/#", name="a", window="1m", key="{device}")
    joined = draft.join(x="a.mean - b.mean").publish(ROOMS, "calc")
    found = problems(joined)
    assert any("begins with a slash" in each for each in found)
    assert any("a join has two inputs or more" in each for each in found)
    assert any("b.… is no input of it" in each for each in found)
    other = draft.read(ENV, name="a", window="2m", key="{panel}").join(x="a.mean").publish(ROOMS, "calc")
    found = problems(other)
    assert any("two of its inputs have the same name" in each for each in found)
    assert any("the same window" in each for each in found)
    assert any("has other fields than" in each for each in found)


def test_what_is_doubtful_is_a_warning() -> None:
    pipeline = Pipeline("p").stage("s").read(ENV, "+/+/temp").filter("value > 1").publish(ROOMS, "calc")
    assert any("put {panel} into the device" in each for each in problems(pipeline, WARNING))
    assert problems(pipeline) == []
    found = [str(each) for each in check(pipeline, frozenset())]
    assert any("roost key make /Campus/Hall/Rooms/calc" in each for each in found)
    assert not any("roost keys" in str(each) for each in check(pipeline, frozenset({f"{ROOMS}/calc"})))
    late = two_levels()
    soon = replace(late.stages[1], inputs=(replace(late.stages[1].inputs[0], deadline_ns=1),))
    (told,) = [each for each in problems(replace(late, stages=(late.stages[0], soon)), WARNING) if "deadline" in each]
    assert "not after that of rooms" in told
    assert told.endswith("read it with deadline: 20s")


def test_a_wish_for_what_no_stage_makes_in_its_group_is_a_warning() -> None:
    late = two_levels()
    slip = replace(late.stages[1], inputs=(replace(late.stages[1].inputs[0], wishes=("+/+/temp_max", "+/+/temp_men")),))
    assert problems(late, WARNING) == []
    (found,) = problems(replace(late, stages=(late.stages[0], slip)), WARNING)
    assert found.startswith("warning: stage floors: input readings: stages make /Campus/Hall/Rooms, and none of them")
    assert found.endswith("'+/+/temp_men'; there are calc/{device}/temp_max, calc/{device}/temp_mean")
    beside = Pipeline("p").stage("s").read(ENV, "P1/+/temp").filter("value > 1").publish(ENV, "calc", metric="warm")
    assert problems(beside, WARNING) == []


def test_results_do_not_depend_on_when_readings_arrived() -> None:
    for draft in (
        Pipeline("p").stage("s").read(ENV, "P1/+/temp").filter("arrival_time > event_time"),
        Pipeline("p").stage("s").read(ENV, "P1/+/temp").sql("select stream, seq, hour(arrival_time) as value from s"),
        Pipeline("p").stage("s").read(ENV, window="1m").aggregate(late="count_where(arrival_time > event_time)"),
    ):
        assert any("arrival_time is another one" in each for each in problems(draft.publish(ROOMS, "calc")))


def test_stages_without_sense_cannot_be_made() -> None:
    with pytest.raises(BadConfig, match="reads nothing"):
        Stage("s", (), Filter("true"), Output(ROOMS, "calc"))
    with pytest.raises(BadConfig, match="does nothing"):
        Pipeline("p").stage("s").read(ENV).publish(ROOMS, "calc")
    with pytest.raises(BadConfig, match="two stages are called rooms"):
        replace(two_levels(), stages=two_levels().stages[:1] * 2)
    with pytest.raises(BadConfig, match="form 'polars' is unknown"):
        Function("a:b", "polars")


# -- text


TEXT = """
pipeline: weather
tables: {site: {pi1: north}}
stages:
  difference:
    read:
    - {group: /Campus/Hall/Env, subscribe: +/+/temp, name: inside, window: 1m, key: "{site:panel}", deadline: 5s}
    - {group: /Campus/Weather, subscribe: [+/+/temp, "#"], name: outside, window: 1m, key: "{site:panel}"}
    join: {outputs: {warmer: inside.mean - outside.mean}, names: true, interval: 10s}
    publish: {group: /Campus/Hall/Rooms, panel: calc, unit: Cel}
  warm:
    read: {group: /Campus/Hall/Env, subscribe: pi1/+/temp}
    filter: {where: value > 20}
    publish: {group: /Campus/Hall/Warm, panel: calc, units: {value: Cel}}
"""


def test_text_is_read_and_written_back() -> None:
    pipeline = loads(TEXT)
    assert problems(pipeline) == []
    assert isinstance(pipeline.stages[0].operation, Join)
    assert pipeline.stages[0].operation.interval_ns == 10_000_000_000
    assert pipeline.stages[0].inputs[1].wishes == ("+/+/temp", "#")
    assert pipeline.stages[0].inputs[0].tables == {"site": {"pi1": "north"}}
    assert loads(dumps(pipeline)) == pipeline


def test_the_sample_is_the_hierarchy_of_the_hall() -> None:
    measures = Measures(UNITS, (), {"temp": (5, 40), "hum": (5, 95)}, {"temp": 8.0}, Comfort())
    sample = load(SAMPLE)
    assert sample == hierarchy(str(GROUP.name), FLOORS, measures)
    assert check(sample) == []


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("where: value", "were: value", r"stages.warm.filter: 'were' is unknown; there are where"),
        ("subscribe: pi1", "subscribed: pi1", r"stages.warm.read: 'subscribed' is unknown; there are group, subscribe"),
        ("deadline: 5s", "deadline: soon", r"stages.difference.read\[0\].deadline 'soon' is no length of time"),
        ("panel: calc, unit: Cel", "unit: Cel", r"stages.difference.publish: 'panel' is missing"),
        ("filter: {where: value > 20}", "{}: {}", "unhashable|no YAML|unknown"),
        ("    filter: {where: value > 20}\n", "", r"stages.warm: a stage does one of filter, map"),
        ("names: true", "names: 3", r"join.names: true or false"),
        ("interval: 10s}", "scope: x}", r"'scope' is unknown"),
        ("{site: {pi1: north}}", "{site: [pi1]}", r"tables.site: entries by name"),
        ("pipeline: weather", "pipelin: weather", r"the file: 'pipelin' is unknown"),
        ("pipeline: weather", "pipeline: [", "this is no YAML"),
    ],
)
def test_mistakes_in_text_are_told_with_their_place(old: str, new: str, what: str) -> None:
    assert old in TEXT
    with pytest.raises(BadConfig, match=what):
        loads(TEXT.replace(old, new))


def test_a_file_is_named_in_what_is_wrong_with_it(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("stages: 3\n")
    with pytest.raises(BadConfig, match=f"{path}: stages: entries by name"):
        load(path)


@pytest.mark.parametrize(("ns", "text"), [(60_000_000_000, "1m"), (90_000_000_000, "90s"), (250_000_000, "250ms")])
def test_lengths_are_written_as_people_do(ns: int, text: str) -> None:
    assert length(ns) == text


# -- told


def test_a_pipeline_is_explained() -> None:
    text = explain(two_levels())
    assert "pipeline hall, version 1: 2 stages, 2 inputs, one Spark query" in text
    assert "reads      /Campus/Hall/Rooms: +/+/temp_max   from rooms" in text
    assert "windows of 5m by {floor:device}, each reading stands for 1m" in text
    assert "publishes  /Campus/Hall/Rooms/calc/{device}/{metric}_mean" in text
    assert "20s after its end" in text
    assert text.index("stage rooms") < text.index("stage floors")


def test_the_graph_has_groups_stages_and_how_it_goes() -> None:
    told = {"state": "running", "stages": {"rooms": {"rows_per_s": 9.0, "lag_s": 2.5, "completeness": 1.0}}}
    graph = graph_json(two_levels(), told)
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert [node for node in nodes if node.startswith("group")] == [
        f"group:{name}" for name in (ENV, ROOMS, "/Campus/Hall/Floors")
    ]
    assert (nodes["stage:rooms"]["rows_per_s"], nodes["stage:rooms"]["lag_s"]) == (9.0, 2.5)
    assert nodes["stage:floors"]["completeness"] is None
    assert [nodes[each]["level"] for each in (f"group:{ENV}", "stage:rooms", f"group:{ROOMS}", "stage:floors")] == [
        0,
        1,
        2,
        3,
    ]
    assert {"from": "stage:rooms", "to": f"group:{ROOMS}"}.items() <= graph["edges"][1].items()
    assert graph["state"] == "running"


# -- the hierarchy


def test_the_hierarchy_has_a_group_for_each_level_and_nothing_wrong() -> None:
    measures = Measures({**UNITS, "power": "W"}, ("power",), {"temp": (5, 40)}, {"temp": 6.0}, Comfort())
    pipeline = hierarchy(str(GROUP.name), FLOORS, measures, window="5m")
    assert check(pipeline) == []
    groups = list(dict.fromkeys(stage.output.group for stage in pipeline.stages))
    assert groups == [ROOMS, "/Campus/Hall/Floors", "/Campus/Hall/Building", "/Campus/Report"]
    found = {f"{stage.output.group}/{each}" for stage in pipeline.stages for each in streams(pipeline, stage)}
    assert f"{ROOMS}/hierarchy/{{device}}/power_energy" in found
    assert "/Campus/Hall/Floors/hierarchy/floor2/temp_anomaly" in found
    assert "/Campus/Hall/Building/hierarchy/Hall/comfort_hours" in found
    assert "/Campus/Report/hierarchy/campus/power_energy" in found
    assert "/Campus/Report/hierarchy/campus/light_mean" in found
    wanted = wired(pipeline).stages
    assert {stage.inputs[0].step_ns for stage in wanted if stage.output.group != ROOMS} == {300_000_000_000}


def test_rooms_without_a_floor_end_at_their_level() -> None:
    pipeline = hierarchy(str(GROUP.name), {"room1": "floor1"}, Measures(UNITS))
    floors = next(stage for stage in pipeline.stages if stage.name == "floors")
    assert floors.inputs[0].key_of("hierarchy/room1/temp_sum") == "floor1/temp"
    assert floors.inputs[0].key_of("hierarchy/room2/temp_sum") is None
    assert floors.inputs[0].key_of("hierarchy/room1/other") is None


@pytest.mark.parametrize(
    ("outputs", "says"),
    [
        ({"x": "meen + 1"}, r"its outputs \(x: meen \+ 1\) cannot be computed: .*meen"),
        ({"x": "count_where(value > (Select avg(value) from rows))"}, r"is of one reading, and cannot ask for others"),
        ({"x": "count_where(valeu > 3)"}, r"a condition over readings \(.*valeu > 3\) cannot be asked: .*valeu"),
    ],
)
def test_sql_that_the_database_refuses_is_a_problem_before_anything_runs(outputs: dict[str, str], says: str) -> None:
    draft = Pipeline("p").stage("s").read(ENV, window="1m", key="{device}")
    (problem,) = check(draft.aggregate(outputs).publish(ROOMS, "calc"))
    assert problem.level == ERROR
    assert re.search(says, str(problem))
