"""PUBLISH and its acknowledgements, aliases, retained messages, wills, and what may not be published."""

from __future__ import annotations

from typing import Any

import pytest
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.broker_world import World

from roost.broker.access import ALLOW_ALL, Access
from roost.broker.settings import BrokerSettings


def quiet(**options: object) -> BrokerSettings:
    return BrokerSettings(sys_interval_s=0, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("other", [4, 5])
@pytest.mark.parametrize("granted", [0, 1, 2])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_message_arrives_at_the_lower_qos_in_either_version(version: int, other: int, granted: int, qos: int) -> None:
    world = World()
    ann, bob = world.connect(b"ann", version), world.connect(b"bob", other)
    bob.subscribe((b"a/b", granted))
    ann.publish(b"a/b", b"21", qos=qos, packet_id=7)
    message = bob.one("PUBLISH")
    assert (message.topic, message.payload, message.qos) == (b"a/b", b"21", min(qos, granted))
    assert not message.retain
    if qos:
        answer = ann.one(["PUBACK", "PUBREC"][qos - 1])
        assert (answer.packet_id, answer.reason) == (7, 0)


@pytest.mark.parametrize("version", [4, 5])
def test_qos_2_is_routed_once_and_released(version: int) -> None:
    world = World()
    ann, bob = world.connect(b"ann", version), world.connect(b"bob", version)
    bob.subscribe((b"a", 2))
    for dup in (False, True, True):
        ann.publish(b"a", b"x", qos=2, packet_id=7, dup=dup)
        assert ann.one("PUBREC").packet_id == 7
    (message,) = bob.seen()
    ann.send(packets.pubrel(7))
    assert ann.one("PUBCOMP").packet_id == 7
    ann.publish(b"a", b"y", qos=2, packet_id=7)
    assert bob.payloads() == [b"y"]
    bob.send(packets.pubrec(message.packet_id))
    assert bob.one("PUBREL").packet_id == message.packet_id
    bob.send(packets.pubrec(message.packet_id))
    assert bob.one("PUBREL").packet_id == message.packet_id
    bob.send(packets.pubcomp(message.packet_id))
    bob.send(packets.pubrec(message.packet_id))
    assert bob.one("PUBREL").reason == (0x92 if version == 5 else 0)


@pytest.mark.parametrize(("version", "reason"), [(4, 0), (5, 0x92)])
def test_a_release_of_nothing_is_answered(version: int, reason: int) -> None:
    client = World().connect(b"ann", version)
    client.send(packets.pubrel(9))
    assert client.one("PUBCOMP").reason == reason


def test_a_publisher_hears_that_nobody_is_there() -> None:
    client = World().connect(b"ann", 5)
    client.publish(b"a", b"x", qos=1, packet_id=1)
    assert client.one("PUBACK").reason == 0x10
    client.publish(b"a", b"x", qos=2, packet_id=2)
    assert client.one("PUBREC").reason == 0x10


def test_an_acknowledgement_of_the_wrong_kind_ends_the_link() -> None:
    world = World()
    for frame, qos in ((packets.puback(1), 2), (packets.pubrec(1), 1), (packets.pubcomp(1), 2)):
        bob = world.connect(b"bob", 5)
        bob.subscribe((b"a", 2))
        world.connect(b"ann").publish(b"a", b"x", qos=qos, packet_id=1)
        bob.seen()
        bob.send(frame)
        assert bob.one("DISCONNECT").reason == 0x82


def test_a_client_may_refuse_a_message() -> None:
    world = World()
    bob = world.connect(b"bob", 5)
    bob.subscribe((b"a", 2))
    world.connect(b"ann").publish(b"a", b"x", qos=2, packet_id=1)
    bob.send(packets.pubrec(bob.one("PUBLISH").packet_id, 0x97))
    assert bob.kinds() == []
    assert not world.broker.core.sessions[b"bob"].inflight
    assert world.broker.core.total_bytes == 0


def test_what_travels_with_a_message_arrives_unaltered() -> None:
    world = World()
    ann, bob = world.connect(b"ann", 5), world.connect(b"bob", 5)
    bob.subscribe((b"a", 1))
    sent = {
        "payload_format": 1,
        "content_type": b"text/plain",
        "response_topic": b"answers",
        "correlation": b"\x00\x01",
        "user": [(b"k", b"1"), (b"k", b"2")],
    }
    for qos in (0, 1):
        ann.publish(b"a", b"x", qos=qos, packet_id=1, properties=props(**sent))
        assert bob.one("PUBLISH").properties == sent


def test_more_unacknowledged_messages_than_the_receive_maximum_end_the_link() -> None:
    world = World(quiet(receive_maximum=2))
    client = world.connect(b"ann", 5)
    for packet_id in (1, 2):
        client.publish(b"a", b"x", qos=2, packet_id=packet_id)
    assert client.kinds() == ["PUBREC", "PUBREC"]
    client.publish(b"a", b"x", qos=2, packet_id=3)
    assert client.one("DISCONNECT").reason == 0x93


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (packets.publish(b"a/+", b"x", version=5), 0x81),
        (packets.publish(b"a\xff", b"x", version=5), 0x81),
        (packets.publish(b"/".join([b"x"] * 129), b"x", version=5), 0x90),
        (packets.publish(b"a", b"x", qos=2, packet_id=1, version=5), 0x9B),
        (packets.publish(b"a", b"x", retain=True, version=5), 0x9A),
        (b"\x36\x00", 0x81),
        (b"\xf3\x00", 0x81),
        (b"\x20\x02\x00\x00", 0x82),
    ],
    ids=["wildcard", "utf-8", "levels", "qos", "retain", "qos 3", "flags", "connack"],
)
def test_a_packet_against_the_rules_ends_the_link_with_a_reason(frame: bytes, reason: int) -> None:
    world = World(quiet(maximum_qos=1, retain_available=False))
    client = world.connect(b"ann", 5)
    client.publish(b"a", b"before", qos=1, packet_id=1)
    client.send(packets.publish(b"b", b"before", qos=1, packet_id=2, version=5) + frame)
    found = client.seen()
    assert [packet.kind for packet in found] == ["PUBACK", "PUBACK", "DISCONNECT"]
    assert found[-1].reason == reason
    assert client.closed
    assert world.rejected[0].source == "127.0.0.1"
    old = world.connect(b"old")
    old.send(b"\x36\x00")
    assert old.closed
    assert old.arrived == b""


