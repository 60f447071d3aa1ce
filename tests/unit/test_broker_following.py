"""Pasts that go on at another node: what is told of them, and what rests there until the client comes."""

from __future__ import annotations

import pytest
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.nodes_world import Node, Street, Subscriber, panel_of

from roost.broker import announcing, unfinished
from roost.broker.abroad import Replay
from roost.broker.announcement import Announcement
from roost.broker.filters import Options
from roost.broker.following import follow, is_awaited
from roost.broker.message import Message
from roost.broker.recall import Recall
from roost.broker.session import RELEASED, Delivery, Session
from roost.broker.since import Since
from roost.broker.unfinished import recount
from roost.naming import Name

ALL = Since(number=1)


def filled(count: int, streams: int = 3, expiry_s: int = 0) -> Street:
    """Two nodes, and readings 0, 1, 2 … of the past on so many topics, which say for how long they are good."""
    street = Street(1)
    speaker = street.nodes[0].connect(b"speaker", 5)
    properties = props(expiry=expiry_s) if expiry_s else b""
    for number in range(count):
        topic = b"a/%d" % (number % streams)
        speaker.publish(topic, b"%d" % number, qos=1, packet_id=number + 1, properties=properties)
    street.settle()
    return street


def interrupted(street: Street, *filters: bytes, answers: int = 3) -> Subscriber:
    """A client that has taken some of a past at the first node, and gone."""
    subscriber = Subscriber()
    subscriber.come(street.nodes[0], *[(filter_, 1) for filter_ in filters])
    for _ in range(answers):
        subscriber.act()
    assert subscriber.link is not None
    subscriber.link.disconnect()
    street.settle()
    return subscriber


def session_at(node: Node) -> Session:
    return node.broker.core.sessions[b"sub"]


def rest_of(node: Node) -> list[tuple[bytes, int]]:
    """The recalls that a node has for the client: how many streams have a place."""
    return [(each.recall.filter, len(each.recall.places())) for each in session_at(node).groups().replays]


def hear(node: Node, number: int, said: Announcement) -> None:
    """Have another node say something."""
    stream = panel_of(9) + b"\x08\x01s"
    message = Message(said.topic, said.encode(), 1, retain=False, time=node.now, origin=(0, stream, number))
    node.run(node.broker.stored([message], {stream: number}, node.now))


def assert_goes_on(subscriber: Subscriber, node: Node, count: int) -> None:
    assert subscriber.come(node)
    while subscriber.act():
        pass
    assert sorted(map(int, subscriber.got)) == list(range(count))


def test_what_is_left_of_a_past_is_told_in_parts_where_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcing, "MAX_RECALLS_BYTES", 150)
    street = filled(200, streams=20)
    subscriber = interrupted(street, b"$since/1/a/#")
    assert rest_of(street.nodes[1]) == [(b"a/#", 20)]
    assert_goes_on(subscriber, street.nodes[1], 200)


def test_a_past_of_very_many_streams_begins_anew_at_another_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfinished, "MAX_PLACES", 2)
    street = filled(150)
    subscriber = interrupted(street, b"$since/1/a/#")
    assert rest_of(street.nodes[1]) == [(b"a/#", 0)]
    subscriber.got.clear()
    assert_goes_on(subscriber, street.nodes[1], 150)


def test_what_a_past_brings_is_not_queued_where_it_rests() -> None:
    street = filled(100)
    here, there = street.nodes
    here.connect(b"speaker", 5).publish(b"a/0", b"100", qos=1, packet_id=1)  # in the last moment before
    while street.step():
        pass
    subscriber = interrupted(street, b"$since/1/a/#", answers=1)
    there.connect(b"speaker", 5).publish(b"a/0", b"101", qos=1, packet_id=1)
    street.settle()
    assert [len(session_at(node).queue) for node in (here, there)] == [64, 0]
    assert_goes_on(subscriber, there, 102)


def test_a_past_at_qos_0_that_came_a_second_ago_does_not_come_again_when_its_node_dies() -> None:
    street = filled(150)
    subscriber = Subscriber()
    here = street.nodes[0]
    subscriber.come(here)
    assert subscriber.link is not None
    here.run(here.broker.drained(subscriber.link.link, 1 << 30, here.now))
    subscriber.link.subscribe((b"$since/1/a/#", 0))
    street.live(1)
    here.run(here.broker.drained(subscriber.link.link, 0, here.now))
    street.live(1)
    here.die()
    subscriber.act()
    assert_goes_on(subscriber, street.nodes[1], 150)


