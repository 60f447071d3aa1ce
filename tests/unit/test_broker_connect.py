"""CONNECT, sessions, take-over, time-outs and authentication."""

from __future__ import annotations

from typing import Any

import pytest
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.broker_world import Client, World

from roost.broker.access import Access
from roost.broker.effects import Verdict
from roost.broker.limits import Limits
from roost.broker.link import Peer
from roost.broker.settings import BrokerSettings
from roost.machine import SECOND


def quiet(**options: object) -> BrokerSettings:
    return BrokerSettings(sys_interval_s=0, **options)  # type: ignore[arg-type]


def refused(client: Client) -> int:
    """Give the code of the CONNACK that a client was refused with."""
    answer = client.one("CONNACK")
    assert client.closed
    return answer.reason


@pytest.mark.parametrize("version", [4, 5])
def test_a_client_is_welcomed(version: int) -> None:
    world = World()
    client = world.connect(b"ann", version, look=False)
    answer = client.one("CONNACK")
    assert (answer.reason, answer.session_present) == (0, False)
    assert world.broker.statistics().connected == 1


def test_the_first_packet_must_be_connect() -> None:
    world = World()
    client = world.open()
    client.send(packets.pingreq())
    assert client.closed
    assert client.arrived == b""
    assert "before CONNACK" in world.rejected[0].reason


@pytest.mark.parametrize("version", [4, 5])
def test_a_second_connect_ends_the_link(version: int) -> None:
    client = World().connect(b"ann", version)
    client.send(packets.connect(b"ann", version=version))
    assert client.closed
    assert [packet.reason for packet in client.seen()] == ([0x82] if version == 5 else [])


def test_an_unknown_version_is_told_so() -> None:
    client = World().connect(b"ann", 3, protocol=b"MQIsdp", look=False)
    client.version = 4
    assert refused(client) == 1
    client = World().connect(b"ann", 6, look=False)
    client.version = 5
    assert refused(client) == 0x84


@pytest.mark.parametrize("version", [4, 5])
def test_a_client_without_id_gets_one(version: int) -> None:
    world = World()
    client = world.connect(b"", version, look=False)
    answer = client.one("CONNACK")
    (client_id,) = world.broker.core.sessions
    assert answer.properties.get("assigned_client_id") == (client_id if version == 5 else None)
    assert client_id


def test_a_client_without_id_cannot_keep_a_session_in_3_1_1() -> None:
    assert refused(World().connect(b"", 4, clean=False, look=False)) == 2


def test_a_client_id_that_is_too_long_is_refused() -> None:
    world = World(quiet(max_client_id_bytes=10))
    assert refused(world.connect(b"x" * 11, 5, look=False)) == 0x85
    assert refused(world.connect(b"x" * 11, 4, look=False)) == 2


@pytest.mark.parametrize("version", [4, 5])
def test_a_session_is_resumed(version: int) -> None:
    world = World()
    options: dict[str, Any] = {"properties": props(session_expiry=100)} if version == 5 else {}
    bob = world.connect(b"bob", version, clean=False, **options)
    bob.subscribe((b"a", 1))
    bob.vanish()
    world.connect(b"ann").publish(b"a", b"while away", qos=1, packet_id=1)
    bob = world.connect(b"bob", version, clean=False, look=False, **options)
    answer, message = bob.seen()
    assert answer.session_present
    assert (message.payload, message.qos, message.dup) == (b"while away", 1, False)


@pytest.mark.parametrize("version", [4, 5])
def test_a_clean_start_ends_the_session_before(version: int) -> None:
    world = World()
    options: dict[str, Any] = {"properties": props(session_expiry=100)} if version == 5 else {}
    bob = world.connect(b"bob", version, clean=False, **options)
    bob.subscribe((b"a", 1))
    bob.vanish()
    bob = world.connect(b"bob", version, clean=True, look=False, **options)
    assert not bob.one("CONNACK").session_present
    world.connect(b"ann").publish(b"a", b"for nobody")
    assert bob.kinds() == []