# -- aliases


def test_a_topic_alias_stands_for_its_topic() -> None:
    world = World()
    ann, bob = world.connect(b"ann", 5), world.connect(b"bob", 5)
    bob.subscribe((b"#", 0))
    for topic, payload, alias in ((b"a", b"1", 1), (b"", b"2", 1), (b"b", b"3", 1), (b"", b"4", 1)):
        ann.publish(topic, payload, properties=props(topic_alias=alias))
    came = [(each.topic, each.payload) for each in bob.seen()]
    assert came == [(b"a", b"1"), (b"a", b"2"), (b"b", b"3"), (b"b", b"4")]


@pytest.mark.parametrize(("topic", "alias"), [(b"", 1), (b"a", 65)])
def test_an_unknown_or_too_high_alias_ends_the_link(topic: bytes, alias: int) -> None:
    client = World().connect(b"ann", 5)
    client.publish(topic, b"x", properties=props(topic_alias=alias))
    assert client.one("DISCONNECT").reason == 0x94


def test_the_server_uses_as_many_aliases_as_the_client_takes() -> None:
    world = World()
    ann, bob = world.connect(b"ann", 5), world.connect(b"bob", 5, properties=props(topic_alias_maximum=1))
    bob.subscribe((b"#", 0))
    for topic in (b"a", b"a", b"b", b"b", b"a"):
        ann.publish(topic, b"x")
    assert [(each.topic, each.properties.get("topic_alias")) for each in bob.seen()] == [
        (b"a", 1),
        (b"", 1),
        (b"b", None),
        (b"b", None),
        (b"", 1),
    ]


# -- retained messages


def test_a_later_subscriber_gets_the_last_retained_message() -> None:
    world = World()
    ann = world.connect(b"ann")
    ann.publish(b"a", b"1", retain=True)
    ann.publish(b"a", b"2", retain=True, qos=1, packet_id=1)
    ann.publish(b"b", b"gone", retain=True)
    ann.publish(b"b", b"", retain=True)
    bob = world.connect(b"bob")
    bob.subscribe((b"+", 1))
    message = bob.one("PUBLISH")
    assert (message.payload, message.retain, message.qos) == (b"2", True, 1)
    ann.publish(b"a", b"3", retain=True)
    assert not bob.one("PUBLISH").retain
    assert world.broker.statistics().retained == 1


def test_a_retained_message_expires() -> None:
    world = World()
    world.connect(b"ann", 5).publish(b"a", b"x", retain=True, properties=props(expiry=10))
    world.wait(4)
    bob = world.connect(b"bob", 5)
    bob.subscribe((b"a", 0))
    assert bob.one("PUBLISH").properties["expiry"] == 6
    world.wait(6)
    bob.subscribe((b"a", 0))
    assert bob.kinds() == []
    assert world.broker.statistics().retained == 0


# -- wills


def test_a_will_is_spoken_when_the_link_is_lost() -> None:
    world = World()
    bob = world.connect(b"bob", 5)
    bob.subscribe((b"gone", 1))
    ann = world.connect(
        b"ann", 5, will=b"gone", will_payload=b"ann", will_qos=1, will_properties=props(content_type=b"x")
    )
    ann.vanish()
    message = bob.one("PUBLISH")
    assert (message.payload, message.qos, message.properties) == (b"ann", 1, {"content_type": b"x"})


@pytest.mark.parametrize("version", [4, 5])
def test_a_goodbye_deletes_the_will(version: int) -> None:
    world = World()
    bob = world.connect(b"bob")
    bob.subscribe(b"gone")
    world.connect(b"ann", version, will=b"gone").disconnect()
    assert bob.kinds() == []


def test_a_goodbye_may_ask_for_the_will() -> None:
    world = World()
    bob = world.connect(b"bob")
    bob.subscribe(b"gone")
    world.connect(b"ann", 5, will=b"gone").send(packets.disconnect(4))
    assert bob.kinds() == ["PUBLISH"]


