"""Sketches under Hypothesis and against theory: IBLT differences, Bloom filters, datasets, and bytes that are hurt.

How often a difference can be told. Taking keys out of cells fails exactly when some of the differing keys form a
stopping set: every cell that has one of them has two of them. Of s keys, in one part of B cells, this happens with
probability q(s), the coefficient of x^s in (e^x - x)^B times s! / B^s (no cell with exactly one), and independently in
each of the three parts. So of d differing keys P(fail) ≤ Σ C(d,s)·q(s)³ over s = 2..d, which is close below the
threshold, where nearly all failures are two keys in the same three cells: C(d,2) / B³. The threshold itself, above
which large tables always fail, is d/N = 0.818 for three parts (1.222 cells per key: Goodrich and Mitzenmacher,
"Invertible Bloom Lookup Tables", 2011, table 1). All sets here are seeded: a test passes always or never.
"""

from __future__ import annotations

from math import comb, factorial, sqrt
from random import Random
from struct import Struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mutation import mutants

from roost.errors import BadPacket
from roost.naming import Component, Name
from roost.sync.bloom import BloomFilter
from roost.sync.compression import METHODS, compress, decompress
from roost.sync.dataset import Dataset
from roost.sync.iblt import CELL_BYTES, Iblt, decode_iblt
from roost.sync.murmur import element_key, murmur3_key
from roost.sync.sync_state import decode_state, element_value, encode_state

KEYS = st.integers(0, 0xFFFFFFFF)
KEY_SETS = st.sets(KEYS, max_size=30)
EXPECTED = st.sampled_from([1, 2, 6, 20, 40, 80])
NAMES = st.lists(st.binary(max_size=5).map(Component), min_size=1, max_size=3).map(lambda parts: Name.of(*parts))
NUMBERS = st.integers(0, 2**64 - 1) | st.integers(0, 300)


def table_of(expected: int, keys: list[int]) -> Iblt:
    table = Iblt(expected)
    for key in keys:
        table.insert(key)
    return table


def name_of(number: int) -> Name:
    return Name.parse(f"/BigCompany/Building1/Panel{number}")


# -- IBLT


@settings(deadline=None)
@given(KEY_SETS, KEY_SETS, KEY_SETS, EXPECTED)
def test_a_difference_that_can_be_told_is_the_difference_of_the_sets(
    common: set[int], ours: set[int], theirs: set[int], expected: int
) -> None:
    ours, theirs = ours | common, theirs | common
    received = decode_iblt(table_of(expected, sorted(theirs)).encode())
    difference = table_of(expected, sorted(ours)).difference(received)
    if difference.complete:
        assert (set(difference.positive), set(difference.negative)) == (ours - theirs, theirs - ours)
        assert difference.size == len(ours ^ theirs)
    else:
        assert len(ours ^ theirs) > 1
        assert set(difference.positive) <= ours - theirs
        assert set(difference.negative) <= theirs - ours


@settings(deadline=None)
@given(st.lists(KEYS, max_size=30), EXPECTED, st.randoms(use_true_random=False))
def test_the_order_of_insertion_does_not_matter(keys: list[int], expected: int, random: Random) -> None:
    shuffled = list(keys)
    random.shuffle(shuffled)
    assert table_of(expected, keys).encode() == table_of(expected, shuffled).encode()


@settings(deadline=None)
@given(st.lists(KEYS, max_size=20), st.lists(KEYS, max_size=20), EXPECTED)
def test_inserting_and_erasing_cancel(kept: list[int], passing: list[int], expected: int) -> None:
    table = table_of(expected, [*passing, *kept])
    for key in passing:
        table.erase(key)
    assert table.encode() == table_of(expected, kept).encode()


def most_failures(keys: int, cells: int) -> float:
    """The bound on P(fail) of the module's docstring."""
    part = cells // 3
    others = [0.0 if count == 1 else 1 / factorial(count) for count in range(keys + 1)]
    series = [1.0] + [0.0] * keys
    for _ in range(part):
        series = [sum(series[low] * others[high - low] for low in range(high + 1)) for high in range(keys + 1)]
    stopping = [series[size] * factorial(size) / float(part) ** size for size in range(keys + 1)]
    return sum(comb(keys, size) * chance * chance * chance for size, chance in enumerate(stopping) if size > 1)


def failures(keys: int, trials: int) -> int:
    """How often a difference of this many keys, on either side, cannot be told with E = 80."""
    random = Random(keys)
    count = 0
    for _ in range(trials):
        table = Iblt(80)
        for key in random.sample(range(1 << 32), keys):
            (table.insert if random.getrandbits(1) else table.erase)(key)
        count += not table.difference(Iblt(80)).complete
    return count


@pytest.mark.parametrize(("keys", "trials"), [(1, 100), (40, 1000), (60, 500)])
def test_differences_below_the_threshold_fail_as_rarely_as_theory_says(keys: int, trials: int) -> None:
    mean = trials * most_failures(keys, 120)
    assert abs(failures(keys, trials) - mean) <= 4 * sqrt(mean)


