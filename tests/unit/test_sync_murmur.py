"""MurmurHash3 and element keys: every vector of the fact sheet [PSync §1]."""

from __future__ import annotations

import pytest

from roost.naming import Name
from roost.sync.murmur import element_key, murmur3, murmur3_key
from roost.sync.sync_state import element_value


@pytest.mark.parametrize(
    ("data", "seed", "expected"),
    [
        (b"", 0, 0x00000000),
        (b"", 1, 0x514E28B7),
        (b"test", 0, 0xBA6BD213),
        (b"hello", 11, 0x3EC7A30E),
        (b"ab", 11, 0x879F8532),
        (b"abc", 11, 0xE69E26FE),
    ],
)
def test_the_hash_is_murmur3(data: bytes, seed: int, expected: int) -> None:
    assert murmur3(data, seed) == expected


@pytest.mark.parametrize(
    ("stream", "number", "value", "key"),
    [
        ("/test/memphis", 1, "08047465737408076d656d70686973080101", 0x5C5BF267),
        ("/test/memphis", 2, "08047465737408076d656d70686973080102", 0xA8CB4488),
        ("/test/csu", 1, "0804746573740803637375080101", 0xC53ED33F),
        ("/A", 1, "080141080101", 0xD3D469D2),
        ("/B", 300, "0801420802012c", 0xAA507EEE),
    ],
)
def test_the_key_of_an_element_is_hashed_from_its_name(stream: str, number: int, value: str, key: int) -> None:
    made = element_value(Name.parse(stream), number)
    assert made.hex() == value
    assert element_key(made) == key


@pytest.mark.parametrize(("seed", "expected"), [(0, 0x01A6E272), (1, 0xB7359AB0), (2, 0x3C077A36), (11, 0x4224EE6C)])
def test_a_key_is_hashed_as_its_four_bytes_in_little_endian(seed: int, expected: int) -> None:
    assert murmur3_key(0x5C5BF267, seed) == expected


@pytest.mark.parametrize("key", [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
@pytest.mark.parametrize("seed", [0, 11, 0xFFFFFFFF])
def test_hashing_a_key_and_hashing_its_bytes_are_the_same(key: int, seed: int) -> None:
    assert murmur3_key(key, seed) == murmur3(key.to_bytes(4, "little"), seed)
