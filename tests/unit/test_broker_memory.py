"""Bytes that clients make the broker hold: each kind is counted, bounded for one client and for all, and given back."""

from __future__ import annotations

from typing import Any

import pytest
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.broker_world import Client, World

from roost.broker.buffers import FRAME_SLACK_BYTES
from roost.broker.effects import Verdict
from roost.broker.filters import cost_of
from roost.broker.message import OVERHEAD_BYTES, Message
from roost.broker.packets.framing import header
from roost.broker.packets.reasons import PACKET_TOO_LARGE, QUOTA_EXCEEDED, SUCCESS
from roost.broker.settings import DISK, BrokerSettings

HALF_CONNECT = header(0x10, 5000) + bytes(3000)


def quiet(**more: Any) -> BrokerSettings:  # noqa: ANN401  as the settings are
    return BrokerSettings(sys_interval_s=0, **more)


def half_publish(topic: bytes, size: int) -> bytes:
    """A PUBLISH, less its last byte."""
    return packets.publish(topic, bytes(size))[:-1]


def ended(client: Client) -> int:
    """The reason that a client of 5.0 was told at last."""
    assert client.closed
    return client.seen()[-1].reason


# -- routes


def test_topics_that_nobody_gets_are_forgotten_before_they_take_too_much() -> None:
    world = World(quiet(max_routes_bytes=100_000))
    router = world.broker.core.router
    ann = world.connect(b"ann")
    for number in range(50):
        ann.publish(b"%d/" % number + b"t" * 9000)
        assert router.routes_bytes < 110_000
        assert sum(map(len, router.routes)) < 110_000
    assert world.broker.statistics().routes_forgotten > 30
    link = world.broker.core.links[ann.link]
    assert set(link.routes) <= set(router.routes)


def test_subscribers_of_a_route_count_too() -> None:
    world = World(quiet(max_routes_bytes=50_000))
    for number in range(20):
        world.connect(b"%d" % number).subscribe(b"#")
    ann = world.connect(b"ann")
    for number in range(20):
        ann.publish(b"%d" % number)
    assert 0 < world.broker.statistics().routes_forgotten < 20
    assert world.broker.statistics().publish_sent == 400


def test_what_changed_is_counted_until_links_have_forgotten_it() -> None:
    world = World()
    router = world.broker.core.router
    ann, bob = world.connect(b"ann"), world.connect(b"bob")
    ann.publish(b"a")
    ann.publish(b"b")
    both = router.routes_bytes
    bob.subscribe(b"a")
    assert router.routes_bytes == both
    assert sorted(world.broker.core.links[ann.link].routes) == [b"a", b"b"]
    bob.subscribe(b"+")
    assert router.routes_bytes == 0
    assert not world.broker.core.links[ann.link].routes
    ann.publish(b"a", b"1")
    ann.disconnect()
    assert bob.payloads() == [b"1"]


# -- filters


@pytest.mark.parametrize(("version", "code"), [(4, 0x80), (5, QUOTA_EXCEEDED)])
def test_filters_of_a_session_are_bounded_in_bytes(version: int, code: int) -> None:
    world = World(quiet(max_filter_bytes=2 * cost_of(b"a/1")))
    bob = world.connect(b"bob", version)
    assert bob.subscribe((b"a/1", 1), (b"a/2", 1), (b"a/3", 1), (b"a/1", 0)) == [1, 1, code, 0]
    assert world.broker.statistics().filters_refused == 1
    bob.send(packets.unsubscribe(2, b"a/1", version=version))
    bob.seen()
    assert bob.subscribe((b"a/3", 1)) == [1]


def test_filters_of_all_sessions_are_bounded_in_bytes_and_given_back() -> None:
    world = World(quiet(max_filters_bytes=5_000))
    router = world.broker.core.router
    clients = [world.connect(b"%d" % number, 5) for number in range(10)]
    codes = [client.subscribe(b"one/%d" % number, b"$share/x/two") for number, client in enumerate(clients)]
    granted = sum(code == 0 for pair in codes for code in pair)
    assert 4 < granted < 10
    assert {code for pair in codes for code in pair} == {0, QUOTA_EXCEEDED}
    assert router.filters_bytes <= 5_000
    for client in clients:
        client.disconnect()
    assert router.filters_bytes == 0


