"""Roles that are found out while messages come: what is held, what is answered late, and what follows from changes."""

from __future__ import annotations

import pytest
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.broker_world import Client, World
from tests.roles_world import DOCUMENT, RAW, STREAM, brought, enter, house, messages

from roost.broker.roles.keeper import MAX_ASKED, RoleKeeper
from roost.broker.roles.sources import TopicRoles
from roost.broker.settings import BrokerSettings
from roost.errors import BadConfig
from roost.machine import SECOND
from roost.process.roles.lookup_port import LookupSettings

NOT_AUTHORIZED = 0x87


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
        sensor.publish(b"garden", b"free " + payload)
    sensor.disconnect()


@pytest.mark.parametrize("version", [4, 5])
def test_nothing_is_lost_while_the_roles_are_looked_up(version: int) -> None:
    world = house(source=None)
    cid = enter(world, "cid", version)
    ask(cid, RAW)
    assert [each.user for each in world.looked_up] == ["cid"]
    say(world, b"1", b"2")
    assert cid.seen() == []
    world.answer("customer")
    say(world, b"3")
    found = cid.seen()
    assert (found[0].kind, found[0].codes) == ("SUBACK", [0])
    assert [(each.topic, each.payload) for each in found[1:]] == [(RAW, b"1"), (RAW, b"2"), (RAW, b"3")]


def test_what_is_held_is_lost_and_counted_with_the_switch_of_the_experiment() -> None:
    world = house(source=None, hold=False)
    cid = enter(world, "cid")
    ask(cid, RAW)
    say(world, b"1", b"2")
    world.answer("customer")
    say(world, b"3")
    assert brought(cid) == [(RAW, b"3")]
    assert keeper_of(world).holding.dropped == 4


@pytest.mark.parametrize("version", [4, 5])
def test_what_roles_refuse_is_refused_late_and_what_was_held_goes_to_nobody(version: int) -> None:
    world = house(source=None)
    vic = enter(world, "vic", version)
    ask(vic, RAW, (b"garden", 1), b"home/+")
    say(world, b"1")
    assert brought(vic) == [(b"garden", b"free 1")]
    world.answer("visitor")
    refusal = NOT_AUTHORIZED if version == 5 else 0x80
    assert vic.one("SUBACK").codes == [refusal, 1, refusal]
    say(world, b"2")
    assert brought(vic) == [(b"garden", b"free 2")]
    assert len(keeper_of(world).holding) == 0


def test_a_filter_that_roles_do_not_touch_is_answered_at_once() -> None:
    world = house(source=None)
    cid = enter(world, "cid")
    assert cid.subscribe(b"garden") == [0]
    assert world.looked_up == []


def test_roles_that_cannot_be_found_out_are_none_that_documents_know() -> None:
    world = house(source=None)
    cid = enter(world, "cid")
    ask(cid, RAW)
    say(world, b"1")
    world.answer(why="the service is down")
    assert cid.one("SUBACK").codes == [NOT_AUTHORIZED]
    ada = enter(world, "ada")
    ask(ada, b"#")
    say(world, b"2")
    world.wait(6)
    assert brought(ada) == [(b"garden", b"free 2")]
    assert keeper_of(world).roles_of(b"ada") == (None, "no answer in 5 s")


def test_a_second_session_of_a_user_shares_the_look_up() -> None:
    world = house(source=None)
    one, two = enter(world, "cid"), enter(world, "cid", client="two")
    ask(one, RAW)
    ask(two, RAW)
    say(world, b"1")
    assert len(world.looked_up) == 1
    world.answer("customer")
    assert brought(one) == brought(two) == [(RAW, b"1")]
    assert enter(world, "cid", client="three").subscribe(RAW) == [0]
    assert world.looked_up == []


def test_a_look_up_that_nobody_needs_any_more_is_forgotten() -> None:
    world = house(source=None)
    cid = enter(world, "cid")
    ask(cid, RAW)
    say(world, b"1")
    cid.vanish()
    keeper = keeper_of(world)
    assert (len(keeper.standings), len(keeper.holding), keeper.holding.sizes()["bytes"][0]) == (0, 0, 0)
    world.answer("customer")
    assert keeper.asked == []


