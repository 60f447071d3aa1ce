"""The options of the source and of the sink: what is meant, and what to write instead of what cannot be."""

from __future__ import annotations

import json
import re
from types import ModuleType

import pytest

from roost.errors import BadConfig, RoostError
from roost.host import stretch_access
from roost.machine import SECOND
from roost.machine.times import duration
from roost.pipeline import options as source_options
from roost.pipeline import publishing
from roost.pipeline.input import Input
from roost.pipeline.options import SourceOptions, check_names, moment
from roost.pipeline.publishing import SinkOptions

GROUP = {"group": "/Big/B1/Raw"}


def test_names_of_options_have_no_case() -> None:
    read = SourceOptions.read({**GROUP, "Subscribe": "+/Heater/#, P1", "MaxRowsPerTrigger": "5"})
    assert read.inputs[0].wishes == ("+/Heater/#", "P1")
    assert read.max_rows == 5
    assert not read.windowed


def test_a_window_has_a_length_a_key_and_a_deadline() -> None:
    read = SourceOptions.read({**GROUP, "window": "1m", "key": "{panel}", "deadline": "2s", "step": "10s"})
    wanted = read.inputs[0]
    assert (wanted.window_ns, wanted.deadline_ns, wanted.step_ns) == (60 * SECOND, 2 * SECOND, 10 * SECOND)
    assert wanted.key_of("P1/d/m") == "P1"
    assert read.windowed


def test_inputs_come_back_as_they_were_written() -> None:
    wanted = Input("/g", ("a/+/b",), "rooms", SECOND, key="{floor:panel}", tables={"floor": {"P1": "one"}})
    read = SourceOptions.read({"inputs": json.dumps([json.loads(wanted.to_json())])})
    assert read.inputs == (wanted,)
    assert wanted.key_of("P1/d/m") == "one"
    assert wanted.key_of("P2/d/m") is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "which group"),
        ({**GROUP, "window": "soon"}, "no length of time"),
        ({**GROUP, "since": "yesterday"}, "no time"),
        ({**GROUP, "partitions": "0"}, "no count"),
        ({**GROUP, "window": "1m", "step": "7s"}, "no multiple"),
        ({**GROUP, "window": "1m", "key": "{room}"}, "there are panel"),
        ({**GROUP, "window": "1m", "key": "{floor:panel}"}, "tables"),
        ({**GROUP, "startingOffset": "17"}, "offsets"),
        ({**GROUP, "startingOffset": "{"}, "JSON"),
        ({**GROUP, "verify": "perhaps"}, "unknown"),
        ({"inputs": "[]"}, "empty"),
        ({"inputs": '[{"a": 1}]'}, "inputs"),
        ({"group": "Raw"}, "Raw"),
    ],
)
def test_what_cannot_be_meant_says_what_to_write(options: dict[str, str], says: str) -> None:
    with pytest.raises(RoostError, match=says):
        SourceOptions.read(options)


# -- names


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("subscirbe", "subscribe"),
        ("maxrowpertrigger", "maxRowsPerTrigger"),
        ("Repo", "repos"),
        ("onconflicts", "onConflict"),
    ],
)
def test_a_misspelt_option_is_refused_with_the_one_that_is_meant(name: str, meant: str) -> None:
    with pytest.raises(BadConfig, match=f"no option '{name}', is {meant} meant\\? roost.pipeline.options lists"):
        SourceOptions.read({**GROUP, name: "1"})


def test_an_option_like_no_other_is_refused_with_where_they_are_listed() -> None:
    with pytest.raises(BadConfig, match=r"no option 'mergeschema': .*roost\.pipeline\.publishing"):
        SourceOptions.read({**GROUP, "mergeschema": "true"})


@pytest.mark.parametrize("where", [source_options, publishing, stretch_access])
def test_every_option_that_is_documented_is_known(where: ModuleType) -> None:
    assert where.__doc__ is not None
    rows = re.findall(r"^\| ([\w, ]+?) +\|", where.__doc__, re.MULTILINE)
    names = [name for row in rows if row != "option" for name in row.split(", ")]
    assert len(names) >= 6
    check_names(names)


def test_source_and_sink_may_share_options_and_spark_adds_its_own() -> None:
    sink = {"panel": "job", "onConflict": "fail", "copies": "2", "changes": "true", "targets": "{}"}
    sparks = {"path": "/x", "paths": "[]", "checkpointLocation": "/c", "queryName": "q"}
    table = {"provider": "roost", "owner": "me", "option.group": GROUP["group"]}
    assert SourceOptions.read({**GROUP, **sink, **sparks, **table}) == SourceOptions.read(GROUP)


def test_times_are_dates_or_how_long_ago() -> None:
    assert duration("250ms", "x") == 250_000_000
    assert moment("1h", 7200 * SECOND, "since") == 3600 * SECOND
    assert moment("1970-01-01T00:00:10Z", 0, "since") == 10 * SECOND
    assert moment("latest", 5, "until") == 5


def test_a_target_is_a_group_and_a_panel() -> None:
    read = SinkOptions.read({**GROUP, "panel": "job", "job": "double@2"})
    assert read.targets[""].job == "double@2"
    assert len(read.targets[""].program) == 64
    several = SinkOptions.read({"targets": json.dumps({"a": {"group": "/g", "panel": "p"}})})
    assert list(several.targets) == ["a"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "which group"),
        (GROUP, "which panel"),
        ({**GROUP, "panel": "p", "program": "abc"}, "SHA-256"),
        ({**GROUP, "panel": "p", "onConflict": "ignore"}, "unknown"),
        ({**GROUP, "panel": "p", "copies": "none"}, "no count"),
        ({"targets": "[1]"}, "targets"),
    ],
)
def test_a_sink_that_cannot_be_says_what_to_write(options: dict[str, str], says: str) -> None:
    with pytest.raises(BadConfig, match=says):
        SinkOptions.read(options)
