"""Retained messages: found by filter, replaced, removed, expired, and turned away at a bound (section 3.3.1.3)."""

from __future__ import annotations

import pytest

from roost.broker.retained import Retained

NOW = 1_000


def holding(*topics: bytes) -> Retained[bytes]:
    """Each topic has itself as its message, of ten bytes."""
    retained: Retained[bytes] = Retained(max_messages=100, max_bytes=10_000)
    for topic in topics:
        assert retained.set(topic, topic, 10)
    return retained


def found(retained: Retained[bytes], filter_: bytes, now: int = NOW) -> list[bytes]:
    for topic, message in retained.matching(filter_, now):
        assert message == topic
    return [topic for topic, _ in retained.matching(filter_, now)]


@pytest.mark.parametrize(
    ("filter_", "topics"),
    [
        (b"a", [b"a"]),
        (b"a/b", [b"a/b"]),
        (b"b", []),
        (b"a/b/c/d", []),
        (b"a/+", [b"a/", b"a/$x", b"a/b"]),
        (b"a/#", [b"a", b"a/", b"a/$x", b"a/b", b"a/b/c"]),
        (b"a/b/#", [b"a/b", b"a/b/c"]),
        (b"+/b", [b"/b", b"a/b"]),
        (b"+", [b"a"]),
        (b"+/+", [b"/b", b"a/", b"a/$x", b"a/b"]),
        (b"+/#", [b"/b", b"a", b"a/", b"a/$x", b"a/b", b"a/b/c"]),
        (b"#", [b"/b", b"a", b"a/", b"a/$x", b"a/b", b"a/b/c"]),
        (b"$SYS/#", [b"$SYS/up"]),
        (b"$SYS/+", [b"$SYS/up"]),
        (b"/#", [b"/b"]),
    ],
)
def test_filter_finds_its_topics_in_the_order_of_their_levels(filter_: bytes, topics: list[bytes]) -> None:
    """With [MQTT-4.7.2-1]: `$` is out of reach of a wildcard in the first level only."""
    assert found(holding(b"$SYS/up", b"a/b", b"a", b"a/b/c", b"a/", b"a/$x", b"/b"), filter_) == topics


def test_way_through_the_topics_may_rest_anywhere() -> None:
    retained = holding(*[b"a/%d/x" % number for number in range(5)], b"a/1", b"b")
    path: list[bytes] = []
    got: list[bytes] = []
    rests = 0
    while True:
        path, entry, visited = retained.next([b"a", b"#"], path, 1, NOW)
        assert visited <= 1
        rests += 1
        if entry is not None:
            got.append(entry.topic)
        elif not path:
            break
    assert got == found(retained, b"a/#")
    assert rests == 12  # `a`, five levels, five `x`, and the end


def test_way_goes_on_when_the_place_where_it_rests_is_gone() -> None:
    retained = holding(b"a/1/x", b"a/2/x", b"a/3/x")
    path, entry, _ = retained.next([b"a", b"+", b"x"], [], 100, NOW)
    retained.set(b"a/1/x", None)
    retained.set(b"a/2/x", None)
    retained.set(b"a/0/x", b"a/0/x")
    path, entry, _ = retained.next([b"a", b"+", b"x"], path, 100, NOW)
    assert entry is not None
    assert entry.topic == b"a/3/x"
    assert retained.next([b"a", b"+", b"x"], path, 100, NOW) == ([], None, 0)


def test_very_many_dollar_topics_are_stepped_over_at_once() -> None:
    """[MQTT-4.7.2-1]."""
    retained = holding(*[b"$%d" % number for number in range(50)], b"!", b"a")
    assert found(retained, b"#") == [b"!", b"a"]
    assert retained.next([b"#"], [b"!"], 1, NOW)[0] == [b"a"]


def test_new_message_replaces_the_old_one() -> None:
    """[MQTT-3.3.1-5]."""
    retained = holding(b"a")
    assert retained.set(b"a", b"new", 25)
    assert retained.matching(b"a", NOW) == [(b"a", b"new")]
    assert (len(retained), retained.held_bytes) == (1, 25)