def test_several_pasts_go_on_in_their_order_and_each_brings_what_it_has_left() -> None:
    street = filled(150)
    subscriber = interrupted(street, b"$since/1/a/0", b"$since/1/a/#", b"$since/1/a/1", answers=8)
    assert [filter_ for filter_, _ in rest_of(street.nodes[1])] == [b"a/#", b"a/1"]
    assert subscriber.come(street.nodes[1])
    while subscriber.act():
        pass
    expected = [*range(0, 150, 3), *range(150), *range(1, 150, 3)]
    assert sorted(map(int, subscriber.got)) == sorted(expected)


def test_a_reading_that_expired_is_marked_at_the_other_node_too() -> None:
    street = filled(80, streams=1, expiry_s=1)
    street.live(3)
    subscriber = interrupted(street, b"$since/1/a/#", answers=1)
    subscriber.come(street.nodes[1])
    assert subscriber.link is not None
    found = [packet for packet in subscriber.link.seen() if packet.kind == "PUBLISH"]
    assert [packet.payload for packet in found] == [b"%d" % number for number in range(10, 20)]
    assert all((b"expired", b"true") in packet.properties["user"] for packet in found)


def test_a_past_that_rests_goes_on_after_its_node_was_restarted_while_the_other_is_dead() -> None:
    street = filled(150)
    subscriber = interrupted(street, b"$since/1/a/#")
    here, there = street.nodes
    here.die()
    there.die()
    there.rise()
    assert there.broker.core.recalling == {}  # nothing of it runs before the client is here
    assert_goes_on(subscriber, there, 150)


def test_a_stream_of_which_no_wanted_number_has_come_is_live_after_the_past_as_at_the_first_node() -> None:
    street = filled(250, streams=1)
    here, there = street.nodes
    speaker = here.connect(b"speaker", 5)
    speaker.publish(b"a/short", b"too early", qos=1, packet_id=1)
    street.settle()
    subscriber = interrupted(street, b"$since/100/a/#")
    assert rest_of(there) == [(b"a/#", 1)]
    subscriber.come(there)
    while subscriber.act():
        pass
    street.settle()
    speaker.publish(b"a/short", b"250", qos=1, packet_id=2)
    street.settle()
    subscriber.act()
    assert list(map(int, subscriber.got)) == list(range(99, 251))


def test_who_has_a_session_and_tells_of_no_past_gives_it_the_present() -> None:
    street = filled(150)
    interrupted(street, b"$since/1/a/#")
    (here, there), session = street.nodes, session_at(street.nodes[1])
    said = Announcement(b"sub", b"", session.born, there.now, 10_000, online=True, panel=panel_of(9))  # as it once was
    for node in (here, there):
        hear(node, 1, said)
    assert [rest_of(node) for node in street.nodes] == [[], []]
    there.connect(b"speaker", 5).publish(b"a/0", b"new", qos=1, packet_id=1)
    street.settle()
    assert [session_at(node).queue[-1].message.payload for node in street.nodes] == [b"new", b"new"]


def test_a_session_that_is_elsewhere_has_no_past_looked_for_here() -> None:
    street = filled(3)
    here, there = street.nodes
    subscriber = Subscriber()
    subscriber.come(here, (b"$since/1/a/#", 1))
    subscriber.leave()
    street.settle()
    subscriber.come(there)
    street.settle()
    stream = (Name(panel_of(9)) + Name.parse("/a/x")).value
    here.streams[stream] = [Message(b"a/x", b"old", 1, retain=False, time=here.broker.began - 9, origin=(0, stream, 1))]
    here.handed[stream] = 1
    here.run(here.broker.stored([], {stream: 1}, here.now, {stream: 0}))
    assert rest_of(here) == []


def test_what_a_node_has_not_yet_that_was_taken_elsewhere_does_not_come_again_when_it_has_it() -> None:
    street = filled(0)
    node = street.nodes[0]
    subscriber = Subscriber()
    subscriber.come(node, (b"a/#", 1))
    born, stream = session_at(node).born, (Name(panel_of(9)) + Name.parse("/a/x")).value
    recalls = {b"a/#": (ALL, {stream: 6})}
    hear(node, 1, Announcement(b"sub", b"", born, node.now, 99, online=True, panel=panel_of(9), recalls=recalls))
    street.settle()
    hear(node, 2, Announcement(b"sub", b"", born, node.now, 99, online=False, panel=panel_of(9), recalls=recalls))
    subscriber.come(node)
    street.settle()
    assert rest_of(node) == []
    for number in range(1, 8):
        node.streams.setdefault(stream, []).append(
            Message(b"a/x", b"%d" % number, 1, retain=False, time=node.now, origin=(0, stream, number))
        )
        node.hand_on(stream)
    subscriber.act()
    assert subscriber.got == [b"6", b"7"]


