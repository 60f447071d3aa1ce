"""What happens while roles are looked up: documents change, filters go, sessions end or are taken over."""

from __future__ import annotations

import pytest
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.broker_world import Client, World
from tests.roles_world import DOCUMENT, RAW, STREAM, brought, enter, house

from roost.broker.roles.keeper import RoleKeeper
from roost.broker.settings import BrokerSettings
from roost.process.roles.specification import Specification

NOT_AUTHORIZED = 0x87
LASTING = props(session_expiry=3600)


def keeper_of(world: World) -> RoleKeeper:
    keeper = world.broker.core.roles
    assert keeper is not None
    return keeper


def ask(client: Client, *filters: bytes | tuple[bytes, int], packet_id: int = 1) -> None:
    client.send(packets.subscribe(packet_id, *filters, version=client.version))


def say(world: World, *payloads: bytes) -> None:
    """Publish a raw reading and a vague one for each."""
    sensor = world.connect(b"sensor")
    for payload in payloads:
        sensor.publish(RAW, b"exact " + payload)
        sensor.publish(STREAM, payload)
    sensor.disconnect()


def change(world: World, topic: str, document: dict[str, object] | None) -> None:
    read = None if document is None else Specification.read(document)
    world.run(world.broker.document_changed(topic, read, world.now))


# -- documents


def test_what_was_held_comes_before_what_is_new_when_the_document_goes() -> None:
    world = house(source=None)
    cid = enter(world, "cid")
    ask(cid, RAW)
    say(world, b"1")
    change(world, "home/+", None)
    say(world, b"2")
    assert brought(cid) == [(RAW, b"exact 1"), (RAW, b"exact 2")]
    world.answer("customer")
    assert cid.one("SUBACK").codes == [0]
    assert len(keeper_of(world).holding) == 0


def test_what_another_document_governs_goes_on_waiting() -> None:
    world = house(DOCUMENT, {"topic": "garden", "roles": {"customer": {"streams": ["raw"]}}}, source=None)
    cid = enter(world, "cid")
    ask(cid, RAW, b"garden")
    gardener = world.connect(b"gardener")
    gardener.publish(b"garden", b"1")
    say(world, b"1")
    change(world, "home/+", None)
    gardener.publish(b"garden", b"2")
    assert brought(cid) == [(RAW, b"exact 1")]
    world.answer("customer")
    assert brought(cid) == [(b"garden", b"1"), (b"garden", b"2")]


def test_what_is_held_for_a_shared_subscription_comes_when_the_document_goes() -> None:
    world = house(source=None)
    cid = enter(world, "cid")
    ask(cid, b"$share/g/home/hall")
    say(world, b"1")
    change(world, "home/+", None)
    say(world, b"2")
    assert brought(cid) == [(RAW, b"exact 1"), (RAW, b"exact 2")]
    assert keeper_of(world).groups == {}


def test_a_document_that_comes_meanwhile_decides_what_was_held() -> None:
    world = house(source=None)
    cid = enter(world, "cid")
    ask(cid, RAW)
    say(world, b"1")
    change(world, "home/hall", {"topic": "home/hall", "roles": {"customer": {"streams": ["raw"]}}})
    world.answer("customer")
    assert brought(cid) == [(RAW, b"exact 1")]


def test_a_document_for_a_topic_that_was_open_has_roles_looked_up_and_loses_nothing() -> None:
    world = house({"topic": "garden", "roles": {"customer": {"streams": ["raw"]}}}, source=None)
    cid, eve = enter(world, "cid"), enter(world, "eve")
    for client in (cid, eve):
        assert client.subscribe(RAW) == [0]
    say(world, b"1")
    change(world, "home/hall", {"topic": "home/hall", "roles": {"customer": {"streams": ["raw"]}}})
    say(world, b"2")
    assert sorted(each.user for each in world.looked_up) == ["cid", "eve"]
    for user, role in (("cid", "customer"), ("eve", "visitor")):
        assert world.looked_up[0].user == user
        world.answer(role)
    say(world, b"3")
    assert brought(cid) == [(RAW, b"exact 1"), (RAW, b"exact 2"), (RAW, b"exact 3")]
    assert brought(eve) == [(RAW, b"exact 1")]


# -- filters and sessions


@pytest.mark.parametrize("version", [4, 5])
def test_a_filter_that_is_given_up_meanwhile_brings_nothing(version: int) -> None:
    world = house(source=None)
    cid = enter(world, "cid", version)
    ask(cid, RAW)
    say(world, b"1")
    cid.send(packets.unsubscribe(2, RAW, version=version))
    say(world, b"2")
    assert cid.kinds() == ["UNSUBACK"]
    world.answer("customer")
    say(world, b"3")
    assert cid.kinds() == ["SUBACK"]


