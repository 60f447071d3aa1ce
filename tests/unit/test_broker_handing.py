"""Handing out retained messages: all of them, once, as the link takes them, and never at the cost of others."""

from __future__ import annotations

import pytest
from tests import broker_packets as packets
from tests.broker_packets import Seen, props
from tests.broker_world import Client, World

from roost.broker.handing import AHEAD
from roost.broker.handout import STEPS
from roost.broker.settings import DISK, BrokerSettings

EXPIRY = props(session_expiry=1000)
SEND_IF_NEW, NEVER_SEND = 0x10, 0x20
SLOW = 1 << 30  # bytes that wait for a link


def world_of(count: int, **options: object) -> World:
    """So many topics with a retained message of QoS 1, whose payload is its number."""
    world = World(BrokerSettings(sys_interval_s=0, **options))  # type: ignore[arg-type]
    speaker = world.connect(b"speaker", 5, keep_alive=0)
    for number in range(count):
        speaker.publish(b"a/%05d" % number, b"%d" % number, retain=True, qos=1, packet_id=1)
    return world


def subscribe(client: Client, *filters: tuple[bytes, int]) -> None:
    client.send(packets.subscribe(1, *filters, version=client.version))


def messages(client: Client) -> list[Seen]:
    return [each for each in client.seen() if each.kind == "PUBLISH"]


def acknowledge(client: Client) -> list[bytes]:
    """Take what comes, acknowledge it, and so on until nothing comes; gives the payloads, without repetitions."""
    got: dict[bytes, bytes] = {}
    while True:
        client.world.settle()
        heard = messages(client)
        if not heard:
            return list(got.values())
        got.update({each.topic: each.payload for each in heard})
        client.send(*[packets.puback(each.packet_id) for each in heard if each.qos])


def let_through(client: Client, count: int) -> None:
    """Make a link slow that has room for so many bytes less than its mark, then for nothing."""
    mark = client.world.settings.high_water_bytes
    client.world.run(client.world.broker.drained(client.link, mark - count, client.world.now))
    client.world.run(client.world.broker.drained(client.link, SLOW, client.world.now))


@pytest.mark.parametrize("qos", [0, 1])
def test_who_reads_gets_all_however_small_the_queue_is(qos: int) -> None:
    count = 2 * STEPS + 1
    world = world_of(count, max_queued=10, high_water_bytes=1000)
    ann = world.connect(b"ann", 5)
    subscribe(ann, (b"a/#", qos))
    assert acknowledge(ann) == [b"%d" % number for number in range(count)]
    assert world.broker.statistics().dropped == 0


def test_who_does_not_read_loses_nothing() -> None:
    world = world_of(500, max_queued=10)
    ann = world.connect(b"ann", 5)
    world.run(world.broker.drained(ann.link, SLOW, world.now))
    subscribe(ann, (b"a/#", 0))
    world.settle()
    assert ann.kinds() == ["SUBACK"]
    let_through(ann, 100)
    some = len(messages(ann))
    assert 0 < some < 20
    world.run(world.broker.drained(ann.link, 0, world.now))
    world.settle()
    assert len(messages(ann)) == 500 - some
    assert world.broker.statistics().dropped == 0


def test_what_is_not_acknowledged_is_not_followed_by_more_than_may_wait() -> None:
    world = world_of(500)
    ann = world.connect(b"ann", 5, properties=props(receive_maximum=3))
    subscribe(ann, (b"a/#", 1))
    world.settle()
    (session,) = [each for each in world.broker.core.sessions.values() if each.client == b"ann"]
    assert (len(session.inflight), len(session.queue)) == (3, AHEAD)
    assert len(acknowledge(ann)) == 500


def test_large_messages_do_not_push_each_other_out() -> None:
    world = World(BrokerSettings(sys_interval_s=0, max_queued_bytes=25_000))
    speaker = world.connect(b"speaker", 5)
    for number in range(20):
        speaker.publish(b"a/%d" % number, b"x" * 10_000, retain=True, qos=1, packet_id=1)
    ann = world.connect(b"ann", 5)
    subscribe(ann, (b"#", 1))
    assert len(acknowledge(ann)) == 20
    assert world.broker.statistics().dropped == 0


