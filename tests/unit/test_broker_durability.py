"""What waits for the disk: acknowledgements in order, releases, subscriptions, a disk that fails, rows that are bad."""

from __future__ import annotations

import pytest
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.broker_world import Client, World

from roost.broker.settings import DISK, RECEIVED, BrokerSettings

EXPIRY = props(session_expiry=1000)


def disk(**options: object) -> BrokerSettings:
    return BrokerSettings(**{"persistent": True, "durability": DISK, "sys_interval_s": 0, **options})  # type: ignore[arg-type]


def away(world: World, name: bytes = b"bob", qos: int = 2) -> None:
    """Leave a session behind that wants everything."""
    client = world.connect(name, 5, properties=EXPIRY)
    client.send(packets.subscribe(1, (b"#", qos), version=5))
    world.write()
    client.vanish()
    world.write()


@pytest.mark.parametrize("qos", [1, 2])
def test_an_acknowledgement_waits_for_the_disk(qos: int) -> None:
    world = World(disk(), late_disk=True)
    away(world)
    ann = world.connect(b"ann")
    ann.publish(b"a", b"x", qos=qos, packet_id=1)
    assert ann.kinds() == []
    assert world.disk.pending[-1].sync
    world.write()
    assert ann.kinds() == [["PUBACK", "PUBREC"][qos - 1]]


def test_what_nobody_keeps_waits_for_nothing() -> None:
    world = World(disk(), late_disk=True)
    bob = world.connect(b"bob")
    bob.subscribe((b"a", 2))
    ann = world.connect(b"ann")
    ann.publish(b"a", b"x", qos=2, packet_id=1)
    assert ann.kinds() == ["PUBREC"]
    assert bob.kinds() == ["PUBLISH"]
    assert not world.disk.pending


def test_received_means_acknowledged_at_once_and_written_all_the_same() -> None:
    world = World(disk(durability=RECEIVED), late_disk=True)
    away(world)
    ann = world.connect(b"ann")
    ann.publish(b"a", b"x", qos=2, packet_id=1)
    assert ann.kinds() == ["PUBREC"]
    assert not world.disk.pending[-1].sync
    world.write()
    world.crash()
    assert world.connect(b"bob", 5, clean=False, properties=EXPIRY).payloads() == [b"x"]


def test_durability_is_a_matter_of_the_topic() -> None:
    world = World(disk(durability=RECEIVED, durable=((b"bills/fake/#", RECEIVED), (b"bills/#", DISK))), late_disk=True)
    away(world)
    ann = world.connect(b"ann")
    for topic, waits in ((b"noise", False), (b"bills/1", True), (b"bills/fake/1", False)):
        ann = world.connect(b"ann")
        ann.publish(topic, b"x", qos=1, packet_id=1)
        assert (ann.kinds() == []) == waits


def test_acknowledgements_of_a_kind_keep_their_order_and_others_pass() -> None:
    world = World(disk(durability=RECEIVED, durable=((b"slow", DISK),)), late_disk=True)
    away(world)
    ann = world.connect(b"ann")
    ann.publish(b"slow", b"x", qos=1, packet_id=1)
    ann.publish(b"fast", b"x", qos=1, packet_id=2)
    ann.publish(b"fast", b"x", qos=2, packet_id=3)
    ann.send(packets.pingreq())
    assert ann.kinds() == ["PUBREC", "PINGRESP"]
    world.write(1)
    assert [each.packet_id for each in ann.seen()] == [1, 2]


def test_nobody_sees_a_qos_2_message_before_its_identifier_is_safe() -> None:
    world = World(disk(), late_disk=True)
    watchers: list[Client] = []
    for version, qos in ((4, 0), (5, 1), (5, 2)):
        watcher = world.connect(b"watcher%d" % len(watchers), version)
        watcher.subscribe((b"a", qos))
        watchers.append(watcher)
    ann = world.connect(b"ann", 4, clean=False)
    world.write()
    ann.publish(b"a", b"x", qos=2, packet_id=1)
    ann.publish(b"a", b"x", qos=2, packet_id=1, dup=True)
    assert [watcher.kinds() for watcher in watchers] == [[], [], []]
    assert ann.kinds() == []
    world.write()
    assert [watcher.payloads() for watcher in watchers] == [[b"x"], [b"x"], [b"x"]]
    assert ann.kinds() == ["PUBREC", "PUBREC"]