def test_a_session_without_expiry_ends_with_its_link() -> None:
    world = World()
    world.connect(b"bob", 5, clean=False).vanish()
    assert not world.connect(b"bob", 5, clean=False, look=False).one("CONNACK").session_present


def test_a_session_expires() -> None:
    world = World()
    expiry = props(session_expiry=100)
    world.connect(b"bob", 5, properties=expiry).vanish()
    world.wait(99)
    client = world.connect(b"bob", 5, clean=False, properties=expiry, look=False)
    assert client.one("CONNACK").session_present
    client.vanish()
    world.wait(100)
    assert not world.broker.core.sessions
    assert world.broker.statistics().sessions_expired == 1


def test_the_server_caps_the_session_expiry_and_says_so() -> None:
    world = World(quiet(max_session_expiry_s=50))
    client = world.connect(b"bob", 5, properties=props(session_expiry=100), look=False)
    assert client.one("CONNACK").properties["session_expiry"] == 50
    client.vanish()
    world.wait(50)
    assert not world.broker.core.sessions


def test_disconnect_may_change_the_session_expiry() -> None:
    world = World()
    client = world.connect(b"bob", 5, properties=props(session_expiry=100))
    client.send(packets.disconnect(0, props(session_expiry=0)))
    assert client.closed
    assert not world.broker.core.sessions


def test_disconnect_cannot_revive_a_session_that_was_to_end() -> None:
    client = World().connect(b"bob", 5)
    client.send(packets.disconnect(0, props(session_expiry=10)))
    assert client.one("DISCONNECT").reason == 0x82


@pytest.mark.parametrize("version", [4, 5])
def test_the_newer_link_takes_the_client_id_over(version: int) -> None:
    world = World()
    first = world.connect(b"bob", version)
    second = world.connect(b"bob", version)
    assert first.closed
    assert [packet.reason for packet in first.seen()] == ([0x8E] if version == 5 else [])
    second.send(packets.pingreq())
    assert second.kinds() == ["PINGRESP"]
    assert world.broker.statistics().connected == 1


@pytest.mark.parametrize(("version", "code"), [(4, 2), (5, 0x85)])
@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("thief", [b"eve", b""])
@pytest.mark.parametrize("online", [True, False])
def test_a_session_is_safe_from_other_users(version: int, code: int, clean: bool, thief: bytes, online: bool) -> None:
    world = World()
    bob = world.connect(b"panel", 4, clean=False, user=b"bob")
    bob.subscribe((b"a", 1))
    if not online:
        bob.vanish()
    eve = world.connect(b"panel", version, clean=clean, user=thief or None, look=False)
    assert refused(eve) == code
    assert world.broker.statistics().sessions_refused == 1
    world.connect(b"ann").publish(b"a", b"secret", qos=1, packet_id=1)
    if not online:
        bob = world.connect(b"panel", 4, clean=False, user=b"bob")
    assert bob.payloads() == [b"secret"]


def test_a_session_of_nobody_gives_way_to_a_user_and_is_not_handed_over() -> None:
    world = World()
    nobody = world.connect(b"panel", 5, clean=False, properties=props(session_expiry=60))
    nobody.subscribe((b"a", 1))
    bob = world.connect(b"panel", 5, clean=False, user=b"bob", look=False)
    assert nobody.one("DISCONNECT").reason == 0x8E
    assert not bob.one("CONNACK").session_present
    world.connect(b"ann").publish(b"a", b"secret", qos=1, packet_id=1)
    assert bob.kinds() == []
    assert world.broker.core.sessions[b"panel"].user == b"bob"


def test_another_user_may_have_a_client_id_whose_session_is_over() -> None:
    world = World()
    bob = world.connect(b"panel", 5, user=b"bob", properties=props(session_expiry=60))
    bob.vanish()
    world.now += 61 * SECOND  # and nobody has looked at it yet
    eve = world.connect(b"panel", 5, clean=False, user=b"eve", look=False)
    assert not eve.one("CONNACK").session_present


