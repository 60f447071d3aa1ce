"""QoS 2 messages that are sent again at another node, and identifiers that are used again."""

from __future__ import annotations

import pytest
from tests import broker_packets as packets
from tests.broker_world import Client
from tests.nodes_world import EXPIRY, INSTANT_S, Node, Publisher, Street

from roost.broker import receipts
from roost.broker.receipts import Receipt, Receipts, Told

TOPIC = b"a/x"


def house(count: int = 2) -> tuple[Street, list[Client]]:
    """Nodes, and a listener at each."""
    street = Street(1, count)
    listeners = [node.connect(b"listener", 5, keep_alive=0) for node in street.nodes]
    for listener in listeners:
        listener.subscribe(b"a/#")
    return street, listeners


def come(node: Node, version: int = 5) -> Client:
    """Connect with a session that persists."""
    node.street.settle()
    return node.connect(b"device", version, clean=False, properties=EXPIRY if version == 5 else b"")


def spread(street: Street) -> None:
    """Have all readings everywhere, in no time."""
    while street.step():
        pass


@pytest.mark.parametrize("version", [4, 5])
def test_a_message_that_is_sent_again_at_another_node_is_received_there(version: int) -> None:
    street, listeners = house()
    come(street.nodes[0], version).publish(TOPIC, b"1", qos=2, packet_id=7)
    spread(street)
    street.nodes[0].die()
    device = come(street.nodes[1], version)
    device.publish(TOPIC, b"1", qos=2, packet_id=7, dup=True)
    assert device.kinds() == ["PUBREC"]
    device.publish(TOPIC, b"1", qos=2, packet_id=7, dup=True)
    device.send(packets.pubrel(7))
    assert device.kinds() == ["PUBREC", "PUBCOMP"]
    spread(street)
    assert listeners[1].payloads() == [b"1"]
    roaming = street.nodes[1].broker.core.roaming
    assert roaming is not None
    assert (roaming.receipts.recognised, len(roaming.receipts)) == (1, 0)


@pytest.mark.parametrize(
    ("topic", "payload", "dup"),
    [(TOPIC, b"1", False), (TOPIC, b"2", True), (b"a/y", b"1", True)],
    ids=["not marked", "another payload", "another topic"],
)
def test_what_is_not_the_very_same_message_is_a_new_one(topic: bytes, payload: bytes, dup: bool) -> None:
    street, listeners = house()
    come(street.nodes[0]).publish(TOPIC, b"1", qos=2, packet_id=7)
    spread(street)
    street.nodes[0].die()
    device = come(street.nodes[1])
    device.publish(topic, payload, qos=2, packet_id=7, dup=dup)
    spread(street)
    assert device.kinds() == ["PUBREC"]
    assert listeners[1].payloads() == [b"1", payload]


@pytest.mark.parametrize("version", [4, 5])
def test_a_release_that_comes_to_another_node_is_answered_and_told(version: int) -> None:
    street, _ = house(3)
    device = come(street.nodes[0], version)
    device.publish(TOPIC, b"1", qos=2, packet_id=7)
    spread(street)
    assert device.kinds() == ["PUBREC"]
    street.nodes[0].die()
    device = come(street.nodes[1], version)
    device.send(packets.pubrel(7), packets.pubrel(8))
    answers = device.seen()
    assert [(each.kind, each.packet_id) for each in answers] == [("PUBCOMP", 7), ("PUBCOMP", 8)]
    if version == 5:
        assert [each.reason for each in answers] == [0, 0x92]
    street.settle()
    assert [len(node.broker.core.roaming.receipts) for node in street.alive()] == [0, 0]  # type: ignore[union-attr]


def test_a_device_that_always_says_the_same_with_the_same_identifier_is_heard_every_time() -> None:
    street, listeners = house(3)
    device = Publisher()
    for number in range(6):
        device.come(street.nodes[number % 2])
        street.settle()
        for _ in range(3):
            device.publish(TOPIC, b"21.5")
            assert list(device.unfinished) == [1]
            for _ in range(2):
                street.settle()
                device.hear()
                device.answer()
    assert listeners[2].payloads() == [b"21.5"] * 18


