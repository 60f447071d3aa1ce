"""Topics of a group: messages leave as Insert, are acknowledged by `inserted`, and come back by `stored`."""

from __future__ import annotations

from typing import Any

import pytest
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.broker_world import World

from roost.broker.core import MAX_INSERT
from roost.broker.effects import Insert
from roost.broker.message import Message
from roost.broker.settings import DISK, BrokerSettings

EXPIRY = props(session_expiry=1000)


class Halls:
    """One tree, of everything below `hall`."""

    def of(self, topic: bytes) -> int | None:
        return 7 if topic.startswith(b"hall/") else None

    def refusal_of(self, tree: int, message: Message) -> str:  # noqa: ARG002  a stand-in
        return ""


def campus(*, late_disk: bool = False, **more: Any) -> World:  # noqa: ANN401  as the settings are
    settings = BrokerSettings(persistent=True, durability=DISK, sys_interval_s=0, **more)
    return World(settings, gateway=Halls(), late_disk=late_disk)


def take(world: World) -> Insert:
    """Take the only Insert that was asked for."""
    (insert,) = world.inserts
    world.inserts.clear()
    return insert


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_message_is_acknowledged_when_the_group_has_it_and_routed_when_it_comes_back(version: int, qos: int) -> None:
    world = campus()
    ann, bob = world.connect(b"ann", version), world.connect(b"bob", version)
    bob.subscribe((b"hall/#", 2))
    ann.publish(b"hall/temp", b"21", qos=qos, packet_id=3)
    insert = take(world)
    (message,) = insert.messages
    assert (insert.tree, message.topic, message.payload, message.publisher) == (7, b"hall/temp", b"21", b"ann")
    assert ann.kinds() + bob.kinds() == []
    world.run(world.broker.inserted(insert.ticket, "", world.now))
    assert ann.kinds() == [[], ["PUBACK"], ["PUBREC"]][qos]
    assert bob.kinds() == []
    back = Message(b"hall/temp", b"21", qos, False, publisher=b"ann", time=world.now, origin=(7, b"stream", 1))
    world.run(world.broker.stored([back], {}, world.now))
    assert bob.one("PUBLISH").qos == qos


def test_one_call_asks_for_one_insert_per_tree() -> None:
    world = campus()
    ann = world.connect(b"ann")
    frames = [packets.publish(b"hall/%d" % number, b"x", qos=1, packet_id=number) for number in (1, 2, 3)]
    ann.send(*frames, packets.publish(b"plain", b"x", qos=1, packet_id=4))
    insert = take(world)
    assert [message.topic for message in insert.messages] == [b"hall/1", b"hall/2", b"hall/3"]
    assert ann.kinds() == []
    world.run(world.broker.inserted(insert.ticket, "", world.now))
    assert [each.packet_id for each in ann.seen()] == [1, 2, 3, 4]


def test_many_messages_are_several_inserts_and_are_acknowledged_one_by_one() -> None:
    world = campus()
    ann = world.connect(b"ann")
    count = MAX_INSERT + 1
    ann.send(*[packets.publish(b"hall/temp", b"x", qos=1, packet_id=number) for number in range(1, count + 1)])
    first, second = world.inserts
    assert [len(first.messages), len(second.messages)] == [MAX_INSERT, 1]
    world.run(world.broker.inserted(first.ticket, "", world.now))
    assert [each.packet_id for each in ann.seen()] == list(range(1, count))
    world.run(world.broker.inserted(second.ticket, "", world.now))
    assert [each.packet_id for each in ann.seen()][-1] == count


@pytest.mark.parametrize("qos", [1, 2])
def test_a_refusal_is_told(qos: int) -> None:
    world = campus()
    new, old = world.connect(b"new", 5, properties=EXPIRY), world.connect(b"old", 4, clean=False)
    for client in (new, old):
        client.publish(b"hall/temp", b"21", qos=qos, packet_id=3)
        world.run(world.broker.inserted(take(world).ticket, "no repo", world.now))
    refusal = new.one(["PUBACK", "PUBREC"][qos - 1])
    assert (refusal.reason, refusal.properties["reason_string"]) == (0x97, b"no repo")
    assert old.closed
    new.publish(b"hall/temp", b"21", qos=qos, packet_id=3)
    assert take(world).messages
    assert not [key for key in world.disk.rows if key[:1] == b"i" and key[3:6] == b"old"]


