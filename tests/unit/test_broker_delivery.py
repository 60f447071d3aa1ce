"""Delivery: order, windows, queues and their policies, expiry, size limits, links that are slow."""

from __future__ import annotations

import pytest
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.broker_world import Client, World

from roost.broker.message import OVERHEAD_BYTES
from roost.broker.settings import DISCONNECT, DROP_NEWEST, DROP_OLDEST, BrokerSettings


def quiet(**options: object) -> BrokerSettings:
    return BrokerSettings(sys_interval_s=0, **options)  # type: ignore[arg-type]


def publish_all(client: Client, count: int, qos: int = 1, first: int = 0) -> None:
    for number in range(first, first + count):
        client.publish(b"a", b"%d" % number, qos=qos, packet_id=number + 1)


@pytest.mark.parametrize("version", [4, 5])
def test_messages_keep_their_order_across_a_lost_link(version: int) -> None:
    world = World()
    options = {"clean": False, "properties": props(session_expiry=100) if version == 5 else b""}
    bob = world.connect(b"bob", version, **options)  # type: ignore[arg-type]
    bob.subscribe((b"a", 1))
    ann = world.connect(b"ann")
    publish_all(ann, 3)
    first = bob.seen()
    bob.send(packets.puback(first[1].packet_id))
    bob.vanish()
    publish_all(ann, 2, first=3)
    bob = world.connect(b"bob", version, **options)  # type: ignore[arg-type]
    came = bob.seen()
    assert [(each.payload, each.dup) for each in came] == [(b"0", True), (b"2", True), (b"3", False), (b"4", False)]
    assert [each.packet_id for each in came[:2]] == [first[0].packet_id, first[2].packet_id]


def test_what_was_released_is_released_again() -> None:
    world = World()
    bob = world.connect(b"bob", 4, clean=False)
    bob.subscribe((b"a", 2))
    world.connect(b"ann").publish(b"a", b"x", qos=2, packet_id=1)
    packet_id = bob.one("PUBLISH").packet_id
    bob.send(packets.pubrec(packet_id))
    bob.vanish()
    bob = world.connect(b"bob", 4, clean=False)
    assert bob.one("PUBREL").packet_id == packet_id
    bob.send(packets.pubcomp(packet_id))
    bob.vanish()
    assert world.connect(b"bob", 4, clean=False).kinds() == []


def test_who_owes_an_acknowledgement_is_counted_after_each_call() -> None:
    world = World()
    for client, qos in ((b"bob", 1), (b"eve", 1), (b"joe", 2), (b"kim", 0)):
        world.connect(client).subscribe((b"a", qos))
    ann = world.connect(b"ann")
    ann.publish(b"a", b"x", qos=1, packet_id=1)
    assert world.broker.owing() == 3
    ann.publish(b"a", b"x")
    assert world.broker.owing() == 3
    ann.send(packets.pingreq())
    assert world.broker.owing() == 0


def test_no_more_is_in_flight_than_the_client_takes() -> None:
    world = World()
    bob = world.connect(b"bob", 5, properties=props(receive_maximum=2))
    bob.subscribe((b"a", 1))
    publish_all(world.connect(b"ann"), 5)
    first = bob.seen()
    assert [each.payload for each in first] == [b"0", b"1"]
    bob.send(packets.puback(first[0].packet_id))
    assert bob.payloads() == [b"2"]
    bob.send(packets.puback(first[1].packet_id))
    assert bob.payloads() == [b"3"]


def test_a_smaller_receive_maximum_is_kept_after_a_lost_link() -> None:
    world = World()
    expiry = {"session_expiry": 100}
    bob = world.connect(b"bob", 5, properties=props(**expiry))
    bob.subscribe((b"a", 2))
    publish_all(world.connect(b"ann"), 3, qos=2)
    ids = [each.packet_id for each in bob.seen()]
    bob.vanish()
    bob = world.connect(b"bob", 5, clean=False, properties=props(receive_maximum=1, **expiry))
    assert bob.payloads() == [b"0"]
    bob.send(packets.pubrec(ids[1]))
    assert bob.one("PUBREL").reason == 0
    for packet_id in (ids[1], ids[0]):
        bob.send(packets.pubrec(packet_id), packets.pubcomp(packet_id))
    assert [each.payload for each in bob.seen() if each.kind == "PUBLISH"] == [b"2"]


def test_packet_identifiers_go_round_and_wait_for_those_in_use() -> None:
    world = World(quiet(max_inflight=65_535))
    bob = world.connect(b"bob", 5)
    bob.subscribe((b"a", 1))
    session = world.broker.core.sessions[b"bob"]
    ann = world.connect(b"ann")
    publish_all(ann, 1)
    assert bob.one("PUBLISH").packet_id == 1
    session.next_number = 65_535
    publish_all(ann, 2, first=1)
    assert bob.one("PUBLISH").packet_id == 65_535
    bob.send(packets.puback(1))
    assert bob.one("PUBLISH").packet_id == 1