def test_a_link_without_connect_is_ended() -> None:
    world = World(quiet(connect_timeout_s=5))
    client = world.open()
    world.wait(4)
    assert [client.closed] == [False]
    world.wait(1)
    assert client.closed


@pytest.mark.parametrize("version", [4, 5])
def test_a_silent_client_is_taken_for_gone_after_one_and_a_half_keep_alives(version: int) -> None:
    world = World()
    client = world.connect(b"ann", version, keep_alive=10)
    world.wait(14)
    client.send(packets.pingreq())
    world.wait(14.9)
    assert [client.closed] == [False]
    world.wait(0.1)
    assert client.closed
    assert [packet.reason for packet in client.seen()[1:]] == ([0x8D] if version == 5 else [])


def test_a_keep_alive_of_zero_is_for_ever() -> None:
    world = World()
    client = world.connect(b"ann", keep_alive=0)
    world.wait(100_000)
    assert not client.closed


def test_the_server_may_set_the_keep_alive() -> None:
    world = World(quiet(max_keep_alive_s=20))
    client = world.connect(b"ann", 5, keep_alive=0, look=False)
    assert client.one("CONNACK").properties["server_keep_alive"] == 20
    world.wait(30)
    assert client.closed


def test_what_the_server_does_not_do_is_told() -> None:
    world = World(
        quiet(
            maximum_qos=1,
            retain_available=False,
            wildcards_available=False,
            shared_available=False,
            identifiers_available=False,
            receive_maximum=7,
            topic_alias_maximum=3,
            max_packet_bytes=5000,
            response_prefix=b"answers/",
        )
    )
    answer = world.connect(b"ann", 5, properties=props(request_response=1), look=False).one("CONNACK")
    assert answer.properties == {
        "maximum_qos": 1,
        "retain_available": 0,
        "wildcards_available": 0,
        "shared_available": 0,
        "subscription_ids_available": 0,
        "receive_maximum": 7,
        "topic_alias_maximum": 3,
        "maximum_packet_size": 5000,
        "response_information": b"answers/ann",
    }
    assert refused(world.connect(b"x", 5, will=b"w", will_qos=2, look=False)) == 0x9B
    assert refused(world.connect(b"x", 5, will=b"w", will_retain=True, look=False)) == 0x9A


def test_there_are_only_so_many_sessions() -> None:
    world = World(quiet(max_sessions=1))
    world.connect(b"ann")
    assert refused(world.connect(b"bob", 5, look=False)) == 0x97
    world.connect(b"ann")
    assert world.broker.statistics().sessions_refused == 1


def test_there_are_only_so_many_links() -> None:
    world = World(limits=Limits(max_links=1))
    world.connect(b"ann")
    assert world.open().closed
    assert world.broker.statistics().links_refused == 1


def test_a_packet_above_the_maximum_ends_the_link() -> None:
    world = World(quiet(max_packet_bytes=100))
    client = world.connect(b"ann", 5)
    client.publish(b"a", b"x" * 100)
    assert client.one("DISCONNECT").reason == 0x95


def test_a_client_that_is_too_fast_is_read_later() -> None:
    world = World(limits=Limits(connects_per_s=0, messages_per_s=10))
    client = world.connect(b"ann")
    for _ in range(12):
        client.publish(b"a", b"x")
    assert world.paused[client.link] > world.now
    assert not client.closed


# -- who it is


def test_a_password_is_asked_about_and_what_comes_early_waits() -> None:
    world = World()
    world.judge = lambda _: None
    client = world.connect(b"ann", 4, user=b"ann", password=b"secret", look=False)
    client.send(packets.pingreq())
    assert client.arrived == b""
    (asked,) = world.asked
    assert (asked.client, asked.user, asked.password) == (b"ann", b"ann", b"secret")
    assert "secret" not in repr(asked)
    world.run(world.broker.authenticated(client.link, Verdict(0, b"ann"), world.now))
    assert client.kinds() == ["CONNACK", "PINGRESP"]


