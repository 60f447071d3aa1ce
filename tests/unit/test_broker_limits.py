"""Connections that are refused, rates that make a sender wait, and tables that stay small."""

import pytest
from tests.broker_world import World

from roost.broker.effects import Hangup
from roost.broker.limits import ELSEWHERE, Limiter, Limits
from roost.broker.link import Peer
from roost.machine import SECOND

NOW = 1_900_000_000 * SECOND


def test_connections_are_bounded_in_all_even_from_this_machine() -> None:
    limiter = Limiter(Limits(max_links=2))
    assert limiter.connect("127.0.0.1", NOW)
    assert limiter.connect("192.0.2.1", NOW)
    assert not limiter.connect("::1", NOW)
    assert "max_links" in limiter.why
    assert (limiter.links, limiter.refused_in_all) == (2, 1)
    limiter.disconnect("127.0.0.1")
    assert limiter.connect("::1", NOW)


@pytest.mark.parametrize(
    ("first", "second", "one"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("127.0.0.1", "127.0.0.1", False),
        ("::ffff:127.0.0.1", "127.0.0.1", False),
        ("", "", False),  # a Unix socket
    ],
)
def test_what_counts_as_one_address(first: str, second: str, one: bool) -> None:
    limiter = Limiter(Limits(max_links_per_address=1))
    assert limiter.connect(first, NOW)
    assert limiter.connect(second, NOW) is not one
    assert limiter.refused_by_address == one
    limiter.disconnect(first)
    assert limiter.connect(first, NOW)


def test_an_address_that_connects_too_often_is_refused_and_later_welcome() -> None:
    limiter = Limiter(Limits(connects_per_s=1))
    for _ in range(10):
        assert limiter.connect("192.0.2.1", NOW)
        limiter.disconnect("192.0.2.1")
    assert not limiter.connect("192.0.2.1", NOW)
    assert "connects_per_s" in limiter.why
    assert limiter.refused_by_rate == 1
    assert limiter.connect("192.0.2.2", NOW)
    assert limiter.connect("192.0.2.1", NOW + SECOND)


def test_by_default_one_address_and_one_user_may_bring_ten_thousand_connections_at_once_but_not_all() -> None:
    limiter = Limiter(Limits())
    for _ in range(10_000):
        assert limiter.connect("192.0.2.1", NOW)
        assert limiter.enter(b"ann")
    assert limiter.limits.max_links_per_address < limiter.limits.max_links


def test_wrong_passwords_shut_an_address_out_for_a_while() -> None:
    limiter = Limiter(Limits(failures_per_minute=2))
    for _ in range(2):
        assert limiter.connect("192.0.2.1", NOW)
        limiter.failed("192.0.2.1", NOW)
        limiter.disconnect("192.0.2.1")
    assert not limiter.connect("192.0.2.1", NOW)
    assert "wrong passwords" in limiter.why
    assert limiter.refused_by_failures == 1
    assert limiter.connect("192.0.2.2", NOW)
    assert limiter.connect("192.0.2.1", NOW + 30 * SECOND)
    limiter.failed("127.0.0.1", NOW)
    assert limiter.connect("127.0.0.1", NOW)


def test_those_of_whom_nothing_is_known_share_the_limit_of_wrong_passwords_and_no_other() -> None:
    limiter = Limiter(
        Limits(max_links_per_address=1, connects_per_s=1, failures_per_minute=2, address_messages_per_s=1)
    )
    for _ in range(20):
        assert limiter.connect(ELSEWHERE, NOW)
    assert limiter.spend(ELSEWHERE, limiter.rate(NOW), 100, 0, NOW) == 0
    for _ in range(2):
        limiter.failed(ELSEWHERE, NOW)
    assert not limiter.connect(ELSEWHERE, NOW)
    assert "wrong passwords" in limiter.why
    assert limiter.connect("127.0.0.1", NOW)
    assert limiter.connect(ELSEWHERE, NOW + 30 * SECOND)
    limiter.reloaded(Limits(max_links_per_address=1, failures_per_minute=1), NOW)
    assert limiter.connect(ELSEWHERE, NOW)
    limiter.failed(ELSEWHERE, NOW)
    assert not limiter.connect(ELSEWHERE, NOW)


def test_a_user_has_so_many_links_and_the_anonymous_are_no_user() -> None:
    limiter = Limiter(Limits(max_links_per_user=1))
    assert limiter.enter(b"alice")
    assert not limiter.enter(b"alice")
    assert "max_links_per_user" in limiter.why
    assert limiter.refused_by_user == 1
    assert limiter.enter(b"bob")
    assert limiter.enter(b"")
    assert limiter.enter(b"")
    limiter.leave(b"")
    limiter.leave(b"alice")
    assert limiter.enter(b"alice")
    assert limiter.sizes()["users"] == (2, 20_000)


def test_zero_is_no_limit() -> None:
    limiter = Limiter(Limits(max_links_per_address=0, max_links_per_user=0, connects_per_s=0, failures_per_minute=0))
    for _ in range(1100):
        assert limiter.connect("192.0.2.1", NOW)
        assert limiter.enter(b"alice")
        limiter.failed("192.0.2.1", NOW)
    rate = limiter.rate(NOW)
    assert not rate.limited
    assert limiter.spend("192.0.2.1", rate, 10**9, 10**12, NOW) == 0


