"""Documents that are changed at run time, in a group with several nodes: the same policy holds at every one of them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.broker_world import World
from tests.nodes_world import Node, Street
from tests.roles_world import DOCUMENT, HERE, RAW, STREAM, brought, enter

from roost.broker.message import Message
from roost.broker.roles.document_record import TOPICS, DocumentRecord
from roost.broker.roles.keeper import RoleKeeper
from roost.process.roles.specification import Specification

HALL: Mapping[str, object] = {"topic": "home/hall", "roles": {"customer": {"streams": ["raw"]}}}


def street_of(count: int, seed: int = 1) -> Street:
    """Nodes of one group under figure 7's document."""
    street = Street(seed, count)
    for node in street.nodes:
        node.roles = lambda: RoleKeeper([Specification.read(DOCUMENT)], HERE)
        node.die()
        node.rise()
    return street


def keeper_of(world: World) -> RoleKeeper:
    keeper = world.broker.core.roles
    assert keeper is not None
    return keeper


def change(node: Node, topic: str, document: Mapping[str, object] | None) -> None:
    read = None if document is None else Specification.read(document)
    node.run(node.broker.document_changed(topic, read, node.now))


def documents(node: Node) -> dict[str, Specification]:
    return dict(keeper_of(node).policy.documents)


def say(node: Node, payload: bytes) -> None:
    sensor = node.connect(b"sensor%d" % node.number)
    sensor.publish(RAW, b"exact " + payload)
    sensor.publish(STREAM, payload)
    node.street.live(1)


def test_a_change_at_one_node_governs_at_the_others_from_then_on() -> None:
    street = street_of(3)
    one, two, three = street.nodes
    cid = enter(two, "cid")
    cid.subscribe(RAW)
    say(one, b"1")
    change(one, "home/hall", HALL)
    street.live(1)
    say(one, b"2")
    change(three, "home/hall", None)
    street.live(1)
    say(one, b"3")
    assert brought(cid) == [(RAW, b"1"), (RAW, b"exact 2"), (RAW, b"3")]
    assert documents(one) == documents(two) == documents(three) == {"home/+": Specification.read(DOCUMENT)}


def test_what_the_file_says_counts_again_everywhere_and_an_older_change_does_not_come_back() -> None:
    street = street_of(2)
    one, two = street.nodes
    change(one, "home/+", None)
    street.live(1)
    assert documents(two) == {}
    two.is_cut_off = True
    change(one, "home/+", DOCUMENT)
    two.is_cut_off = False
    street.live(1)
    assert list(documents(two)) == ["home/+"]
    for node in street.nodes:  # the file is another one now, and counts
        node.run(node.broker.roles_reloaded([Specification.read(HALL)], HERE, node.now))
        assert list(documents(node)) == ["home/hall"]


@pytest.mark.parametrize("seed", range(10))
def test_changes_at_several_nodes_at_once_end_alike_everywhere(seed: int) -> None:
    street = street_of(3, seed)
    chance = street.random
    for _ in range(12):
        node = chance.choice(street.nodes)
        node.is_cut_off = chance.random() < 0.3
        if not node.is_alive:
            node.rise()
        elif chance.random() < 0.2 and len(street.alive()) == 3:
            node.die()
            continue
        streams = chance.choice([["raw"], [], ["{topic}/anonymize"], ["mean"]])
        topic = chance.choice(["home/+", "home/hall", "garden"])
        document = {"topic": topic, "roles": {"customer": {"streams": streams}}}
        change(node, topic, chance.choice([document, None, DOCUMENT if topic == "home/+" else None]))
        for _ in range(chance.randrange(6)):
            street.step()
        if chance.random() < 0.5:
            street.wait(chance.random())
    for node in street.nodes:
        node.is_cut_off = False
        if not node.is_alive:
            node.rise()
    street.live(3)
    one, two, three = street.nodes
    assert documents(one) == documents(two) == documents(three)
    assert list(documents(one)) == list(documents(two)) == list(documents(three))
    assert not any(keeper_of(node).telling.untold for node in street.nodes)


def test_a_change_of_another_node_is_there_after_a_restart() -> None:
    street = street_of(2)
    one, two = street.nodes
    change(one, "home/hall", HALL)
    street.live(1)
    two.die()
    two.rise()
    assert set(documents(two)) == {"home/+", "home/hall"}