@pytest.mark.parametrize(("version", "code"), [(4, 4), (5, 0x86)])
def test_a_wrong_password_is_refused(version: int, code: int) -> None:
    world = World()
    world.judge = lambda _: Verdict(0x86, why="wrong")
    client = world.connect(b"ann", version, user=b"ann", password=b"wrong", look=False)
    assert refused(client) == code
    assert not world.broker.core.sessions
    assert world.rejected[0].sample == b""


@pytest.mark.parametrize(
    ("reason", "counts"), [(0x86, True), (0x87, True), (0x89, False), (0x88, False), (0x80, False)]
)
def test_only_what_the_client_did_wrong_counts_as_a_failed_login(reason: int, counts: bool) -> None:
    world = World(limits=Limits(failures_per_minute=1))
    world.judge = lambda _: Verdict(reason)
    far = Peer("192.0.2.1", loopback=False)
    for _ in range(2):
        world.connect(b"ann", 5, user=b"ann", password=b"x", peer=far, look=False)
    assert world.open(peer=far).closed == counts


def test_too_much_before_the_verdict_ends_the_link() -> None:
    world = World(quiet(max_early_bytes=100))
    world.judge = lambda _: None
    client = world.connect(b"ann", 5, user=b"ann", password=b"secret", look=False)
    client.send(b"\xc0\x00" * 51)
    assert client.closed


def test_a_verdict_that_never_comes_ends_the_link() -> None:
    world = World()
    world.judge = lambda _: None
    client = world.connect(b"ann", 5, user=b"ann", look=False)
    world.wait(10)
    assert refused(client) == 0x80


class Guarded(Access):
    """Only users, and of the nameless only those on this machine; topics as the user is called."""

    def may_connect(self, user: bytes, *, loopback: bool) -> bool:
        return bool(user) or loopback

    def may_publish(self, user: bytes, client: bytes, topic: bytes) -> bool:
        del client
        return topic.startswith(user)


def test_the_nameless_come_in_where_access_says_so() -> None:
    world = World(access=Guarded())
    world.connect(b"near")
    far = Peer("192.0.2.1", loopback=False)
    assert refused(world.connect(b"far", 4, peer=far, look=False)) == 5
    assert refused(world.connect(b"far", 5, peer=far, look=False)) == 0x87


def test_a_certificate_names_the_user() -> None:
    world = World(access=Guarded())
    world.connect(b"panel", peer=Peer("192.0.2.1", "tls", b"bob", loopback=False))
    assert world.broker.core.sessions[b"panel"].user == b"bob"
    assert not world.asked


def test_a_will_that_may_not_be_published_is_refused() -> None:
    world = World(access=Guarded())
    client = world.connect(b"panel", 5, user=b"bob", will=b"ann/gone", look=False)
    assert refused(client) == 0x87


def challenge(world: World) -> None:
    """Have the first answer be a challenge, and the second decide."""
    answers = {b"hello": Verdict(0x18, challenge=b"why?"), b"because": Verdict(0, b"ann", challenge=b"fine")}
    world.judge = lambda asked: answers.get(asked.data, Verdict(0x87, why="no"))


def test_enhanced_authentication_goes_back_and_forth() -> None:
    world = World()
    challenge(world)
    client = world.connect(b"ann", 5, properties=props(auth_method=b"WHY", auth_data=b"hello"), look=False)
    asked = client.one("AUTH")
    assert (asked.reason, asked.properties) == (0x18, {"auth_method": b"WHY", "auth_data": b"why?"})
    client.send(packets.auth(0x18, auth_method=b"WHY", auth_data=b"because"))
    answer = client.one("CONNACK")
    assert (answer.properties["auth_method"], answer.properties["auth_data"]) == (b"WHY", b"fine")
    client.send(packets.auth(0x19, auth_method=b"WHY", auth_data=b"hello"))
    assert client.one("AUTH").reason == 0x18
    client.send(packets.auth(0x18, auth_method=b"WHY", auth_data=b"because"))
    assert client.one("AUTH").reason == 0
    client.send(packets.auth(0x19, auth_method=b"WHY", auth_data=b"nonsense"))
    assert client.one("DISCONNECT").reason == 0x87