def test_one_call_visits_so_many_topics_whatever_a_packet_asks_for() -> None:
    count = STEPS + 500
    world = world_of(count)
    ann = world.connect(b"ann", 5)
    filters = [(b"a/#", 0), (b"+/#", 0), (b"#", 0), (b"+/+", 0), (b"a/+", 0)]
    subscribe(ann, *filters * 100)
    got = len(messages(ann))
    assert got <= STEPS
    while (due := world.broker.deadline()) is not None and due <= world.now:
        world.run(world.broker.tick(world.now))
        more = len(messages(ann))
        assert more <= STEPS
        got += more
    assert got == len(filters) * count


def test_filters_that_match_nothing_are_searched_piece_by_piece_too() -> None:
    world = world_of(3 * STEPS)
    ann = world.connect(b"ann", 5)
    subscribe(ann, (b"+/+/+", 0), (b"a/00001", 0))
    assert messages(ann) == []
    world.settle()
    assert [each.payload for each in messages(ann)] == [b"1"]


def test_sessions_take_turns() -> None:
    world = world_of(5 * STEPS)
    world.connect(b"speaker").publish(b"b", b"small", retain=True)
    greedy, modest = world.connect(b"greedy"), world.connect(b"modest")
    subscribe(greedy, (b"a/#", 0))
    subscribe(modest, (b"b", 0))
    world.run(world.broker.tick(world.now))
    assert [each.payload for each in messages(modest)] == [b"small"]
    assert len(messages(greedy)) < 5 * STEPS


def test_filter_that_is_named_twice_brings_its_messages_once_as_the_last_entry_wants_them() -> None:
    world = world_of(3)
    ann = world.connect(b"ann", 5)
    subscribe(ann, (b"a/#", 0), (b"a/#", 1), (b"a/#", 1 | NEVER_SEND), (b"a/#", 1 | SEND_IF_NEW))
    assert [(each.payload, each.qos) for each in messages(ann)] == [(b"0", 1), (b"1", 1), (b"2", 1)]


# -- what changes on the way


def waiting(world: World, client: Client, filter_: bytes, qos: int = 1) -> None:
    """Have a client subscribe that takes nothing."""
    world.run(world.broker.drained(client.link, SLOW, world.now))
    subscribe(client, (filter_, qos))
    world.settle()


@pytest.mark.parametrize("qos", [0, 1])
def test_what_was_replaced_meanwhile_comes_as_what_it_is_now(qos: int) -> None:
    world = world_of(4)
    ann, speaker = world.connect(b"ann", 5), world.connect(b"speaker", 5)
    waiting(world, ann, b"a/+", qos)
    speaker.publish(b"a/00001", b"new", retain=True, qos=1, packet_id=1)
    speaker.publish(b"a/00002", b"", retain=True, qos=1, packet_id=2)
    speaker.publish(b"a/00009", b"more", retain=True, qos=1, packet_id=3)
    world.run(world.broker.drained(ann.link, 0, world.now))
    world.settle()
    got = [(each.topic[-1:], each.payload, each.retain) for each in messages(ann)]
    assert sorted(got) == [
        (b"0", b"0", True),
        (b"1", b"new", False),
        (b"2", b"", False),
        (b"3", b"3", True),
        (b"9", b"more", False),
    ]


def test_message_that_expires_on_the_way_does_not_come() -> None:
    world = world_of(1)
    world.connect(b"speaker", 5).publish(b"a/1", b"brief", retain=True, properties=props(expiry=5))
    ann = world.connect(b"ann", 5)
    waiting(world, ann, b"a/+")
    world.wait(6)
    world.run(world.broker.drained(ann.link, 0, world.now))
    assert [each.payload for each in messages(ann)] == [b"0"]


def test_unsubscribe_ends_it_and_a_new_subscription_decides_anew() -> None:
    world = world_of(3)
    ann = world.connect(b"ann", 5)
    waiting(world, ann, b"a/+")
    ann.send(packets.unsubscribe(1, b"a/+", version=5))
    subscribe(ann, (b"a/+", NEVER_SEND))
    world.run(world.broker.drained(ann.link, 0, world.now))
    assert messages(ann) == []


@pytest.mark.parametrize("handling", [0, SEND_IF_NEW, NEVER_SEND])
def test_nothing_is_lost_when_a_subscription_is_replaced(handling: int) -> None:
    """[MQTT-3.8.4-4]."""
    world = world_of(3)
    ann = world.connect(b"ann", 5)
    waiting(world, ann, b"a/+", 0)
    subscribe(ann, (b"a/+", 1 | handling))
    world.run(world.broker.drained(ann.link, 0, world.now))
    assert [(each.payload, each.qos) for each in messages(ann)] == [(b"0", 1), (b"1", 1), (b"2", 1)]


