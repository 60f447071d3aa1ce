"""Retained messages and the flag of that name [MQTT 5.0 §3.3.1.3]."""

import pytest
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, only

RETAIN_AS_PUBLISHED = 0x08
SEND_IF_NEW = 0x10
NEVER_SEND = 0x20


@clauses(v4="3.3.1-5 3.3.1-6 3.3.1-7 3.3.1-8", v5="3.3.1-5 3.3.1-9")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_the_last_retained_message_of_every_topic_meets_a_new_subscriber(version: int, qos: int) -> None:
    world = World()
    publisher = world.client(b"p", version)
    for number, (topic, payload) in enumerate(
        [(b"a/1", b"old"), (b"a/2", b"two"), (b"b/1", b"no"), (b"a/1", b"one")], 1
    ):
        publisher.publish(topic, payload, qos=qos, packet_id=number, retain=True)
    late = world.client(b"late", version)
    late.subscribe((b"a/+", 2))
    kept = {each.topic: (each.payload, each.retain, each.qos) for each in late.hear()}
    assert kept == {b"a/1": (b"one", True, qos), b"a/2": (b"two", True, qos)}


@clauses(v4="3.3.1-7", v5="3.3.1-5")
def test_a_retained_message_of_qos_0_replaces_one_of_qos_2(version: int) -> None:
    world = World()
    publisher = world.client(b"p", version)
    publisher.publish(b"t", b"old", qos=2, packet_id=1, retain=True)
    publisher.publish(b"t", b"new", retain=True)
    late = world.client(b"late", version)
    late.subscribe((b"t", 2))
    assert [(each.payload, each.qos) for each in late.hear()] == [(b"new", 0)]


@clauses(v4="3.3.1-9", v5="3.3.1-12")
def test_a_standing_subscription_gets_messages_without_the_retain_flag(version: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe((b"t", 1))
    publisher = world.client(b"p", version)
    for number, retain in enumerate([True, False, True], 1):
        publisher.publish(b"t", b"%d" % number, qos=1, packet_id=number, retain=retain)
    assert [(each.payload, each.retain) for each in watcher.hear()] == [(b"1", False), (b"2", False), (b"3", False)]


@clauses(v5="3.3.1-13")
def test_retain_as_published_lets_the_flag_through(version: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe((b"t", 1 | RETAIN_AS_PUBLISHED))
    publisher = world.client(b"p", version)
    for number, retain in enumerate([True, False, True], 1):
        publisher.publish(b"t", b"%d" % number, qos=1, packet_id=number, retain=retain)
    assert [(each.payload, each.retain) for each in watcher.hear()] == [(b"1", True), (b"2", False), (b"3", True)]


@clauses(v4="3.3.1-10 3.3.1-11", v5="3.3.1-6 3.3.1-7")
def test_an_empty_retained_message_removes_and_is_delivered_but_never_kept(version: int) -> None:
    world = World()
    publisher, watcher = world.client(b"p", version), world.client(b"watcher", version)
    publisher.publish(b"t", b"x", retain=True)
    watcher.subscribe(b"t")
    assert only(watcher.hear(), "PUBLISH").payload == b"x"
    publisher.publish(b"t", b"", retain=True)
    assert [(each.payload, each.retain) for each in watcher.hear()] == [(b"", False)]
    publisher.publish(b"never/set", b"", retain=True)
    late = world.client(b"late", version)
    late.subscribe(b"#")
    assert late.hear() == []


@clauses(v4="3.3.1-12", v5="3.3.1-8")
@pytest.mark.parametrize("payload", [b"passing", b""])
def test_a_message_without_retain_leaves_the_retained_one(version: int, payload: bytes) -> None:
    world = World()
    publisher = world.client(b"p", version)
    publisher.publish(b"kept", b"x", retain=True)
    publisher.publish(b"kept", payload)
    publisher.publish(b"other", payload)
    late = world.client(b"late", version)
    late.subscribe(b"#")
    assert [(each.topic, each.payload) for each in late.hear()] == [(b"kept", b"x")]


@clauses(v5="3.3.1-9 3.3.1-10 3.3.1-11")
@pytest.mark.parametrize(("options", "at_first", "again"), [(0, 1, 1), (SEND_IF_NEW, 1, 0), (NEVER_SEND, 0, 0)])
def test_retain_handling_decides_when_retained_messages_are_sent(
    version: int, options: int, at_first: int, again: int
) -> None:
    world = World()
    world.client(b"p", version).publish(b"t", b"x", retain=True)
    watcher = world.client(b"watcher", version)
    watcher.subscribe((b"t", options))
    assert len(watcher.hear()) == at_first
    watcher.subscribe((b"t", options))
    assert len(watcher.hear()) == again