def test_what_a_release_was_told_of_is_not_taken_for_the_next_message_with_its_identifier() -> None:
    street, listeners = house()
    device = come(street.nodes[0])
    street.settle()
    device.publish(TOPIC, b"21.5", qos=2, packet_id=1)
    spread(street)
    street.wait(INSTANT_S)
    device.send(packets.pubrel(1))
    spread(street)  # the release is told at once
    device.publish(TOPIC, b"21.5", qos=2, packet_id=1)
    street.nodes[0].die()  # and the message with it
    device = come(street.nodes[1])
    device.publish(TOPIC, b"21.5", qos=2, packet_id=1, dup=True)
    spread(street)
    assert listeners[1].payloads() == [b"21.5"] * 2


def test_a_node_that_did_not_hear_of_a_release_does_not_take_the_next_message_for_the_last() -> None:
    street, listeners = house(3)
    here, there, third = street.nodes
    device = come(here)
    device.publish(TOPIC, b"1", qos=2, packet_id=1)
    spread(street)
    device = come(there)
    here.is_alive = False  # it is cut off
    device.send(packets.pubrel(1))
    device.publish(TOPIC, b"2", qos=2, packet_id=1)
    spread(street)
    device.send(packets.pubrel(1))
    spread(street)
    there.die()
    here.is_alive = True
    device = here.connect(b"device", 5, clean=False, properties=EXPIRY)
    device.publish(TOPIC, b"3", qos=2, packet_id=1)
    spread(street)
    assert listeners[2].payloads() == [b"1", b"2", b"3"]
    assert third.is_alive


def test_a_new_session_has_nothing_to_send_again() -> None:
    street, listeners = house()
    come(street.nodes[0]).publish(TOPIC, b"1", qos=2, packet_id=1)
    spread(street)
    device = street.nodes[1].connect(b"device", 5, clean=True, properties=EXPIRY)
    device.publish(TOPIC, b"1", qos=2, packet_id=1, dup=True)
    spread(street)
    assert listeners[1].payloads() == [b"1"] * 2


def test_only_so_many_are_noted_and_those_turned_away_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "MAX_RECEIPTS", 3)
    table = Receipts()
    for number in range(1, 4):
        table.note(b"first", number, Receipt(b"s", number, number))
    table.note(b"second", 1, Receipt(b"s", 4, 4))
    assert (len(table), table.turned_away) == (1, 3)
    assert table.find(b"first", 1) is None


def test_only_so_many_clients_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "MAX_TOLD", 1)
    table = Receipts()
    for client in (b"first", b"second"):
        table.hear(client, b"g", Told(b"g/p", 5, 5, frozenset()), is_latest=True)
    old = Receipt(b"g/p/s", 1, 4)
    assert [table.is_open(client, 1, b"g", old) for client in (b"first", b"second")] == [True, False]


@pytest.mark.parametrize(
    ("stream", "time", "held", "is_left"),
    [
        (b"g/p/s", 9, frozenset(), False),  # taken before it was told
        (b"g/p/s", 10, frozenset(), True),
        (b"g/p/s", 1, frozenset({1}), True),
        (b"g/q/s", 4, frozenset(), False),  # taken elsewhere before the client came
        (b"g/q/s", 5, frozenset(), True),
        (b"h/q/s", 4, frozenset(), True),  # another group's
    ],
)
def test_what_is_not_named_is_released(stream: bytes, time: int, held: frozenset[int], is_left: bool) -> None:
    table = Receipts()
    table.note(b"c", 1, Receipt(stream, 1, time))
    table.hear(b"c", b"g", Told(b"g/p", 5, 10, held), is_latest=True)
    assert (table.find(b"c", 1) is not None) == is_left


def test_a_node_that_has_not_the_session_speaks_for_itself_only() -> None:
    table = Receipts()
    table.note(b"c", 1, Receipt(b"g/p/s", 1, 1))
    table.note(b"c", 2, Receipt(b"g/q/s", 1, 1))
    table.hear(b"c", b"g", Told(b"g/p", 5, 10, frozenset()), is_latest=False)
    assert table.held(b"c") == [2]


def test_the_last_message_with_an_identifier_counts_whichever_comes_first() -> None:
    table = Receipts()
    table.note(b"c", 1, Receipt(b"g/p/s", 1, 8))
    table.note(b"c", 1, Receipt(b"g/p/t", 1, 7))
    assert table.find(b"c", 1) == Receipt(b"g/p/s", 1, 8)