def test_a_qos_2_message_of_a_passing_client_is_sent_when_its_row_is_safe() -> None:
    world = World(disk(), late_disk=True)
    away(world)
    bob = world.connect(b"bob", 5, clean=False, properties=EXPIRY)
    world.connect(b"ann").publish(b"a", b"x", qos=2, packet_id=1)
    assert bob.kinds() == []
    world.write()
    assert bob.payloads() == [b"x"]


def test_a_release_and_its_completion_wait_for_the_disk() -> None:
    world = World(disk(), late_disk=True)
    away(world)
    bob = world.connect(b"bob", 5, clean=False, properties=EXPIRY)
    ann = world.connect(b"ann", 4, clean=False)
    ann.publish(b"a", b"x", qos=2, packet_id=1)
    world.write()
    (message,) = bob.seen()
    bob.send(packets.pubrec(message.packet_id))
    ann.seen()
    ann.send(packets.pubrel(1))
    assert bob.kinds() + ann.kinds() == []
    world.write()
    assert bob.kinds() + ann.kinds() == ["PUBREL", "PUBCOMP"]


def test_a_release_that_waited_when_the_link_was_lost_goes_out_on_the_next() -> None:
    world = World(disk(), late_disk=True)
    away(world)
    bob = world.connect(b"bob", 5, clean=False, properties=EXPIRY)
    world.connect(b"ann").publish(b"a", b"x", qos=2, packet_id=1)
    world.write()
    bob.send(packets.pubrec(bob.one("PUBLISH").packet_id))
    bob.vanish()
    bob = world.connect(b"bob", 5, clean=False, properties=EXPIRY, look=False)
    assert bob.kinds() == []
    world.write()
    assert bob.kinds() == ["CONNACK", "PUBREL"]


def test_a_subscription_is_safe_before_it_is_acknowledged() -> None:
    world = World(disk(), late_disk=True)
    bob = world.connect(b"bob", 4, clean=False)
    bob.send(packets.subscribe(1, (b"a", 1)), packets.unsubscribe(2, b"a"))
    assert bob.kinds() == []
    world.write()
    assert bob.kinds() == ["SUBACK", "UNSUBACK"]


def test_a_clean_start_is_safe_before_it_is_told() -> None:
    world = World(disk(), late_disk=True)
    away(world)
    bob = world.connect(b"bob", 5, properties=EXPIRY, look=False)
    world.connect(b"ann").publish(b"a", b"x")
    assert bob.kinds() == []
    world.write()
    assert bob.kinds() == ["CONNACK"]


def test_everything_of_a_session_survives() -> None:
    world = World(disk())
    bob = world.connect(b"bob", 5, properties=EXPIRY, user=b"bob", password=b"x")
    bob.subscribe((b"a/#", 2), (b"$share/g/b", 4 >> 1), properties=props(subscription_id=9))
    bob.vanish()
    more = props(content_type=b"text", expiry=500)
    world.connect(b"ann", 5).publish(b"a/1", b"x", qos=1, packet_id=1, retain=True, properties=more)
    world.crash()
    world.wait(10)
    world.connect(b"ann", 5).publish(b"b", b"y", qos=1, packet_id=1)
    bob = world.connect(b"bob", 5, clean=False, properties=EXPIRY, user=b"bob", password=b"x")
    first, second = bob.seen()
    assert (first.topic, first.payload, first.qos, first.dup, first.retain) == (b"a/1", b"x", 1, True, False)
    assert first.properties == {"content_type": b"text", "expiry": 490, "subscription_id": [9]}
    assert (second.topic, second.dup) == (b"b", False)
    assert second.packet_id == first.packet_id + 1
    eve = world.connect(b"eve")
    eve.subscribe(b"a/+")
    assert eve.one("PUBLISH").retain