def test_a_filter_that_is_given_up_and_wanted_again_counts_from_then_on() -> None:
    world = house(source=None)
    cid = enter(world, "cid")
    ask(cid, (RAW, 0))
    cid.send(packets.unsubscribe(2, RAW, version=5))
    ask(cid, (RAW, 1), packet_id=3)
    say(world, b"1")
    world.answer("customer")
    found = cid.seen()
    assert [(each.kind, each.packet_id) for each in found if each.kind != "PUBLISH"] == [
        ("UNSUBACK", 2),
        ("SUBACK", 1),
        ("SUBACK", 3),
    ]
    assert [each.payload for each in found if each.kind == "PUBLISH"] == [b"1"]


def test_the_same_user_from_a_new_link_gets_what_was_held_there() -> None:
    world = house(source=None)
    old = enter(world, "cid", clean=False, properties=LASTING)
    ask(old, (RAW, 1))
    sensor = world.connect(b"sensor")
    sensor.publish(STREAM, b"1", qos=1, packet_id=1)
    new = enter(world, "cid", clean=False, properties=LASTING)
    assert old.closed
    world.answer("customer")
    assert [(each.kind, each.payload) for each in new.seen()] == [("PUBLISH", b"1")]


def test_a_clean_start_meanwhile_leaves_nothing_of_the_session_before() -> None:
    world = house(source=None)
    ask(enter(world, "cid"), RAW)
    say(world, b"1")
    new = enter(world, "cid")
    ask(new, b"home/kitchen")
    say(world, b"2")
    for _ in list(world.looked_up):
        world.answer("customer")
    world.settle()
    assert new.kinds() == ["SUBACK"]
    say(world, b"3")
    assert brought(new) == []
    assert (keeper_of(world).asked, len(keeper_of(world).holding)) == ([], 0)


def test_a_user_who_takes_over_nobodys_session_has_nothing_of_it() -> None:
    everybody: dict[str, object] = {
        "topic": "home/+",
        "roles": {"customer": {"streams": ["{topic}/anonymize"]}, "*": {"streams": ["raw"]}},
    }
    world = house(everybody, source=None)
    nobody = world.connect(b"one", 5)
    nobody.subscribe(RAW)
    say(world, b"1")
    cid = enter(world, "cid", client="one")
    assert nobody.closed
    say(world, b"2")
    ask(cid, RAW)
    say(world, b"3")
    world.answer("customer")
    assert brought(cid) == [(RAW, b"3")]


# -- wildcards


@pytest.mark.parametrize("wanted", [b"#", b"+/+", b"+/#", b"home/#", b"$share/g/+/+"])
@pytest.mark.parametrize(("role", "came"), [("customer", b"1"), ("developer", b"exact 1"), ("visitor", b"")])
def test_wide_filters_wait_and_bring_the_default_once(wanted: bytes, role: str, came: bytes) -> None:
    world = house(source=None)
    cid = enter(world, "cid")
    ask(cid, wanted, b"garden")
    say(world, b"1")
    world.connect(b"sensor").publish(b"garden", b"free")
    world.answer(role)
    found = [each for each in brought(cid) if each[0] == RAW]
    assert found == ([(RAW, came)] if came else [])


def test_a_will_waits_for_the_roles_of_who_gets_it() -> None:
    world = house(source=None)
    cid = enter(world, "cid")
    ask(cid, b"+/+")
    enter(world, "vic", will=STREAM, will_payload=b"gone").vanish()
    assert brought(cid) == []
    world.answer("customer")
    assert brought(cid) == [(RAW, b"gone")]


def test_a_member_with_a_full_queue_is_passed_over_only_for_one_who_may_see_it() -> None:
    world = house(settings=BrokerSettings(sys_interval_s=0, max_queued=1, max_inflight=1))
    one, two, vic = enter(world, "cid"), enter(world, "cid", client="two"), enter(world, "vic")
    for client in (one, two):
        client.subscribe((b"$share/g/home/hall", 1))
    vic.subscribe((b"$share/g/home/hall", 1), (b"$share/g/#", 1))
    sensor = world.connect(b"sensor")
    for number in range(4):
        sensor.publish(STREAM, b"%d" % number, qos=1, packet_id=1)
    assert brought(vic) == []
    assert len(brought(one)) == len(brought(two)) == 1