@pytest.mark.parametrize(("policy", "left"), [(DROP_OLDEST, [b"2", b"3"]), (DROP_NEWEST, [b"0", b"1"])])
def test_a_full_queue_drops_by_its_policy(policy: int, left: list[bytes]) -> None:
    world = World(quiet(max_queued=2, overflow=policy))
    bob = world.connect(b"bob", clean=False)
    bob.subscribe((b"a", 1))
    bob.vanish()
    publish_all(world.connect(b"ann"), 4)
    stats = world.broker.statistics()
    assert (stats.dropped, stats.dropped_full) == (2, 2)
    assert world.broker.core.sessions[b"bob"].dropped == 2
    assert world.connect(b"bob", clean=False).payloads() == left


def test_a_full_queue_may_end_the_link() -> None:
    world = World(quiet(max_queued=1, max_inflight=1, overflow=DISCONNECT))
    bob = world.connect(b"bob", 5)
    bob.subscribe((b"a", 1))
    publish_all(world.connect(b"ann"), 3)
    assert [(each.kind, each.reason) for each in bob.seen()] == [("PUBLISH", 0), ("DISCONNECT", 0x97)]


def test_bytes_are_bounded_too_and_a_message_that_cannot_fit_is_dropped() -> None:
    size = OVERHEAD_BYTES + 101
    world = World(quiet(max_queued_bytes=2 * size))
    bob = world.connect(b"bob", clean=False)
    bob.subscribe((b"a", 1))
    bob.vanish()
    ann = world.connect(b"ann")
    for number in range(3):
        ann.publish(b"a", b"%d" % number * 100, qos=1, packet_id=1)
    ann.publish(b"a", b"x" * 5000, qos=1, packet_id=1)
    assert world.broker.core.total_bytes == world.broker.core.queued_bytes == 2 * size
    assert world.broker.statistics().dropped == 2  # the first, and the one that would not fit an empty queue
    assert world.connect(b"bob", clean=False).payloads() == [b"1" * 100, b"2" * 100]


def test_nothing_is_dropped_for_a_message_that_what_was_sent_leaves_no_place_for() -> None:
    world = World(quiet(max_queued_bytes=10_000, max_inflight=1))
    bob = world.connect(b"bob", clean=False)
    bob.subscribe((b"a", 1))
    ann = world.connect(b"ann")
    ann.publish(b"a", b"x" * 8000, qos=1, packet_id=1)  # sent, and not acknowledged
    for number in range(3):
        ann.publish(b"a", b"%d" % number, qos=1, packet_id=1)
    ann.publish(b"a", b"x" * 8000, qos=1, packet_id=1)
    assert world.broker.statistics().dropped == 1
    bob.arrived = b""
    bob.send(*[packets.puback(number) for number in range(1, 4)])
    assert bob.payloads() == [b"0", b"1", b"2"]


def test_a_message_that_its_own_queue_has_no_place_for_costs_nobody_else_a_message() -> None:
    size = OVERHEAD_BYTES + 101
    world = World(quiet(max_total_bytes=4 * size, max_queued_bytes=2 * size))
    for name in (b"one", b"two"):
        client = world.connect(name, clean=False)
        client.subscribe((name, 1))
        client.vanish()
    ann = world.connect(b"ann")
    for name in (b"one", b"two"):
        for _ in range(2):
            ann.publish(name, b"x" * 98, qos=1, packet_id=1)
    ann.publish(b"one", b"x" * 900, qos=1, packet_id=1)
    assert world.broker.statistics().dropped == 1


def test_sessions_are_not_looked_at_while_nearly_all_bytes_were_sent() -> None:
    size = OVERHEAD_BYTES + 101
    world = World(quiet(max_total_bytes=4 * size))
    bob = world.connect(b"bob", clean=False)
    bob.subscribe((b"a", 1))
    away = world.connect(b"away", clean=False)
    away.subscribe((b"b", 1))
    away.vanish()
    ann = world.connect(b"ann")
    for _ in range(3):
        ann.publish(b"a", b"x" * 100, qos=1, packet_id=1)
    ann.publish(b"b", b"1" * 100, qos=1, packet_id=1)
    ann.publish(b"a", b"x" * 100, qos=1, packet_id=1)
    stats = world.broker.statistics()
    assert (stats.dropped_total, stats.dropped_full) == (1, 0)  # there was one to take from
    ann.publish(b"b", b"2" * 100, qos=1, packet_id=1)
    ann.publish(b"a", b"x" * 100, qos=1, packet_id=1)
    assert (stats.dropped_total, stats.dropped_full) == (1, 2)
    assert world.broker.core.queued_bytes == 0


def test_all_queues_together_are_bounded_and_the_largest_pays() -> None:
    size = OVERHEAD_BYTES + 101
    world = World(quiet(max_total_bytes=10 * size))
    for name, count in ((b"small", 2), (b"large", 20)):
        client = world.connect(name, clean=False)
        client.subscribe((name, 1))
        client.vanish()
        ann = world.connect(b"ann")
        for number in range(count):
            ann.publish(name, bytes([number]) * (105 - len(name)), qos=1, packet_id=1)
    core = world.broker.core
    assert core.total_bytes <= 10 * size
    assert core.stats.dropped_total == core.stats.dropped > 0
    assert len(world.connect(b"small", clean=False).payloads()) == 2
    came = world.connect(b"large", clean=False).payloads()
    assert came[-1] == bytes([19]) * 100


