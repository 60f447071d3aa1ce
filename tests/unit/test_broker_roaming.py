"""Sessions of other nodes, and what a group must not give away."""

from __future__ import annotations

import pytest
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.nodes_world import EXPIRY, Halls, Node, Street, Subscriber, panel_of

from roost.broker import recalling
from roost.broker.announcement import Announcement, decode_announcement
from roost.broker.emerging import MAX_CLEARED
from roost.broker.filters import Options
from roost.broker.message import Message
from roost.broker.session_rows import read_recall
from roost.errors import BadPacket
from roost.naming import Name

ELSEWHERE = panel_of(9) + b"\x08"


def told(node: Node, number: int, topic: bytes, payload: bytes, *, retain: bool = False, time: int = 0) -> None:
    """Have a message come from another node."""
    message = Message(topic, payload, 1, retain, time=time or node.now, origin=(0, ELSEWHERE + topic, number))
    node.run(node.broker.stored([message], {ELSEWHERE + topic: number}, node.now))


def say(node: Node, number: int, said: Announcement, time: int = 0) -> None:
    told(node, number, said.topic, said.encode(), time=time)


@pytest.mark.parametrize("filter_", [b"$roost/#", b"#", b"+/sessions/#"])
def test_nobody_reads_what_nodes_tell_each_other(filter_: bytes) -> None:
    street = Street(1, 1)
    (node,) = street.nodes
    node.connect(b"lasting", 5, clean=False, properties=EXPIRY)
    spy = node.connect(b"spy", 5)
    spy.subscribe(filter_)
    street.settle()
    assert [held for held in node.streams.values() if held[0].topic.startswith(b"$roost/sessions/")]
    assert spy.payloads() == []


def test_nobody_writes_it() -> None:
    street = Street(1, 2)
    spy = street.nodes[0].connect(b"spy", 5)
    forged = Announcement(b"ghost", b"", 1, 1, 100, online=True, filters={})
    spy.publish(forged.topic, forged.encode(), qos=1, packet_id=1)
    assert spy.one("PUBACK").reason == 0x87
    street.settle()
    assert all(b"ghost" not in node.broker.core.sessions for node in street.nodes)


def test_what_is_no_announcement_is_rejected_and_costs_nothing() -> None:
    (node,) = Street(1, 1).nodes
    told(node, 1, b"$roost/sessions/00", b"nonsense")
    assert [rejected.source for rejected in node.rejected] == ["another node"]
    assert not node.broker.core.sessions


@pytest.mark.parametrize(
    ("filter_", "shared"), [(b"a/#/b", None), (b"", None), (b"a", b"s"), (b"$share/s/a", None), (b"$share/s/a", b"t")]
)
def test_filters_that_no_client_can_have_are_refused(filter_: bytes, shared: bytes | None) -> None:
    said = Announcement(b"c", b"", 1, 1, 9, online=True, filters={filter_: Options(1, shared=shared)})
    with pytest.raises(BadPacket):
        decode_announcement(said.encode())


def test_a_session_that_ends_with_its_link_elsewhere_has_no_queue_here() -> None:
    (node,) = Street(1, 1).nodes
    filters = {b"a/#": Options(1), b"$share/s/b": Options(1, shared=b"s")}
    say(node, 1, Announcement(b"c", b"", 1, 1, 0, online=True, filters=filters))
    told(node, 1, b"a/x", b"1")
    session = node.broker.core.sessions[b"c"]
    assert (list(session.subscriptions), len(session.queue)) == ([b"$share/s/b"], 0)


def test_what_an_older_link_says_later_is_not_believed() -> None:
    (node,) = Street(1, 1).nodes
    began = node.now
    say(node, 1, Announcement(b"c", b"", 1, began + 5, 100, online=True, filters={b"a": Options(1)}))
    say(node, 2, Announcement(b"c", b"", 1, began, 0, online=False), time=node.now + 9)
    say(node, 3, Announcement(b"c", b"", 1, began, 100, online=False, filters={}), time=node.now + 9)
    session = node.broker.core.sessions[b"c"]
    assert session.abroad is not None
    assert (session.abroad.online, list(session.subscriptions)) == (True, [b"a"])


def test_a_client_comes_later_than_ever_before_whatever_the_clocks_say() -> None:
    (node,) = Street(1, 1).nodes
    ahead = node.now + 10**12
    said = Announcement(b"sub", b"", node.now, ahead, 100, online=True, filters={})
    say(node, 1, said)
    subscriber = Subscriber()
    subscriber.come(node)
    say(node, 2, said, time=ahead + 1)
    assert subscriber.link is not None
    assert not subscriber.link.closed
    assert node.broker.core.sessions[b"sub"].link is not None