def test_clean_start_ends_it() -> None:
    world = world_of(3)
    ann = world.connect(b"ann", 5)
    waiting(world, ann, b"a/+")
    ann.send(packets.disconnect())
    again = world.connect(b"ann", 5, clean=True)
    world.settle()
    assert messages(again) == []
    assert not world.broker.core.handing
    assert not world.broker.core.resting


# -- sessions that last


def lasting(count: int, **options: object) -> World:
    return world_of(count, persistent=True, durability=DISK, **options)


def handout_rows(world: World) -> list[bytes]:
    return [key for key in world.disk.rows if key.startswith(b"h")]


@pytest.mark.parametrize("qos", [0, 1])
@pytest.mark.parametrize("version", [4, 5])
def test_the_rest_comes_when_the_client_is_back(version: int, qos: int) -> None:
    world = lasting(300)
    properties = EXPIRY if version == 5 else b""
    ann = world.connect(b"ann", version, clean=False, properties=properties)
    waiting(world, ann, b"a/#", qos)
    ann.vanish()
    world.settle()
    again = world.connect(b"ann", version, clean=False, properties=properties)
    assert len(acknowledge(again)) == 300
    assert handout_rows(world) == []


def test_who_comes_back_and_unsubscribes_at_once_gets_no_more() -> None:
    world = lasting(10)
    ann = world.connect(b"ann", 5, properties=EXPIRY)
    waiting(world, ann, b"a/#")
    ann.vanish()
    again = world.open(5)
    again.send(
        packets.connect(b"ann", version=5, clean=False, properties=EXPIRY),
        packets.unsubscribe(1, b"a/#", version=5),
        packets.subscribe(2, (b"a/#", NEVER_SEND), version=5),
    )
    world.settle()
    assert again.kinds() == ["CONNACK", "UNSUBACK", "SUBACK"]
    assert handout_rows(world) == []


def test_state_of_qos_0_that_changed_while_the_client_was_away_comes_as_it_is_now() -> None:
    world = lasting(3)
    ann = world.connect(b"ann", 5, properties=EXPIRY)
    waiting(world, ann, b"a/+")
    ann.vanish()
    speaker = world.connect(b"speaker", 5)
    speaker.publish(b"a/00001", b"new", retain=True)
    speaker.publish(b"a/00002", b"queued", retain=True, qos=1, packet_id=1)
    again = world.connect(b"ann", 5, clean=False, properties=EXPIRY)
    assert sorted(acknowledge(again)) == [b"0", b"new", b"queued"]


def test_the_rest_of_qos_1_comes_after_a_restart() -> None:
    world = lasting(300)
    ann = world.connect(b"ann", 5, properties=props(session_expiry=1000, receive_maximum=10))
    subscribe(ann, (b"a/#", 1))
    some = [each.payload for each in messages(ann)]
    ann.send(*[packets.puback(number) for number in range(1, 6)])
    assert len(handout_rows(world)) == 1
    world.crash()
    again = world.connect(b"ann", 5, clean=False, properties=EXPIRY)
    rest = acknowledge(again)
    assert some[:5] + rest == [b"%d" % number for number in range(300)]
    assert handout_rows(world) == []


def test_what_is_subscribed_with_qos_0_has_no_row() -> None:
    world = lasting(10)
    ann = world.connect(b"ann", 5, properties=EXPIRY)
    waiting(world, ann, b"a/#", 0)
    assert handout_rows(world) == []


def test_rows_go_with_their_session() -> None:
    world = lasting(10)
    ann = world.connect(b"ann", 5, properties=EXPIRY)
    waiting(world, ann, b"a/#")
    ann.vanish()
    assert len(handout_rows(world)) == 1
    world.wait(1001)
    world.connect(b"bob")
    assert handout_rows(world) == []


def test_row_of_an_earlier_session_of_the_client_is_not_believed() -> None:
    world = lasting(10)
    ann = world.connect(b"ann", 5, properties=EXPIRY)
    waiting(world, ann, b"a/#")
    (key,) = handout_rows(world)
    row = world.disk.rows[key]
    world.wait(1)
    again = world.connect(b"ann", 5, clean=True, properties=EXPIRY)
    assert len(again.subscribe((b"a/#", 1 | NEVER_SEND))) == 1
    world.disk.rows[key] = row
    world.crash()
    assert messages(world.connect(b"ann", 5, clean=False, properties=EXPIRY)) == []
    assert handout_rows(world) == []