def test_no_message_removes_what_was_there() -> None:
    """[MQTT-3.3.1-6], and only that."""
    retained = holding(b"a", b"a/b", b"a/b/c")
    for absent in (b"b", b"a/c", b"a/b/c/d"):
        assert not retained.set(absent, None)
    assert not retained.set(b"a/b", None)
    assert found(retained, b"#") == [b"a", b"a/b/c"]
    assert not retained.set(b"a/b", None)
    assert (len(retained), retained.held_bytes) == (2, 20)


def test_message_is_found_until_it_expires_and_then_taken_out() -> None:
    retained = holding(b"a/for ever")
    retained.set(b"a/b", b"a/b", 10, until=NOW + 5)
    retained.set(b"a/c", b"a/c", 10, until=NOW + 2)
    assert retained.deadline() == NOW + 2
    assert found(retained, b"a/#", NOW + 1) == [b"a/b", b"a/c", b"a/for ever"]
    assert found(retained, b"a/#", NOW + 2) == [b"a/b", b"a/for ever"]
    assert retained.expire(NOW + 1) == []
    assert retained.expire(NOW + 9) == [b"a/c", b"a/b"]
    assert retained.deadline() is None
    assert (len(retained), retained.held_bytes) == (1, 10)


def test_end_of_a_replaced_message_is_not_the_end_of_its_successor() -> None:
    retained = holding()
    retained.set(b"a", b"a", 10, until=NOW + 1)
    retained.set(b"a", b"a", 10, until=NOW + 7)
    retained.set(b"b", b"b", 10, until=NOW + 1)
    retained.set(b"b", b"b", 10)
    assert retained.expire(NOW + 1) == []
    assert found(retained, b"#", NOW + 1) == [b"a", b"b"]
    assert retained.expire(NOW + 7) == [b"a"]
    assert found(retained, b"#", NOW + 7) == [b"b"]


def test_ends_do_not_pile_up_while_a_topic_is_published_again_and_again() -> None:
    retained = holding()
    for count in range(1000):
        retained.set(b"a", b"a", 10, until=NOW + count // 2)
    kept = 0
    while retained.deadline() is not None:
        retained.expire(retained.deadline() or 0)
        kept += 1
    assert kept <= 66


def test_message_beyond_a_bound_is_turned_away_and_counted() -> None:
    retained: Retained[bytes] = Retained(max_messages=2, max_bytes=100)
    assert retained.set(b"a", b"a", 60)
    assert not retained.set(b"b", b"b", 41)
    assert retained.set(b"b", b"b", 40)
    assert not retained.set(b"c", b"c", 0)
    assert retained.turned_away == 2
    assert found(retained, b"#") == [b"a", b"b"]
    assert retained.set(b"a", b"a", 50)
    assert retained.turned_away == 2


def test_message_that_is_turned_away_still_ends_the_one_before_it() -> None:
    retained: Retained[bytes] = Retained(max_messages=2, max_bytes=100)
    retained.set(b"a", b"a", 60)
    assert not retained.set(b"a", b"a", 101)
    assert found(retained, b"#") == []
    assert (len(retained), retained.held_bytes, retained.turned_away) == (0, 0, 1)


def test_longest_possible_topic_is_found_and_removed() -> None:
    """Walking is a loop: 65,536 levels do not exhaust a stack."""
    deep = b"/" * 65_535
    retained = holding(deep)
    assert found(retained, b"#") == [deep]
    assert not retained.set(deep, None)
    assert len(retained) == 0


def test_it_is_known_how_much_an_owner_has() -> None:
    retained: Retained[bytes] = Retained(max_messages=3, max_bytes=100)
    for topic, owner in ((b"a", b"ann"), (b"b", b"ann"), (b"c", b"bob")):
        assert retained.set(topic, topic, 10, NOW + 5 if topic == b"b" else 0, owner)
    assert [retained.held_by(b"ann", but=topic) for topic in (b"", b"a", b"c", b"d")] == [20, 10, 20, 20]
    assert retained.set(b"a", b"a", 15, 0, b"bob")
    assert [retained.held_by(owner, but=b"") for owner in (b"ann", b"bob")] == [10, 25]
    assert not retained.set(b"d", b"d", 10, 0, b"bob")
    assert not retained.set(b"c", b"c", 90, 0, b"bob"), "which takes out the one before"
    assert retained.expire(NOW + 5) == [b"b"]
    assert [retained.held_by(owner, but=b"") for owner in (b"ann", b"bob", b"")] == [0, 15, 0]
