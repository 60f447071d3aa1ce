"""Bloom filters over names: sizes, salts and bits of the fact sheet, and what cannot be a filter [PSync §7]."""

from __future__ import annotations

from math import log

import pytest

from roost.errors import BadConfig, BadPacket
from roost.naming import Name
from roost.sync.bloom import MAX_FILTER_BYTES, BloomFilter, salts, shape


def filter_of(count: int, p_milli: int, *uris: str) -> BloomFilter:
    made = BloomFilter(count, p_milli)
    for uri in uris:
        made.add(Name.parse(uri))
    return made


@pytest.mark.parametrize(
    ("count", "p_milli", "hashes", "bits"),
    [
        (1, 1, 10, 16),
        (5, 1, 10, 72),
        (6, 1, 10, 88),
        (10, 1, 10, 144),
        (16, 1, 10, 232),
        (40, 1, 10, 576),
        (80, 1, 10, 1152),
        (100, 1, 10, 1440),
        (6, 10, 7, 64),
        (6, 100, 3, 32),
    ],
)
def test_the_size_and_the_hashes_follow_from_count_and_probability(
    count: int, p_milli: int, hashes: int, bits: int
) -> None:
    assert shape(count, p_milli) == (hashes, bits)


@pytest.mark.parametrize("p_milli", [1, 2, 3, 8, 29, 30, 125, 126, 249, 250, 251, 500, 501, 618, 999])
@pytest.mark.parametrize("count", [20, 61])
def test_the_first_rise_is_behind_the_minimum_that_others_search_up_to_999(count: int, p_milli: int) -> None:
    sizes = [-k * count / log(1.0 - (p_milli / 1000) ** (1.0 / k)) for k in range(1, 1000)]
    least = min(sizes)
    assert shape(count, p_milli) == (sizes.index(least) + 1, int(least) + -int(least) % 8)


def test_no_probability_takes_more_than_ten_hashes() -> None:
    assert {shape(100, p_milli)[0] for p_milli in range(1, 1000)} == set(range(1, 11))


def test_the_salts_are_made_from_each_other() -> None:
    assert [f"{salt:08x}" for salt in salts(10)] == [
        "2df1b57b", "94581be1", "fe28527e", "584f463f", "985c1fe5",
        "5046d7d0", "8b118a12", "307e720c", "25f3e9b8", "0100831d",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("count", "p_milli", "uris", "encoded"),
    [
        (6, 1, ["/A", "/B"], "0202049221020144841850"),
        (16, 1, ["/test/memphis"], "0021021000020000000000000002800800000000002000000000000020"),
        (1, 10, ["/A"], "16a8"),
    ],
)
def test_the_bits_are_those_of_other_implementations(count: int, p_milli: int, uris: list[str], encoded: str) -> None:
    made = filter_of(count, p_milli, *uris)
    assert made.encode().hex() == encoded
    again = BloomFilter.decode(count, p_milli, bytes.fromhex(encoded))
    assert (again.count, again.p_milli, again.encode()) == (count, p_milli, made.encode())
    assert all(Name.parse(uri) in again for uri in uris)


def test_a_name_that_was_not_added_is_rarely_found() -> None:
    made = filter_of(6, 1, "/A", "/B")
    assert Name.parse("/C") not in made
    assert Name.parse("/A/1") not in made
    assert Name() not in made


def test_an_empty_filter_finds_nothing_and_a_full_one_everything() -> None:
    assert Name.parse("/A") not in BloomFilter(6, 1)
    assert Name.parse("/A") in BloomFilter.decode(6, 1, b"\xff" * 11)


@pytest.mark.parametrize(("count", "p_milli"), [(0, 1), (-1, 1), (6, 0), (6, -1), (6, 1000), (6, 10**30), (10**30, 1)])
def test_parameters_that_make_no_filter_are_refused(count: int, p_milli: int) -> None:
    with pytest.raises(BadConfig, match="Bloom filter"):
        BloomFilter(count, p_milli)
    with pytest.raises(BadPacket, match="Bloom filter"):
        BloomFilter.decode(count, p_milli, b"")


def test_a_filter_without_bits_is_refused() -> None:
    with pytest.raises(BadConfig, match="would have 0 bytes"):
        BloomFilter(1, 999)


def test_a_filter_is_no_larger_than_an_interest() -> None:
    assert len(BloomFilter(4451, 1).encode()) == MAX_FILTER_BYTES
    with pytest.raises(BadPacket, match=r"would have 800\d bytes"):
        BloomFilter.decode(4452, 1, bytes(8001))


@pytest.mark.parametrize("size", [0, 10, 12])
def test_a_filter_of_the_wrong_length_is_refused(size: int) -> None:
    with pytest.raises(BadPacket, match=f"has 11 bytes, not {size}"):
        BloomFilter.decode(6, 1, bytes(size))