def test_who_is_away_when_the_answer_comes_has_its_subscription_all_the_same() -> None:
    world = house(source=None)
    lasting = props(session_expiry=3600)
    cid = enter(world, "cid", clean=False, properties=lasting)
    ask(cid, (RAW, 1))
    sensor = world.connect(b"sensor")
    sensor.publish(STREAM, b"1", qos=1, packet_id=1)
    cid.vanish()
    world.answer("customer")
    cid = enter(world, "cid", clean=False, properties=lasting)
    assert brought(cid) == [(RAW, b"1")]


def test_what_is_retained_comes_once_behind_what_was_held() -> None:
    world = house(source=None)
    sensor = world.connect(b"sensor")
    sensor.publish(STREAM, b"old", retain=True)
    sensor.publish(b"Noctua/home/attic/anonymize", b"attic", retain=True)
    sensor.publish(b"home/attic", b"exact", retain=True)
    cid = enter(world, "cid")
    ask(cid, b"home/+")
    sensor.publish(STREAM, b"new", retain=True)
    assert cid.seen() == []
    world.answer("customer")
    world.settle()
    assert brought(cid) == [(RAW, b"new"), (b"home/attic", b"attic")]


def test_other_roles_move_live_subscriptions_from_the_next_message_on() -> None:
    world = house(source=None)
    cid = enter(world, "cid")
    ask(cid, RAW)
    world.answer("customer")
    say(world, b"1")
    world.run(world.broker.roles_changed("cid", world.now))
    say(world, b"2")
    world.answer("developer")
    say(world, b"3")
    assert brought(cid) == [(RAW, b"1"), (RAW, b"2"), (RAW, b"exact 3")]


def test_roles_are_looked_up_again_before_they_are_too_old_and_lost_if_nobody_answers() -> None:
    world = house(source=None, lookup=LookupSettings(ttl=20 * SECOND, negative_ttl=2 * SECOND))
    cid = enter(world, "cid")
    ask(cid, RAW)
    world.answer("customer")
    world.wait(16)
    say(world, b"1")
    world.answer("developer")
    say(world, b"2")
    world.wait(30)
    say(world, b"3")
    assert brought(cid) == [(RAW, b"1"), (RAW, b"exact 2")]


def test_a_persistent_session_is_looked_up_again_after_a_restart_and_loses_nothing() -> None:
    world = house(source=None, settings=BrokerSettings(sys_interval_s=0, persistent=True))
    lasting = props(session_expiry=3600)
    cid = enter(world, "cid", clean=False, properties=lasting)
    ask(cid, (RAW, 1))
    world.answer("customer")
    world.crash()
    sensor = world.connect(b"sensor")
    sensor.publish(STREAM, b"1", qos=1, packet_id=1)
    sensor.publish(RAW, b"exact", qos=1, packet_id=2)
    cid = enter(world, "cid", clean=False, properties=lasting)
    assert brought(cid) == []
    world.answer("customer")
    assert brought(cid) == [(RAW, b"1")]


def test_shared_subscriptions_wait_only_if_no_member_is_known_that_may_have_it() -> None:
    world = house(source=None)
    cid, ada = enter(world, "cid"), enter(world, "ada")
    ask(cid, b"$share/g/home/hall")
    ask(ada, b"$share/g/home/hall")
    say(world, b"1")
    world.answer("customer")
    say(world, b"2")
    world.answer("developer")
    assert brought(cid) == [(RAW, b"1"), (RAW, b"2")]
    assert brought(ada) == [(RAW, b"exact 1"), (RAW, b"exact 2")]
    assert keeper_of(world).groups == {}


def test_messages_for_a_shared_subscription_go_with_its_last_member() -> None:
    world = house(source=None)
    cid = enter(world, "cid")
    ask(cid, b"$share/g/home/hall")
    say(world, b"1")
    cid.vanish()
    assert (keeper_of(world).groups, len(keeper_of(world).holding)) == ({}, 0)


