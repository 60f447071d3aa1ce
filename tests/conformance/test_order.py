"""Order: of messages, of what is sent again and of acknowledgements [MQTT 5.0 §4.6]."""

import pytest
from tests.broker_packets import props, puback, pubcomp, publish, pubrec
from tests.conformance.clauses import clauses
from tests.conformance.talk import Client, World


def _lasting(version: int) -> bytes:
    return props(session_expiry=100) if version == 5 else b""


def _watcher(world: World, version: int, qos: int = 2) -> Client:
    watcher = world.client(b"watcher", version, clean=False, properties=_lasting(version))
    if not watcher.connack.session_present:
        watcher.subscribe((b"t", qos))
    return watcher


@clauses(v4="4.6.0-1 4.4.0-1", v5="4.6.0-1 4.4.0-1")
def test_what_is_sent_again_keeps_its_order(version: int) -> None:
    world = World()
    watcher = _watcher(world, version)
    client = world.client(b"c", version)
    for number in range(1, 8):
        client.publish(b"t", b"%d" % number, qos=1 + number % 2, packet_id=number)
    first = watcher.hear()
    watcher.say(puback(first[1].packet_id), puback(first[3].packet_id))
    watcher.vanish()
    client.publish(b"t", b"new", qos=1, packet_id=8)
    again = _watcher(world, version).hear()
    assert [each.payload for each in again if each.kind == "PUBLISH"] == [b"1", b"3", b"5", b"6", b"7", b"new"]
    assert [each.dup for each in again if each.kind == "PUBLISH"] == [True] * 5 + [False]


@clauses(v4="4.6.0-2 4.6.0-3", v5="4.6.0-2 4.6.0-3")
@pytest.mark.parametrize("durable", [False, True])
def test_acknowledgements_leave_in_the_order_of_the_messages(version: int, durable: bool) -> None:
    """Also where some of the messages wait for the disk and others need not."""
    world = World(persistent=True, durable=((b"disk", 1),)) if durable else World()
    away = world.client(b"away", version, clean=False, properties=_lasting(version))
    away.subscribe((b"disk", 1))
    away.vanish()
    client = world.client(b"c", version)
    world.disk.late = True
    packets = []
    for number in range(1, 9):
        topic = b"disk" if number in {2, 7} else b"memory"
        packets.append(publish(topic, b"x", qos=1 + (number > 4), packet_id=number, version=version))
    early = client.say(*packets)
    world.disk.late = False
    world.write()
    heard = early + client.hear()
    assert [each.packet_id for each in heard if each.kind == "PUBACK"] == [1, 2, 3, 4]
    assert [each.packet_id for each in heard if each.kind == "PUBREC"] == [5, 6, 7, 8]
    if durable:
        assert not {2, 7} & {each.packet_id for each in early}  # what was not on disk was not acknowledged


@clauses(v4="4.6.0-4", v5="4.6.0-4")
def test_pubrels_leave_in_the_order_of_the_pubrecs(version: int) -> None:
    world = World()
    watcher = _watcher(world, version)
    client = world.client(b"c", version)
    for number in range(1, 6):
        client.publish(b"t", b"x", qos=2, packet_id=number)
    numbers = [each.packet_id for each in watcher.hear()]
    order = [numbers[at] for at in (2, 0, 4, 1, 3)]
    assert [each.packet_id for each in watcher.say(*map(pubrec, order))] == order


@clauses(v4="4.6.0-5 4.6.0-6", v5="4.6.0-5 4.6.0-6")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages_of_a_client_arrive_in_order(version: int, qos: int) -> None:
    """With a small quota, so that most of them wait for a while."""
    world = World(max_inflight=3)
    watcher = _watcher(world, version)
    watcher_of_all = world.client(b"all", version)
    watcher_of_all.subscribe((b"#", 0))
    first, second = world.client(b"p1", version), world.client(b"p2", version)
    for number in range(1, 31):
        first.publish(b"t", b"1:%02d" % number, qos=qos, packet_id=number)
        second.publish(b"t", b"2:%02d" % number, qos=qos, packet_id=number)
    arrived: list[bytes] = []
    for _ in range(60):
        for each in watcher.hear():
            if each.kind == "PUBREL":
                watcher.send(pubcomp(each.packet_id))
                continue
            arrived.append(each.payload)
            if qos:
                watcher.send((puback, pubrec)[qos - 1](each.packet_id))
    assert watcher.hear() == []
    for origin in (b"1", b"2"):
        assert [each for each in arrived if each.startswith(origin)] == [
            b"%s:%02d" % (origin, number) for number in range(1, 31)
        ]
    assert [each.payload for each in watcher_of_all.hear()] == arrived