def test_a_will_and_an_expiry_survive() -> None:
    world = World(disk())
    delay = props(will_delay=50)
    world.connect(b"ann", 5, will=b"gone", will_payload=b"w", will_properties=delay, properties=EXPIRY)
    world.crash()
    bob = world.connect(b"bob", keep_alive=0)
    bob.subscribe(b"gone")
    world.wait(49)
    assert bob.kinds() == []
    world.wait(1)
    assert bob.payloads() == [b"w"]
    world.wait(950)
    assert list(world.broker.core.sessions) == [b"bob"]
    assert not world.disk.rows


def test_a_session_that_expired_while_the_broker_was_down_is_gone() -> None:
    world = World(disk())
    away(world)
    world.now += 2000 * 10**9
    world.crash()
    assert not world.broker.core.sessions
    assert not world.disk.rows


def test_a_damaged_row_is_told_and_the_rest_loads() -> None:
    world = World(disk())
    away(world)
    ann = world.connect(b"ann")
    for number in range(3):
        ann.publish(b"a", b"%d" % number, qos=1, packet_id=1)
    damaged = sorted(key for key in world.disk.rows if key[:1] == b"q")[1]
    world.disk.rows[damaged] = world.disk.rows[damaged][:-1] + b"?"
    world.disk.rows[b"q\x00\x04gone" + bytes(8)] = b"whatever"
    world.disk.rows[b"s\x00\x03eve"] = b"\x09nonsense"
    world.crash()
    assert world.notes[-1].event == "rows unreadable"
    assert dict(world.notes[-1].facts)["rows"] == 2
    assert world.broker.statistics().bad_rows == 2
    assert sorted(key[:1] for key in world.disk.rows) == [b"f", b"q", b"q", b"s"]
    assert world.connect(b"bob", 5, clean=False, properties=EXPIRY).payloads() == [b"0", b"2"]


def test_when_the_disk_fails_nothing_is_acknowledged_until_it_works_again() -> None:
    world = World(disk(), late_disk=True)
    away(world)
    watcher = world.connect(b"watcher", keep_alive=0)
    watcher.subscribe((b"#", 2))
    ann, eve = world.connect(b"ann", 4, clean=False), world.connect(b"eve")
    world.write()
    ann.publish(b"a", b"1", qos=2, packet_id=1)
    eve.publish(b"a", b"2", qos=1, packet_id=1)
    world.fail("no space left")
    assert world.notes[-1].facts == (("reason", "no space left"),)
    world.write()
    assert eve.kinds() == ann.kinds() == watcher.kinds() == []
    world.wait(1)
    world.fail()
    world.wait(1)
    assert not watcher.arrived
    world.write()
    assert (ann.kinds(), eve.kinds(), watcher.payloads()) == (["PUBREC"], ["PUBACK"], [b"1", b"2"])
    world.crash()
    assert world.connect(b"bob", 5, clean=False, properties=EXPIRY).payloads() == [b"1", b"2"]


def test_a_retained_message_is_gone_from_the_disk_when_it_is_deleted_or_over() -> None:
    world = World(disk())
    ann = world.connect(b"ann", 5, keep_alive=0)
    ann.publish(b"a", b"x", retain=True, qos=1, packet_id=1)
    ann.publish(b"b", b"x", retain=True, properties=props(expiry=5))
    assert len(world.disk.rows) == 2
    ann.publish(b"a", b"", retain=True)
    world.wait(5)
    assert not world.disk.rows


def test_dropped_messages_leave_no_rows() -> None:
    world = World(disk(max_queued=1))
    away(world)
    ann = world.connect(b"ann")
    for number in range(3):
        ann.publish(b"a", b"%d" % number, qos=1, packet_id=1)
    world.crash()
    assert world.connect(b"bob", 5, clean=False, properties=EXPIRY).payloads() == [b"2"]


def test_a_second_clean_start_waits_for_the_first() -> None:
    world = World(disk(), late_disk=True)
    away(world)
    world.connect(b"bob", 5, look=False).vanish()
    bob = world.connect(b"bob", 5, look=False)
    assert bob.kinds() == []
    world.write()
    assert bob.kinds() == ["CONNACK"]
    assert not world.broker.core.ending