def test_a_level_that_filters_have_in_common_is_counted_once() -> None:
    world = World()
    bob = world.connect(b"bob")
    router = world.broker.core.router
    bob.subscribe(b"a/b/c/1")
    alone = router.filters_bytes
    bob.subscribe(b"a/b/c/2")
    assert alone < router.filters_bytes < 2 * alone
    assert world.broker.core.sessions[b"bob"].filter_bytes == 2 * cost_of(b"a/b/c/1")


def test_a_subscription_is_a_row_of_its_own() -> None:
    world = World(quiet(persistent=True, durability=DISK))
    bob = world.connect(b"bob", 5, clean=False, properties=props(session_expiry=100))
    written: list[int] = []
    world.on_effect = lambda effect: written.extend(len(value) for _, value in getattr(effect, "puts", ()))
    for number in range(100):
        bob.subscribe((b"%d/" % number + b"f" * 1000, 1), packet_id=number + 1)
    assert sum(written) < 100 * 100
    bob.subscribe((b"$share/g/x/+", 2), properties=props(subscription_id=7))
    bob.send(packets.unsubscribe(2, b"0/" + b"f" * 1000, version=5))
    assert len([key for key in world.disk.rows if key[:1] == b"f"]) == 100
    before = world.broker.core.sessions[b"bob"]
    world.crash()
    session = world.broker.core.sessions[b"bob"]
    assert sorted(session.subscriptions) == sorted(before.subscriptions)
    assert session.filter_bytes == before.filter_bytes
    options = session.subscriptions[b"$share/g/x/+"]
    assert (options.qos, options.identifier, options.shared) == (2, 7, b"g")
    world.connect(b"bob", 5, clean=True).subscribe((b"new", 1))
    assert [key for key in world.disk.rows if key[:1] in b"fs"] == []


def test_a_subscription_whose_session_is_gone_or_that_is_damaged_is_left_out() -> None:
    world = World(quiet(persistent=True))
    world.connect(b"bob", clean=False).subscribe(b"a", b"b")
    row = next(key for key in world.disk.rows if key == b"f\x00\x03bob" + b"a")
    world.disk.rows[b"f\x00\x03eve" + b"a"] = world.disk.rows[row]
    world.disk.rows[b"f\x00\x03bob" + b"$share/"] = world.disk.rows[row]
    world.disk.rows[row] = b"?"
    world.crash()
    assert list(world.broker.core.sessions[b"bob"].subscriptions) == [b"b"]
    assert world.broker.statistics().bad_rows == 2
    assert [key for key in world.disk.rows if key[:1] == b"f"] == [b"f\x00\x03bob" + b"b"]


# -- wills


def test_wills_are_bounded_in_bytes_and_given_back() -> None:
    world = World(quiet(max_wills_bytes=3_000))
    core = world.broker.core
    first = world.connect(b"1", 5, will=b"gone", will_payload=bytes(1000))
    second = world.connect(b"2", 5, will=b"gone", will_payload=bytes(1000))
    refused = world.connect(b"3", 5, will=b"gone", will_payload=bytes(1000), look=False)
    assert refused.one("CONNACK").reason == QUOTA_EXCEEDED
    assert world.broker.statistics().wills_refused == 1
    world.connect(b"2", 5, will=b"gone", will_payload=bytes(1000))  # in place of its own
    assert second.closed
    first.disconnect()
    assert not world.connect(b"3", 5, will=b"gone", will_payload=bytes(1000)).closed
    for client in list(world.clients.values()):
        if not client.closed:
            client.vanish()
    assert core.wills_bytes == 0


def test_wills_of_the_last_run_count() -> None:
    world = World(quiet(persistent=True))
    world.connect(b"1", clean=False, will=b"gone", will_payload=bytes(1000))
    before = world.broker.core.wills_bytes
    rows = dict(world.disk.rows)
    world.broker = World(quiet(persistent=True), rows=rows).broker
    assert before > 1000
    assert world.broker.core.wills_bytes == 0  # the restart has lost its link, and it was spoken


# -- links


