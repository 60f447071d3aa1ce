"""The trie of topic filters: who gets a topic, in which order, and what is left when they go (section 4.7)."""

from __future__ import annotations

import pytest

from roost.broker.filters import Options, Subscriptions


def having(*filters: bytes) -> Subscriptions:
    """A trie where the n-th filter belongs to subscriber n, counted from 1."""
    subscriptions = Subscriptions()
    for who, filter_ in enumerate(filters, start=1):
        assert subscriptions.add(filter_, who, Options(1))
    return subscriptions


def whom(subscriptions: Subscriptions, topic: bytes) -> list[int]:
    return [who for who, _ in subscriptions.matches(topic)]


@pytest.mark.parametrize(
    ("filter_", "topic", "does"),
    [
        (b"sport/tennis/player1/#", b"sport/tennis/player1", True),
        (b"sport/tennis/player1/#", b"sport/tennis/player1/ranking", True),
        (b"sport/tennis/player1/#", b"sport/tennis/player1/score/wimbledon", True),
        (b"sport/#", b"sport", True),
        (b"sport/#", b"sports", False),
        (b"#", b"sport/tennis", True),
        (b"#", b"/", True),
        (b"sport/tennis/+", b"sport/tennis/player1", True),
        (b"sport/tennis/+", b"sport/tennis/player1/ranking", False),
        (b"sport/+", b"sport", False),
        (b"sport/+", b"sport/", True),
        (b"+/+", b"/finance", True),
        (b"/+", b"/finance", True),
        (b"+", b"/finance", False),
        (b"+/tennis/#", b"sport/tennis", True),
        (b"+/+/#", b"a", False),
        (b"a//c", b"a/b/c", False),
        (b"a//c", b"a//c", True),
        (b"a/+/c", b"a//c", True),
        (b"/a", b"a", False),
        (b"a/", b"a", False),
        (b"ACCOUNTS", b"Accounts", False),
        (b"Accounts payable", b"Accounts payable", True),
        ("Gebäude/Wärme".encode(), "Gebäude/Wärme".encode(), True),
        ("Wa\u0308rme".encode(), "W\u00e4rme".encode(), False),  # [MQTT-4.7.3-4]: the same to a reader, not to us
    ],
)
def test_filter_and_topic_are_compared_level_by_level_and_byte_by_byte(
    filter_: bytes, topic: bytes, does: bool
) -> None:
    assert whom(having(filter_), topic) == ([1] if does else [])


def test_wildcard_in_the_first_level_does_not_reach_dollar_topics() -> None:
    """[MQTT-4.7.2-1], for both wildcards; deeper levels are free."""
    subscriptions = having(b"#", b"+/monitor/Clients", b"+", b"$SYS/#", b"$SYS/monitor/+", b"a/#", b"a/+")
    assert whom(subscriptions, b"$SYS/monitor/Clients") == [5, 4]
    assert whom(subscriptions, b"$SYS") == [4]
    assert whom(subscriptions, b"$") == []
    assert whom(subscriptions, b"a/$b") == [7, 6, 1]


def test_exact_comes_before_plus_before_hash_and_older_before_newer() -> None:
    subscriptions = having(b"#", b"+/b", b"a/#", b"a/+", b"a/b", b"a/b", b"a/b/#")
    assert whom(subscriptions, b"a/b") == [5, 6, 7, 4, 3, 2, 1]


def test_subscriber_appears_once_for_every_filter_that_matches() -> None:
    subscriptions = Subscriptions()
    one, two = Options(1, identifier=11), Options(2, identifier=12)
    subscriptions.add(b"a/#", 7, one)
    subscriptions.add(b"a/b", 7, two)
    assert subscriptions.matches(b"a/b") == [(7, two), (7, one)]
    assert len(subscriptions) == 2


def test_same_filter_again_replaces_the_options() -> None:
    """[MQTT-3.8.4-3], and it keeps its place."""
    subscriptions = having(b"a", b"a")
    again = Options(2, no_local=True, retain_as_published=True)
    assert not subscriptions.add(b"a", 1, again)
    assert whom(subscriptions, b"a") == [1, 2]
    assert subscriptions.matches(b"a")[0][1] is again
    assert len(subscriptions) == 2


def test_removing_takes_only_the_very_filter_of_that_subscriber() -> None:
    """[MQTT-3.10.4-1]."""
    subscriptions = having(b"a/+", b"a/+", b"a/b")
    assert not subscriptions.remove(b"a/b", 1)
    assert not subscriptions.remove(b"a", 1)
    assert not subscriptions.remove(b"a/+/c", 1)
    assert subscriptions.remove(b"a/+", 1)
    assert not subscriptions.remove(b"a/+", 1)
    assert whom(subscriptions, b"a/b") == [3, 2]
    assert len(subscriptions) == 2


def test_removing_a_filter_leaves_longer_and_shorter_ones() -> None:
    subscriptions = having(b"a", b"a/b", b"a/b/c")
    assert subscriptions.remove(b"a/b", 2)
    assert whom(subscriptions, b"a") == [1]
    assert whom(subscriptions, b"a/b") == []
    assert whom(subscriptions, b"a/b/c") == [3]
    assert subscriptions.remove(b"a/b/c", 3)
    assert whom(subscriptions, b"a") == [1]


def test_longest_possible_filter_is_found_and_removed() -> None:
    """Walking is a loop: 65,535 levels do not exhaust a stack."""
    deep = b"/" * 65_534
    subscriptions = having(deep + b"#")
    assert whom(subscriptions, deep) == [1]
    assert subscriptions.remove(deep + b"#", 1)
    assert len(subscriptions) == 0
