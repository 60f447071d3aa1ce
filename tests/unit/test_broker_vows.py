"""Answers that wait until the other nodes know: who has one finds everything at any node, at once."""

from __future__ import annotations

from typing import Any

import pytest
from tests import broker_packets as packets
from tests.broker_world import Client
from tests.nodes_world import EXPIRY, INSTANT_S, Node, Street, Subscriber, await_answer

from roost.broker.link import Link, Peer
from roost.broker.vows import MAX_VOWS, PATIENCE, Vow, Vows


def street_of(count: int = 2) -> tuple[Street, list[Node]]:
    street = Street(1, count, is_spreading=True)
    return street, street.nodes


def come(node: Node, client: bytes = b"sub", version: int = 5, *, clean: bool = False) -> tuple[Client, bool]:
    """A client that has its CONNACK, and whether its session was there."""
    properties = b"" if version == 4 or clean else EXPIRY
    link = node.connect(client, version, look=False, clean=clean, properties=properties)
    await_answer(node, link)
    welcome = packets.seen(link.arrived, version)[0]
    assert welcome.kind == "CONNACK"
    link.arrived = link.arrived[len(welcome.raw) :]
    return link, welcome.session_present


def ask(node: Node, link: Client, frame: bytes) -> list[str]:
    link.send(frame)
    await_answer(node, link)
    return link.kinds()


def hung_up_on(*clients: Client) -> list[bool]:
    return [client.closed for client in clients]


def say(node: Node, topic: bytes, payload: bytes, qos: int = 1) -> None:
    """Publish, and have the acknowledgement."""
    speaker = node.connect(b"speaker%s" % payload, 5, clean=True)
    speaker.publish(topic, payload, qos=qos, packet_id=1)
    node.insert_all()
    assert speaker.kinds() == [["PUBACK"], ["PUBREC"]][qos - 1]


@pytest.mark.parametrize("at", [0, 1])
def test_who_has_a_suback_finds_the_subscription_at_any_node(at: int) -> None:
    street, nodes = street_of()
    link, _ = come(nodes[0])
    link.send(packets.subscribe(1, (b"two", 1), version=5))
    assert link.seen() == []  # nobody knows of it yet
    await_answer(nodes[0], link)
    assert link.kinds() == ["SUBACK"]
    say(nodes[at], b"two", b"1")
    link.disconnect()
    moved, present = come(nodes[1])
    assert present
    street.live(1)
    assert moved.payloads() == [b"1"]


def test_who_has_an_unsuback_gets_nothing_more_at_any_node() -> None:
    street, nodes = street_of()
    link, _ = come(nodes[0])
    assert ask(nodes[0], link, packets.subscribe(1, (b"two", 1), version=5)) == ["SUBACK"]
    assert ask(nodes[0], link, packets.unsubscribe(2, b"two", version=5)) == ["UNSUBACK"]
    say(nodes[0], b"two", b"1")
    moved, _ = come(nodes[1])
    street.live(1)
    assert moved.payloads() == []


def test_what_a_clean_start_ended_does_not_come_back_elsewhere() -> None:
    street, nodes = street_of()
    link, _ = come(nodes[0])
    ask(nodes[0], link, packets.subscribe(1, (b"two", 1), version=5))
    link.disconnect()
    say(nodes[0], b"two", b"1")
    street.settle()
    fresh, present = come(nodes[0], clean=True)
    assert not present
    fresh.disconnect()
    moved, present = come(nodes[1])
    assert not present
    street.live(1)
    assert moved.payloads() == []


def test_a_node_that_is_gone_is_not_waited_for_long() -> None:
    street, nodes = street_of()
    link, _ = come(nodes[0])
    insert_all, nodes[0].insert_all = nodes[0].insert_all, lambda: None  # type: ignore[method-assign]
    link.send(packets.subscribe(1, (b"two", 1), version=5))
    before = nodes[0].now
    await_answer(nodes[0], link)
    assert link.kinds() == ["SUBACK"]
    assert nodes[0].now - before >= PATIENCE
    assert nodes[0].broker.core.vows.overdue == 1
    nodes[0].insert_all = insert_all  # type: ignore[method-assign]
    street.live(1)
    assert not len(nodes[0].broker.core.vows)


