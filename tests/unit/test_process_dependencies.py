"""Who depends on what: touched macros in their order, wildcards, cycles named, and what is searched."""

from __future__ import annotations

import re

import pytest

from roost.errors import BadMacro
from roost.process.dependencies import MAX_REMEMBERED, Dependencies
from roost.process.wildcards import Wildcards, matches


def graph(**macros: list[str]) -> Dependencies:
    made = Dependencies()
    for name, filters in macros.items():
        made.set(name, f"Noctua/{name}", filters)
    return made


def names(made: Dependencies, topic: str) -> list[str]:
    return [name for _, name in made.touched(topic).turns]


MATCHES = [
    ("a/b", "a/b", True),
    ("a/b", "a/c", False),
    ("a/+", "a/b", True),
    ("a/+", "a", False),
    ("a/+", "a/b/c", False),
    ("a/+/c", "a//c", True),
    ("a/#", "a", True),
    ("a/#", "a/b/c", True),
    ("a/#", "b", False),
    ("#", "a/b", True),
    ("#", "$SYS/a", False),
    ("+/a", "$SYS/a", False),
    ("$SYS/#", "$SYS/a", True),
    ("a/#", "a/$x", True),
    ("+", "a", True),
    ("+/+", "/", True),
]


@pytest.mark.parametrize(("topic_filter", "topic", "expected"), MATCHES)
def test_a_filter_stands_for_what_mqtt_says(topic_filter: str, topic: str, expected: bool) -> None:
    assert matches(topic_filter, topic) is expected
    found = Wildcards()
    found.add(topic_filter)
    assert found.matching(topic) == ([topic_filter] if expected else [])


def test_all_wildcards_that_match_are_found_until_they_are_removed() -> None:
    found = Wildcards()
    every = ["#", "a/#", "a/+", "+/b", "a/b/#", "a/+/#", "+/+"]
    for each in [*every, "b/+", "+", "a/b/+"]:
        found.add(each)
    assert sorted(found.matching("a/b")) == sorted(every)
    for each in every:
        found.remove(each)
        assert each not in found.matching("a/b")
    assert found.matching("a/b") == []
    assert found.matching("b/c") == ["b/+"]


def test_a_topic_touches_the_macros_that_refer_to_it() -> None:
    made = graph(one=["a", "b"], two=["b", "c/+"], three=["c/#"])
    assert names(made, "a") == ["one"]
    assert names(made, "b") == ["one", "two"]
    assert names(made, "c/d") == ["three", "two"]
    assert made.touched("c/d").filters == ("c/#", "c/+")
    assert names(made, "d") == []


def test_a_macro_comes_after_all_it_depends_on_whenever_it_was_defined() -> None:
    for order in (["z", "m", "a"], ["a", "m", "z"], ["m", "a", "z"]):
        made = Dependencies()
        needs = {"z": ["x"], "m": ["x", "Noctua/z"], "a": ["x", "Noctua/m"]}
        for name in order:
            made.set(name, f"Noctua/{name}", needs[name])
        assert made.touched("x").turns == ((1, "z"), (2, "m"), (3, "a"))


def test_ranks_follow_when_a_macro_changes_or_goes() -> None:
    made = graph(a=["x"], b=["x", "Noctua/a"], c=["x", "Noctua/b"])
    made.set("a", "Noctua/a", ["x", "Noctua/early"])
    made.set("early", "Noctua/early", ["x"])
    assert made.touched("x").turns == ((1, "early"), (2, "a"), (3, "b"), (4, "c"))
    made.set("b", "Noctua/b", ["x"])
    assert made.touched("x").turns == ((1, "b"), (1, "early"), (2, "a"), (2, "c"))
    made.drop("early")
    made.drop("b")
    assert made.touched("x").turns == ((1, "a"), (1, "c"))


def test_wildcards_over_results_count_as_dependencies() -> None:
    made = graph(sum=["Noctua/room/+", "x"])
    made.set("room/a", "Noctua/room/a", ["x"])
    assert made.touched("x").turns == ((1, "room/a"), (2, "sum"))
    assert names(made, "Noctua/room/a") == ["sum"]


CYCLES = [
    ({}, "a", ["Noctua/a"], "a -> a"),
    ({"b": ["Noctua/a"]}, "a", ["Noctua/b"], "a -> b -> a"),
    ({"b": ["Noctua/a"], "c": ["Noctua/b"], "d": ["Noctua/c"]}, "a", ["Noctua/d"], "a -> b -> c -> d -> a"),
    ({"b": ["Noctua/a"]}, "a", ["+/b"], "a -> b -> a"),
    ({"a": ["x"], "b": ["Noctua/a"]}, "a", ["Noctua/b"], "a -> b -> a"),
    ({"b": ["Noctua/a"], "c": ["Noctua/b", "Noctua/a"]}, "a", ["Noctua/c"], "a -> c -> a"),
]


@pytest.mark.parametrize("filter_", ["#", "Noctua/+", "+/a"])
def test_a_filter_that_stands_for_the_results_of_its_own_macro_is_refused_with_that(filter_: str) -> None:
    made = graph(b=["x"])
    own = re.escape(f"a: {filter_} also stands for its own results, on Noctua/a: ")
    with pytest.raises(BadMacro, match=f"^{own}"):
        made.set("a", "Noctua/a", ["x", filter_])
    assert made.touched("x").turns == ((1, "b"),)
    assert made.touched("Noctua/a").turns == ()


@pytest.mark.parametrize(("before", "name", "filters", "cycle"), CYCLES)
def test_a_cycle_is_refused_by_its_name_and_nothing_changes(
    before: dict[str, list[str]], name: str, filters: list[str], cycle: str
) -> None:
    made = graph(**before)
    topics = ["x", "Noctua/a", "Noctua/b", "Noctua/c", "Noctua/d", "y"]
    turns = [made.touched(topic) for topic in topics]
    with pytest.raises(BadMacro, match=f"depend on itself: {cycle}$"):
        made.set(name, f"Noctua/{name}", filters)
    assert [made.touched(topic) for topic in topics] == turns
    assert [graph(**before).touched(topic) for topic in topics] == turns


def test_a_cycle_through_a_macro_that_is_gone_is_none() -> None:
    made = graph(b=["Noctua/a"])
    made.drop("b")
    made.set("a", "Noctua/a", ["Noctua/b"])
    assert names(made, "Noctua/b") == ["a"]


def test_a_wildcard_without_results_below_it_makes_no_cycle() -> None:
    made = graph(a=["home/#", "+/temp/+"])
    assert names(made, "home/x") == ["a"]


def test_what_a_topic_touches_is_searched_once() -> None:
    made = graph(**{f"m{n}": [f"t/{n}", f"w/{n}/+"] for n in range(1000)})
    before = made.searches
    for _ in range(50):
        assert names(made, "t/7") == ["m7"]
        assert names(made, "w/7/x") == ["m7"]
        assert names(made, "nobody") == []
    assert made.searches == before + 3


def test_what_is_remembered_is_bounded() -> None:
    made = graph(a=["x"])
    for n in range(MAX_REMEMBERED + 1):
        made.touched(f"t/{n}")
    assert made.forgettings == 1
    assert names(made, "x") == ["a"]
