"""Invertible Bloom lookup tables: the vectors of the fact sheet, differences, and tables that lie [PSync §2]."""

from __future__ import annotations

from itertools import combinations
from struct import Struct

import pytest

from roost.errors import BadConfig, BadPacket
from roost.naming import Name
from roost.sync.compression import ZLIB, compress
from roost.sync.iblt import CELL_BYTES, MAX_CELLS, Iblt, cells_for, decode_iblt, expected_for
from roost.sync.murmur import element_key, murmur3_key
from roost.sync.sync_state import element_value

MEMPHIS = 0x5C5BF267
A, B = 0xD3D469D2, 0xAA507EEE
EMPTY = bytes(CELL_BYTES).hex()


def table(expected: int, *keys: int) -> Iblt:
    made = Iblt(expected)
    for key in keys:
        made.insert(key)
    return made


def place(expected: int, key: int, part: int) -> int:
    """The cell of a key in one of the three parts."""
    size = cells_for(expected) // 3
    return part * size + int(murmur3_key(key, part)) % size


def shared(expected: int, first: int, second: int) -> list[bool]:
    return [place(expected, first, part) == place(expected, second, part) for part in range(3)]


def cell(count: int, key: int) -> bytes:
    return Struct(">iII").pack(count, key, murmur3_key(key, 11))


@pytest.mark.parametrize(
    ("expected", "cells"), [(1, 3), (2, 3), (3, 6), (6, 9), (10, 15), (40, 60), (80, 120), (160, 240)]
)
def test_the_expected_elements_fix_the_size(expected: int, cells: int) -> None:
    assert cells_for(expected) == Iblt(expected).cells == cells
    assert len(Iblt(expected).encode()) == CELL_BYTES * cells


def test_every_multiple_of_three_is_a_size_and_gives_the_largest_expectation_back() -> None:
    for cells in range(3, MAX_CELLS + 1, 3):
        expected = expected_for(cells)
        assert cells_for(expected) == cells < cells_for(expected + 1)


@pytest.mark.parametrize("expected", [-1, 0, expected_for(MAX_CELLS) + 1, 10**30])
def test_a_size_out_of_bounds_is_a_wrong_setting(expected: int) -> None:
    with pytest.raises(BadConfig, match="makes no IBLT"):
        Iblt(expected)


def test_one_element_as_in_the_unit_test_of_the_cpp_library() -> None:
    assert element_key(element_value(Name.parse("/test/memphis"), 1)) == MEMPHIS
    cells = [EMPTY] * 15
    for index in (2, 6, 13):
        cells[index] = "000000015c5bf2674224ee6c"
    assert table(10, MEMPHIS).encode().hex() == "".join(cells)


def test_two_elements_and_their_compressed_form() -> None:
    raw = table(6, A, B).encode()
    assert raw == bytes.fromhex(
        """
        000000000000000000000000 00000001aa507eee2e5e68a1 00000001d3d469d2f144374a
        000000027984173cdf1a5feb 000000000000000000000000 000000000000000000000000
        00000001aa507eee2e5e68a1 00000001d3d469d2f144374a 000000000000000000000000
        """
    )
    assert compress(raw, ZLIB).hex() == (
        "78da636040018cab02eadee9c5652c04b12f5fc9bcf4d1c5dc0bc866aa6c11b7b92f15ff9a0137c0a5170e006c0d14c0"
    )


@pytest.mark.parametrize(
    ("expected", "compressed"), [(6, "78da6360a01f0000006c0001"), (80, "78da63601805a360148c82513018010005a00001")]
)
def test_an_empty_table_compressed(expected: int, compressed: str) -> None:
    assert compress(Iblt(expected).encode(), ZLIB).hex() == compressed


def test_what_was_erased_and_never_there_counts_below_zero() -> None:
    made = Iblt(10)
    made.erase(MEMPHIS)
    assert made.encode()[24:36].hex() == "ffffffff5c5bf2674224ee6c"
    again = decode_iblt(made.encode())
    again.insert(MEMPHIS)
    assert again.encode() == Iblt(10).encode()


