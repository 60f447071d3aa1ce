"""Roles where topics belong to groups: the past of a stream, sessions that roam, members at several nodes."""

from __future__ import annotations

import pytest
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.nodes_world import EXPIRY, Node, Street
from tests.roles_world import DOCUMENT, HERE, RAW, STREAM, brought, enter, messages

from roost.broker.roles.keeper import RoleKeeper
from roost.broker.roles.sources import Source
from roost.process.roles.specification import Specification


def street_of(count: int, source: Source | None = HERE) -> Street:
    """Nodes of one group under figure 7's document."""
    street = Street(1, count)
    for node in street.nodes:
        node.roles = lambda: RoleKeeper([Specification.read(DOCUMENT)], source)
        node.die()
        node.rise()
    return street


def say(node: Node, *payloads: bytes) -> None:
    """Publish a raw reading and a vague one for each, each at a time of its own."""
    sensor = node.connect(b"sensor")
    for number, payload in enumerate(payloads, 1):
        node.street.wait(0.001)
        sensor.publish(RAW, b"exact " + payload, qos=1, packet_id=number)
        node.street.wait(0.001)
        sensor.publish(STREAM, payload, qos=1, packet_id=100 + number)
        while node.street.step():
            pass
    sensor.disconnect()


@pytest.mark.parametrize(
    ("user", "wanted", "came"),
    [
        ("cid", RAW, [(RAW, b"1"), (RAW, b"2")]),
        ("cid", b"home/#", [(RAW, b"1"), (RAW, b"2")]),
        ("cid", b"#", [(RAW, b"1"), (RAW, b"2")]),
        ("ada", RAW, [(RAW, b"exact 1"), (RAW, b"exact 2")]),
        ("ann", b"$raw/home/+", [(RAW, b"exact 1"), (RAW, b"exact 2")]),
        ("bob", b"#", []),
    ],
)
def test_the_past_is_that_of_the_default_stream(user: str, wanted: bytes, came: list[object]) -> None:
    (node,) = street_of(1).nodes
    say(node, b"1", b"2")
    client, old = enter(node, user), enter(node, user, 4, "old")
    client.subscribe((wanted, 1), properties=props(user=[(b"since", b"1")]))
    old.subscribe((b"$since/1/" + wanted, 1))
    node.settle()
    found = messages(client)
    assert [(each.topic, each.payload) for each in found] == brought(old) == came
    for each in found:
        [named] = [value for name, value in each.properties["user"] if name == b"stream"]
        assert named.endswith(b"/anonymize") is (user == "cid")


def test_the_past_waits_for_roles_and_then_comes_whole_and_once() -> None:
    (node,) = street_of(1, None).nodes
    say(node, b"1", b"2")
    cid = enter(node, "cid")
    properties = props(user=[(b"since", b"1")])
    cid.send(packets.subscribe(1, (RAW, 1), version=5, properties=properties))
    say(node, b"3")
    assert brought(cid) == []
    node.answer("customer")
    node.settle()
    say(node, b"4")
    assert brought(cid) == [(RAW, payload) for payload in (b"1", b"2", b"3", b"4")]


@pytest.mark.parametrize("is_looked_up", [False, True])
def test_a_session_that_comes_to_another_node_has_its_stream_there(is_looked_up: bool) -> None:
    street = street_of(2, None if is_looked_up else HERE)
    one, two = street.nodes
    cid = enter(one, "cid", clean=False, properties=EXPIRY)
    cid.send(packets.subscribe(1, (RAW, 1), version=5))
    if is_looked_up:
        one.answer("customer")
    assert cid.one("SUBACK").codes == [1]
    cid.disconnect()
    say(one, b"1")
    street.settle()
    if is_looked_up:
        assert [each.user for each in two.looked_up] == ["cid"]
    say(one, b"2")
    cid = enter(two, "cid", clean=False, properties=EXPIRY)
    if is_looked_up:
        assert brought(cid) == []
        two.answer("customer")
    assert brought(cid) == [(RAW, b"1"), (RAW, b"2")]


def test_members_at_several_nodes_get_what_their_roles_may_see_once() -> None:
    street = street_of(2)
    one, two = street.nodes
    cid, coe, ada = enter(one, "cid"), enter(two, "cid", client="coe"), enter(two, "ada")
    for client in (cid, coe, ada):
        client.subscribe((b"$share/g/home/hall", 1))
    street.settle()
    for number in range(8):
        say(one, b"%d" % number)
    came = sorted(brought(cid) + brought(coe))
    assert came == [(RAW, b"%d" % number) for number in range(8)]
    assert brought(ada) == [(RAW, b"exact %d" % number) for number in range(8)]


def test_a_member_that_is_looked_up_keeps_messages_of_the_group_waiting() -> None:
    (node,) = street_of(1, None).nodes
    cid = enter(node, "cid")
    cid.send(packets.subscribe(1, (b"$share/g/home/hall", 1), version=5))
    say(node, b"1")
    assert brought(cid) == []
    node.answer("customer")
    assert brought(cid) == [(RAW, b"1")]
