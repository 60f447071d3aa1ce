"""PUBLISH: its form, who gets it, and overlapping filters [MQTT 5.0 §3.3]."""

import pytest
from tests.broker_packets import props, publish, subscribe
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, ended, only

NO_LOCAL = 0x04


@clauses(v4="3.3.1-4", v5="3.3.1-4")
def test_qos_3_ends_the_link(version: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(publish(b"t", qos=3, packet_id=1, version=version)), 0x81)


@clauses(v4="3.3.1-2 4.8.0-1", v5="3.3.1-2 4.13.1-1")
def test_a_message_of_qos_0_that_is_marked_as_sent_again_ends_the_link(version: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(publish(b"t", dup=True, version=version)), 0x81, 0x82)


@clauses(v4="3.3.1-3", v5="3.3.1-3")
@pytest.mark.parametrize("qos", [1, 2])
def test_dup_does_not_travel(version: int, qos: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe((b"t", qos))
    world.client(b"c", version).publish(b"t", b"x", qos=qos, packet_id=1, dup=True)
    message = only(watcher.hear(), "PUBLISH")
    assert (message.qos, message.dup) == (qos, False)


@clauses(v4="3.3.2-2 4.7.1-1", v5="3.3.2-2 4.7.0-1")
@pytest.mark.parametrize("topic", [b"#", b"+", b"a/#", b"a/+/b", b"a+", b"a#b"])
def test_a_topic_with_a_wildcard_ends_the_link(version: int, topic: bytes) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe(b"#")
    client = world.client(b"c", version)
    ended(client, client.say(publish(topic, b"x", version=version)), 0x81, 0x82, 0x90)
    assert watcher.hear() == []


@clauses(v4="3.3.2-3", v5="3.3.2-3")
def test_what_is_delivered_matches_what_was_subscribed(version: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe(b"a/+/c")
    publisher = world.client(b"p", version)
    for topic in (b"a/b/c", b"a/b", b"a/b/c/d", b"a//c", b"A/b/c", b"/a/b/c"):
        publisher.publish(topic, b"x")
    assert [each.topic for each in watcher.hear()] == [b"a/b/c", b"a//c"]


@clauses(v5="3.3.4-6")
def test_a_subscription_identifier_from_a_client_ends_the_link(version: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(publish(b"t", version=version, properties=props(subscription_id=1))), 0x81, 0x82)


@clauses(v4="3.3.5-1", v5="3.3.4-2")
@pytest.mark.parametrize("granted", [(0, 2), (2, 0), (1, 2), (0, 1)])
def test_overlapping_filters_deliver_at_the_highest_qos(version: int, granted: tuple[int, int]) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.say(subscribe(1, (b"a/+", granted[0]), (b"a/#", granted[1]), version=version))
    world.client(b"p", version).publish(b"a/b", b"x", qos=2, packet_id=1)
    copies = watcher.hear()
    assert max(each.qos for each in copies) == max(granted)
    assert all(each.payload == b"x" for each in copies)


@clauses(v5="3.3.4-3 3.3.4-4")
def test_the_one_copy_names_the_identifiers_of_all_filters_it_is_for(version: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    for number, topic_filter in enumerate([b"a/b", b"a/+", b"#"], 1):
        watcher.subscribe(topic_filter, properties=props(subscription_id=number * 1000), packet_id=number)
    watcher.subscribe(b"+/b", packet_id=9)
    world.client(b"p", version).publish(b"a/b", b"x")
    assert sorted(only(watcher.hear(), "PUBLISH").properties["subscription_id"]) == [1000, 2000, 3000]
    world.client(b"p", version).publish(b"c", b"x")
    assert only(watcher.hear(), "PUBLISH").properties == {"subscription_id": [3000]}


@clauses(v5="3.3.4-3")
def test_retained_messages_name_the_identifier_of_the_new_subscription(version: int) -> None:
    world = World()
    world.client(b"p", version).publish(b"a", b"x", retain=True)
    watcher = world.client(b"watcher", version)
    watcher.subscribe(b"a", properties=props(subscription_id=268_435_455))
    assert only(watcher.hear(), "PUBLISH").properties == {"subscription_id": [268_435_455]}


@clauses(v4="3.3.5-2")
@pytest.mark.parametrize(("drop_denied", "qos"), [(True, 0), (True, 1), (True, 2), (False, 1)])
def test_what_a_client_may_not_publish_is_acknowledged_and_dropped_or_ends_the_link(
    version: int, drop_denied: bool, qos: int
) -> None:
    world = World(drop_denied=drop_denied)
    watcher = world.client(b"watcher", version)
    watcher.subscribe((b"#", 2))
    world.forbid(b"secret")
    client = world.client(b"c", version)
    heard = client.say(publish(b"secret", b"x", qos=qos, packet_id=5 * bool(qos), version=version))
    if drop_denied:
        assert [each.kind for each in heard] == [[], ["PUBACK"], ["PUBREC"]][qos]
        assert not client.closed
    else:
        ended(client, heard)
    assert watcher.hear() == []


@clauses(v5="3.1.2-24 3.1.2-27 3.3.4-3 3.8.3-3")
def test_a_topic_that_is_published_to_again_and_again_is_treated_like_the_first_time(version: int) -> None:
    """A server that remembers where a topic goes must not forget how."""
    world = World()
    client = world.client(b"c", version)
    client.subscribe((b"t", NO_LOCAL))
    named, old = world.client(b"named", version), world.client(b"old", 4)
    named.subscribe(b"t", properties=props(subscription_id=7))
    old.subscribe((b"t", 2))
    aliased = world.client(b"aliased", version, properties=props(topic_alias_maximum=1))
    aliased.subscribe(b"t")
    small = world.client(b"small", version, properties=props(maximum_packet_size=40))
    small.subscribe(b"t")
    twice = world.client(b"twice", version)
    twice.subscribe((b"t", 1), (b"#", 0))
    payloads = [b"1", b"2", b"3" * 100, b"4"]
    for payload in payloads:
        client.publish(b"t", payload)
    assert client.hear() == []
    assert [(each.payload, each.properties) for each in named.hear()] == [
        (payload, {"subscription_id": [7]}) for payload in payloads
    ]
    assert [each.payload for each in old.hear()] == payloads
    assert [(each.topic, each.properties) for each in aliased.hear()] == [
        (b"t", {"topic_alias": 1}),
        *([(b"", {"topic_alias": 1})] * 3),
    ]
    assert [each.payload for each in small.hear()] == [b"1", b"2", b"4"]
    assert {each.payload for each in twice.hear()} == set(payloads)


@clauses(v4="3.3.2-3 4.3.1-1 2.3.1-5", v5="2.2.2-1 3.3.2-17 4.3.1-1 2.2.1-2")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages_cross_between_the_versions(version: int, qos: int) -> None:
    """`seen` reads what arrives in the version of its receiver."""
    world = World()
    watcher, publisher = world.client(b"watcher", version), world.client(b"p", 9 - version)
    watcher.subscribe((b"t", 2))
    about = props(content_type=b"x", user=[(b"k", b"v")], expiry=100) if publisher.version == 5 else b""
    for number in range(1, 4):
        publisher.publish(b"t", b"%d" % number, qos=qos, packet_id=number, properties=about)
    assert [(each.topic, each.payload, each.qos, each.properties) for each in watcher.hear()] == [
        (b"t", b"%d" % number, qos, {}) for number in range(1, 4)
    ]
