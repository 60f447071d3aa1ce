"""Runs as JSON: whatever a macro was given and brought can be written down."""

from __future__ import annotations

import json
import math

from tests.macro_world import ENGINES, readings
from tests.process_world import NOW

from roost.process.definition import Definition
from roost.process.reference import Reference
from roost.process.replay import replay
from roost.process.sample import Plain, Sample
from roost.process.telling import payload_told, reference_told, run_told, sample_told, value_told


def told(code: str, *values: Plain, trigger: str = "arrival") -> dict[str, object]:
    ran = list(replay([Definition("m", code, trigger=trigger)], readings("t", *values), ENGINES))
    return run_told(ran[-1].run)


def test_a_result_is_told_with_its_inputs_and_log() -> None:
    sample = {"topic": "t", "time": NOW, "value": 2}
    assert told("console.log('hm'); Noctua.topic('t', {cutoff: 60}) + 1", 2) == {
        "version": 1,
        "time": NOW,
        "took_us": 0.0,
        "cause": sample,
        "inputs": [{"reference": {"topic": "t", "cutoff": 60}, "samples": [sample]}],
        "given": 1,
        "log": ["hm"],
        "output": "3",
        "format": 0,
    }


def test_a_failure_is_told_with_its_place() -> None:
    said = told("var t = Noctua.topic('t')\n  t.a.b", 2)
    assert "output" not in said
    failure = said["failure"]
    assert isinstance(failure, dict)
    assert (failure["kind"], failure["line"]) == ("error", 2)
    assert failure["column"] > 0


def test_a_run_that_was_due_has_no_cause_and_one_that_brought_nothing_no_output() -> None:
    said = told("Noctua.topic('t'); undefined", 2, trigger="every 10s")
    assert said["cause"] is None
    assert not {"output", "failure"} & said.keys()


def test_unit_and_quality_are_told_where_there_are_some() -> None:
    assert sample_told(Sample("t", 1, 2, "V", "bad")) == {
        "topic": "t",
        "time": 1,
        "value": 2,
        "unit": "V",
        "quality": "bad",
    }


def test_options_that_are_as_by_default_are_left_out() -> None:
    assert reference_told(Reference("t", 1.5, 0, 7)) == {"topic": "t", "cutoff": 1.5, "required": 0, "limit": 7}
    assert reference_told(Reference("t")) == {"topic": "t"}


def test_everything_has_a_form_in_json() -> None:
    value: Plain = {"a": [b"\xff", math.nan, math.inf, -math.inf, None, True, 1.5], "b": {"c": "é"}}
    said = value_told(value)
    assert said == {"a": [{"base64": "/w=="}, "NaN", "Infinity", "-Infinity", None, True, 1.5], "b": {"c": "é"}}
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    assert (payload_told(b"\xff"), payload_told("é".encode())) == ({"base64": "/w=="}, "é")