def test_a_stranger_sends_no_large_packet_and_who_is_let_in_does() -> None:
    world = World(quiet(max_connect_bytes=2000))
    eve = world.open(5)
    eve.send(header(0x10, 2000))
    assert eve.closed
    assert world.broker.statistics().refused_large == 1
    ann = world.connect(b"ann", 5)
    ann.send(packets.publish(b"a", bytes(5000), version=5), packets.pingreq())
    assert ann.kinds() == ["PINGRESP"]
    bob = world.open(5)
    bob.send(packets.connect(b"bob", version=5), packets.publish(b"a", bytes(5000), version=5), packets.pingreq())
    assert bob.kinds() == ["CONNACK", "PINGRESP"]


def test_packets_that_are_not_whole_count_until_they_are() -> None:
    world = World()
    core = world.broker.core
    eve = world.open()
    eve.send(packets.connect(b"eve")[:-1])
    assert core.links_bytes == len(packets.connect(b"eve")) - 1
    eve.send(packets.connect(b"eve")[-1:], half_publish(b"a", 500))
    assert core.links_bytes == len(half_publish(b"a", 500))
    eve.send(b"\x00")
    assert core.links_bytes == 0
    eve.send(half_publish(b"a", 500))
    eve.vanish()
    assert core.links_bytes == 0


def hold(world: World, client: Client, size_bytes: int) -> None:
    """Have the driver hold a part of a WebSocket frame."""
    world.run(world.broker.held([(client.link, size_bytes)], world.now))


def test_frames_that_are_not_whole_count_until_they_are() -> None:
    world = World()
    core = world.broker.core
    eve = world.open()
    hold(world, eve, 5000)
    assert core.links_bytes == 5000
    eve.send(HALF_CONNECT)
    assert core.links_bytes == 5000 + len(HALF_CONNECT)
    hold(world, eve, 0)
    assert core.links_bytes == len(HALF_CONNECT)
    hold(world, eve, 7000)
    eve.vanish()
    assert core.links_bytes == 0
    hold(world, eve, 7000)
    assert core.links_bytes == 0, "it is gone"


def test_a_stranger_begins_no_large_frame_and_who_is_let_in_does() -> None:
    world = World(quiet(max_connect_bytes=2000))
    eve = world.open(5)
    hold(world, eve, 2000 + FRAME_SLACK_BYTES)
    assert world.broker.core.links_bytes == 2000 + FRAME_SLACK_BYTES
    hold(world, eve, 2001 + FRAME_SLACK_BYTES)
    assert eve.closed
    assert world.broker.statistics().refused_large == 1
    assert world.broker.core.links_bytes == 0
    ann = world.connect(b"ann", 5)
    hold(world, ann, (1 << 20) + FRAME_SLACK_BYTES)
    assert world.broker.core.links_bytes == (1 << 20) + FRAME_SLACK_BYTES
    hold(world, ann, (1 << 20) + FRAME_SLACK_BYTES + 1)
    assert ended(ann) == PACKET_TOO_LARGE


def test_frames_and_packets_that_are_not_whole_are_bounded_together() -> None:
    world = World(quiet(max_links_bytes=10_000, max_connect_bytes=6000))
    ann, eve = world.connect(b"ann", 5), world.open(5)
    ann.send(half_publish(b"a", 4000))
    hold(world, eve, 7000)
    assert eve.closed, "a stranger pays first"
    assert not ann.closed


def test_what_comes_before_a_client_is_let_in_counts_until_it_is() -> None:
    world = World()
    core = world.broker.core
    world.judge = lambda _: None
    ann = world.connect(b"ann", user=b"ann", password=b"x", look=False)
    first = packets.connect(b"ann", user=b"ann", password=b"x")
    assert core.links_bytes == len(first)
    ann.send(packets.pingreq())
    assert core.links_bytes == len(first) + 2
    world.run(world.broker.authenticated(ann.link, Verdict(SUCCESS, b"ann"), world.now))
    assert ann.kinds() == ["CONNACK", "PINGRESP"]
    assert core.links_bytes == 0


def test_when_links_hold_too_much_strangers_pay_first_then_who_holds_most() -> None:
    world = World(quiet(max_links_bytes=10_000, max_connect_bytes=6000))
    ann, bob = world.connect(b"ann", 5), world.connect(b"bob", 5)
    ann.send(half_publish(b"a", 4000))
    strangers = [world.open() for _ in range(2)]
    strangers[0].send(HALF_CONNECT[:2000])
    strangers[1].send(HALF_CONNECT)
    bob.send(half_publish(b"a", 1500))
    assert [each.closed for each in (*strangers, ann, bob)] == [False, True, False, False]
    world.connect(b"cat", 5).send(half_publish(b"a", 3000))
    assert [each.closed for each in (*strangers, ann, bob)] == [True, True, False, False]
    eve = world.connect(b"eve", 5)
    eve.send(half_publish(b"a", 5000))
    assert ended(eve) == QUOTA_EXCEEDED
    assert (ann.closed, bob.closed) == (False, False)
    assert world.broker.statistics().links_relieved == 3
    assert world.broker.core.links_bytes < 10_000


