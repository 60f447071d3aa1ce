"""Topic names and filters: wildcards, $-topics, lengths [MQTT 5.0 §4.7]."""

import pytest
from tests.broker_packets import publish, subscribe
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, ended, only


@clauses(v4="4.7.1-2", v5="4.7.1-1")
@pytest.mark.parametrize("wrong", [b"a#", b"a/#/b", b"#/a", b"##", b"a/#b", b"a/b#", b"+#"])
def test_a_hash_that_is_not_the_whole_last_level_ends_the_link(version: int, wrong: bytes) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(subscribe(1, wrong, version=version)), 0x81, 0x82, 0x8F)


@clauses(v4="4.7.1-3", v5="4.7.1-2")
@pytest.mark.parametrize("wrong", [b"a+", b"+a", b"a/b+", b"a/+b/c", b"++", b"a/++"])
def test_a_plus_that_is_not_a_whole_level_ends_the_link(version: int, wrong: bytes) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(subscribe(1, wrong, version=version)), 0x81, 0x82, 0x8F)


@clauses(v4="4.7.1-2 4.7.1-3 3.3.2-3", v5="4.7.1-1 4.7.1-2 3.3.2-3")
@pytest.mark.parametrize(
    ("topic_filter", "yes", "no"),
    [
        (b"#", [b"a", b"a/b", b"/", b"/a"], []),
        (b"+", [b"a"], [b"a/b", b"/a", b"a/"]),
        (b"/+", [b"/a", b"/"], [b"a", b"/a/b"]),
        (b"+/+", [b"/a", b"a/b", b"/", b"a/"], [b"a", b"a/b/c"]),
        (b"a/#", [b"a", b"a/", b"a/b", b"a/b/c"], [b"b", b"ab", b"/a"]),
        (b"a/+/#", [b"a/b", b"a/b/c", b"a/"], [b"a", b"b/a"]),
        (b"+/b/#", [b"a/b", b"/b/c"], [b"a/c", b"b"]),
        (b"a/+/c", [b"a/b/c", b"a//c"], [b"a/c", b"a/b/d", b"a/b/c/d"]),
        (b"a/b", [b"a/b"], [b"a/B", b"a/b/", b"/a/b", b"a"]),
    ],
)
def test_wildcards_match_whole_levels(version: int, topic_filter: bytes, yes: list[bytes], no: list[bytes]) -> None:
    world = World()
    client, publisher = world.client(b"c", version), world.client(b"p", version)
    client.subscribe(topic_filter)
    for topic in no + yes:
        publisher.publish(topic, b"x")
    assert [each.topic for each in client.hear()] == yes
    for topic in no + yes:
        publisher.publish(topic, b"kept", retain=True)
    late = world.client(b"late", version)
    late.subscribe(topic_filter)
    assert sorted(each.topic for each in late.hear()) == sorted(yes)


@clauses(v4="4.7.2-1", v5="4.7.2-1")
def test_wildcards_in_front_do_not_match_dollar_topics(version: int) -> None:
    world = World()
    world.client(b"p", version).publish(b"$x/y", b"kept", retain=True)
    blind = world.client(b"blind", version)
    assert [each.kind for each in blind.say(subscribe(1, b"#", b"+/y", b"+/#", b"+/+", version=version))] == ["SUBACK"]
    named = world.client(b"named", version)
    named.subscribe(b"$x/#")
    world.client(b"p", version).publish(b"$x/y", b"new")
    assert [(each.topic, each.payload) for each in named.hear()] == [(b"$x/y", b"kept"), (b"$x/y", b"new")]
    assert blind.hear() == []


@clauses(v4="4.7.3-1", v5="4.7.3-1")
def test_an_empty_topic_or_filter_ends_the_link(version: int) -> None:
    for wrong in (publish(b"", b"x", version=version), subscribe(1, b"", version=version)):
        client = World().client(b"c", version)
        ended(client, client.say(wrong), 0x81, 0x82, 0x8F, 0x90)


@clauses(v4="4.7.3-3", v5="4.7.3-3")
def test_topics_of_65535_bytes_pass(version: int) -> None:
    """More cannot be said: the length has two bytes."""
    longest = b"x" * 65_535
    world = World()
    client = world.client(b"c", version)
    client.subscribe(longest)
    world.client(b"p", version).publish(longest, b"1")
    assert only(client.hear(), "PUBLISH").topic == longest