def test_what_was_done_elsewhere_is_not_sent_even_if_that_is_heard_late() -> None:
    (node,) = Street(1, 1).nodes
    born = node.now
    say(node, 1, Announcement(b"sub", b"", born, born, 100, online=True, filters={b"a/#": Options(1)}))
    for number in range(1, 30):
        told(node, number, b"a/x", b"%d" % number)
    subscriber = Subscriber()
    subscriber.come(node)  # ten are in flight to it
    left = Announcement(b"sub", b"", born, born, 100, online=False, done={ELSEWHERE + b"a/x": 20})
    say(node, 2, left)
    while subscriber.act():
        pass
    assert subscriber.got == [b"%d" % number for number in [*range(1, 11), *range(21, 30)]]


def test_the_last_retained_message_is_the_latest_even_if_it_took_the_others_away() -> None:
    (node,) = Street(1, 1).nodes
    told(node, 1, b"a/x", b"", retain=True, time=node.now + 5)
    late = Message(b"a/x", b"on", 1, retain=True, time=node.now + 4, origin=(0, panel_of(8) + b"\x08a/x", 1))
    node.run(node.broker.stored([late], {}, node.now))
    assert node.broker.statistics().retained == 0
    told(node, 2, b"a/x", b"off", retain=True, time=node.now + 6)
    assert node.broker.statistics().retained == 1


def test_only_so_many_are_remembered_that_were_taken_away() -> None:
    (node,) = Street(1, 1).nodes
    origin = (0, ELSEWHERE, 1)
    count = MAX_CLEARED + 2
    gone = [Message(b"a/%d" % at, b"", 1, retain=True, time=node.now, origin=origin) for at in range(count)]
    node.run(node.broker.stored(gone, {}, node.now))
    assert list(node.broker.core.cleared) == [message.topic for message in gone[2:]]


def test_history_brings_what_is_retained_and_nothing_else() -> None:
    (node,) = Street(1, 1).nodes
    listening = node.connect(b"listening", 5)
    listening.subscribe((b"a/#", 1))
    told(node, 1, b"a/x", b"on", retain=True, time=node.broker.began - 1)
    assert listening.payloads() == []
    late = node.connect(b"late", 5)
    late.subscribe((b"a/#", 1))
    assert late.payloads() == [b"on"]


def test_a_will_that_can_be_no_reading_costs_no_other_message(monkeypatch: pytest.MonkeyPatch) -> None:
    (node,) = Street(1, 1).nodes
    monkeypatch.setattr(Halls, "refusal_of", lambda _, __, message: "no" if message.topic == b"gone" else "")
    node.connect(b"ann", 5, will=b"gone").vanish()
    assert not node.inserts
    assert [rejected.reason for rejected in node.rejected] == ["no"]


def test_no_local_holds_for_the_past_too() -> None:
    street = Street(1, 1)
    (node,) = street.nodes
    for name in (b"ann", b"bob"):
        node.connect(name, 5).publish(b"a/x", name, qos=1, packet_id=1)
    street.settle()
    ann = node.connect(b"ann", 5)
    no_local = 4
    ann.send(packets.subscribe(1, (b"a/#", 1 | no_local), version=5, properties=props(user=[(b"since", b"1")])))
    assert ann.payloads() == [b"bob"]


def test_what_a_client_of_an_old_version_could_not_tell_from_the_living_is_left_out_of_its_past_and_counted() -> None:
    street = Street(1, 1)
    (node,) = street.nodes
    node.connect(b"speaker", 5).publish(b"a/x", b"old", qos=1, packet_id=1, properties=props(expiry=1))
    street.settle()
    street.live(3)
    ann = node.connect(b"ann", 4)
    ann.subscribe((b"$since/1/a/#", 1))
    assert ann.payloads() == []
    assert node.broker.statistics().left_out == 1


def test_a_past_that_a_packet_asks_for_many_times_comes_once_and_several_begin_one_by_one() -> None:
    street = Street(1, 1)
    (node,) = street.nodes
    node.connect(b"speaker", 5).publish(b"a/x", b"1", qos=1, packet_id=1)
    street.settle()
    ann = node.connect(b"ann", 5)
    filters = [b"$since/1/a/#", b"$since/1/+/x", b"$since/1/a/x", b"$since/1/#"]
    frame = packets.subscribe(1, *[(filter_, 1) for filter_ in filters * 50], version=5)
    effects = node.broker.receive([(ann.link, frame)], node.now)
    assert len(node.broker.core.sessions[b"ann"].groups().replays) == len(filters) - 1
    node.run(effects)
    node.settle()
    assert ann.payloads() == [b"1"] * len(filters)