def test_aliases_of_clients_count() -> None:
    world = World(quiet(max_links_bytes=5_000))
    ann = world.connect(b"ann", 5)
    for topic in (b"a" * 1000, b"a" * 1000, b"b" * 2000):
        ann.publish(topic, b"", properties=props(topic_alias=1))
    assert 2000 < world.broker.core.links_bytes < 2500
    ann.publish(b"c" * 4000, b"", properties=props(topic_alias=2))
    assert ended(ann) == QUOTA_EXCEEDED
    assert world.broker.core.links_bytes == 0


def test_aliases_to_clients_are_few_and_end_nobody() -> None:
    world = World(quiet(max_sent_aliases=2, max_links_bytes=1_000))
    bob = world.connect(b"bob", 5, properties=props(topic_alias_maximum=65_535))
    bob.subscribe(b"#")
    ann = world.connect(b"ann")
    for _ in range(2):
        for topic in (b"long" * 300, b"1", b"2", b"3"):
            ann.publish(topic)
    assert [len(each.topic) for each in bob.seen()] == [1200, 1, 1, 1, 1200, 0, 0, 1]
    assert 0 < world.broker.core.links_bytes < 500
    assert not bob.closed


# -- messages


@pytest.mark.parametrize("qos", [0, 1])
def test_a_message_that_is_held_keeps_no_encodings(qos: int) -> None:
    world = World(quiet(retain_available=True))
    for version in (4, 5):
        world.connect(b"%d" % version, version).subscribe((b"a", 1))
    world.connect(b"ann").publish(b"a", bytes(5000), qos=qos, retain=True, packet_id=1)
    message = world.broker.core.retained.matching(b"a", world.now)[0][1]
    fresh = Message(message.topic, message.payload, qos, retain=True, publisher=b"ann", time=message.time)
    for name in ("shared", "_plain_v4", "_plain_v5", "_split_v4", "_split_v5", "_shape_v4", "_shape_v5"):
        assert getattr(message, name) == getattr(fresh, name), name
    assert world.broker.statistics().publish_sent == 2


# -- what outlives a connection


MINE = len(b"a/1") + 100 + OVERHEAD_BYTES  # what a message of 100 bytes costs


def retain(client: Client, topic: bytes, size: int = 100, qos: int = 1) -> int:
    """Publish for later, and return why that is refused, 0 if it is not; the packet identifier is free again."""
    client.publish(topic, bytes(size), qos=qos, packet_id=1 if qos else 0, retain=True)
    answers = [each for each in client.seen() if each.kind in {"PUBACK", "PUBREC"}]
    if qos == 2 and answers[0].reason < 0x80:
        client.send(packets.pubrel(1))
        client.seen()
    return answers[0].reason if answers and answers[0].reason >= 0x80 else 0


@pytest.mark.parametrize("qos", [1, 2])
def test_a_user_may_have_so_much_retained_whatever_its_clients_are_called(qos: int) -> None:
    world = World(quiet(max_retained_bytes_per_user=2 * MINE))
    retained = world.broker.core.retained
    listening = world.connect(b"eve")
    listening.subscribe(b"#")
    ann, *others = [world.connect(b"client %d" % number, 5, user=b"ann") for number in range(3)]
    for number, (client, reason) in enumerate(((ann, 0), (others[0], 0), (others[1], QUOTA_EXCEEDED)), 1):
        assert retain(client, b"a/%d" % number, qos=qos) == reason
    assert len(listening.payloads()) == 2, "what was refused is seen by nobody"
    assert retain(ann, b"a/1", qos=qos) == 0, "in place of what there was"
    assert retain(ann, b"a/1", size=101, qos=qos) == QUOTA_EXCEEDED
    assert len(retained) == 2, "and what was refused replaces nothing"
    assert retain(world.connect(b"bob", 5, user=b"bob"), b"a/3", qos=qos) == 0
    ann.publish(b"a/2", b"", retain=True)
    assert retain(ann, b"a/4", qos=qos) == 0
    assert world.broker.statistics().retained_refused == 2
    assert world.broker.statistics().retained_refused_user == 2


