"""Sessions: begun, resumed, outliving their link and ending [MQTT 5.0 §3.1.2.4, §3.1.2.11.2, §4.1]."""

import pytest
from tests.broker_packets import connect, disconnect, props, puback, publish
from tests.conformance.clauses import clauses
from tests.conformance.talk import Client, World, only


def _lasting(version: int) -> bytes:
    return props(session_expiry=100) if version == 5 else b""


def _come_back(world: World, version: int, *, clean: bool = False) -> Client:
    return world.client(b"c", version, clean=clean, properties=_lasting(version))


@clauses(
    v4="3.1.2-4 3.1.2-5 3.1.4-3 3.2.2-2 4.1.0-1 4.5.0-1",
    v5="3.1.2-5 3.1.2-23 3.1.4-4 3.2.2-3 3.2.2-1 4.5.0-1",
)
def test_a_session_outlives_its_link_and_goes_on(version: int) -> None:
    world = World()
    client = _come_back(world, version)
    client.subscribe((b"t", 2))
    client.vanish()
    publisher = world.client(b"p", version)
    publisher.publish(b"t", b"1", qos=1, packet_id=1)
    publisher.publish(b"t", b"2", qos=2, packet_id=2)
    again = _come_back(world, version)
    assert again.connack.raw[2] == 1
    assert again.connack.reason == 0
    assert [(each.payload, each.qos, each.dup) for each in again.hear()] == [(b"1", 1, False), (b"2", 2, False)]
    publisher.publish(b"t", b"3")
    assert only(again.hear(), "PUBLISH").payload == b"3"  # the subscription is there as well


@clauses(v4="3.1.2-4 3.2.2-3", v5="3.1.2-6 3.2.2-3")
def test_without_a_session_a_new_one_is_made(version: int) -> None:
    world = World()
    client = _come_back(world, version)
    assert client.connack.raw[2:4] == b"\x00\x00"
    client.vanish()
    assert _come_back(world, version).connack.session_present


@clauses(v4="3.1.2-6 3.1.4-3 3.2.2-1", v5="3.1.2-4 3.1.4-4 3.2.2-2")
def test_a_clean_start_throws_the_old_session_away(version: int) -> None:
    world = World()
    client = _come_back(world, version)
    client.subscribe((b"t", 1))
    publisher = world.client(b"p", version)
    publisher.publish(b"t", b"in flight", qos=1, packet_id=1)
    client.vanish()
    publisher.publish(b"t", b"queued", qos=1, packet_id=2)
    clean = _come_back(world, version, clean=True)
    assert clean.connack.raw[2:4] == b"\x00\x00"
    publisher.publish(b"t", b"later", qos=1, packet_id=3)
    assert clean.hear() == []


