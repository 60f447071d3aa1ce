"""How large a packet may be: by the address it comes from, by the user who sends it, and what the client is told."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from tests.broker_packets import connect, pingreq, publish
from tests.broker_world import World

from roost.broker.limits import Limits
from roost.broker.link import Peer
from roost.broker.packet_sizes import largest_of_address, largest_of_client
from roost.broker.settings import BrokerSettings

MOST = 10_000


def far(address: str = "192.0.2.1") -> Peer:
    return Peer(address, loopback=False)


def world(**limits: object) -> World:
    return World(
        BrokerSettings(sys_interval_s=0, max_packet_bytes=MOST),
        limits=Limits(connects_per_s=0, **limits),  # type: ignore[arg-type]  # as a test has it
    )


def of_size(size: int, version: int = 5) -> bytes:
    made = publish(b"t", b"x" * (size - len(publish(b"t", b"x" * 200, version=version)) + 200), version=version)
    assert len(made) == size
    return made


@pytest.mark.parametrize(
    ("address", "largest"),
    [
        ("192.0.2.1", 5000),
        ("10.1.2.3", 3000),
        ("::ffff:10.1.2.3", 3000),
        ("10.1.9.9", 2000),  # the narrowest network speaks
        ("10.2.0.1", MOST),  # whose exception is no limit
        ("2001:db8::7", 4000),
        ("fe80::1%eth0", 5000),
        ("127.0.0.1", MOST),
        ("::1", MOST),
        ("", MOST),
    ],
)
def test_an_address_has_the_size_of_its_narrowest_network(address: str, largest: int) -> None:
    networks = {"10.1.9.0/24": 2000, "10.1.0.0/16": 3000, "10.2.0.0/16": 0, "2001:db8::/32": 4000}
    for items in (list(networks.items()), list(networks.items())[::-1]):
        sizes = {ip_network(network): size for network, size in items}
        limits = Limits(address_packet_bytes=5000, network_packet_bytes=sizes)
        assert largest_of_address(limits, address, MOST) == largest


def test_a_client_has_the_size_of_its_user_and_never_more_than_its_address() -> None:
    limits = Limits(packet_bytes=2000, user_packet_bytes={b"camera": 8000, b"free": 0})
    assert largest_of_client(limits, b"ann", MOST) == 2000
    assert largest_of_client(limits, b"camera", MOST) == 8000
    assert largest_of_client(limits, b"camera", 5000) == 5000
    assert largest_of_client(limits, b"free", MOST) == MOST
    assert largest_of_client(Limits(), b"ann", MOST) == MOST


def test_a_client_is_told_the_size_that_applies_to_it_and_held_to_it() -> None:
    """[MQTT-3.2.2-15]."""
    place = world(packet_bytes=2000, user_packet_bytes={b"camera": 8000}, address_packet_bytes=5000)
    for user, peer, largest in ((b"ann", far(), 2000), (b"camera", far(), 5000), (b"camera", Peer(), 8000)):
        client = place.connect(b"c", 5, user=user, peer=peer, look=False)
        assert client.one("CONNACK").properties["maximum_packet_size"] == largest
        client.send(of_size(largest))
        assert not client.closed
        client.send(of_size(largest + 1))
        assert client.one("DISCONNECT").reason == 0x95
        assert client.closed
    assert place.broker.statistics().refused_large == 3
    assert "the limit is 2000" in place.rejected[0].reason


def test_a_client_of_3_1_1_is_hung_up_on_without_a_word() -> None:
    place = world(packet_bytes=2000)
    client = place.connect(b"c")
    client.send(of_size(2001, 4))
    assert client.closed
    assert client.seen() == []
    assert place.broker.statistics().refused_large == 1


def test_a_stranger_is_held_to_the_size_of_its_address() -> None:
    place = world(address_packet_bytes=2000)
    large = connect(b"c", version=5, will=b"w", will_payload=bytes(2000))
    for peer, is_welcome in ((far(), False), (Peer(), True)):
        client = place.open(5, peer)
        client.send(large)
        assert client.closed is not is_welcome
        assert [each.kind for each in client.seen()] == ["CONNACK"] * is_welcome
    assert place.broker.statistics().refused_large == 1


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("user", [None, b"ann"])  # who is asked about comes in a later call
def test_what_comes_with_connect_is_held_to_the_size_of_the_client(version: int, user: bytes | None) -> None:
    place = world(packet_bytes=2000)
    watcher = place.connect(b"w")
    watcher.subscribe(b"t")
    client = place.open(version)
    head = connect(b"c", version=version, user=user)
    client.send(head, of_size(2000, version), of_size(2001, version), pingreq())
    assert [each.kind for each in client.seen()] == ["CONNACK", "DISCONNECT"][: version - 3]
    assert client.closed
    assert len(watcher.payloads()) == 1, "what came before it had its effect"


def test_sizes_go_to_sys() -> None:
    place = World(BrokerSettings(sys_interval_s=1), limits=Limits(connects_per_s=0, packet_bytes=2000))
    watcher = place.connect(b"w", keep_alive=0)
    watcher.subscribe(b"$SYS/broker/messages/refused/large")
    assert watcher.payloads() == [b"0"]
    place.connect(b"c").send(of_size(2001, 4))
    place.wait(1)
    assert watcher.payloads() == [b"1"]


def test_other_limits_hold_for_those_who_connect_later() -> None:
    place = world(packet_bytes=2000)
    before = place.connect(b"before", 5)
    limits = Limits(connects_per_s=0, packet_bytes=1500)
    place.run(place.broker.reloaded(place.access, place.settings, place.now, limits))
    before.send(of_size(2000))
    assert not before.closed, "it was told 2000"
    after = place.connect(b"after", 5, look=False)
    assert after.one("CONNACK").properties["maximum_packet_size"] == 1500
    after.send(of_size(1501))
    assert after.one("DISCONNECT").reason == 0x95