def test_a_will_waits_for_its_delay_and_is_dropped_when_the_client_is_back() -> None:
    world = World()
    bob = world.connect(b"bob", keep_alive=0)
    bob.subscribe(b"gone")
    options: dict[str, Any] = {
        "will": b"gone",
        "will_properties": props(will_delay=10),
        "properties": props(session_expiry=100),
    }
    world.connect(b"ann", 5, **options).vanish()
    world.wait(9)
    assert bob.kinds() == []
    back = world.connect(b"ann", 5, clean=False, **options)
    world.wait(20)
    assert bob.kinds() == []
    back.vanish()
    world.wait(10)
    assert bob.kinds() == ["PUBLISH"]
    world.wait(200)
    assert bob.kinds() == []


def test_a_will_is_spoken_when_the_session_ends_before_its_delay() -> None:
    world = World()
    bob = world.connect(b"bob", keep_alive=0)
    bob.subscribe(b"gone")
    world.connect(
        b"ann", 5, will=b"gone", will_properties=props(will_delay=10), properties=props(session_expiry=5)
    ).vanish()
    world.wait(5)
    assert bob.kinds() == ["PUBLISH"]


def test_a_take_over_speaks_the_will() -> None:
    world = World()
    bob = world.connect(b"bob")
    bob.subscribe(b"gone")
    world.connect(b"ann", will=b"gone")
    world.connect(b"ann")
    assert bob.kinds() == ["PUBLISH"]


def test_a_protocol_error_speaks_the_will() -> None:
    world = World()
    bob = world.connect(b"bob")
    bob.subscribe(b"gone")
    world.connect(b"ann", will=b"gone", will_payload=b"x", will_retain=True).send(b"\x36\x00")
    assert bob.kinds() == ["PUBLISH"]
    assert world.broker.statistics().retained == 1


# -- permissions


class ReadOnly(Access):
    def may_connect(self, user: bytes, *, loopback: bool) -> bool:
        return ALLOW_ALL.may_connect(user, loopback=loopback)

    def may_receive(self, user: bytes, client: bytes, topic: bytes) -> bool:
        return ALLOW_ALL.may_receive(user, client, topic)

    def reach(self, user: bytes, client: bytes, wanted: bytes) -> int:
        return ALLOW_ALL.reach(user, client, wanted)

    def may_publish(self, user: bytes, client: bytes, topic: bytes) -> bool:
        del user, client
        return topic == b"open"


def test_what_may_not_be_published_is_dropped_and_said_where_it_can_be() -> None:
    world = World(access=ReadOnly())
    bob = world.connect(b"bob")
    bob.subscribe((b"#", 2))
    new, old = world.connect(b"new", 5), world.connect(b"old", 4)
    for client, reason in ((new, 0x87), (old, 0)):
        client.publish(b"shut", b"x")
        client.publish(b"shut", b"x", qos=1, packet_id=1)
        client.publish(b"shut", b"x", qos=2, packet_id=2)
        found = client.seen()
        assert [(each.kind, each.reason) for each in found] == [("PUBACK", reason), ("PUBREC", reason)]
    old.send(packets.pubrel(2))
    assert old.kinds() == ["PUBCOMP"]
    assert bob.kinds() == []
    assert world.broker.statistics().denied == 6
    old.publish(b"open", b"x")
    assert bob.payloads() == [b"x"]


@pytest.mark.parametrize("version", [4, 5])
def test_what_was_taken_is_acknowledged_again_although_it_may_not_be_published_any_more(version: int) -> None:
    world = World()
    bob = world.connect(b"bob")
    bob.subscribe((b"#", 2))
    ann = world.connect(b"ann", version)
    ann.publish(b"shut", b"x", qos=2, packet_id=7)
    assert ann.one("PUBREC").reason == 0
    world.run(world.broker.reloaded(ReadOnly(), quiet(drop_denied=False), world.now))
    ann.publish(b"shut", b"x", qos=2, packet_id=7, dup=True)
    assert ann.one("PUBREC").reason == 0
    ann.send(packets.pubrel(7))
    assert ann.one("PUBCOMP").reason == 0
    ann.publish(b"open", b"y", qos=2, packet_id=7)
    assert bob.payloads() == [b"x", b"y"]


def test_a_311_client_can_be_ended_for_what_it_may_not_publish() -> None:
    world = World(quiet(drop_denied=False), access=ReadOnly())
    client = world.connect(b"old")
    client.publish(b"shut", b"x")
    assert client.closed


def test_nobody_publishes_under_sys() -> None:
    client = World().connect(b"ann", 5)
    client.publish(b"$SYS/broker/uptime", b"x", qos=1, packet_id=1)
    assert client.one("PUBACK").reason == 0x87


def test_without_access_nothing_is_allowed() -> None:
    client = World(access=Access()).connect(b"ann", 5, user=b"ann")
    client.publish(b"a", b"x", qos=1, packet_id=1)
    assert client.one("PUBACK").reason == 0x87
    assert client.subscribe((b"a", 0)) == [0x87]