@clauses(v5="3.1.2-4 4.3.3-12")
def test_a_clean_start_forgets_identifiers_of_qos_2(version: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe((b"t", 1))
    client = _come_back(world, version)
    client.publish(b"t", b"first", qos=2, packet_id=7)
    client.vanish()
    _come_back(world, version, clean=True).publish(b"t", b"second", qos=2, packet_id=7)
    assert [each.payload for each in watcher.hear()] == [b"first", b"second"]


@clauses(v4="3.1.2-6")
def test_a_clean_session_ends_with_its_link(version: int) -> None:
    world = World()
    client = world.client(b"c", version, clean=True)
    client.subscribe((b"t", 1))
    client.vanish()
    world.client(b"p", version).publish(b"t", b"x", qos=1, packet_id=1)
    again = world.client(b"c", version, clean=False)
    assert not again.connack.session_present
    assert again.hear() == []


@clauses(v5="4.1.0-2")
@pytest.mark.parametrize("how", ["vanished", "said goodbye"])
def test_a_session_without_expiry_ends_with_its_link(version: int, how: str) -> None:
    world = World()
    client = world.client(b"c", version, clean=True)
    client.subscribe((b"t", 1))
    if how == "vanished":
        client.vanish()
    else:
        client.say(disconnect())
    again = world.client(b"c", version, clean=False)
    assert not again.connack.session_present


@clauses(v5="3.1.2-23 4.1.0-2")
def test_a_session_ends_when_its_expiry_is_over(version: int) -> None:
    world = World()
    client = _come_back(world, version)
    client.vanish()
    world.wait(99)
    client = _come_back(world, version)
    assert client.connack.session_present
    client.subscribe((b"t", 1))
    client.vanish()
    world.wait(101)
    client = _come_back(world, version)
    assert not client.connack.session_present
    world.client(b"p", version).publish(b"t", b"x", qos=1, packet_id=1)
    assert client.hear() == []


@clauses(v5="3.1.2-23")
def test_goodbye_may_change_the_expiry(version: int) -> None:
    world = World()
    _come_back(world, version).say(disconnect(0, props(session_expiry=10)))
    world.wait(11)
    assert not _come_back(world, version).connack.session_present


@clauses(v4="4.1.0-1 4.1.0-2", v5="4.1.0-1")
@pytest.mark.parametrize("clean", [True, False])
def test_a_session_is_not_discarded_while_its_link_is_open(version: int, clean: bool) -> None:
    world = World()
    properties = props(session_expiry=5) if version == 5 and not clean else b""
    client = world.client(b"c", version, clean=clean, properties=properties)
    client.subscribe((b"t", 1))
    publisher = world.client(b"p", version)
    publisher.publish(b"t", b"1", qos=1, packet_id=1)
    first = only(client.hear(), "PUBLISH")
    world.wait(1_000_000)
    publisher.publish(b"t", b"2", qos=1, packet_id=1)
    second = only(client.hear(), "PUBLISH")
    assert second.payload == b"2"
    assert second.packet_id != first.packet_id  # the first is remembered as unacknowledged
    client.say(puback(first.packet_id), puback(second.packet_id))
    assert not client.closed


@clauses(v4="3.1.2-7")
def test_retained_messages_stay_when_the_session_of_their_publisher_ends(version: int) -> None:
    world = World()
    for clean in (True, False):
        topic = b"t/clean" if clean else b"t/kept"
        publisher = world.client(b"p", version, clean=clean)
        publisher.publish(topic, b"x", retain=True)
        publisher.say(disconnect())
    world.client(b"p", version, clean=True).vanish()
    watcher = world.client(b"watcher", version)
    watcher.subscribe(b"t/+")
    assert sorted(each.topic for each in watcher.hear()) == [b"t/clean", b"t/kept"]


@clauses(v4="3.1.2-5", v5="4.5.0-1")
def test_every_session_that_subscribed_gets_its_copy_wherever_its_client_is(version: int) -> None:
    world = World()
    away, here = _come_back(world, version), world.client(b"here", version)
    away.subscribe((b"a/+", 1))
    here.subscribe((b"#", 1))
    away.vanish()
    publisher = world.client(b"p", version)
    for number in range(1, 4):
        publisher.publish(b"a/b", b"%d" % number, qos=1, packet_id=number)
    assert [each.payload for each in here.hear()] == [b"1", b"2", b"3"]
    assert [each.payload for each in _come_back(world, version).hear()] == [b"1", b"2", b"3"]


@clauses(v4="3.1.2-4 4.1.0-1", v5="3.1.2-5 3.1.2-23")
def test_a_session_goes_on_after_a_restart_of_the_server(version: int) -> None:
    world = World(persistent=True)
    client = _come_back(world, version)
    client.subscribe((b"t", 2))
    publisher = world.client(b"p", version)
    publisher.publish(b"t", b"1", qos=2, packet_id=1)
    under_way = only(client.hear(), "PUBLISH")
    client.vanish()
    publisher.publish(b"t", b"2", qos=1, packet_id=2)
    world.crash()
    link = world.link(version)
    heard = link.say(connect(b"c", version=version, clean=False, properties=_lasting(version)))
    assert heard[0].session_present
    assert [(each.payload, each.qos) for each in heard[1:]] == [(b"1", 2), (b"2", 1)]
    assert (heard[1].packet_id, heard[1].dup) == (under_way.packet_id, True)
    world.client(b"p", version).say(publish(b"t", b"3", version=version))
    assert only(link.hear(), "PUBLISH").payload == b"3"
