"""FIB, strategy choice and content store on their own."""

from __future__ import annotations

import pytest

from roost.errors import Refused
from roost.forwarding.fib import Fib, PrefixTable
from roost.forwarding.nonces import DeadNonces
from roost.forwarding.store import ContentStore
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.forwarding.strategy_choice import Strategies
from roost.machine import MS, SECOND
from roost.naming import Name
from roost.wire import Data, DigestSigner, Interest, encode_data, encode_interest

N = Name.parse
SIGNER = DigestSigner()


def lookup(fib: Fib, uri: str) -> list[tuple[int, int]] | None:
    name = N(uri)
    return fib.lookup(name.value, name.cuts)


def test_the_longest_prefix_wins_and_removal_uncovers_the_shorter_one() -> None:
    fib = Fib()
    fib.set(N("/"), [(1, 0)], 0)
    fib.set(N("/a"), [(2, 5), (3, 1)], 0)
    fib.set(N("/a/b/c"), [(4, 0)], 0)
    assert lookup(fib, "/x") == [(1, 0)]
    assert lookup(fib, "/a/b") == [(3, 1), (2, 5)], "cheapest first"
    assert lookup(fib, "/a/b/c/d") == [(4, 0)]
    fib.set(N("/a/b/c"), [], 0)
    assert lookup(fib, "/a/b/c/d") == [(3, 1), (2, 5)]
    fib.drop_face(3, 0)
    fib.drop_face(1, 0)
    assert list(fib.entries()) == [(N("/a"), [(2, 5)])]
    assert lookup(fib, "/x") is None


def test_prefix_tables_refuse_what_is_too_deep_or_too_much() -> None:
    table: PrefixTable[int] = PrefixTable(2)
    with pytest.raises(Refused) as deep:
        table.put(Name.of(*["x"] * 33), 1)
    assert deep.value.code == 414
    table.put(N("/a"), 1)
    table.put(N("/b"), 1)
    table.put(N("/b"), 2)
    with pytest.raises(Refused):
        table.put(N("/c"), 1)
    assert table.refused == 1


def test_strategy_choice_names_versions_and_parameters() -> None:
    strategies = Strategies()
    assert strategies.set(N("/s"), STRATEGY_PREFIX / "multicast") == N("/localhost/nfd/strategy/multicast/v=5")
    tuned = N("/localhost/nfd/strategy/multicast/v=5/retx-suppression-initial~20")
    assert strategies.set(N("/s/t"), tuned) == tuned
    name = N("/s/t/u")
    assert strategies.lookup(name.value, name.cuts).initial_ns == 20 * MS
    strategies.unset(N("/s/t"))
    assert strategies.lookup(name.value, name.cuts).initial_ns == 10 * MS
    assert len(list(strategies.entries())) == 5


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("/somewhere/else", 404),
        ("/localhost/nfd/strategy", 404),
        ("/localhost/nfd/strategy/asf", 404),
        ("/localhost/nfd/strategy/multicast/v=4", 404),
        ("/localhost/nfd/strategy/multicast/v=5/x~1", 409),
        ("/localhost/nfd/strategy/multicast/v=5/retx-suppression-initial~nan", 409),
        ("/localhost/nfd/strategy/best-route/v=5/retx-suppression-max~1", 409),
        ("/localhost/nfd/strategy/best-route/v=5/retx-suppression-max~soon", 409),
    ],
)
def test_strategies_that_are_not_here_are_refused(uri: str, code: int) -> None:
    with pytest.raises(Refused) as refusal:
        Strategies().set(N("/s"), N(uri))
    assert refusal.value.code == code


def test_the_strategy_of_the_root_can_be_changed_but_not_unset() -> None:
    strategies = Strategies()
    strategies.set(N("/"), STRATEGY_PREFIX / "multicast")
    name = N("/any")
    assert "multicast" in str(strategies.lookup(name.value, name.cuts).instance)
    with pytest.raises(Refused):
        strategies.unset(N("/"))


def packet(uri: str, size: int = 10, freshness_ms: int = 0) -> Data:
    return Data.decode(encode_data(N(uri), bytes(size), SIGNER, freshness_ms=freshness_ms))


def find(store: ContentStore, uri: str, now: int = 0, **options: bool) -> str | None:
    found = store.find(Interest.decode(encode_interest(N(uri), **options)), now)  # type: ignore[arg-type]
    return None if found is None else str(Data.decode(found).name)


def test_least_recently_used_goes_first() -> None:
    store = ContentStore(3, 10**6)
    for uri in ("/1", "/2", "/3"):
        store.insert(packet(uri), 0)
    assert find(store, "/1") == "/1"
    store.insert(packet("/4"), 0)
    assert [find(store, uri) for uri in ("/1", "/2", "/3", "/4")] == ["/1", None, "/3", "/4"]
    assert store.evicted == 1


def test_bytes_are_bounded_too() -> None:
    store = ContentStore(100, 3000)
    for n in range(50):
        store.insert(packet(f"/{n}", 500), 0)
        assert store.size_bytes <= 3000
    assert 1 <= len(store) <= 6
    store.resize(1)
    assert len(store) == 1
    store.resize(0)
    store.insert(packet("/x"), 0)
    assert (len(store), store.size_bytes) == (0, 0)


def test_prefix_queries_find_the_first_in_canonical_order_that_is_fresh() -> None:
    store = ContentStore(10_000, 10**9)
    for uri, freshness_ms in (("/p/two", 0), ("/p/one", 50), ("/p/z", 0), ("/q", 99)):
        store.insert(packet(uri, freshness_ms=freshness_ms), 0)
    assert find(store, "/p", can_be_prefix=True) == "/p/z"
    assert find(store, "/p", 10 * MS, can_be_prefix=True, must_be_fresh=True) == "/p/one"
    assert find(store, "/p", 50 * MS, can_be_prefix=True, must_be_fresh=True) is None
    for n in range(6000):  # more than the index is willing to lag behind
        store.insert(packet(f"/p/0{n:05}"), 0)
    store.insert(packet("/p/A"), 0)
    assert find(store, "/p", can_be_prefix=True) == "/p/A"
    assert store.erase(N("/p"), 3) == 3
    assert find(store, "/p/A") is None
    assert store.erase(N("/p"), 10**6) == 6001
    assert find(store, "/p", can_be_prefix=True) is None
    assert len(store) == 1


def test_a_store_can_stop_admitting_and_serving() -> None:
    store = ContentStore(10, 10**6)
    store.admit = False
    store.insert(packet("/1"), 0)
    assert len(store) == 0
    store.admit, store.serve = True, False
    store.insert(packet("/1"), 0)
    assert find(store, "/1") is None


def test_dead_nonces_are_forgotten_in_time_and_bounded() -> None:
    nonces = DeadNonces(2)
    nonces.add(b"name", b"1", 0)
    assert nonces.has(b"name", b"1", 5 * SECOND)
    assert not nonces.has(b"name", b"1", 6 * SECOND)
    nonces.add(b"name", b"2", 0)
    nonces.add(b"name", b"3", 0)
    assert (len(nonces), nonces.evicted) == (2, 1)
    nonces.expire(7 * SECOND)
    assert len(nonces) == 0


def test_closing_a_face_touches_only_its_own_prefixes() -> None:
    fib = Fib()
    for n in range(100):
        fib.set(N(f"/{n}"), [(n % 3, 0), (9, 1)], 0)
    version = fib.version
    fib.drop_face(7, 0)
    assert fib.version == version
    fib.drop_face(1, 0)
    assert fib.version == version + 33
    assert all(hop != 1 for _, hops in fib.entries() for hop, _ in hops)