def test_a_qos_2_message_is_on_the_disk_before_the_group_gets_it() -> None:
    world = campus(late_disk=True)
    ann = world.connect(b"ann", 4, clean=False)
    world.write()
    ann.publish(b"hall/temp", b"21", qos=2, packet_id=3)
    ann.publish(b"hall/temp", b"21", qos=2, packet_id=3, dup=True)
    assert not world.inserts
    world.write()
    insert = take(world)
    world.run(world.broker.inserted(insert.ticket, "", world.now))
    assert ann.kinds() == []
    world.write()
    assert ann.kinds() == ["PUBREC"]
    ann.publish(b"hall/temp", b"21", qos=2, packet_id=3, dup=True)
    assert not world.inserts
    assert ann.kinds() == ["PUBREC"]
    ann.send(packets.pubrel(3))
    world.write()
    assert ann.kinds() == ["PUBCOMP"]
    assert not [key for key in world.disk.rows if key[:1] == b"i"]


def test_what_a_crash_cut_off_is_inserted_again_as_the_same_message() -> None:
    world = campus(late_disk=True)
    ann = world.connect(b"ann", 4, clean=False)
    ann.publish(b"hall/temp", b"21", qos=2, packet_id=3)
    world.write()
    (before,) = take(world).messages
    world.now += 5
    world.crash()
    insert = take(world)
    (after,) = insert.messages
    assert (after.topic, after.payload, after.time) == (before.topic, before.payload, before.time)
    ann = world.connect(b"ann", 4, clean=False)
    ann.publish(b"hall/temp", b"21", qos=2, packet_id=3, dup=True)
    assert not world.inserts
    world.run(world.broker.inserted(insert.ticket, "", world.now))
    world.write()
    assert ann.kinds() == ["PUBREC"]
    world.crash()
    assert not world.inserts


def test_a_disk_that_fails_keeps_a_message_out_of_the_group_until_it_works_again() -> None:
    world = campus(late_disk=True)
    ann = world.connect(b"ann", 4, clean=False)
    world.write()
    ann.publish(b"hall/temp", b"21", qos=2, packet_id=3)
    world.fail()
    assert not world.inserts
    world.wait(1)
    world.write()
    assert len(take(world).messages) == 1


def test_a_link_that_is_lost_meanwhile_hears_of_it_on_the_next() -> None:
    world = campus()
    ann = world.connect(b"ann", 4, clean=False)
    ann.publish(b"hall/temp", b"21", qos=2, packet_id=3)
    insert = take(world)
    ann.vanish()
    ann = world.connect(b"ann", 4, clean=False)
    ann.publish(b"hall/temp", b"21", qos=2, packet_id=3, dup=True)
    assert ann.kinds() == []
    world.run(world.broker.inserted(insert.ticket, "", world.now))
    assert ann.kinds() == ["PUBREC"]


def test_wills_and_the_servers_own_messages_go_into_groups_too() -> None:
    world = campus()
    world.connect(b"ann", will=b"hall/gone").vanish()
    assert take(world).messages[0].topic == b"hall/gone"
    world.run(world.broker.publish(Message(b"hall/news", b"x", 0, retain=False), world.now))
    assert take(world).messages[0].topic == b"hall/news"


@pytest.mark.parametrize(("version", "kinds"), [(4, []), (5, ["PUBACK", "PUBREC"])])
def test_what_its_user_may_not_have_retained_does_not_come_into_the_group(version: int, kinds: list[str]) -> None:
    world = campus(max_retained_bytes_per_user=300)
    ann = world.connect(b"ann", version, user=b"ann")
    ann.publish(b"hall/temp", b"21", retain=True)
    world.run(world.broker.stored(list(take(world).messages), {}, world.now))
    for qos in (0, 1, 2):
        ann.publish(b"hall/wind", b"3", qos=qos, packet_id=qos, retain=True)
    answers = ann.seen()
    assert [each.kind for each in answers] == kinds
    assert {each.reason for each in answers} <= {0x97}
    assert not world.inserts
    assert world.broker.statistics().retained_refused_user == 3
    assert world.broker.statistics().unfit == 0
    ann.publish(b"hall/wind", b"3")
    ann.publish(b"hall/temp", b"22", retain=True)
    assert [message.topic for insert in world.inserts for message in insert.messages] == [b"hall/wind", b"hall/temp"]


def test_retained_messages_of_a_group_are_retained_when_they_come_back() -> None:
    world = campus()
    world.connect(b"ann").publish(b"hall/temp", b"21", retain=True)
    assert world.broker.statistics().retained == 0
    world.run(world.broker.stored(list(take(world).messages), {}, world.now))
    bob = world.connect(b"bob")
    bob.subscribe(b"hall/+")
    assert bob.one("PUBLISH").retain
