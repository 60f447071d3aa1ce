"""Compressions of IBLTs and states: vectors, other levels, and what is not compressed as agreed [PSync §2]."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from random import Random

import pytest

from roost.errors import BadConfig, BadPacket
from roost.sync.compression import BZIP2, GZIP, LZMA, METHODS, NONE, ZLIB, compress, compressed_at_most, decompress

RAW = bytes(range(50)) * 40
STATE = bytes.fromhex("80080706080141080101")


def test_zlib_has_the_bytes_of_the_cpp_library() -> None:
    assert compress(STATE, ZLIB).hex() == "78da6be06067e36074e460640400070800ea"
    assert decompress(compress(STATE, ZLIB), ZLIB, 100) == STATE


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [0, 1, 100, 4400, 100_000])
def test_no_compression_makes_more_of_it_than_reckoned(method: str, size: int) -> None:
    assert len(compress(Random(size).randbytes(size), method)) <= compressed_at_most(size, method)


def test_the_bytes_of_none_are_left_alone() -> None:
    assert compress(RAW, NONE) == decompress(RAW, NONE, len(RAW)) == RAW


@pytest.mark.parametrize("method", METHODS)
def test_what_is_compressed_comes_back(method: str) -> None:
    for raw in (b"", b"x", RAW):
        made = compress(raw, method)
        assert made == compress(raw, method)
        assert decompress(made, method, len(raw)) == raw


@pytest.mark.parametrize(
    ("method", "made"),
    [
        (ZLIB, zlib.compress(RAW)),
        (ZLIB, zlib.compress(RAW, 0)),
        (GZIP, gzip.compress(RAW)),
        (BZIP2, bz2.compress(RAW, 1)),
        (LZMA, lzma.compress(RAW, preset=9)),
    ],
    ids=["zlib", "zlib stored", "gzip", "bzip2", "lzma as the cpp library"],
)
def test_a_peer_may_use_another_level(method: str, made: bytes) -> None:
    assert decompress(made, method, len(RAW)) == RAW


@pytest.mark.parametrize("method", METHODS)
def test_what_would_grow_beyond_the_bound_is_refused(method: str) -> None:
    bomb = compress(bytes(10_000_000), method)
    with pytest.raises(BadPacket, match="more than 9999999, the limit here"):
        decompress(bomb, method, 9_999_999)
    with pytest.raises(BadPacket, match="more than 1440, the limit here"):
        decompress(bomb, method, 1440)


@pytest.mark.parametrize("method", [ZLIB, GZIP, BZIP2, LZMA])
def test_what_is_cut_off_or_goes_on_or_is_something_else_is_refused(method: str) -> None:
    made = compress(RAW, method)
    for wrong in (b"", made[:-1], made[: len(made) // 2], made + b"x", made + made, b"\xff" * 40):
        with pytest.raises(BadPacket, match=r"not compressed as agreed|not one whole"):
            decompress(wrong, method, len(RAW))


@pytest.mark.parametrize("method", ["", "zstd", "ZLIB"])
def test_an_unknown_method_is_a_wrong_setting(method: str) -> None:
    with pytest.raises(BadConfig, match="there is no compression called"):
        compress(RAW, method)
    with pytest.raises(BadConfig, match="none, zlib, gzip, bzip2, lzma"):
        decompress(RAW, method, 10)
