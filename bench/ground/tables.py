"""Look-ups among 100,000 prefixes beside 10, and what an entry of each table weighs.

`route` is what an Interest pays: next hops and strategy, remembered per stream. `fib_cold` is the table behind it,
which a stream pays once. Both ask for names of 1,000 streams, spread at random over the whole table. Weights are
measured with `tracemalloc` over many entries; they include keys, records and the share of the containers.
"""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections.abc import Callable, Iterator

from bench.figure import Figure, Pair, alternate, rate
from roost.forwarding.face import Arrived, FaceSpec
from roost.forwarding.fib import Fib
from roost.forwarding.forwarder import Forwarder
from roost.forwarding.routes import Routes
from roost.forwarding.settings import ForwarderSettings
from roost.forwarding.strategy_choice import Strategies
from roost.naming import Name
from roost.naming.conventions import sequence
from roost.wire import DigestSigner, encode_data, encode_interest

MANY = 100_000
FEW = 10
ENTRIES = 10_000
NOW = 1_700_000_000_000_000_000


def stream(number: int) -> Name:
    return Name.parse(f"/BigCompany/Building{number % 100}/Panel{number // 100 % 100}/Metric{number}")


def fib_of(count: int) -> tuple[Fib, list[Name]]:
    fib = Fib()
    for number in range(count):
        fib.set(stream(number), [(300, 0)], NOW)
    draw = random.Random(1)
    return fib, [Name.decode((stream(draw.randrange(count)) / sequence(n)).value) for n in range(1000)]


def walk(table: Fib | Routes, names: list[Name]) -> None:
    lookup = table.lookup
    for name in names:
        lookup(name.value, name.cuts)


def compare(few: Fib | Routes, few_names: list[Name], many: Fib | Routes, many_names: list[Name]) -> Pair:
    """Nanoseconds per look-up, in the large table and in the small one."""
    return alternate(
        lambda: 1e9 / (1000 * rate(lambda: walk(many, many_names))),
        lambda: 1e9 / (1000 * rate(lambda: walk(few, few_names))),
        rounds=9,
        label="tables",
        pick=min,
    )


def run() -> Iterator[Figure]:
    few, few_names = fib_of(FEW)
    many, many_names = fib_of(MANY)
    pair = compare(Routes(few, Strategies()), few_names, Routes(many, Strategies()), many_names)
    yield Figure("tables.route_100000", pair.ours, "ns", "the_same_with_10_prefixes", pair.peer)
    pair = compare(few, few_names, many, many_names)
    yield Figure("tables.fib_cold_100000", pair.ours, "ns", "the_same_with_10_prefixes", pair.peer)
    yield Figure("tables.fib_entry", weight(_fib_entries), "bytes")
    yield Figure("tables.pit_entry", weight(_pit_entries), "bytes")
    yield Figure("tables.store_packet_100", weight(lambda: _store_packets(100)), "bytes")


def weight(make: Callable[[], object]) -> float:
    """Bytes per entry that `make` leaves allocated."""
    gc.collect()
    tracemalloc.start()
    kept = make()
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept is not None
    return size / ENTRIES


def _fib_entries() -> object:
    fib = Fib()
    for number in range(ENTRIES):
        fib.set(stream(number), [(300, 0)], NOW)
    fib.added = []
    return fib


def _forwarder() -> Forwarder:
    forwarder = Forwarder(ForwarderSettings(), random.Random(1))
    for face in (300, 301):
        forwarder.open_face(face, FaceSpec("bench://", "bench://", local=True), NOW)
    forwarder.fib.set(Name.parse("/BigCompany"), [(301, 0)], NOW)
    return forwarder


def _pit_entries() -> object:
    forwarder = _forwarder()
    for number in range(ENTRIES):
        interest = encode_interest(stream(number), nonce=number.to_bytes(4, "big"))
        forwarder.receive(Arrived(300, [interest]), NOW)
    return forwarder


def _store_packets(size: int) -> object:
    forwarder = _forwarder()
    signer = DigestSigner()
    for number in range(ENTRIES):
        name = stream(number)
        forwarder.receive(Arrived(300, [encode_interest(name, nonce=number.to_bytes(4, "big"))]), NOW)
        forwarder.receive(Arrived(301, [encode_data(name, bytes(size), signer, freshness_ms=1000)]), NOW)
    return forwarder