def test_who_leaves_before_the_answer_holds_up_nothing() -> None:
    street, nodes = street_of()
    link, _ = come(nodes[0])
    link.send(packets.subscribe(1, (b"two", 1), version=5))
    link.disconnect()
    street.live(2)
    assert not len(nodes[0].broker.core.vows)
    assert come(nodes[1])[1]


def test_a_node_alone_waits_for_nobody() -> None:
    node = Street(1, 1).nodes[0]
    link, _ = come(node)
    link.send(packets.subscribe(1, (b"two", 1), version=5))
    assert link.kinds() == ["SUBACK"]


@pytest.mark.parametrize("answers", [0, 1, 2])
def test_a_message_of_qos_2_that_was_begun_elsewhere_is_only_released_here(answers: int) -> None:
    street, nodes = street_of()
    subscriber = Subscriber()
    subscriber.come(nodes[0], (b"a/#", 2))
    say(nodes[0], b"a/1", b"1", qos=2)
    street.settle()
    for _ in range(answers):
        subscriber.act()  # PUBREC, then PUBCOMP
    assert subscriber.got == [b"1"][:answers]
    subscriber.come(nodes[1])
    street.live(1)
    while subscriber.act():
        pass
    assert subscriber.got == [b"1"]
    assert not subscriber.unreleased
    assert not nodes[1].broker.core.sessions[b"sub"].inflight


def test_a_message_of_qos_2_that_comes_behind_its_client_is_not_given_twice() -> None:
    street, nodes = street_of()
    subscriber = Subscriber()
    subscriber.come(nodes[0], (b"a/#", 2))
    street.settle()
    say(nodes[0], b"a/1", b"1", qos=2)
    nodes[0].hand_on(next(stream for stream in nodes[0].behind() if stream.endswith(b"1")))  # and not at the other
    subscriber.act()
    assert subscriber.got == [b"1"]
    late = [stream for stream in nodes[0].streams if nodes[0].streams[stream][0].topic == b"a/1"]
    nodes[1].is_cut_off = False
    held = {stream: nodes[0].streams.pop(stream) for stream in late}  # it is slow to come
    subscriber.come(nodes[1])
    nodes[0].streams.update(held)
    street.live(2)
    while subscriber.act():
        pass
    assert subscriber.got == [b"1"]
    assert not subscriber.unreleased


def test_a_session_of_many_long_filters_roams() -> None:
    street, nodes = street_of()
    link, _ = come(nodes[0])
    filters = [(b"%03d/" % at + b"x" * 60, 1) for at in range(300)]
    assert ask(nodes[0], link, packets.subscribe(1, *filters, version=5)) == ["SUBACK"]
    known = nodes[1].broker.core.sessions[b"sub"].subscriptions
    assert sorted(known) == sorted(filter_ for filter_, _ in filters)
    ask(nodes[0], link, packets.unsubscribe(2, filters[0][0], version=5))
    assert filters[0][0] not in nodes[1].broker.core.sessions[b"sub"].subscriptions
    say(nodes[1], filters[299][0], b"last")
    moved, present = come(nodes[1])
    street.live(1)
    assert present
    assert moved.payloads() == [b"last"]
    assert nodes[0].broker.core.roaming is not None
    assert nodes[0].broker.core.roaming.too_large == 0


def test_a_filter_that_is_too_long_to_be_told_is_noted() -> None:
    _, nodes = street_of()
    link, _ = come(nodes[0])
    assert ask(nodes[0], link, packets.subscribe(1, (b"x" * 8000, 1), version=5)) == ["SUBACK"]
    assert [note.event for note in nodes[0].notes] == ["session not told"]


def test_a_client_id_is_at_one_node_whatever_kind_its_session_is() -> None:
    street, nodes = street_of()
    here, _ = come(nodes[0], b"meter", clean=True)
    street.wait(INSTANT_S)
    there, _ = come(nodes[1], b"meter", clean=True)
    street.live(1)
    assert hung_up_on(here, there) == [True, False]
    street.wait(INSTANT_S)
    again, _ = come(nodes[0], b"meter", 4, clean=True)
    street.live(1)
    assert hung_up_on(there, again) == [True, False]