@pytest.mark.parametrize("is_new", [False, True])
def test_a_node_that_was_away_or_comes_new_hears_the_last_change(is_new: bool) -> None:
    street = street_of(3)
    one, two, three = street.nodes
    three.die()
    change(one, "home/hall", {**DOCUMENT, "topic": "home/hall"})
    street.live(1)
    change(two, "home/hall", HALL)
    street.live(1)
    one.die()
    if is_new:
        three.disk.rows.clear()
        three.streams.clear()
    three.rise()
    street.live(2)
    assert documents(three) == documents(two)
    assert documents(three)["home/hall"] == Specification.read(HALL)


def test_what_a_node_could_not_tell_before_it_died_it_tells_when_it_is_back() -> None:
    street = street_of(2)
    one, two = street.nodes
    change(one, "home/hall", HALL)
    assert one.inserts
    one.die()
    street.live(1)
    assert list(documents(two)) == ["home/+"]
    one.rise()
    assert [insert.messages[0].topic[: len(TOPICS)] for insert in one.inserts] == [TOPICS]
    street.live(1)
    assert documents(two) == documents(one)
    one.die()
    one.rise()
    assert one.inserts == []


def test_what_a_group_has_no_room_for_is_told_again() -> None:
    street = street_of(2)
    one, two = street.nodes
    change(one, "home/hall", HALL)
    for _ in range(3):
        [insert] = one.inserts
        one.inserts.clear()
        one.run(one.broker.inserted(insert.ticket, "there is no room", one.now))
        assert one.inserts == []
        street.wait(1.1)
    assert list(keeper_of(one).telling.untold) == ["home/hall"]
    street.live(1)
    assert documents(two) == documents(one)
    assert not keeper_of(one).telling.untold


def test_a_later_change_takes_the_place_of_one_that_is_on_its_way() -> None:
    street = street_of(2)
    one, two = street.nodes
    change(one, "home/hall", HALL)
    [first] = one.inserts
    one.inserts.clear()
    street.wait(0.1)
    change(one, "home/hall", None)
    one.run(one.broker.inserted(first.ticket, "there is no room", one.now))
    street.live(2)
    assert documents(one) == documents(two) == {"home/+": Specification.read(DOCUMENT)}
    assert not keeper_of(one).telling.untold


def test_a_large_document_is_told_in_parts() -> None:
    street = street_of(2)
    one, two = street.nodes
    names = [f"{street.random.randbytes(60).hex()}" for _ in range(250)]
    large = {"topic": "big", "roles": {name: {"streams": [f"{name}/x"]} for name in names}}
    change(one, "big", large)
    street.live(1)
    assert documents(two)["big"] == Specification.read(large)
    assert max(len(held) for held in two.streams.values()) > 1


def test_no_client_can_write_or_read_what_nodes_tell_of_documents() -> None:
    street = street_of(2)
    one, two = street.nodes
    forged = DocumentRecord("home/hall", 1, Specification.read(HALL))
    eve = two.connect(b"eve", 5)
    eve.subscribe((b"$roost/roles/#", 1), (b"#", 1))
    eve.publish(forged.told_on, b"x", qos=1, packet_id=1)
    change(one, "home/hall", HALL)
    street.live(1)
    assert brought(eve) == []
    assert [stream for stream, held in two.streams.items() if held[0].publisher == b"eve"] == []


@pytest.mark.parametrize("payload", [b"", b"\x80", b"x", b"\x84\x48" + bytes(8) + b"\x00\x01\x41\x00"])
def test_what_is_no_record_is_told_and_changes_nothing(payload: bytes) -> None:
    street = street_of(2)
    one, two = street.nodes
    topic = DocumentRecord("home/hall", 1, None).told_on
    one.broker.core.insert(0, Message(topic, payload, 1, False))
    one.run(one.broker.tick(one.now))
    street.live(1)
    assert [each.source for each in two.rejected] == ["another node"]
    assert list(documents(two)) == ["home/+"]


def test_a_document_that_cannot_hold_here_is_told_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    street = street_of(2)
    one, two = street.nodes
    change(one, "home/hall", HALL)
    monkeypatch.setattr("roost.process.roles.policy.MAX_DOCUMENTS", 1)
    street.live(1)
    assert ["cannot hold here" in each.reason for each in two.rejected] == [True]
    assert list(documents(two)) == ["home/+"]


def test_a_node_without_groups_tells_nobody_and_keeps_no_row_of_what_the_file_says() -> None:
    world = World(roles=lambda: RoleKeeper([Specification.read(DOCUMENT)], HERE))
    for document in (None, Specification.read(DOCUMENT)):
        world.run(world.broker.document_changed("home/+", document, world.now))
    assert world.inserts == []
    assert keeper_of(world).documents.record("home/+") is None
