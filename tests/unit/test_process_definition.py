"""Definitions of macros, as they are posted and kept."""

from __future__ import annotations

import pytest

from roost.errors import BadMacro
from roost.process.definition import Definition, definition_of
from roost.process.engine import Limits

FIGURE_4 = {"name": "home/tempC", "code": "(Noctua.topic('tempF') - 32) * 5/9"}


def test_the_papers_object_is_a_definition_and_goes_back() -> None:
    definition = definition_of(FIGURE_4)
    assert definition == Definition("home/tempC", FIGURE_4["code"])
    assert definition.topic == "Noctua/home/tempC"
    assert definition.mapping() == FIGURE_4


def test_everything_that_can_be_said_goes_there_and_back() -> None:
    mapping = {
        "name": "a",
        "code": "1",
        "language": "python",
        "trigger": "every 10s",
        "engine": "spark",
        "limits": {"time_ms": 5, "runs_per_s": 9},
        "description": "one",
        "computed": ["home/+/temp", "$SYS/#"],
    }
    definition = definition_of(mapping)
    assert definition.limits == Limits(time_ms=5, runs_per_s=9)
    assert definition.every_ns == 10_000_000_000
    assert definition.mapping() | {"limits": mapping["limits"]} == mapping


def test_without_a_name_it_is_called_by_its_hash() -> None:
    definition = definition_of({"code": "1"})
    assert definition.name == f"h{definition.digest.hex()[:16]}"
    assert definition_of({"code": "1", "description": "x"}).name == definition.name
    assert definition_of({"code": "2"}).name != definition.name


def test_the_digest_is_of_what_makes_results() -> None:
    usual = definition_of({"name": "a", "code": "1"}).digest
    assert definition_of({"name": "b", "code": "1", "limits": {"time_ms": 9}, "engine": "spark"}).digest == usual
    for other in ({"code": "2"}, {"language": "python"}, {"trigger": "set"}):
        assert definition_of({"name": "a", "code": "1"} | other).digest != usual


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ([], "is an object"),
        ({}, "has code"),
        ({"code": " "}, "empty"),
        ({"code": 5}, "code is text"),
        ({"code": "x" * 300_000}, "at most"),
        ({"code": "\ud800"}, "surrogate"),
        ({"code": "1", "description": "\ud800"}, "description holds half a surrogate"),
        ({"code": "1", "cod": 1}, "no 'cod'"),
        ({"code": "1", "name": "$SYS/x"}, "reserved"),
        ({"code": "1", "name": "Noctua/x"}, "reserved"),
        ({"code": "1", "name": "Noctua"}, "reserved"),
        ({"code": "1", "name": "a/+"}, "wildcard"),
        ({"code": "1", "language": "cobol"}, "javascript or python"),
        ({"code": "1", "engine": "steam"}, "node or spark"),
        ({"code": "1", "trigger": "often"}, "write arrival"),
        ({"code": "1", "trigger": "every day"}, "length of time"),
        ({"code": "1", "trigger": "every 1ms"}, "too often"),
        ({"code": "1", "limits": 5}, "object of numbers"),
        ({"code": "1", "limits": {"time": 5}}, "no limit 'time'"),
        ({"code": "1", "limits": {"time_ms": True}}, "whole number"),
        ({"code": "1", "limits": {"time_ms": 0}}, "time_ms is 1 to"),
        ({"code": "1", "limits": {"time_ms": 1001}}, "time_ms is 1 to 1,000, not 1,001"),
        ({"code": "1", "limits": {"memory_bytes": 100}}, "memory_bytes is"),
        ({"code": "1", "description": "x" * 2000}, "description"),
        ({"code": "1", "computed": "#"}, "computed is a list"),
        ({"code": "1", "computed": [1]}, "computed is a list"),
        ({"code": "1", "computed": ["a/#/b"]}, "computed: "),
        ({"code": "1", "computed": [f"a/{at}" for at in range(257)]}, "at most 256 filters, not 257"),
    ],
)
def test_what_cannot_be_a_macro_is_refused_by_name(mapping: object, message: str) -> None:
    with pytest.raises(BadMacro, match=message):
        definition_of(mapping)


@pytest.mark.parametrize(
    ("computed", "topic", "may"),
    [
        (["#"], "a/b", True),
        (["#"], "a/#", True),
        (["#"], "$SYS/broker/uptime", False),
        ([], "a", False),
        (["a/+"], "a/b", True),
        (["a/+"], "a/+", True),
        (["a/+"], "a/#", False),
        (["a/+", "b"], "b", True),
    ],
)
def test_a_run_may_compute_what_a_filter_of_its_macro_covers(computed: list[str], topic: str, may: bool) -> None:
    assert definition_of({"code": "1", "computed": computed}).may_compute(topic) is may
