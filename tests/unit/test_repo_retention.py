"""Retention rules: which of the oldest readings go."""

from __future__ import annotations

import pytest

from roost.errors import BadConfig
from roost.machine import MS
from roost.naming import Name
from roost.naming.topic import TopicFilter
from roost.repo.retention import RECORDS, Held, Rule, Rules, due

GROUP = Name.parse("/C/B/E")
ANY = TopicFilter("#")
NOW = 1_000_000 * MS


def held(*times_ms: int, replaced: bool = False) -> list[Held]:
    return [Held(number, time * MS, 100, replaced) for number, time in enumerate(times_ms, 1)]


def test_without_a_bound_nothing_goes() -> None:
    assert due(Rule(ANY), 10**9, 10**12, held(1, 2, 3), NOW) == 0


def test_the_count_leaves_as_many_as_it_says() -> None:
    assert due(Rule(ANY, max_count=8), 10, 1000, held(1, 2, 3, 4), NOW) == 2
    assert due(Rule(ANY, max_count=10), 10, 1000, held(1, 2, 3, 4), NOW) == 0


def test_bytes_go_until_the_rest_fits() -> None:
    assert due(Rule(ANY, max_bytes=799), 10, 1000, held(1, 2, 3, 4), NOW) == 3
    assert due(Rule(ANY, max_bytes=800), 10, 1000, held(1, 2, 3, 4), NOW) == 2


def test_age_ends_at_the_first_reading_that_is_young_enough() -> None:
    rule = Rule(ANY, max_age_ms=1000)
    assert due(rule, 10, 1000, held(998_000, 998_999, 999_000, 998_000), NOW) == 2


def test_age_is_not_held_against_what_has_no_time() -> None:
    assert due(Rule(ANY, max_age_ms=1000), 10, 1000, held(0, 0), NOW) == 0


def test_any_bound_is_enough() -> None:
    rule = Rule(ANY, max_age_ms=1000, max_count=9, max_bytes=750)
    assert due(rule, 10, 1000, held(*[999_999] * 10), NOW) == 3


def test_what_nothing_replaces_stays_and_keeps_what_is_behind_it() -> None:
    rule = Rule(ANY, max_count=1, replaced_by=TopicFilter("+/hourly/#"))
    oldest = held(1, 2, 3, 4, replaced=True)
    assert due(rule, 10, 1000, oldest, NOW) == 4
    oldest[2] = oldest[2]._replace(replaced=False)
    assert due(rule, 10, 1000, oldest, NOW) == 2


def test_the_first_rule_that_matches_counts_and_records_have_one() -> None:
    first, second = Rule(TopicFilter("Panel1/#")), Rule(ANY, max_count=5)
    rules = Rules(GROUP, [first, second])
    assert rules.of(GROUP / "Panel1" / "x" / "y") is first
    assert rules.of(GROUP / "Panel2" / "x" / "y") is second
    assert rules.of(Name.parse("/C/B/other/Panel1/x/y")) is None
    assert Rules(GROUP).of(GROUP / "Repo" / "Repo1") is RECORDS
    assert Rules(GROUP).of(GROUP / "Panel1" / "x" / "y") is None
    assert (RECORDS.max_count, RECORDS.max_age_ms) == (10_000, 7 * 86_400_000)


def test_an_aggregate_replaces_what_its_rule_says_only() -> None:
    rules = Rules(GROUP, [Rule(TopicFilter("Panel1/#"), max_count=5, replaced_by=TopicFilter("+/hourly/+")), Rule(ANY)])
    hourly = GROUP / "Mean" / "hourly" / "Voltage"
    assert rules.replacing
    assert rules.replaces(hourly, GROUP / "Panel1" / "Heater" / "Voltage")
    assert not rules.replaces(hourly, GROUP / "Panel2" / "Heater" / "Voltage")
    assert not rules.replaces(GROUP / "Mean" / "daily" / "Voltage", GROUP / "Panel1" / "Heater" / "Voltage")
    assert not rules.replaces(Name.parse("/C/B/other/hourly/V"), GROUP / "Panel1" / "Heater" / "Voltage")
    assert not Rules(GROUP).replacing


def test_a_bound_below_zero_is_a_mistake() -> None:
    with pytest.raises(BadConfig):
        Rule(ANY, max_count=-1)
