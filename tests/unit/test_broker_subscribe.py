"""SUBSCRIBE and UNSUBSCRIBE: options, identifiers, retain handling, shared subscriptions, refusals."""

from __future__ import annotations

import pytest
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.broker_world import World

from roost.broker.access import ALLOW_ALL, NOTHING, PART, Access
from roost.broker.handlers.subscribe import MAX_ENTRIES
from roost.broker.message import Message
from roost.broker.settings import BrokerSettings

NO_LOCAL, AS_PUBLISHED = 4, 8


class Halls:
    """One tree, of everything below `hall`."""

    def of(self, topic: bytes) -> int | None:
        return 7 if topic.startswith(b"hall/") else None

    def refusal_of(self, tree: int, message: Message) -> str:  # noqa: ARG002  a stand-in
        return ""


def quiet(**options: object) -> BrokerSettings:
    return BrokerSettings(sys_interval_s=0, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [4, 5])
def test_a_subscription_ends_with_unsubscribe(version: int) -> None:
    world = World()
    bob = world.connect(b"bob", version)
    assert bob.subscribe((b"a", 0), (b"b", 2)) == [0, 2]
    bob.send(packets.unsubscribe(5, b"a", b"never", version=version))
    answer = bob.one("UNSUBACK")
    assert (answer.packet_id, answer.codes) == (5, [0, 0x11] if version == 5 else [])
    ann = world.connect(b"ann")
    ann.publish(b"a", b"1")
    ann.publish(b"b", b"2")
    assert bob.payloads() == [b"2"]


def test_overlapping_filters_bring_one_copy_at_the_highest_qos_with_all_identifiers() -> None:
    world = World()
    bob = world.connect(b"bob", 5)
    bob.subscribe((b"a/#", 0), properties=props(subscription_id=7))
    bob.subscribe((b"a/+", 2), properties=props(subscription_id=300))
    bob.subscribe((b"a/b", 1))
    world.connect(b"ann").publish(b"a/b", b"x", qos=1, packet_id=1)
    message = bob.one("PUBLISH")
    assert message.qos == 1
    assert sorted(message.properties["subscription_id"]) == [7, 300]


def test_a_subscription_is_replaced() -> None:
    world = World()
    bob = world.connect(b"bob", 5)
    bob.subscribe((b"a", 0), properties=props(subscription_id=7))
    bob.subscribe((b"a", 1))
    world.connect(b"ann").publish(b"a", b"x", qos=1, packet_id=1)
    message = bob.one("PUBLISH")
    assert (message.qos, message.properties) == (1, {})
    assert world.broker.statistics().subscriptions == 1


def test_no_local_keeps_a_clients_own_messages_away() -> None:
    world = World()
    bob, ann = world.connect(b"bob", 5), world.connect(b"ann", 5)
    bob.subscribe((b"a", NO_LOCAL), properties=props(subscription_id=1))
    for client, came in ((bob, 0), (ann, 1)):
        client.publish(b"a", b"x")
        client.publish(b"a", b"y", qos=1, packet_id=1)
        assert len([each for each in bob.seen() if each.kind == "PUBLISH"]) == 2 * came
    bob.subscribe((b"+", 1), properties=props(subscription_id=2))
    bob.publish(b"a", b"x")
    assert bob.one("PUBLISH").properties["subscription_id"] == [2]


@pytest.mark.parametrize("options", [0, AS_PUBLISHED])
def test_retain_as_published(options: int) -> None:
    world = World()
    bob = world.connect(b"bob", 5)
    bob.subscribe((b"a", options))
    world.connect(b"ann").publish(b"a", b"x", retain=True)
    assert bob.one("PUBLISH").retain == bool(options)


@pytest.mark.parametrize(("handling", "first", "second"), [(0, 1, 1), (1, 1, 0), (2, 0, 0)])
def test_retain_handling(handling: int, first: int, second: int) -> None:
    world = World()
    world.connect(b"ann").publish(b"a", b"x", retain=True)
    bob = world.connect(b"bob", 5)
    for expected in (first, second):
        bob.subscribe((b"a", handling << 4))
        assert len(bob.seen()) == expected


