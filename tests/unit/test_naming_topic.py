"""MQTT topics ⇄ names and topic filters [MQTT-4.7]."""

from __future__ import annotations

import pytest

from roost.errors import BadTopic
from roost.naming import Name
from roost.naming.topic import MAX_TOPIC_BYTES, TopicFilter, name_of_topic, topic_of_name


@pytest.mark.parametrize(
    ("topic", "uri"),
    [
        ("a", "/a"),
        ("a/b", "/a/b"),
        ("/", "/.../..."),
        ("/a", "/.../a"),
        ("a/", "/a/..."),
        ("a//b", "/a/.../b"),
        ("$SYS/uptime", "/%24SYS/uptime"),
        ("Caf\u00e9/\U0001f321", "/Caf%C3%A9/%F0%9F%8C%A1"),
        (" /a b", "/%20/a%20b"),
        ("seq=5/.", "/seq%3D5/...."),
    ],
)
def test_topic_and_name_are_one_to_one(topic: str, uri: str) -> None:
    assert str(name_of_topic(topic)) == uri
    assert topic_of_name(Name.parse(uri)) == topic


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        ("", "at least one character"),
        ("a/+", "wildcard '\\+'"),
        ("a#", "wildcard '#'"),
        ("a\x00", "NUL"),
        ("\ud800", "surrogate"),
        ("x" * (MAX_TOPIC_BYTES + 1), "65535 bytes"),
        ("\u00e9" * 32768, "65535 bytes"),
    ],
    ids=["empty", "plus", "hash", "nul", "surrogate", "long", "long-in-utf-8"],
)
def test_a_topic_without_a_name_is_refused(topic: str, reason: str) -> None:
    with pytest.raises(BadTopic, match=reason):
        name_of_topic(topic)


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("/", "empty name"),
        ("/...", "one empty level"),
        ("/a/seq=1", "typed component"),
        ("/%FF", "not UTF-8"),
        ("/%ED%A0%80", "not UTF-8"),
        ("/a%2Fb", "separator"),
        ("/a%2B", "wildcard '\\+'"),
        ("/%23", "wildcard '#'"),
        ("/%00", "NUL"),
    ],
)
def test_a_name_without_a_topic_is_refused(uri: str, reason: str) -> None:
    with pytest.raises(BadTopic, match=reason):
        topic_of_name(Name.parse(uri))


def test_a_name_too_long_for_a_topic_is_refused() -> None:
    longest = "x" * MAX_TOPIC_BYTES
    assert topic_of_name(name_of_topic(longest)) == longest
    with pytest.raises(BadTopic, match="65535 bytes"):
        topic_of_name(Name.of("x" * MAX_TOPIC_BYTES, "y"))


@pytest.mark.parametrize(
    ("pattern", "topic", "matching"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a/c", False),
        ("a/b", "a", False),
        ("a/b", "a/b/c", False),
        ("a/+", "a/b", True),
        ("a/+", "a/", True),
        ("a/+", "a", False),
        ("a/+", "a/b/c", False),
        ("+", "a", True),
        ("+", "/a", False),
        ("+/+", "/a", True),
        ("/+", "/a", True),
        ("a/#", "a", True),
        ("a/#", "a/b/c", True),
        ("a/#", "ab", False),
        ("#", "a/b", True),
        ("#", "/", True),
        ("+/b/#", "a/b", True),
        ("+/b/#", "a/c", False),
        ("sport/+/player1", "sport/tennis/player1", True),
        ("#", "$SYS/uptime", False),
        ("+/uptime", "$SYS/uptime", False),
        ("$SYS/#", "$SYS/uptime", True),
        ("$SYS/+", "$SYS/uptime", True),
        ("a/+", "a/$x", True),
    ],
)
def test_filters_match_as_mqtt_says(pattern: str, topic: str, matching: bool) -> None:
    assert TopicFilter(pattern).matches(name_of_topic(topic)) is matching


def test_a_name_without_a_topic_matches_nothing() -> None:
    assert not TopicFilter("#").matches(Name.parse("/a/seq=1"))
    assert not TopicFilter("#").matches(Name())


@pytest.mark.parametrize("pattern", ["a#", "#/a", "a/#/b", "a+", "+a/b", "", "a\x00", "\udc00"], ids=ascii)
def test_a_bad_filter_is_refused(pattern: str) -> None:
    with pytest.raises(BadTopic):
        TopicFilter(pattern)


def test_the_fixed_prefix_of_a_filter() -> None:
    assert TopicFilter("a/b/+/c").prefix == Name.parse("/a/b")
    assert TopicFilter("a/b/#").prefix == Name.parse("/a/b")
    assert TopicFilter("a/b").prefix == Name.parse("/a/b")
    assert TopicFilter("#").prefix == TopicFilter("+").prefix == Name()
    assert TopicFilter("a") == TopicFilter("a") != TopicFilter("+")