def historic(node: Node, *times: int) -> list[Message]:
    """Have these be in the repo, from another node."""
    stream = (Name(panel_of(9)) + Name.parse("/a/x")).value
    held = node.streams.setdefault(stream, [])
    made = [
        Message(b"a/x", b"%d" % number, 1, False, time=time, origin=(0, stream, number))
        for number, time in enumerate(times, len(held) + 1)
    ]
    held += made
    node.handed[stream] = len(held)
    return made


def test_who_asked_for_the_past_gets_what_comes_of_it_later_in_order_and_once() -> None:
    (node,) = Street(1, 1).nodes
    stream = (Name(panel_of(9)) + Name.parse("/a/x")).value
    began = node.broker.began
    clients = [node.connect(name, 5) for name in (b"asked", b"live")]
    clients[0].subscribe((b"$since/1/a/#", 1))
    clients[1].subscribe((b"a/#", 1))
    historic(node, began - 9, began - 8)  # too old to be handed on at all
    made = historic(node, began - 7, node.now)
    node.run(node.broker.stored([made[1]], {stream: 4}, node.now, {stream: 0}))
    node.settle()
    assert [client.payloads() for client in clients] == [[b"1", b"2", b"3", b"4"], [b"4"]]
    (late,) = historic(node, node.now)
    node.run(node.broker.stored([late], {stream: 5}, node.now))
    historic(node, began - 1)
    node.run(node.broker.stored([], {stream: 6}, node.now, {stream: 5}))
    node.settle()
    assert [client.payloads() for client in clients] == [[b"5", b"6"], [b"5"]]
    clients[0].send(packets.unsubscribe(2, b"a/#", version=5))
    assert clients[0].one("UNSUBACK").codes == [0]
    historic(node, began - 1)
    node.run(node.broker.stored([], {stream: 7}, node.now, {stream: 6}))
    node.settle()
    assert clients[0].payloads() == []


def test_what_comes_later_has_streams_listed_for_those_alone_who_asked_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (node,) = Street(1, 1).nodes
    stream = (Name(panel_of(9)) + Name.parse("/a/x")).value
    clients = [node.connect(name, 5) for name in (b"asked", b"other")]
    clients[0].subscribe((b"$since/1/a/#", 1))
    clients[1].subscribe((b"$since/1/b/#", 1), (b"$since/1/c/#", 1))
    node.settle()
    listed: list[bytes] = []

    def counted(filter_: bytes) -> list[bytes]:
        listed.append(filter_)
        return node.streams_of(filter_)

    monkeypatch.setattr(node.broker.core.history, "streams", counted)
    historic(node, node.broker.began - 1)
    node.run(node.broker.stored([], {stream: 1}, node.now, {stream: 0}))
    node.settle()
    assert [client.payloads() for client in clients] == [[b"1"], []]
    assert set(listed) == {b"a/#"}


def test_a_past_of_very_many_streams_begins_anew_after_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recalling, "MAX_PLACES", 1)
    street = Street(1, 1)
    (node,) = street.nodes
    speaker = node.connect(b"speaker", 5)
    for number in range(100):
        speaker.publish(b"a/%d" % (number % 2), b"%d" % number, qos=1, packet_id=number + 1)
    street.settle()
    subscriber = Subscriber()
    subscriber.come(node, (b"$since/1/a/#", 1))
    (row,) = [value for key, value in node.disk.rows.items() if key.startswith(b"h")]
    assert read_recall(row)[1] == {}
    node.die()
    node.rise()
    subscriber.come(node)
    while subscriber.act():
        pass
    assert {int(payload) for payload in subscriber.got} == set(range(100))


@pytest.mark.parametrize("ahead", [0, 10**12])
def test_a_clean_start_replaces_what_other_nodes_know_whatever_the_clocks_say(ahead: int) -> None:
    here, there = Street(1, 2).nodes
    before = Announcement(b"sub", b"", here.now + ahead, here.now + ahead + 5, 100, online=True, filters={})
    say(here, 1, before)
    say(there, 1, before)
    subscriber = Subscriber()
    assert not subscriber.come(here, (b"a/#", 1), clean=True)
    say(here, 2, before, time=here.now + ahead + 9)  # that node has not heard of it yet
    assert subscriber.link is not None
    assert not subscriber.link.closed
    here.street.settle()
    assert list(there.broker.core.sessions[b"sub"].subscriptions) == [b"a/#"]


@pytest.mark.parametrize("at", [0, 1])
def test_a_clean_start_of_a_session_that_ends_with_its_link_ends_the_one_before_everywhere(at: int) -> None:
    street = Street(1, 2)
    subscriber = Subscriber()
    subscriber.come(street.nodes[0], (b"a/#", 1))
    subscriber.leave()
    street.settle()
    street.nodes[at].connect(b"sub", 5, clean=True).disconnect()
    street.settle()
    assert [b"sub" in node.broker.core.sessions for node in street.nodes] == [False, False]


