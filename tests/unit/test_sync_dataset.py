"""The dataset: numbers, keys, tables kept up to date, bounds, and two elements with the same key [PSync §1]."""

from __future__ import annotations

import pytest

from roost.errors import BadPacket
from roost.naming import Name
from roost.sync.dataset import MAX_NUMBER, MAX_TABLES, Dataset
from roost.sync.iblt import Iblt, decode_iblt
from roost.sync.murmur import element_key
from roost.sync.sync_state import element_value

A, B, C = Name.parse("/A"), Name.parse("/B"), Name.parse("/C")
# The first elements of these three have the same key.
ONE, OTHER, THIRD, SHARED = Name.parse("/s/2833"), Name.parse("/s/34059"), Name.parse("/aaulB6e9"), 0x72F949BA


def key(stream: Name, number: int) -> int:
    return element_key(element_value(stream, number))


def dataset_of(*entries: tuple[Name, int]) -> Dataset:
    made = Dataset(1000)
    for stream, number in entries:
        assert made.set(stream, number)
    return made


def test_a_stream_is_unknown_then_known_then_numbered() -> None:
    dataset = Dataset(10)
    assert (dataset.get(A), A in dataset, len(dataset)) == (-1, False, 0)
    assert dataset.set(A, 0)
    assert (dataset.get(A), A in dataset, len(dataset)) == (0, True, 1)
    assert dataset.set(A, 5)
    assert (dataset.get(A), A in dataset, len(dataset)) == (5, True, 1)


def test_numbers_only_grow() -> None:
    dataset = dataset_of((A, 5))
    assert not dataset.set(A, 5)
    assert not dataset.set(A, 4)
    assert not dataset.set(A, 0)
    assert (dataset.get(A), dataset.total) == (5, 5)


def test_the_total_is_the_sum_of_the_latest_numbers() -> None:
    dataset = dataset_of((A, 1), (B, 300), (C, 0))
    assert dataset.total == 301
    dataset.set(A, 7)
    assert dataset.total == 307


def test_the_total_stays_what_a_component_can_carry() -> None:
    dataset = dataset_of((A, MAX_NUMBER), (B, 5))
    assert dataset.total == MAX_NUMBER


def test_a_number_that_no_component_can_carry_changes_nothing() -> None:
    dataset = dataset_of((A, 1))
    for stream, number in ((A, MAX_NUMBER + 1), (B, MAX_NUMBER + 1), (B, -1)):
        with pytest.raises(BadPacket):
            dataset.set(stream, number)
    assert (dataset.items(), dataset.total) == ([(A, 1)], 1)
    assert dataset.iblt(6).encode() == dataset_of((A, 1)).iblt(6).encode()


def test_the_table_is_that_of_the_latest_elements() -> None:
    dataset = dataset_of((A, 1), (B, 300))
    assert dataset.iblt(6).encode().hex().startswith("00000000000000000000000000000001aa507eee2e5e68a1")
    dataset.set(B, 301)
    dataset.set(C, 0)
    assert dataset.iblt(6).encode() == dataset_of((B, 301), (A, 1)).iblt(6).encode()


def test_tables_of_several_sizes_are_all_kept_up_to_date() -> None:
    dataset = dataset_of((A, 1))
    small, large = dataset.iblt(6), dataset.iblt(80)
    dataset.set(A, 2)
    dataset.set(B, 1)
    assert dataset.iblt(6) is small
    assert dataset.iblt(80) is large
    for table, expected in ((small, 6), (large, 80)):
        assert table.encode() == dataset_of((A, 2), (B, 1)).iblt(expected).encode()


def test_the_table_to_compare_with_has_the_size_of_the_received_one() -> None:
    dataset = dataset_of((A, 1))
    assert dataset.iblt_like(decode_iblt(Iblt(79).encode())) is dataset.iblt(80)  # 79 and 80 make the same size
    received = decode_iblt(dataset_of((B, 1)).iblt(20).encode())
    assert dataset.iblt_like(received).difference(received).positive == [key(A, 1)]


def test_the_table_used_longest_ago_makes_room_for_a_new_size() -> None:
    dataset = dataset_of((A, 1))
    tables = [dataset.iblt(20 * (number + 1)) for number in range(MAX_TABLES)]
    assert dataset.iblt(20) is tables[0]
    dataset.iblt(20 * (MAX_TABLES + 1))
    assert dataset.iblt(20) is tables[0]
    assert dataset.iblt(40) is not tables[1]
    assert dataset.iblt(40).encode() == tables[1].encode()