def test_wildcards_do_not_reach_dollar_topics() -> None:
    world = World()
    bob = world.connect(b"bob")
    bob.subscribe(b"#", b"+/x")
    world.connect(b"ann").publish(b"$hidden/x", b"x")
    assert bob.kinds() == []


@pytest.mark.parametrize("filter_", [b"a/#/b", b"a+", b"", b"$share/x", b"$share/+/a"])
def test_a_filter_against_the_rules_ends_the_link(filter_: bytes) -> None:
    client = World().connect(b"bob", 5)
    client.send(packets.subscribe(1, (filter_, 0), version=5))
    assert client.one("DISCONNECT").reason in {0x81, 0x82, 0x8F}


def test_what_is_switched_off_is_refused() -> None:
    world = World(quiet(wildcards_available=False, shared_available=False, identifiers_available=False, maximum_qos=1))
    bob = world.connect(b"bob", 5)
    assert bob.subscribe((b"a/#", 0), (b"$share/x/a", 0), (b"a", 2)) == [0xA2, 0x9E, 1]
    bob.send(packets.subscribe(1, (b"a", 0), version=5, properties=props(subscription_id=1)))
    assert bob.one("DISCONNECT").reason == 0xA1


def test_there_are_only_so_many_filters_and_levels() -> None:
    world = World(quiet(max_filters=1, max_levels=2))
    bob = world.connect(b"bob", 5)
    assert bob.subscribe((b"a/b/c", 0), (b"a", 0), (b"b", 0), (b"a", 1)) == [0x8F, 0, 0x97, 1]
    assert world.connect(b"old").subscribe(b"a/b/c") == [0x80]
    assert world.broker.statistics().filters_refused == 3


class Partly(Access):
    def may_connect(self, user: bytes, *, loopback: bool) -> bool:
        return ALLOW_ALL.may_connect(user, loopback=loopback)

    def may_publish(self, user: bytes, client: bytes, topic: bytes) -> bool:
        return ALLOW_ALL.may_publish(user, client, topic)

    def reach(self, user: bytes, client: bytes, wanted: bytes) -> int:
        del user, client
        return NOTHING if wanted == b"secret" else PART

    def may_receive(self, user: bytes, client: bytes, topic: bytes) -> bool:
        del user, client
        return topic != b"secret"


def test_what_may_not_be_read_is_refused_or_left_out() -> None:
    world = World(access=Partly())
    ann, bob = world.connect(b"ann"), world.connect(b"bob", 5)
    ann.publish(b"secret", b"1", retain=True)
    ann.publish(b"open", b"2", retain=True)
    assert bob.subscribe((b"secret", 0), (b"#", 0), (b"$share/g/#", 0)) == [0x87, 0, 0]
    assert bob.payloads() == [b"2"]
    ann.publish(b"secret", b"3")
    ann.publish(b"open", b"4")
    assert bob.payloads() == [b"4", b"4"]


# -- shared subscriptions


def test_members_take_turns() -> None:
    world = World()
    bobs = [world.connect(b"bob%d" % number, 4 + number % 2) for number in range(3)]
    for bob in bobs:
        assert bob.subscribe((b"$share/pumps/a/#", 1)) == [1]
    ann = world.connect(b"ann")
    for number in range(6):
        ann.publish(b"a/b", b"%d" % number)
    assert [bob.payloads() for bob in bobs] == [[b"0", b"3"], [b"1", b"4"], [b"2", b"5"]]


def test_a_shared_subscription_gets_no_retained_messages_and_no_no_local() -> None:
    world = World()
    world.connect(b"ann").publish(b"a", b"x", retain=True)
    bob = world.connect(b"bob", 5)
    bob.subscribe((b"$share/g/a", 0))
    assert bob.kinds() == []
    bob.send(packets.subscribe(1, (b"$share/g/a", NO_LOCAL), version=5))
    assert bob.one("DISCONNECT").reason == 0x82


