"""Roles at the MQTT door: which stream a subscriber is given, as which topic; figure 7's table for both versions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.broker_world import World
from tests.roles_world import DOCUMENT, RAW, STREAM, brought, enter, house, messages

from roost.broker.access import ALLOW_ALL
from roost.broker.message import Message
from roost.broker.permissions import Permissions
from roost.broker.roles.sources import FileRoles
from roost.broker.settings import BrokerSettings
from roost.process.roles.specification import Specification

NOT_AUTHORIZED = 0x87
OTHER = b"home/kitchen"


def publish_both(world: World) -> None:
    """A raw reading, then what a macro makes of it; both retained on request of nobody."""
    sensor = world.connect(b"sensor")
    sensor.publish(RAW, b"exact")
    sensor.publish(STREAM, b"vague")
    sensor.disconnect()


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(
    ("user", "wanted", "granted", "came"),
    [
        ("ada", RAW, True, [(RAW, b"exact")]),
        ("ada", STREAM, True, [(STREAM, b"vague")]),
        ("cid", RAW, True, [(RAW, b"vague")]),
        ("cid", STREAM, True, [(STREAM, b"vague")]),
        ("cid", b"$raw/home/hall", False, []),
        ("ada", b"$raw/home/hall", True, [(RAW, b"exact")]),
        ("ann", RAW, True, [(RAW, b"vague")]),
        ("ann", b"$raw/home/hall", True, [(RAW, b"exact")]),
        ("ann", b"$raw/home/+", True, [(RAW, b"exact")]),
        ("vic", RAW, False, []),
        ("vic", STREAM, False, []),
        ("vic", b"home/+", False, []),
        ("vic", b"$raw/home/+", False, []),
        ("bob", RAW, False, []),
        ("bob", STREAM, False, []),
        ("bob", b"#", True, []),
        ("cid", b"home/+", True, [(RAW, b"vague")]),
        ("cid", b"home/#", True, [(RAW, b"vague")]),
        ("cid", b"#", True, [(RAW, b"vague")]),
        ("cid", b"Noctua/#", True, [(STREAM, b"vague")]),
        ("cid", b"$raw/#", True, [(STREAM, b"vague")]),
        ("ada", b"#", True, [(RAW, b"exact"), (STREAM, b"vague")]),
        ("cid", b"$share/g/home/hall", True, [(RAW, b"vague")]),
        ("vic", b"$share/g/home/hall", False, []),
        ("ann", b"$share/g/$raw/home/hall", True, [(RAW, b"exact")]),
    ],
)
def test_figure_7(user: str, wanted: bytes, granted: bool, came: Sequence[object], version: int) -> None:
    world = house()
    client = enter(world, user, version)
    refusal = NOT_AUTHORIZED if version == 5 else 0x80
    assert client.subscribe((wanted, 0)) == [0 if granted else refusal]
    publish_both(world)
    assert brought(client) == came


def test_what_nothing_governs_is_as_ever() -> None:
    world = house()
    bob = enter(world, "bob")
    assert bob.subscribe(b"garden/#") == [0]
    world.connect(b"sensor").publish(b"garden/pond", b"1")
    assert brought(bob) == [(b"garden/pond", b"1")]


def test_a_client_of_5_is_told_the_stream_that_it_gets() -> None:
    world = house()
    cid, ada = enter(world, "cid"), enter(world, "ada")
    cid.subscribe(RAW)
    ada.subscribe(RAW, STREAM)
    publish_both(world)
    assert messages(cid)[0].properties["user"] == [(b"stream", STREAM)]
    assert [each.properties for each in messages(ada)] == [{}, {}]


def test_one_result_for_a_whole_filter_comes_as_the_topic_or_as_itself() -> None:
    world = house()
    kim = enter(world, "kim")
    lea = enter(world, "kim", client="lea")
    kim.subscribe(RAW)
    lea.subscribe(b"home/+")
    world.connect(b"sensor").publish(b"Noctua/home/mean", b"20")
    assert brought(kim) == [(RAW, b"20")]
    assert brought(lea) == [(b"Noctua/home/mean", b"20")]
    kim.subscribe(OTHER)
    world.connect(b"sensor").publish(b"Noctua/home/mean", b"21")
    assert sorted(brought(kim)) == [(RAW, b"21"), (OTHER, b"21")]


def test_overlapping_filters_bring_one_copy_with_all_identifiers_at_the_highest_qos() -> None:
    world = house()
    cid = enter(world, "cid")
    cid.subscribe((b"home/#", 0), properties=props(subscription_id=1))
    cid.subscribe((RAW, 1), properties=props(subscription_id=2))
    world.connect(b"sensor").publish(STREAM, b"vague", qos=1, packet_id=1)
    [message] = messages(cid)
    assert (message.topic, message.qos, sorted(message.properties["subscription_id"])) == (RAW, 1, [1, 2])


def test_unsubscribing_the_topic_ends_the_stream_in_its_place() -> None:
    world = house()
    cid = enter(world, "cid")
    cid.subscribe(RAW)
    publish_both(world)
    cid.send(packets.unsubscribe(2, RAW, version=5))
    cid.seen()
    publish_both(world)
    assert brought(cid) == []


def test_permissions_hold_beside_roles_for_the_topic_that_is_delivered() -> None:
    access = Permissions.parse(
        "user sensor\nwrite #\nuser cid\nread home/#\nuser ada\nread Noctua/#\nuser ann\nread home/#"
    )
    world = house(access=access)
    cid, ada = enter(world, "cid"), enter(world, "ada")
    assert cid.subscribe(RAW, STREAM, b"#") == [0, NOT_AUTHORIZED, 0]
    assert ada.subscribe(RAW, STREAM, b"$raw/home/hall") == [NOT_AUTHORIZED, 0, NOT_AUTHORIZED]
    sensor = enter(world, "sensor")
    sensor.publish(RAW, b"exact")
    sensor.publish(STREAM, b"vague")
    assert brought(cid) == [(RAW, b"vague")]
    assert brought(ada) == [(STREAM, b"vague")]


# -- retained messages


@pytest.mark.parametrize(
    ("user", "wanted", "came"),
    [
        ("ada", RAW, [(RAW, b"exact")]),
        ("cid", RAW, [(RAW, b"vague")]),
        ("cid", b"home/+", [(RAW, b"vague")]),
        ("cid", b"#", [(RAW, b"vague")]),
        ("cid", STREAM, [(STREAM, b"vague")]),
        ("ann", b"$raw/home/+", [(RAW, b"exact")]),
        ("bob", b"#", []),
    ],
)
def test_what_is_retained_is_judged_as_what_comes(user: str, wanted: bytes, came: Sequence[object]) -> None:
    world = house()
    sensor = world.connect(b"sensor")
    sensor.publish(RAW, b"exact", retain=True)
    sensor.publish(STREAM, b"vague", retain=True)
    client = enter(world, user)
    client.subscribe(wanted)
    world.settle()
    found = messages(client)
    assert [(each.topic, each.payload) for each in found] == came
    assert all(each.retain for each in found)


def test_the_rest_of_what_is_retained_comes_after_a_restart_and_nothing_else() -> None:
    settings = BrokerSettings(sys_interval_s=0, persistent=True, max_inflight=1, queue_qos0=False)
    world = house(settings=settings)
    sensor = world.connect(b"sensor")
    for number in range(100):
        sensor.publish(b"home/%02d" % number, b"exact", qos=1, packet_id=1, retain=True)
        sensor.publish(b"Noctua/home/%02d/anonymize" % number, b"%02d" % number, qos=1, packet_id=1, retain=True)
    cid = enter(world, "cid", clean=False, properties=props(session_expiry=3600))
    cid.subscribe((b"home/+", 1))
    world.crash()
    cid = enter(world, "cid", clean=False, properties=props(session_expiry=3600))
    came: set[tuple[bytes, bytes]] = set()
    while found := messages(cid):
        for each in found:
            came.add((each.topic, each.payload))
            cid.send(packets.puback(each.packet_id))
        world.settle()
    assert came == {(b"home/%02d" % number, b"%02d" % number) for number in range(100)}


# -- sessions and shared subscriptions


def test_a_session_that_was_away_gets_its_stream_also_after_a_restart() -> None:
    world = house(settings=BrokerSettings(sys_interval_s=0, persistent=True))
    lasting = props(session_expiry=3600)
    cid = enter(world, "cid", clean=False, properties=lasting)
    cid.subscribe((RAW, 1))
    cid.disconnect()
    sensor = world.connect(b"sensor")
    sensor.publish(STREAM, b"one", qos=1, packet_id=1)
    world.crash()
    sensor = world.connect(b"sensor")
    sensor.publish(RAW, b"exact", qos=1, packet_id=1)
    sensor.publish(STREAM, b"two", qos=1, packet_id=2)
    cid = enter(world, "cid", clean=False, properties=lasting)
    assert brought(cid) == [(RAW, b"one"), (RAW, b"two")]


def test_members_of_a_shared_subscription_get_what_their_own_roles_may_see() -> None:
    world = house()
    ada, cid = enter(world, "ada"), enter(world, "cid")
    for client in (ada, cid):
        client.subscribe(b"$share/g/home/hall")
    for _ in range(3):
        publish_both(world)
    assert brought(ada) == [(RAW, b"exact")] * 3
    assert brought(cid) == [(RAW, b"vague")] * 3


def test_what_a_member_leaves_goes_to_one_whose_roles_may_see_it() -> None:
    world = house()
    cid = enter(world, "cid")
    cid.subscribe((b"$share/g/home/hall", 1))
    world.connect(b"sensor").publish(STREAM, b"vague", qos=1, packet_id=1)
    ada, coe = enter(world, "ada"), enter(world, "cid", client="coe")
    for client in (ada, coe):
        client.subscribe((b"$share/g/home/hall", 1))
    assert brought(cid) == [(RAW, b"vague")]
    cid.disconnect()
    assert brought(ada) == []
    [message] = messages(coe)
    assert (message.topic, message.payload) == (RAW, b"vague")
    assert message.properties["user"] == [(b"stream", STREAM)]


def test_what_a_member_leaves_is_told_apart_after_a_restart_too() -> None:
    world = house(settings=BrokerSettings(sys_interval_s=0, persistent=True))
    lasting = props(session_expiry=60)
    cid = enter(world, "cid", clean=False, properties=lasting)
    cid.subscribe((b"$share/g/home/hall", 1))
    world.connect(b"sensor").publish(STREAM, b"vague", qos=1, packet_id=1)
    world.crash()
    ada, coe = enter(world, "ada"), enter(world, "cid", client="coe")
    for client in (ada, coe):
        client.subscribe((b"$share/g/home/hall", 1))
    world.wait(61)
    assert brought(ada) == []
    assert brought(coe) == [(RAW, b"vague")]


def test_a_will_is_published_by_whoever_has_it_and_governed_for_who_gets_it() -> None:
    world = house()
    cid, ada = enter(world, "cid"), enter(world, "ada")
    cid.subscribe(RAW)
    ada.subscribe(RAW)
    enter(world, "vic", will=RAW, will_payload=b"gone").vanish()
    assert brought(cid) == []
    assert brought(ada) == [(RAW, b"gone")]


def test_nobody_is_reached_by_publishing_to_the_form_of_a_subscription() -> None:
    world = house()
    ann = enter(world, "ann")
    ann.subscribe(b"$raw/home/hall")
    world.connect(b"sensor").publish(b"$raw/home/hall", b"forged")
    assert brought(ann) == []
    assert ann.subscribe(b"$raw/$SYS/broker/uptime", b"$raw/") == [0x8F, 0x8F]


# -- other documents, and other roles


def test_another_document_counts_from_the_next_message() -> None:
    world = house()
    cid = enter(world, "cid")
    cid.subscribe(RAW)
    publish_both(world)
    given = Specification.read({"topic": "home/hall", "roles": {"customer": {"streams": ["raw"]}}})
    world.run(world.broker.document_changed("home/hall", given, world.now))
    publish_both(world)
    world.run(world.broker.document_changed("home/hall", None, world.now))
    publish_both(world)
    assert brought(cid) == [(RAW, b"vague"), (RAW, b"exact"), (RAW, b"vague")]


def test_documents_that_were_changed_are_there_after_a_restart_on_top_of_the_file() -> None:
    world = house(settings=BrokerSettings(sys_interval_s=0, persistent=True))
    given = Specification.read({"topic": "home/hall", "roles": {"customer": {"streams": ["raw"]}}})
    world.run(world.broker.document_changed("home/hall", given, world.now))
    world.run(world.broker.document_changed("home/+", None, world.now))
    world.crash()
    keeper = world.broker.core.roles
    assert keeper is not None
    assert list(keeper.policy.documents) == ["home/hall"]
    world.run(world.broker.document_changed("home/+", Specification.read(DOCUMENT), world.now))
    assert [key for key in world.disk.rows if key[:1] == b"d"] == [b"dhome/hall"]


def test_another_roles_file_moves_live_subscriptions() -> None:
    world = house()
    cid = enter(world, "cid")
    cid.subscribe(RAW)
    publish_both(world)
    for role in ("developer", "visitor", "customer"):
        fresh = FileRoles({"cid": frozenset({role})})
        world.run(world.broker.roles_reloaded([Specification.read(DOCUMENT)], fresh, world.now))
        publish_both(world)
    assert brought(cid) == [(RAW, b"vague"), (RAW, b"exact"), (RAW, b"vague")]


# -- results of macros that no document names


@pytest.mark.parametrize(
    ("user", "inputs", "visible"),
    [
        ("ada", ["home/hall"], True),
        ("cid", ["home/hall"], False),
        ("ann", ["home/hall", "garden"], True),
        ("cid", ["garden"], True),
        ("cid", ["home/#"], False),
        ("ada", ["home/#"], True),
        ("cid", ["#"], False),
        ("cid", ["Noctua/home/hall/anonymize"], True),
        ("vic", ["Noctua/home/hall/anonymize"], False),
        ("cid", ["Noctua/hidden"], False),
        ("bob", ["garden/+"], True),
    ],
)
def test_a_result_without_document_is_for_who_may_see_all_inputs(user: str, inputs: list[str], visible: bool) -> None:
    world = house()
    keeper = world.broker.core.roles
    assert keeper is not None
    keeper.inputs_of = {"Noctua/open": inputs, "Noctua/hidden": ["home/hall"]}.get
    one, all_ = enter(world, user), enter(world, user, client="all")
    assert one.subscribe(b"Noctua/open") == [0 if visible else NOT_AUTHORIZED]
    all_.subscribe(b"Noctua/#")
    world.connect(b"sensor").publish(b"Noctua/open", b"1")
    assert brought(one) == brought(all_) == ([(b"Noctua/open", b"1")] if visible else [])


def test_without_roles_nothing_is_looked_at_twice() -> None:
    world = World(access=ALLOW_ALL)
    bob = world.connect(b"bob")
    assert bob.subscribe(b"$raw/home/hall", STREAM) == [0, 0]
    world.connect(b"sensor").publish(RAW, b"1")
    assert brought(bob) == []


def test_the_broker_counts_what_roles_did() -> None:
    world = house(settings=BrokerSettings(sys_interval_s=10))
    ada = enter(world, "ada")
    ada.subscribe(b"$SYS/broker/roles/#")
    world.settle()
    assert (b"$SYS/broker/roles/documents", b"1") in brought(ada)


def test_a_message_given_as_another_topic_is_itself_otherwise() -> None:
    world = house()
    keeper = world.broker.core.roles
    assert keeper is not None
    message = Message(STREAM, b"vague", 1, True, b"", 7, b"sensor", 5, (0, b"/stream", 3))
    dressed = keeper.dress(message, RAW)
    assert dressed is keeper.dress(message, RAW)
    assert (dressed.topic, dressed.stream, dressed.origin, dressed.expires) == (RAW, STREAM, message.origin, 7)
    assert keeper.dress(dressed, OTHER).kept == dressed.kept
