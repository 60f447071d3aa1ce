"""Topics and filters that are found again, the most specific first."""

import pytest

from roost.process.roles.patterns import Patterns, intersects


def kept(*patterns: str) -> Patterns[str]:
    table: Patterns[str] = Patterns()
    for pattern in patterns:
        table.put(pattern, pattern)
    return table


def test_the_most_specific_comes_first_whatever_the_order_of_arrival() -> None:
    specific = ["a/b/c", "a/b/+", "a/b/#", "a/+/c", "a/+/+", "a/+/#", "a/#", "+/b/c", "+/#", "#"]
    assert kept(*specific).matching("a/b/c") == specific
    assert kept(*reversed(specific)).matching("a/b/c") == specific


def test_a_filter_that_ends_comes_before_one_that_goes_on() -> None:
    assert kept("a/+/#", "a/+", "a/b/#").matching("a/b") == ["a/b/#", "a/+", "a/+/#"]


def test_a_wildcard_in_front_does_not_reach_reserved_topics() -> None:
    table = kept("#", "+/x", "$SYS/#", "$SYS/+")
    assert table.matching("$SYS/x") == ["$SYS/+", "$SYS/#"]
    assert table.matching("$SYS") == ["$SYS/#"]


def test_what_is_removed_is_found_no_more() -> None:
    table = kept("a/+", "a/+/c", "b", "#")
    for pattern in ("a/+", "a/+/c", "b", "#"):
        assert table.get(pattern) == pattern
        table.remove(pattern)
        assert table.get(pattern) is None
    assert not table.matching("a/x/c")
    assert len(table) == 0


def test_putting_again_replaces() -> None:
    table: Patterns[int] = Patterns()
    for number in (1, 2):
        table.put("a/+", number)
        table.put("a", number)
    assert table.matching("a/b") == [2]
    assert table.matching("a") == [2]
    assert len(table) == 2


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a/c", False),
        ("a/b", "a", False),
        ("a/+", "a/b", True),
        ("a/+", "a", False),
        ("a/#", "a", True),
        ("a/#", "a/b/c", True),
        ("a/#", "b", False),
        ("a/+/c", "+/b/#", True),
        ("a/+/c", "a/b/d", False),
        ("#", "$SYS/x", False),
        ("+/x", "$SYS/x", False),
        ("$SYS/#", "$SYS/x", True),
        ("#", "Noctua/x", True),
        ("", "+", True),
    ],
)
def test_two_patterns_meet_where_some_topic_matches_both(one: str, other: str, both: bool) -> None:
    assert intersects(one, other) is both
    assert intersects(other, one) is both