def test_who_is_away_gets_something_only_when_all_are() -> None:
    world = World()
    expiry = props(session_expiry=100)
    bob, eve = (world.connect(name, 5, properties=expiry) for name in (b"bob", b"eve"))
    for each in (bob, eve):
        each.subscribe((b"$share/g/a", 1))
    bob.vanish()
    ann = world.connect(b"ann")
    ann.publish(b"a", b"1", qos=1, packet_id=1)
    ann.publish(b"a", b"2", qos=1, packet_id=2)
    assert eve.payloads() == [b"1", b"2"]
    eve.vanish()
    ann.publish(b"a", b"3", qos=1, packet_id=3)
    assert world.broker.core.total_bytes


def test_a_member_that_ends_hands_on_what_it_did_not_acknowledge() -> None:
    world = World()
    bob, eve = world.connect(b"bob", 5), world.connect(b"eve", 5)
    bob.subscribe((b"$share/g/a", 2))
    ann = world.connect(b"ann")
    ann.publish(b"a", b"once", qos=2, packet_id=1)
    ann.publish(b"a", b"again", qos=1, packet_id=2)
    eve.subscribe((b"$share/g/a", 2))
    bob.vanish()
    assert eve.payloads() == [b"again"]
    assert world.broker.core.sessions[b"eve"].held_bytes == world.broker.core.total_bytes


# -- the past of what has none, and filters against the rules within `$since`


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("filter_", [b"$since/1/a/#", b"$since/24h/a/x", b"$since/1/#"])
def test_topics_without_a_group_have_their_retained_message_for_a_past(version: int, filter_: bytes) -> None:
    world = World(quiet())
    world.connect(b"speaker").publish(b"a/x", b"last", retain=True)
    ann = world.connect(b"ann", version)
    assert ann.subscribe((filter_, 1)) == [1]
    assert [(each.payload, each.retain) for each in ann.seen()] == [(b"last", True)]


def test_the_property_since_brings_what_is_retained_of_topics_without_a_group() -> None:
    world = World(quiet(), gateway=Halls())
    world.broker.core.retained.set(b"hall/x", Message(b"hall/x", b"of a group", 0, True), 1)
    world.connect(b"speaker").publish(b"a/x", b"last", retain=True)
    ann = world.connect(b"ann", 5)
    assert ann.subscribe((b"#", 1), properties=props(user=[(b"since", b"1")])) == [1]
    assert ann.payloads() == [b"last"]
    assert ann.subscribe((b"#", 0x20), properties=props(user=[(b"since", b"1")])) == [0]
    assert ann.payloads() == []


@pytest.mark.parametrize(
    "filter_",
    [b"$since/1/$share/x", b"$since/1/$share//a", b"$since/1/$share/g/a", b"$since/1/", b"$since//a", b"$since/"],
)
def test_what_is_against_the_rules_within_since_is_refused_alone(filter_: bytes) -> None:
    world = World(quiet())
    old, new = world.connect(b"old", 4), world.connect(b"new", 5)
    assert old.subscribe((filter_, 0), (b"a", 1)) == [0x80, 1]
    assert new.subscribe((filter_, 0), (b"a", 1)) == [0x8F, 1]
    assert not old.closed


def test_topics_that_only_begin_like_those_of_the_system_are_found() -> None:
    world = World(quiet())
    world.connect(b"speaker").publish(b"$SYSX/a", b"kept", retain=True)
    ann = world.connect(b"ann", 5)
    ann.subscribe(b"$SYSX/#")
    assert ann.payloads() == [b"kept"]


def test_a_packet_has_only_so_many_entries() -> None:
    world = World(quiet())
    ann = world.connect(b"ann", 5)
    codes = ann.subscribe(*[(b"a", 1)] * (MAX_ENTRIES + 2))
    assert (set(codes[:MAX_ENTRIES]), codes[MAX_ENTRIES:]) == ({1}, [0x97, 0x97])
    assert world.broker.statistics().filters_refused == 2
