"""Stores and holdings against their models, under any history."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.host.rocks import RocksStore
from roost.naming import Name
from roost.naming.conventions import sequence
from roost.repo.holding import Holding
from roost.repo.memory import MemoryStore
from roost.repo.store import Batch, Damaged, Entry, Store
from roost.repo.store_log import LoggedStore, encode_batch

STREAMS = [Name.parse(uri) for uri in ("/a", "/a/b", "/a/bb", "/c/d")]
NUMBERS = [0, 1, 2, 3, 200, 255, 256, 1023, 1024, 5000, 65536]
NAMES = [stream / sequence(number) for stream in STREAMS for number in NUMBERS] + STREAMS + [Name.parse("/a/seq=3/x")]

numbers = st.integers(1, 40)


def entry(name: Name, time: int) -> Entry:
    return Entry(name, b"packet " + name.value + time.to_bytes(2, "big"), time)


# A packet does not change, so a name has one event time in a history.
times = st.lists(st.integers(0, 30), min_size=len(NAMES), max_size=len(NAMES))
batches = st.lists(
    st.tuples(
        st.lists(st.sampled_from(range(len(NAMES))), max_size=8, unique=True),
        st.lists(st.sampled_from(range(len(NAMES))), max_size=4),
        st.lists(st.tuples(st.binary(max_size=2), st.none() | st.binary(max_size=3)), max_size=3),
    ),
    max_size=8,
)


def history(drawn: list[tuple[list[int], list[int], list[tuple[bytes, bytes | None]]]], when: list[int]) -> list[Batch]:
    return [
        Batch(tuple(entry(NAMES[at], when[at]) for at in puts), tuple(NAMES[at] for at in deletes), tuple(marks))
        for puts, deletes, marks in drawn
    ]


def everything(store: Store, bound: int, limit: int) -> list[object]:
    """All that can be asked of a store."""
    seen: list[object] = [store.get(name) for name in NAMES]
    for prefix in [Name(), *STREAMS, Name.parse("/a/seq=3")]:
        seen += [store.find(prefix), store.latest(prefix), store.scan(prefix, None, limit)]
        seen += [store.scan(prefix, after, limit) for after in NAMES[::7]]
        seen += [store.range(prefix, low, high, limit) for low, high in ((0, 1 << 64), (2, 255), (256, bound))]
        seen += [store.since(prefix, time) for time in (0, 1, bound % 31)]
        seen += [store.between(prefix, low, high, limit) for low, high in ((0, 99), (bound % 31, 20))]
    seen += [store.marks(prefix, after, limit) for prefix in (b"", b"\0", b"\xff") for after in (b"", b"\1")]
    return seen


@settings(max_examples=30, deadline=None)
@given(batches, times, st.integers(1, 70_000), st.integers(1, 12))
def test_rocksdb_and_the_log_answer_as_the_store_in_memory(
    drawn: list[tuple[list[int], list[int], list[tuple[bytes, bytes | None]]]],
    when: list[int],
    bound: int,
    limit: int,
) -> None:
    written = history(drawn, when)
    memory = MemoryStore()
    for batch in written:
        memory.write([batch])
    expected = everything(memory, bound, limit)
    assert everything(LoggedStore(b"".join(map(encode_batch, written))), bound, limit) == expected
    with tempfile.TemporaryDirectory() as folder:
        rocks = RocksStore(Path(folder) / "store")
        try:
            half = len(written) // 2
            rocks.write(written[:half])
            for batch in written[half:]:
                rocks.write([batch])
            assert everything(rocks, bound, limit) == expected
        finally:
            rocks.close()


@settings(max_examples=200, deadline=None)
@given(batches, times, st.lists(st.integers(0, 1 << 20), max_size=6), st.integers(0, 1 << 20))
def test_a_torn_and_damaged_log_never_gives_a_wrong_packet(
    drawn: list[tuple[list[int], list[int], list[tuple[bytes, bytes | None]]]],
    when: list[int],
    flips: list[int],
    torn: int,
) -> None:
    log = bytearray(b"".join(map(encode_batch, history(drawn, when))))
    if log:
        del log[len(log) - torn % (len(log) + 1) :]
    for flip in flips:
        if log:
            log[flip // 8 % len(log)] ^= 1 << flip % 8
    store = LoggedStore(bytes(log))
    for at, name in enumerate(NAMES):
        try:
            wire = store.get(name)
        except Damaged as damaged:
            assert damaged.name == name  # noqa: PT017  either may happen
            continue
        assert wire in {None, entry(name, when[at]).wire}
    for name in store.scan(Name(), None, 1000):
        assert name in NAMES
    assert store.size <= len(log)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.booleans(), numbers, st.integers(0, 8)), max_size=30), st.integers(1, 5))
def test_a_row_is_as_two_sets_of_numbers(changes: list[tuple[bool, int, int]], limit: int) -> None:
    row = Holding()
    held: set[int] = set()
    gone: set[int] = set()
    for is_added, low, more in changes:
        if is_added:
            assert row.add(low, 10) == (low not in held)
            held.add(low)
            gone.discard(low)
        else:
            dropped = set(range(low, low + more + 1))
            row.drop(low, low + more, 10 * len(held & dropped))
            held -= dropped
            gone |= dropped
    for each in (row, row.copy(), Holding.decode(row.encode())):
        assert {number for low, high in each.held for number in range(low, high + 1)} == held
        assert {number for low, high in each.gone for number in range(low, high + 1)} == gone
        assert (each.lowest, each.highest) == (min(held, default=0), max(held, default=0))
        assert (each.count, each.size_bytes) == (len(held), 10 * len(held))
        assert [each.is_held(number) for number in range(60)] == [number in held for number in range(60)]
        assert [each.is_gone(number) for number in range(60)] == [number in gone for number in range(60)]
        holes = [number for number in range(1, max(held, default=0)) if number not in held | gone]
        found = [number for low, high in each.holes(limit) for number in range(low, high + 1)]
        assert found == holes[: len(found)]
        assert len(each.holes(limit)) == limit or found == holes
