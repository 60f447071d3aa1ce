"""Topic aliases, both ways [MQTT 5.0 §3.3.2.3.4]."""

import pytest
from tests.broker_packets import props, publish
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, ended


@clauses(v5="3.3.2-8 4.13.1-1")
def test_alias_0_ends_the_link(version: int) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(publish(b"t", version=version, properties=props(topic_alias=0))), 0x94)


@clauses(v5="3.3.2-12")
def test_every_alias_up_to_the_maximum_is_taken_and_can_be_given_anew(version: int) -> None:
    world = World(topic_alias_maximum=3)
    watcher = world.client(b"watcher", version)
    watcher.subscribe(b"#")
    client = world.client(b"c", version)
    for alias in (1, 2, 3):
        client.publish(b"t/%d" % alias, b"set", properties=props(topic_alias=alias))
    for alias in (3, 1, 2):
        client.publish(b"", b"used", properties=props(topic_alias=alias))
    client.publish(b"other", b"set", properties=props(topic_alias=1))
    client.publish(b"", b"used", properties=props(topic_alias=1))
    assert [each.topic for each in watcher.hear()] == [
        b"t/1", b"t/2", b"t/3", b"t/3", b"t/1", b"t/2", b"other", b"other",
    ]  # fmt: skip
    assert not client.closed


@clauses(v5="3.3.2-7")
def test_aliases_end_with_their_link(version: int) -> None:
    world = World()
    lasting = props(session_expiry=1000)
    client = world.client(b"c", version, clean=False, properties=lasting)
    client.publish(b"t", b"x", properties=props(topic_alias=1))
    client.vanish()
    again = world.client(b"c", version, clean=False, properties=lasting)
    assert again.connack.session_present
    ended(again, again.say(publish(b"", b"y", version=version, properties=props(topic_alias=1))), 0x82, 0x94)


@clauses(v5="3.3.2-7 3.1.2-26 3.3.2-11 3.3.2-8")
@pytest.mark.parametrize("maximum", [1, 2, 10])
def test_the_servers_aliases_stay_within_the_clients_maximum_and_link(version: int, maximum: int) -> None:
    world = World()
    lasting = props(session_expiry=1000, topic_alias_maximum=maximum)
    watcher = world.client(b"watcher", version, clean=False, properties=lasting)
    watcher.subscribe(b"#")
    publisher = world.client(b"p", version)
    topics = [b"t/%d" % (number % 4) for number in range(12)]
    for turn in range(2):
        for topic in topics:
            publisher.publish(topic, b"x")
        known: dict[int, bytes] = {}
        meant = []
        for each in watcher.hear():
            alias = each.properties.get("topic_alias", 0)
            assert 0 <= alias <= maximum
            if alias and each.topic:
                known[alias] = each.topic
            meant.append(each.topic or known[alias])  # on a new link, only what was said there counts
        assert meant == topics
        assert known or turn  # aliases are used at all
        watcher.vanish()
        watcher = world.client(b"watcher", version, clean=False, properties=lasting)


@clauses(v5="3.1.2-27")
@pytest.mark.parametrize("properties", [b"", props(topic_alias_maximum=0)])
def test_who_wants_no_alias_gets_none(version: int, properties: bytes) -> None:
    world = World()
    watcher = world.client(b"watcher", version, properties=properties)
    watcher.subscribe(b"#")
    publisher = world.client(b"p", version)
    for _ in range(3):
        publisher.publish(b"t", b"x", properties=props(topic_alias=1))
    assert [(each.topic, each.properties) for each in watcher.hear()] == [(b"t", {})] * 3


@clauses(v5="3.2.2-17 3.2.2-18 3.3.2-9")
@pytest.mark.parametrize("maximum", [0, 1, 5])
def test_an_alias_above_the_servers_maximum_ends_the_link(version: int, maximum: int) -> None:
    client = World(topic_alias_maximum=maximum).client(b"c", version)
    assert client.connack.properties.get("topic_alias_maximum", 0) == maximum
    for alias in range(1, maximum + 1):
        assert client.say(publish(b"t", version=version, properties=props(topic_alias=alias))) == []
    ended(client, client.say(publish(b"t", version=version, properties=props(topic_alias=maximum + 1))), 0x94)