@pytest.mark.parametrize(("version", "qos"), [(4, 0), (4, 1), (4, 2), (5, 0)])
def test_to_who_cannot_be_refused_it_is_delivered_and_ends_what_was_retained(version: int, qos: int) -> None:
    world = World(quiet(max_retained_bytes_per_user=MINE))
    listening = world.connect(b"eve")
    listening.subscribe(b"#")
    ann = world.connect(b"ann", version, user=b"ann")
    retain(ann, b"a/1", qos=qos)
    retain(ann, b"a/1", size=101, qos=qos)
    assert [len(payload) for payload in listening.payloads()] == [100, 101]
    assert len(world.broker.core.retained) == 0
    assert world.broker.statistics().retained_refused == 1
    retain(ann, b"a/1", qos=qos)
    assert len(world.broker.core.retained) == 1


def test_a_will_is_its_users_too() -> None:
    world = World(quiet(max_retained_bytes_per_user=MINE))
    for number in (1, 2):
        world.connect(
            b"%d" % number, user=b"ann", will=b"a/%d" % number, will_payload=bytes(100), will_retain=True
        ).vanish()
    assert len(world.broker.core.retained) == 1
    assert world.broker.statistics().retained_refused_user == 1


def test_the_anonymous_are_no_user_and_0_is_no_limit() -> None:
    for settings, user in (
        (quiet(max_retained_bytes_per_user=1), None),
        (quiet(max_retained_bytes_per_user=0), b"ann"),
    ):
        world = World(settings)
        client = world.connect(b"me", 5, user=user)
        assert [retain(client, b"a/%d" % number) for number in range(3)] == [0, 0, 0]


def test_what_is_retained_is_its_users_after_a_restart_and_when_the_client_is_gone() -> None:
    world = World(quiet(max_retained_bytes_per_user=MINE, persistent=True, durability=DISK))
    assert retain(world.connect(b"once", 5, user=b"ann"), b"a/1") == 0
    world.crash()
    ann = world.connect(b"again", 5, user=b"ann")
    assert retain(ann, b"a/2") == QUOTA_EXCEEDED
    assert retain(ann, b"a/1") == 0


def test_what_expires_counts_no_more() -> None:
    world = World(quiet(max_retained_bytes_per_user=MINE + 50))
    ann = world.connect(b"ann", 5, user=b"ann", keep_alive=0)
    ann.publish(b"a/1", bytes(100), retain=True, properties=props(expiry=5))
    assert retain(ann, b"a/2") == QUOTA_EXCEEDED
    world.wait(6)
    assert retain(ann, b"a/2") == 0


@pytest.mark.parametrize(("version", "code"), [(4, 3), (5, QUOTA_EXCEEDED)])
def test_a_user_has_so_many_sessions_those_that_are_away_among_them(version: int, code: int) -> None:
    world = World(quiet(max_sessions_per_user=2, persistent=True))
    for number in (1, 2):
        world.connect(b"%d" % number, clean=False, user=b"ann").vanish()
    refused = world.connect(b"3", version, user=b"ann", look=False)
    assert refused.seen()[0].reason == code
    assert world.broker.statistics().sessions_refused_user == 1
    world.connect(b"2", clean=False, user=b"ann")
    world.connect(b"3", user=b"bob")
    world.connect(b"4", user=None)
    world.crash()
    assert world.connect(b"5", version, user=b"ann", look=False).seen()[0].reason == code
    world.connect(b"1", user=b"ann").send(packets.disconnect())
    world.connect(b"5", version, user=b"ann")
    assert world.broker.core.owned == {b"ann": 2}


def test_a_session_of_nobody_gives_way_to_a_user_that_may_have_one() -> None:
    world = World(quiet(max_sessions_per_user=1))
    world.connect(b"panel", clean=False)
    world.connect(b"1", user=b"ann")
    assert world.connect(b"panel", 5, user=b"ann", look=False).seen()[0].reason == QUOTA_EXCEEDED
    assert world.connect(b"panel", 5, user=b"bob", look=False).seen()[0].reason == 0