@pytest.mark.parametrize(
    "frame",
    [
        packets.auth(0x18, auth_method=b"OTHER", auth_data=b"because"),
        packets.auth(0x19, auth_method=b"WHY", auth_data=b"because"),
        packets.pingreq(),
        packets.connect(b"ann", version=5),
    ],
    ids=["method", "again", "ping", "connect"],
)
def test_authentication_out_of_step_ends_the_link(frame: bytes) -> None:
    world = World()
    challenge(world)
    client = world.connect(b"ann", 5, properties=props(auth_method=b"WHY", auth_data=b"hello"), look=False)
    client.seen()
    client.send(frame)
    assert refused(client) == 0x82


def test_auth_without_a_method_is_a_protocol_error() -> None:
    client = World().connect(b"ann", 5)
    client.send(packets.auth(0x19, auth_method=b"WHY"))
    assert client.one("DISCONNECT").reason == 0x82


# -- commands


def test_a_reload_drops_nobody_unless_told_to() -> None:
    world = World()
    client = world.connect(b"ann", 5)
    world.run(world.broker.reloaded(Access(), quiet(), world.now))
    assert not client.closed
    client.publish(b"a", b"x", qos=1, packet_id=1)
    assert client.one("PUBACK").reason == 0x87
    world.run(world.broker.reloaded(Access(), quiet(drop_disallowed=True), world.now))
    assert client.one("DISCONNECT").reason == 0x87


def test_a_reload_hangs_up_on_users_that_are_gone_if_told_to_unless_something_else_proves_them() -> None:
    world = World()
    world.judge = lambda asked: Verdict(0, asked.user or b"ann")
    ann = world.connect(b"1", 5, user=b"ann", password=b"x")
    bob = world.connect(b"2", 5, user=b"bob", password=b"x")
    proved = world.connect(b"3", 5, peer=Peer("192.0.2.1", "tls", b"ann", loopback=False))
    asked = world.connect(b"4", 5, properties=props(auth_method=b"WHY"))
    world.run(world.broker.reloaded(world.access, quiet(), world.now, gone=[b"ann"]))
    assert not ann.closed
    world.run(world.broker.reloaded(world.access, quiet(drop_disallowed=True), world.now, gone=[b"ann"]))
    assert ann.one("DISCONNECT").reason == 0x87
    assert [client.closed for client in (bob, proved, asked)] == [False, False, False]


def test_a_reload_brings_new_rates_for_who_is_connected() -> None:
    world = World()
    client = world.connect(b"ann", 5)
    client.send(b"\xc0\x00" * 3)
    assert not world.paused
    limits = Limits(messages_per_s=2, connects_per_s=0)
    world.run(world.broker.reloaded(world.access, world.settings, world.now, limits))
    client.send(b"\xc0\x00" * 3)
    assert world.paused[client.link] > world.now
    world.paused.clear()
    limits = Limits(connects_per_s=0, address_messages_per_s=2)
    world.run(world.broker.reloaded(world.access, world.settings, world.now, limits))
    client.send(b"\xc0\x00" * 3)
    assert not world.paused, "loopback has no limits of an address"


def test_a_reload_brings_new_rates_for_the_address_of_who_is_connected() -> None:
    world = World()
    client = world.connect(b"ann", 5, peer=Peer("192.0.2.1", loopback=False))
    limits = Limits(connects_per_s=0, address_messages_per_s=2)
    world.run(world.broker.reloaded(world.access, world.settings, world.now, limits))
    client.send(b"\xc0\x00" * 3)
    assert world.paused[client.link] > world.now


def test_stopping_says_goodbye() -> None:
    world = World()
    client = world.connect(b"ann", 5)
    world.run(world.broker.stop(world.now))
    assert client.one("DISCONNECT").reason == 0x8B
