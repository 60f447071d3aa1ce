"""The store as a log: what a torn tail and a flipped bit cost."""

from __future__ import annotations

import pytest

from roost.naming import Name
from roost.naming.conventions import sequence
from roost.repo.store import Batch, Damaged, Entry
from roost.repo.store_log import LoggedStore, encode_batch

STREAM = Name.parse("/B/Panel1/Voltage")


def entry(number: int) -> Entry:
    return Entry(STREAM / sequence(number), b"packet %d" % number * 10, number)


FIRST = encode_batch(Batch((entry(1), entry(2)), marks=((b"m", b"one"),)))
SECOND = encode_batch(Batch((entry(3),), (entry(1).name,), ((b"m", b"two"),)))
LOG = FIRST + SECOND


def flipped(log: bytes, *positions: int) -> bytes:
    damaged = bytearray(log)
    for position in positions:
        damaged[position] ^= 1
    return bytes(damaged)


def names(store: LoggedStore) -> list[int]:
    return [number for number, _ in store.range(STREAM, 1, 99, 99)]


def test_a_log_is_read_as_it_was_written() -> None:
    store = LoggedStore(LOG)
    assert names(store) == [2, 3]
    assert store.mark(b"m") == b"two"
    assert (store.size, store.lost, store.damaged) == (len(LOG), 0, [])


def test_a_batch_that_is_cut_off_is_not_there() -> None:
    for size in range(len(FIRST), len(LOG)):
        store = LoggedStore(LOG[:size])
        assert names(store) == [1, 2]
        assert store.mark(b"m") == b"one"
        assert (store.size, store.lost) == (len(FIRST), 0)


def test_any_one_flipped_bit_costs_one_packet_or_mark_at_most_and_it_is_named() -> None:
    for position in range(len(LOG)):
        store = LoggedStore(flipped(LOG, position))
        assert (store.size, store.lost) == (len(LOG), 0)
        lost = store.damaged
        assert len(lost) + (store.mark(b"m") is None) <= 1
        for name in lost:
            with pytest.raises(Damaged):
                store.get(name)
        assert names(store) == [number for number in (2, 3) if entry(number).name not in lost]


def test_a_damaged_packet_is_well_again_when_it_is_written_again() -> None:
    store = LoggedStore(flipped(FIRST, len(FIRST) - 10))
    assert store.damaged == [entry(2).name]
    store.apply(Batch((entry(2),)))
    assert store.damaged == []
    assert store.get(entry(2).name) == entry(2).wire
    store = LoggedStore(flipped(FIRST, len(FIRST) - 10) + encode_batch(Batch(deletes=(entry(2).name,))))
    assert store.damaged == []
    assert store.get(entry(2).name) is None


def test_damage_to_both_copies_costs_the_batch_or_all_behind_it() -> None:
    first_head, second_head = 0, 12
    store = LoggedStore(flipped(LOG, first_head, second_head))
    assert (names(store), store.size, store.lost) == ([], 0, 1)
    index_bytes = int.from_bytes(FIRST[:4], "big")
    store = LoggedStore(flipped(LOG, 24, 24 + index_bytes))
    assert (names(store), store.size, store.lost) == ([3], len(LOG), 1)
    assert store.mark(b"m") == b"two"
