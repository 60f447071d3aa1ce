"""Shared subscriptions [MQTT 5.0 §4.8.2]."""

import pytest
from tests.broker_packets import props, puback, pubcomp, publish, pubrec, subscribe
from tests.conformance.clauses import clauses
from tests.conformance.talk import Client, World, ended, only

LASTING = props(session_expiry=100)


def _members(world: World, *qos: int) -> list[Client]:
    members = []
    for number, granted in enumerate(qos):
        member = world.client(b"m%d" % number, 5, clean=False, properties=LASTING)
        member.subscribe((b"$share/s/t", granted))
        members.append(member)
    return members


def _chosen(members: list[Client]) -> tuple[Client, Client, int]:
    """Who got the message, who did not, and its packet identifier."""
    heard = [member.hear() for member in members]
    assert sorted(map(len, heard)) == [0, 1]
    at = 0 if heard[0] else 1
    return members[at], members[1 - at], heard[at][0].packet_id


@clauses(v5="4.8.2-1 4.8.2-2")
@pytest.mark.parametrize("wrong", [b"$share/", b"$share//t", b"$share/s", b"$share/s/", b"$share/a+/t", b"$share/#/t"])
def test_a_shared_filter_without_a_name_or_a_filter_ends_the_link(version: int, wrong: bytes) -> None:
    client = World().client(b"c", version)
    ended(client, client.say(subscribe(1, wrong, version=version)), 0x81, 0x82, 0x8F)


@clauses(v5="4.8.2-1 4.8.2-2")
def test_the_share_name_ends_at_the_first_slash(version: int) -> None:
    world = World()
    first, second = world.client(b"1", version), world.client(b"2", version)
    first.subscribe(b"$share/s/a/+")
    second.subscribe(b"$share/s//a")
    publisher = world.client(b"p", version)
    publisher.publish(b"a/b", b"1")
    publisher.publish(b"/a", b"2")
    assert [each.topic for each in first.hear()] == [b"a/b"]
    assert [each.topic for each in second.hear()] == [b"/a"]


@clauses(v5="3.3.4-5")
def test_a_share_gives_a_member_a_copy_of_its_own_with_the_identifier_of_the_share(version: int) -> None:
    world = World()
    client = world.client(b"c", version)
    client.subscribe((b"$share/s/t", 1), properties=props(subscription_id=1))
    client.subscribe((b"t", 1), properties=props(subscription_id=2))
    client.subscribe((b"$share/other/#", 1))
    world.client(b"p", version).publish(b"t", b"x", qos=1, packet_id=1)
    assert sorted(each.properties.get("subscription_id", []) for each in client.hear()) == [[], [1], [2]]


@clauses(v5="4.8.2-3")
def test_a_member_gets_no_more_than_its_granted_qos(version: int) -> None:
    world = World()
    members = _members(world, 0, 1, 2)
    publisher = world.client(b"p", version)
    for number in range(1, 13):
        publisher.publish(b"t", b"x", qos=2, packet_id=number)
    heard = [[each.qos for each in member.hear()] for member in members]
    assert sum(map(len, heard)) == 12
    assert [set(each) for each in heard] == [{0}, {1}, {2}]  # each of them got some


@clauses(v5="4.8.2-4")
@pytest.mark.parametrize("received", [False, True])
def test_a_qos_2_message_under_way_is_finished_with_its_member(version: int, received: bool) -> None:
    world = World()
    members = _members(world, 2, 2)
    world.client(b"p", version).publish(b"t", b"x", qos=2, packet_id=1)
    chosen, other, number = _chosen(members)
    name = b"m%d" % members.index(chosen)
    if received:
        chosen.say(pubrec(number))
    chosen.vanish()
    world.wait(50)
    assert other.hear() == []
    again = world.client(name, version, clean=False, properties=LASTING)
    if received:
        assert only(again.hear(), "PUBREL").packet_id == number
    else:
        message = only(again.hear(), "PUBLISH")
        assert (message.packet_id, message.dup) == (number, True)
        assert only(again.say(pubrec(number)), "PUBREL").packet_id == number
    assert again.say(pubcomp(number)) == []
    assert other.hear() == []


@clauses(v5="4.8.2-5")
@pytest.mark.parametrize("received", [False, True])
def test_a_qos_2_message_under_way_is_not_given_to_another_when_the_session_ends(version: int, received: bool) -> None:
    world = World()
    members = _members(world, 2, 2)
    world.client(b"p", version).publish(b"t", b"x", qos=2, packet_id=1)
    chosen, other, number = _chosen(members)
    if received:
        chosen.say(pubrec(number))
    chosen.vanish()
    world.wait(101)
    assert other.hear() == []
    assert not other.closed


@clauses(v5="4.8.2-6")
@pytest.mark.parametrize("qos", [1, 2])
def test_a_message_that_a_member_refuses_goes_to_nobody_else(version: int, qos: int) -> None:
    world = World()
    members = _members(world, 2, 2)
    world.client(b"p", version).publish(b"t", b"x", qos=qos, packet_id=1)
    chosen, other, number = _chosen(members)
    assert chosen.say((puback, pubrec)[qos - 1](number, 0x97)) == []
    chosen.vanish()
    world.wait(101)
    assert other.hear() == []
    world.client(b"p", version).say(publish(b"t", b"next", version=version))
    assert only(other.hear(), "PUBLISH").payload == b"next"


@clauses(v5="3.3.2-5")
def test_a_message_that_has_expired_is_not_given_to_another_when_the_session_ends(version: int) -> None:
    world = World()
    members = _members(world, 2, 1)
    expiry = bytes((2, 0, 0, 0, 5))
    world.client(b"p", version).say(publish(b"t", b"x", qos=1, packet_id=1, version=version, properties=expiry))
    chosen, other, _ = _chosen(members)
    chosen.vanish()
    world.wait(101)
    assert other.hear() == []