def test_a_difference_names_what_only_we_have_and_what_only_they_have() -> None:
    difference = table(6, A, MEMPHIS).difference(decode_iblt(table(6, B, MEMPHIS).encode()))
    assert (difference.positive, difference.negative, difference.complete) == ([A], [B], True)
    assert difference.size == 2
    assert "complete=True" in repr(difference)


def test_equal_tables_differ_in_nothing() -> None:
    own = table(6, A, B)
    for _ in range(2):
        difference = own.difference(table(6, B, A))
        assert (difference.size, difference.complete) == (0, True)
        own.encode()


def test_a_difference_is_told_even_if_its_last_key_shows_in_an_earlier_cell() -> None:
    keys = [0xD82C07CD, 0x629F6FBE, 0xC2094CAC, 0xE3E70682]  # one pass over the cells finds three of them
    difference = table(6, *keys).difference(Iblt(6))
    assert sorted(difference.positive) == sorted(keys)
    assert difference.complete


def test_too_large_a_difference_is_incomplete_and_says_so() -> None:
    difference = table(6, *range(40)).difference(Iblt(6))
    assert not difference.complete


def test_a_copy_goes_its_own_way() -> None:
    first = table(6, A)
    second = first.copy()
    second.insert(B)
    assert first.encode() == table(6, A).encode()
    assert second.encode() == table(6, A, B).encode()
    assert (second.expected, second.cells) == (6, 9)


def test_tables_of_unequal_size_cannot_be_compared() -> None:
    with pytest.raises(BadPacket, match="9 cells was received, ours has 120"):
        Iblt(80).difference(Iblt(6))


@pytest.mark.parametrize("size", [0, 1, 12, 24, 35, 37, 1439])
def test_bytes_of_no_valid_size_are_refused(size: int) -> None:
    with pytest.raises(BadPacket, match="multiple of 36 bytes"):
        decode_iblt(bytes(size))


def test_a_table_above_the_bound_is_refused() -> None:
    assert decode_iblt(bytes(CELL_BYTES * 120), max_cells=120).expected == 80
    with pytest.raises(BadPacket, match="123 cells was received, the limit here is 120"):
        decode_iblt(bytes(CELL_BYTES * 123), max_cells=120)
    with pytest.raises(BadPacket, match=f"the limit here is {MAX_CELLS}"):
        decode_iblt(bytes(CELL_BYTES * (MAX_CELLS + 3)), max_cells=10**9)


def test_a_forged_cell_ends_the_search_instead_of_turning_in_circles() -> None:
    honest = table(6, A).encode()
    assert honest[24:36] == cell(1, A)
    forged = bytes(24) + cell(1, A) + bytes(72)  # in one of its three cells only: taking it out makes it show elsewhere
    difference = Iblt(6).difference(decode_iblt(forged))
    assert not difference.complete
    assert difference.size <= 9


def test_a_key_forged_out_of_one_cell_is_not_taken_out_and_put_back_for_ever() -> None:
    first, second = next(pair for pair in combinations(range(100), 2) if shared(6, *pair) == [True, True, False])
    forged = bytearray(table(6, first, second).encode())
    at = CELL_BYTES * place(6, first, 0)
    forged[at : at + CELL_BYTES] = cell(1, first)
    difference = Iblt(6).difference(decode_iblt(bytes(forged)))
    assert not difference.complete
    assert difference.size == 9  # as many as there are cells, and no more


def test_a_table_full_of_forged_cells_costs_no_more_than_its_cells() -> None:
    forged = b"".join(cell((-1) ** index, A if index % 2 else B) for index in range(120))
    difference = Iblt(80).difference(decode_iblt(forged))
    assert not difference.complete
    assert difference.size <= 120


def test_two_elements_with_the_same_key_hide_each_other() -> None:
    assert not table(6, A, A).difference(Iblt(6)).complete
    assert table(6, A, A).difference(table(6, A)).positive == [A]
    assert table(6, A, A).difference(table(6, A, A)).complete