def test_there_is_an_end_to_those_who_wait() -> None:
    world = house(source=None)
    cid, ada = enter(world, "cid"), enter(world, "ada")
    ask(cid, RAW)
    keeper = keeper_of(world)
    keeper.asked *= MAX_ASKED
    ask(ada, RAW)
    assert ada.one("SUBACK").codes == [0x97]
    del keeper.asked[1:]
    world.answer("customer")
    assert cid.one("SUBACK").codes == [0]


def test_who_has_no_name_has_no_roles_and_nobody_is_asked() -> None:
    everybody = {"topic": "home/+", "roles": {"*": {"streams": ["{topic}/anonymize"]}}}
    world = house(everybody, source=None)
    client = world.connect(b"nobody", 5)
    assert client.subscribe(RAW) == [0]
    say(world, b"1")
    assert brought(client) == [(RAW, b"1")]
    assert world.looked_up == []


# -- roles in retained messages


def test_roles_in_retained_messages_hold_as_they_are_published() -> None:
    world = house(source=TopicRoles("staff/%u/roles"))
    cid = enter(world, "cid")
    office = world.connect(b"office")
    office.publish(b"staff/cid/roles", b"customer", retain=True)
    assert cid.subscribe(RAW) == [0]
    say(world, b"1")
    office.publish(b"staff/cid/roles", b'["developer", "tester"]', retain=True)
    say(world, b"2")
    office.publish(b"staff/cid/roles", b"[7]", retain=True)
    say(world, b"3")
    office.publish(b"staff/cid/roles", b"customer", retain=True, properties=b"")
    say(world, b"4")
    office.publish(b"staff/cid/roles", b"", retain=True)
    say(world, b"5")
    assert brought(cid) == [(RAW, b"1"), (RAW, b"exact 2"), (RAW, b"4")]


def test_roles_in_a_retained_message_end_with_it() -> None:
    world = house(source=TopicRoles("staff/%u/roles"))
    office = world.connect(b"office", 5)
    office.publish(b"staff/cid/roles", b"customer", retain=True, properties=props(expiry=60))
    cid = enter(world, "cid")
    cid.subscribe(RAW)
    say(world, b"1")
    world.wait(50)
    cid.send(packets.pingreq())
    world.wait(15)
    say(world, b"2")
    assert brought(cid) == [(RAW, b"1")]


@pytest.mark.parametrize("user", ["a/b", "+", "#", "cid"])
def test_a_name_that_is_no_level_has_no_roles(user: str) -> None:
    world = house(source=TopicRoles("staff/%u/roles"))
    world.connect(b"office").publish(b"staff/cid/roles", b"customer", retain=True)
    assert keeper_of(world).roles_of(user.encode())[0] == (frozenset({"customer"}) if user == "cid" else frozenset())


@pytest.mark.parametrize("pattern", ["staff/roles", "staff/%u/%u", "staff/+/%u", "staff/x%u", "$SYS/%u"])
def test_a_topic_of_roles_has_one_level_for_the_user(pattern: str) -> None:
    with pytest.raises(BadConfig, match="staff/%u/roles"):
        TopicRoles(pattern)


def test_a_message_with_its_stream_survives_as_what_it_is() -> None:
    world = house(DOCUMENT, source=None, settings=BrokerSettings(sys_interval_s=0, persistent=True))
    lasting = props(session_expiry=3600)
    cid = enter(world, "cid", clean=False, properties=lasting)
    ask(cid, (RAW, 2))
    world.answer("customer")
    cid.vanish()
    world.connect(b"sensor").publish(STREAM, b"1", qos=1, packet_id=1)
    world.crash()
    [session] = world.broker.core.sessions.values()
    assert [(each.message.topic, each.message.stream, each.message.qos) for each in session.again] == [(RAW, STREAM, 1)]
    cid = enter(world, "cid", clean=False, properties=lasting)
    assert [each.properties["user"] for each in messages(cid)] == [[(b"stream", STREAM)]]