@pytest.mark.parametrize("queued", [False, True])
def test_qos_0_waits_for_who_is_away_only_if_told_to(queued: bool) -> None:
    world = World(quiet(queue_qos0=queued))
    bob = world.connect(b"bob", clean=False)
    bob.subscribe(b"a")
    bob.vanish()
    publish_all(world.connect(b"ann"), 2, qos=0)
    assert world.connect(b"bob", clean=False).payloads() == ([b"0", b"1"] if queued else [])
    assert world.broker.core.total_bytes == 0


def test_a_slow_link_gets_qos_0_later_within_its_queue() -> None:
    world = World(quiet(high_water_bytes=1000, max_queued=2))
    bob, eve = world.connect(b"bob"), world.connect(b"eve")
    for client in (bob, eve):
        client.subscribe(b"a")
    world.run(world.broker.drained(bob.link, 2000, world.now))
    ann = world.connect(b"ann")
    publish_all(ann, 4, qos=0)
    assert bob.payloads() == []
    assert eve.payloads() == [b"0", b"1", b"2", b"3"]
    assert world.broker.statistics().slow == 1
    world.run(world.broker.drained(bob.link, 0, world.now))
    assert bob.payloads() == [b"2", b"3"]
    assert world.broker.statistics().slow == 0
    publish_all(ann, 1, qos=0)
    assert bob.payloads() == [b"0"]
    assert world.broker.core.total_bytes == 0


def test_one_call_sends_a_link_no_more_than_its_room_and_goes_on_with_the_next() -> None:
    world = World(quiet(high_water_bytes=100))
    bob = world.connect(b"bob")
    bob.subscribe(b"a")
    ann = world.connect(b"ann")
    ann.send(b"".join(packets.publish(b"a", b"%02d" % number * 30) for number in range(10)))
    assert 0 < len(bob.payloads()) < 4
    assert world.broker.deadline() == world.now
    world.settle()
    came = bob.payloads()
    assert came[-1] == b"09" * 30
    assert world.broker.core.total_bytes == 0


def test_a_message_expires_in_the_queue_and_says_what_it_has_left() -> None:
    world = World()
    bob = world.connect(b"bob", 5, properties=props(session_expiry=1000))
    bob.subscribe((b"a", 1))
    bob.vanish()
    ann = world.connect(b"ann", 5, keep_alive=0)
    ann.publish(b"a", b"short", qos=1, packet_id=1, properties=props(expiry=10))
    ann.publish(b"a", b"long", qos=1, packet_id=2, properties=props(expiry=100))
    world.wait(30)
    bob = world.connect(b"bob", 5, clean=False, properties=props(session_expiry=1000))
    message = bob.one("PUBLISH")
    assert (message.payload, message.properties["expiry"]) == (b"long", 70)
    assert world.broker.statistics().expired == 1


def test_a_message_above_the_clients_maximum_packet_size_is_dropped() -> None:
    world = World()
    bob, eve = world.connect(b"bob", 5, properties=props(maximum_packet_size=50)), world.connect(b"eve", 5)
    for client in (bob, eve):
        client.subscribe((b"a", 2))
    ann = world.connect(b"ann", 5)
    for qos in (0, 1, 2):
        ann.publish(b"a", b"x" * 50, qos=qos, packet_id=1)
    ann.publish(b"a", b"ok", qos=1, packet_id=1)
    assert bob.payloads() == [b"ok"]
    assert len(eve.payloads()) == 4
    assert world.broker.statistics().dropped_large == 3
    assert not [key for key in world.broker.core.sessions[b"bob"].inflight if key != 3]


def test_a_large_message_is_whole() -> None:
    world = World()
    for version in (4, 5):
        bob = world.connect(b"bob%d" % version, version)
        bob.subscribe((b"a", 1))
    world.connect(b"ann").publish(b"a", b"x" * 100_000, qos=1, packet_id=1)
    for client in list(world.clients.values())[:2]:
        assert client.one("PUBLISH").payload == b"x" * 100_000


def test_acknowledgements_of_nothing_are_counted_and_change_nothing() -> None:
    world = World()
    bob = world.connect(b"bob", 5)
    bob.send(packets.puback(7), packets.pubcomp(8), packets.pubrec(9))
    assert bob.one("PUBREL").reason == 0x92
    assert world.broker.statistics().unknown_acks == 3


def test_a_link_that_closed_in_the_middle_of_everything_is_forgotten() -> None:
    world = World()
    bob = world.connect(b"bob")
    bob.subscribe((b"#", 1))
    bob.vanish()
    world.connect(b"ann").publish(b"a", b"x", qos=1, packet_id=1)
    core = world.broker.core
    assert list(core.sessions) == [b"ann"]
    assert len(core.router.subscriptions) == core.total_bytes == 0
    assert world.broker.sizes()["links"][0] == 1