def test_members_of_a_share_at_two_nodes_get_each_message_once_from_their_subacks_on() -> None:
    street, nodes = street_of()
    members = [come(node, b"member%d" % at, clean=True)[0] for at, node in enumerate(nodes)]
    for node, member in zip(nodes, members, strict=True):
        assert ask(node, member, packets.subscribe(1, (b"$share/s/a/#", 1), version=5)) == ["SUBACK"]
    for number in range(10):
        say(nodes[number % 2], b"a/1", b"%d" % number)
    street.live(2)
    assert sorted(members[0].payloads() + members[1].payloads()) == [b"%d" % number for number in range(10)]


# -- the parts


def link_of(number: int) -> Link:
    link = Link(number, Peer(), 100, 100, 0)
    link.client = b"%d" % number
    return link


def test_vows_are_bounded_and_those_that_are_late_are_let_go_in_order() -> None:
    vows = Vows()
    made = [Vow(link_of(number), None) for number in range(MAX_VOWS)]
    assert all(vows.add(vow) for vow in made)
    assert not vows.add(Vow(link_of(0), None))
    assert vows.turned_away == 1
    assert vows.expire(10 * PATIENCE) == []  # their time has not begun
    vows.schedule(5)
    assert vows.deadline() == 5 + PATIENCE
    assert vows.expire(4 + PATIENCE) == []
    assert vows.expire(5 + PATIENCE) == made
    assert vows.deadline() is None


def test_a_vow_waits_for_all_that_was_told_of_its_client() -> None:
    vows = Vows()
    one, other, nothing = (Vow(link_of(number), None) for number in (1, 2, 3))
    for vow in (one, other, nothing):
        vows.add(vow)
    assert vows.told({b"1": {7, 8}, b"2": {8}}) == [nothing]
    assert vows.inserted(8) == [other]
    assert vows.inserted(7) == [one]
    assert vows.inserted(7) == []


def test_a_last_word_counts_from_the_node_that_had_the_client_and_for_that_stay() -> None:
    vows = Vows()
    vow = Vow(link_of(1), None, b"gate", 50)
    vows.add(vow)
    assert vows.told({}) == []  # it waits for something else
    assert vows.heard(b"1", b"other", 60) == []
    assert vows.heard(b"1", b"gate", 49) == []
    assert vows.heard(b"1", b"gate", 50) == [vow]
    assert vows.heard(b"1", b"gate", 50) == []


class Watched(Vow):
    """One that counts how often it was looked at."""

    __slots__ = ("looks",)

    def __getattribute__(self, name: str) -> object:
        if name == "panel":
            self.looks: int = getattr(self, "looks", 0) + 1
        return super().__getattribute__(name)


def test_a_word_costs_nothing_for_those_who_wait_for_others() -> None:
    vows = Vows()
    other = Watched(link_of(1), None, b"gate", 50)
    vows.add(other)
    before = other.looks
    for number in range(100):
        assert vows.heard(b"c%d" % number, b"gate", 60) == []
    assert other.looks == before
    assert vows.heard(b"1", b"gate", 60) == [other]


@pytest.mark.parametrize("lasts", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize(("users", "stays"), [(("ann", "bob"), 0), (("", "bob"), 1), (("ann", ""), 0)])
def test_a_client_id_of_another_user_is_not_to_be_had_at_another_node_either(
    users: tuple[str, str], stays: int, lasts: tuple[bool, bool]
) -> None:
    street, nodes = street_of()
    links: list[Client] = []
    for node, user, does_last in zip(nodes, users, lasts, strict=True):
        street.wait(INSTANT_S)
        more: dict[str, Any] = {"user": user.encode(), "password": b"x"} if user else {}
        link = node.connect(
            b"meter",
            5,
            look=False,
            clean=not does_last,
            properties=EXPIRY if does_last else b"",
            will=b"a/gone",
            will_payload=user.encode() or b"nobody",
            **more,
        )
        links.append(link)
    street.live(5)
    assert hung_up_on(*links) == [stays == 1, stays == 0]
    sessions = [node.broker.core.sessions.get(b"meter") for node in nodes]
    here = sessions[stays]
    assert here is not None
    assert here.user == users[stays].encode()
    other = sessions[1 - stays]
    assert other is None or other.user == here.user