def test_what_its_client_has_begun_to_take_is_not_queued_when_a_past_is_over_elsewhere() -> None:
    street = filled(4, streams=1)
    node = street.nodes[0]
    subscriber = Subscriber()
    subscriber.come(node, (b"a/#", 2))
    session, ((stream, held),) = session_at(node), [each for each in node.streams.items() if each[1][0].topic == b"a/0"]
    subscriber.leave()
    begun = Delivery(held[2], 2, False, None)
    begun.state = RELEASED
    session.inflight[1] = begun
    recalls = {b"a/#": (ALL, {stream: 3})}
    hear(node, 1, Announcement(b"sub", b"", session.born, node.now, 99, online=True, panel=panel_of(9)))
    hear(
        node, 2, Announcement(b"sub", b"", session.born, node.now, 99, online=True, panel=panel_of(9), recalls=recalls)
    )
    street.settle()
    hear(
        node, 3, Announcement(b"sub", b"", session.born, node.now, 99, online=True, panel=panel_of(9), recalls=recalls)
    )
    hear(node, 4, Announcement(b"sub", b"", session.born, node.now, 99, online=True, panel=panel_of(9)))
    assert [delivery.message.payload for delivery in session.queue] == [b"3"]


def test_who_had_a_client_before_the_node_that_it_left_says_nothing_of_its_past() -> None:
    street = filled(150)
    for node in street.nodes:
        node.street.is_spreading = True
    here, there = street.nodes
    subscriber = Subscriber()
    subscriber.come(here)
    assert subscriber.link is not None
    subscriber.link.send(packets.subscribe(1, (b"$since/1/a/#", 1), version=5))
    street.settle()
    there.connect(b"sub", 5, look=False, clean=False, properties=props(session_expiry=100))
    session = session_at(there)
    assert is_awaited(session)
    hear(there, 1, Announcement(b"sub", b"", session.born, 1, 99, online=False, panel=panel_of(9)))
    assert [filter_ for filter_, _ in rest_of(there)] == [b"a/#"]


def test_each_group_tells_of_its_own_streams() -> None:
    (node,) = Street(1, 1).nodes
    subscriber = Subscriber()
    subscriber.come(node, (b"a/#", 1))
    session, other = session_at(node), b"\x08\x05other\x08\x01x"
    ours = panel_of(9) + b"\x08\x01x"
    for places, said in (({ours: 5}, ours), ({other: 7}, other), ({ours: 9}, ours)):
        told = {b"a/#": (ALL, places)}
        assert [list(part) for part in announcing._recalls(said[:7], told)] == [[b"a/#"]]
        node.broker.core.roaming._groups[other[:7]] = (1, other)  # type: ignore[index, union-attr]
        follow(node.broker.core, session, told, said, 0)
    assert session.groups().replays[0].recall.places() == {ours: 9, other: 7}


def recalling(node: Node, places: dict[bytes, int]) -> tuple[Session, Replay]:
    """A session that has a past of which these are the next numbers."""
    session = Session(b"sub", 1, b"")
    session.expiry_s = 100
    assert node.broker.core.history is not None
    replay = Replay(Recall(b"a/#", ALL, node.broker.core.history, places), Options(1))
    session.groups().replays.append(replay)
    return session, replay


def waiting(stream: bytes, number: int) -> Delivery:
    message = Message(b"a/x", b"", 1, retain=False, origin=(0, stream, number))
    return Delivery(message, 1, False, None)


def test_what_was_chosen_for_a_member_of_a_share_is_nothing_of_a_past() -> None:
    (node,) = Street(1, 1).nodes
    stream = panel_of(9) + b"\x08\x01x"
    session, _ = recalling(node, {stream: 50})
    session.put(waiting(stream, 40))
    assert recount(session) == {b"a/#": (ALL, {stream: 40})}
    session.queue[0].shared = (b"s", b"a/#")
    assert recount(session) == {b"a/#": (ALL, {stream: 50})}


def test_a_past_that_has_caught_up_is_told_behind_what_came_live_until_its_last_reading_is_taken() -> None:
    (node,) = Street(1, 1).nodes
    one, two, three = (panel_of(9) + b"\x08\x01" + name for name in (b"x", b"y", b"z"))
    session, replay = recalling(node, {one: 50, two: 50, three: 50})
    replay.is_over = True
    session.groups().hand(two, 55)
    session.groups().note_done(three, 57)
    session.put(waiting(one, 49))
    assert recount(session) == {b"a/#": (ALL, {one: 49, two: 56, three: 58})}
    session.queue.clear()
    session.put(waiting(one, 50))
    assert (recount(session), replay.is_settled) == ({}, True)