def test_a_client_over_its_rate_waits_and_another_does_not() -> None:
    limiter = Limiter(Limits(messages_per_s=10, bytes_per_s=1000))
    one, other = limiter.rate(NOW), limiter.rate(NOW)
    assert one.limited
    assert limiter.spend("192.0.2.1", one, 10, 100, NOW) == 0
    assert limiter.spend("192.0.2.1", one, 5, 100, NOW) == NOW + SECOND // 2
    assert limiter.spend("192.0.2.1", other, 1, 3000, NOW) == NOW + 2 * SECOND


def test_clients_of_one_address_share_its_rate() -> None:
    limiter = Limiter(Limits(address_messages_per_s=10))
    for address in ("192.0.2.1", "192.0.2.1", "192.0.2.2"):
        assert limiter.connect(address, NOW)
    assert limiter.spend("192.0.2.1", limiter.rate(NOW), 10, 0, NOW) == 0
    assert limiter.spend("192.0.2.1", limiter.rate(NOW), 10, 0, NOW) == NOW + SECOND
    assert limiter.spend("192.0.2.2", limiter.rate(NOW), 10, 0, NOW) == 0
    assert limiter.spend("127.0.0.1", limiter.rate(NOW), 100, 0, NOW) == 0


def test_an_address_that_left_keeps_its_debt_until_it_is_forgotten() -> None:
    limiter = Limiter(Limits(failures_per_minute=1), max_idle_addresses=2)
    limiter.failed("192.0.2.1", NOW)
    limiter.failed("192.0.2.2", NOW)
    assert not limiter.connect("192.0.2.1", NOW)
    limiter.failed("192.0.2.3", NOW)
    assert limiter.forgotten == 1
    assert limiter.connect("192.0.2.1", NOW)
    assert limiter.sizes()["idle addresses"] == (1, 2)


def test_other_numbers_count_at_once_and_links_stay_counted() -> None:
    limiter = Limiter(Limits(max_links_per_address=5, failures_per_minute=1))
    assert limiter.connect("192.0.2.1", NOW)
    limiter.failed("192.0.2.2", NOW)
    limiter.reloaded(Limits(max_links_per_address=1, address_bytes_per_s=10), NOW)
    assert not limiter.connect("192.0.2.1", NOW)
    assert limiter.connect("192.0.2.2", NOW)
    assert limiter.spend("192.0.2.1", limiter.rate(NOW), 1, 20, NOW) == NOW + SECOND
    limiter.disconnect("192.0.2.1")
    assert limiter.connect("192.0.2.1", NOW)


def test_nothing_is_left_when_all_are_gone() -> None:
    limiter = Limiter(Limits())
    addresses = [f"192.0.2.{number % 5}" for number in range(20)]
    for address in addresses:
        assert limiter.connect(address, NOW)
        assert limiter.enter(b"alice")
    for address in addresses:
        limiter.disconnect(address)
        limiter.leave(b"alice")
    sizes = limiter.sizes()
    assert (sizes["links"][0], sizes["linked addresses"][0], sizes["users"][0]) == (0, 0, 0)
    assert sizes["idle addresses"][0] == 5


def test_who_only_shakes_hands_takes_a_place_as_much_as_others() -> None:
    world = World(limits=Limits(max_links_per_address=1))
    peer = Peer("192.0.2.1", loopback=False)
    assert world.broker.knocked(1, peer.address, world.now) == []
    assert Hangup(2) in world.broker.knocked(2, peer.address, world.now)
    assert Hangup(3) in world.broker.opened(3, peer, world.now)
    world.broker.closed(2, world.now)  # which was never counted
    assert Hangup(4) in world.broker.knocked(4, peer.address, world.now)
    world.broker.closed(1, world.now)
    assert world.broker.knocked(5, peer.address, world.now) == []
    assert world.broker.opened(5, peer, world.now) == []
    assert Hangup(6) in world.broker.knocked(6, peer.address, world.now)
    world.broker.closed(5, world.now)
    assert world.broker.opened(7, peer, world.now) == []


def test_whom_a_proxy_brings_counts_where_it_says_once_hands_are_shaken() -> None:
    world = World(limits=Limits(max_links_per_address=1))
    far = Peer("192.0.2.1", "ws", None, loopback=False)
    for link in (1, 2):
        assert world.broker.knocked(link, "127.0.0.1", world.now) == []
    assert world.broker.opened(1, far, world.now) == []
    assert Hangup(2) in world.broker.opened(2, far, world.now)
    world.broker.closed(2, world.now)
    limiter = world.broker.core.limiter
    assert (limiter.links, limiter.refused_by_address) == (1, 1)
    world.broker.closed(1, world.now)
    assert limiter.links == 0
    assert world.broker.knocked(3, "127.0.0.1", world.now) == []
    assert world.broker.opened(3, far, world.now) == []