@pytest.mark.parametrize("how", ["goodbye", "death", "still there"])
def test_a_session_that_ends_with_its_link_is_not_present_at_another_node(how: str) -> None:
    street = Street(1, 2)
    here, there = street.nodes
    worker = here.connect(b"sub", 5, clean=False)
    worker.subscribe((b"$share/s/a/#", 1))
    street.settle()
    assert b"sub" in there.broker.core.sessions
    if how == "goodbye":
        worker.disconnect()
        street.settle()
    elif how == "death":
        here.die()
    assert not Subscriber().come(there)


def test_a_session_that_lasts_no_longer_than_its_next_link_is_not_present_at_another_node() -> None:
    street = Street(1, 2)
    here, there = street.nodes
    subscriber = Subscriber()
    subscriber.come(here, (b"a/#", 1))
    subscriber.leave()
    street.settle()
    here.connect(b"sub", 5, clean=False)  # without an expiry
    street.settle()
    here.die()
    assert not subscriber.come(there)


def announced(node: Node) -> list[Announcement]:
    """What a node wants to be told; its readings are made."""
    found = [message for insert in node.inserts for message in insert.messages]
    node.insert_all()
    return [decode_announcement(message.payload) for message in found if message.topic.startswith(b"$roost/")]


def test_a_change_is_told_at_once_and_changes_soon_after_it_together() -> None:
    (node,) = Street(1, 1).nodes
    subscriber = Subscriber()
    subscriber.come(node)
    node.settle()
    assert [said.filters for said in announced(node)] == [{}]
    assert subscriber.link is not None
    for number in range(3):
        subscriber.link.subscribe((b"a/%d" % number, 1))
        node.settle()
    assert announced(node) == []
    node.wait(0.1)
    assert [len(said.filters or ()) for said in announced(node)] == [3]


def test_what_a_session_has_done_is_told_in_a_round_but_not_with_every_message() -> None:
    (node,) = Street(1, 1).nodes
    subscriber = Subscriber()
    subscriber.come(node, (b"a/#", 1))
    node.wait(1)
    announced(node)
    rounds: list[list[int]] = []
    for number in range(1, 11):
        told(node, number, b"a/x", b"%d" % number)
        subscriber.act()
        node.wait(0.1)
        rounds.append([number for said in announced(node) for number in said.done.values()])
    assert rounds == [[1], [], [], [], [], [6], [], [], [], []]
    node.wait(0.5)
    assert [said.done for said in announced(node)] == [{ELSEWHERE + b"a/x": 10}]


def test_a_session_that_has_no_link_is_not_looked_at() -> None:
    (node,) = Street(1, 1).nodes
    subscriber = Subscriber()
    subscriber.come(node, (b"a/#", 1))
    subscriber.leave()
    node.wait(1)
    announced(node)
    told(node, 1, b"a/x", b"1")
    assert node.broker.core.roaming is not None
    assert node.broker.core.roaming.deadline() is None
    subscriber.come(node)
    subscriber.act()
    node.wait(1)
    assert {ELSEWHERE + b"a/x": 1} in [said.done for said in announced(node)]


def test_a_session_that_is_online_is_told_again_in_time_and_once_however_much_it_does() -> None:
    (node,) = Street(1, 1).nodes
    subscriber = Subscriber()
    subscriber.link = node.connect(b"sub", 5, clean=False, properties=EXPIRY, keep_alive=0)
    subscriber.link.subscribe((b"a/#", 1))
    for number in range(1, 11):
        told(node, number, b"a/x", b"%d" % number)
        subscriber.act()
        node.wait(1)
    announced(node)
    told(node, 11, b"a/x", b"11")  # which it does not acknowledge
    for _ in range(5):
        node.wait(3600)
        assert [said.online for said in announced(node)] == [True]


def test_the_node_that_a_client_left_says_what_was_done_and_not_that_it_is_offline() -> None:
    here, there, third = Street(1, 3).nodes
    street = here.street
    subscriber = Subscriber()
    subscriber.come(here, (b"a/#", 1))
    street.settle()
    here.connect(b"speaker", 5).publish(b"a/x", b"1", qos=1, packet_id=1)
    while street.step():
        pass
    subscriber.act()  # which is not told when its client is elsewhere
    subscriber.come(there)
    street.settle()
    session = third.broker.core.sessions[b"sub"]
    assert session.abroad is not None
    assert (session.abroad.online, len(session.queue)) == (True, 0)