def test_half_the_expected_elements_fail_in_13_of_1000_cases_at_most() -> None:
    assert most_failures(40, 120) < 0.013


def test_differences_around_the_threshold_of_98_keys_turn_from_telling_to_not_telling() -> None:
    assert failures(80, 200) < 40
    assert failures(112, 100) > 95


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-2, 2), KEYS, st.integers(0, 29)), max_size=40))
def test_a_forged_table_takes_no_more_keys_than_it_has_cells(forged: list[tuple[int, int, int]]) -> None:
    cells = [bytes(CELL_BYTES)] * 30
    for count, key, at in forged:
        cells[at] = Struct(">iII").pack(count, key, murmur3_key(key, 11))
    difference = Iblt(20).difference(decode_iblt(b"".join(cells)))
    assert difference.size <= 30


# -- Bloom filters


@settings(deadline=None)
@given(st.lists(NAMES, max_size=20), st.integers(1, 20), st.integers(1, 500))
def test_a_name_that_was_added_is_always_found(names: list[Name], count: int, p_milli: int) -> None:
    made = BloomFilter(max(2, count), p_milli)
    for name in names:
        made.add(name)
    received = BloomFilter.decode(made.count, made.p_milli, made.encode())
    assert all(name in made and name in received for name in names)


@pytest.mark.parametrize(("count", "p_milli", "trials"), [(6, 1, 20_000), (40, 10, 10_000), (100, 100, 5_000)])
def test_other_names_are_found_as_rarely_as_asked_for(count: int, p_milli: int, trials: int) -> None:
    found = 0
    batches = 20  # filters, since with one of few bits luck weighs more than the parameter
    for batch in range(batches):
        made = BloomFilter(count, p_milli)
        first = batch * 1_000_000
        for number in range(first, first + count):
            made.add(name_of(number))
        found += sum(name_of(number) in made for number in range(first + count, first + count + trials // batches))
    mean = trials * p_milli / 1000
    assert found <= mean + 4 * sqrt(mean)
    assert found >= mean / 4


# -- datasets and states


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcdef"), NUMBERS), max_size=40), st.integers(1, 6))
def test_a_dataset_does_what_a_plain_model_does(steps: list[tuple[str, int]], max_streams: int) -> None:
    dataset = Dataset(max_streams)
    dataset.iblt(20)
    model: dict[Name, int] = {}
    for letter, number in steps:
        stream = Name.parse(f"/{letter}")
        news = number > model.get(stream, -1) and (stream in model or len(model) < max_streams)
        assert dataset.set(stream, number) == news
        if news:
            model.pop(stream, None)
            model[stream] = number
    assert dataset.items() == list(model.items())
    assert dataset.total == min(sum(model.values()), 2**64 - 1)
    assert dataset.elements == sum(number > 0 for number in model.values())
    assert dataset.names_bytes == sum(len(stream.value) for stream in model)
    keys = [element_key(element_value(stream, number)) for stream, number in model.items() if number]
    assert dataset.elements_of(keys) == [entry for entry in model.items() if entry[1]]
    assert dataset.iblt(20).encode() == table_of(20, keys).encode()


@settings(deadline=None)
@given(st.lists(st.tuples(NAMES, NUMBERS), max_size=10))
def test_a_state_comes_back(entries: list[tuple[Name, int]]) -> None:
    assert decode_state(encode_state(entries), len(entries)) == entries


# -- bytes from strangers


@pytest.mark.parametrize("method", METHODS)
def test_hurt_bytes_are_a_bad_packet_or_nothing_worse(method: str) -> None:
    tables = [table_of(expected, list(range(expected))).encode() for expected in (1, 6, 20)]
    states = [encode_state([(name_of(number), 10**number) for number in range(count)]) for count in (0, 1, 5)]
    own = table_of(6, [1, 2, 3])
    refused = 0
    for hurt in mutants(3, 600, [compress(raw, method) for raw in (*tables, *states)]):
        try:
            raw = decompress(hurt, method, 1000)
        except BadPacket:
            refused += 1
            continue
        for read in (lambda raw: own.difference(decode_iblt(raw)), lambda raw: decode_state(raw, 10)):
            try:
                read(raw)
            except BadPacket:
                refused += 1
    assert refused > 300


@given(st.integers(-5, 2**64 - 1) | st.integers(0, 30), st.integers(-5, 2**64 - 1) | st.integers(0, 1000), st.binary())
def test_a_filter_from_strangers_is_a_bad_packet_or_a_filter(count: int, p_milli: int, raw: bytes) -> None:
    try:
        received = BloomFilter.decode(count, p_milli, raw)
    except BadPacket:
        return
    assert received.encode() == raw
    assert isinstance(name_of(1) in received, bool)