def test_keys_lead_to_elements() -> None:
    dataset = dataset_of((A, 1), (B, 300), (C, 0))
    assert dataset.elements_of([key(B, 300), 12345, key(A, 1), key(A, 2)]) == [(B, 300), (A, 1)]
    dataset.set(A, 2)
    assert dataset.elements_of([key(A, 1)]) == []
    assert dataset.elements_of([key(A, 2)]) == [(A, 2)]


def test_a_number_within_reach_is_found_among_keys() -> None:
    dataset = dataset_of((A, 10), (B, 0), (ONE, MAX_NUMBER))
    assert dataset.number_in(A, {key(A, 11)}, 1) == 11
    assert dataset.number_in(A, {key(A, 9)}, 1) == 9
    assert dataset.number_in(A, {key(A, 10), key(A, 12), key(A, 8), key(B, 11)}, 1) == 0
    assert dataset.number_in(A, {key(A, 18)}, 8) == 18
    assert dataset.number_in(A, {key(A, 1), key(A, 19)}, 8) == 0
    assert dataset.number_in(A, {key(A, 1)}, 50) == 1
    assert dataset.number_in(B, {key(B, 1)}, 1) == 1
    assert dataset.number_in(C, {key(C, 1)}, 1) == 1, "a stream that is not known yet"
    assert dataset.number_in(ONE, {key(A, 2)}, 5) == 0, "after the last number there is none"


def test_what_changed_last_comes_last_or_first_among_the_recent() -> None:
    dataset = dataset_of((A, 1), (B, 1), (C, 0))
    dataset.set(A, 2)
    assert dataset.items() == [(B, 1), (C, 0), (A, 2)]
    assert list(dataset.recent()) == [(A, 2), (C, 0), (B, 1)]
    assert (len(dataset), dataset.elements) == (3, 2)
    dataset.set(B, 1)  # no news, no change
    assert next(dataset.recent()) == (A, 2)


def test_a_stream_beyond_the_bound_is_turned_away_and_counted() -> None:
    dataset = Dataset(2)
    assert dataset.set(A, 1)
    assert dataset.set(B, 0)
    assert not dataset.set(C, 1)
    assert dataset.set(A, 2)
    assert (len(dataset), dataset.total, dataset.turned_away, dataset.get(C)) == (2, 2, 1, -1)


def test_two_elements_with_the_same_key_are_both_kept() -> None:
    assert key(ONE, 1) == key(OTHER, 1) == SHARED
    dataset = dataset_of((ONE, 1), (OTHER, 1))
    assert dataset.collisions == 1
    assert dataset.elements_of([SHARED]) == [(ONE, 1), (OTHER, 1)]
    received = decode_iblt(dataset_of((OTHER, 1)).iblt(6).encode())
    difference = dataset.iblt(6).difference(received)
    assert dataset.elements_of(difference.positive) == [(ONE, 1), (OTHER, 1)]  # whichever it is, it is told
    assert not dataset.iblt(6).difference(Iblt(6)).complete


@pytest.mark.parametrize("leaves", [ONE, OTHER])
def test_of_two_with_the_same_key_one_goes_on_and_the_other_stays(leaves: Name) -> None:
    stays = OTHER if leaves is ONE else ONE
    dataset = dataset_of((ONE, 1), (OTHER, 1))
    dataset.set(leaves, 2)
    assert dataset.elements_of([SHARED]) == [(stays, 1)]
    assert dataset.elements_of([key(leaves, 2)]) == [(leaves, 2)]
    assert dataset.iblt(6).encode() == dataset_of((leaves, 2), (stays, 1)).iblt(6).encode()
    dataset.set(stays, 2)
    assert dataset.elements_of([SHARED]) == []
    assert dataset.collisions == 1


def test_of_several_with_the_same_key_the_one_that_has_had_it_longest_comes_first() -> None:
    dataset = dataset_of((ONE, 1), (OTHER, 1), (THIRD, 1))
    assert dataset.collisions == 2
    assert dataset.elements_of([SHARED]) == [(ONE, 1), (OTHER, 1), (THIRD, 1)]
    dataset.set(ONE, 2)
    assert dataset.elements_of([SHARED]) == [(OTHER, 1), (THIRD, 1)]
