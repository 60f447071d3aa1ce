"""Cutting a byte stream into packets: any chunking gives the same packets, garbage ends it, memory is bounded."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.errors import BadPacket
from roost.host.framing import MAX_LINK_PACKET_BYTES, Framer

SMALL = b"\x05\x03abc"
EMPTY = b"\x06\x00"
LARGE = b"\x64\xfd\x1f\x40" + bytes(8000)


def frame(chunks: list[bytes]) -> tuple[list[bytes], Framer]:
    framer = Framer()
    packets: list[bytes] = []
    for chunk in chunks:
        framer.feed(chunk, packets)
    return packets, framer


@given(
    packets=st.lists(st.sampled_from([SMALL, EMPTY, LARGE]), max_size=8),
    cuts=st.lists(st.integers(0, 40_000), max_size=12),
)
def test_any_chunking_gives_the_same_packets(packets: list[bytes], cuts: list[int]) -> None:
    wire = b"".join(packets)
    edges = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    found, framer = frame([wire[low:high] for low, high in pairwise(edges)])
    assert found == packets
    assert framer.held_bytes == 0


@pytest.mark.parametrize(
    ("garbage", "reason"),
    [
        (b"GET / HTTP/1.1\r\n", "neither an Interest, a Data nor a link packet"),
        (b"\x05\xfd\x00\x10" + bytes(16), "shortest form"),
        (b"\x06\xfd\xff\xff", "the limit is"),
        (b"\x06\xfe\x00\x01\x00\x00", "the limit is"),
        (b"\x00\x00", "neither"),
    ],
)
def test_garbage_is_refused_and_what_came_before_it_is_kept(garbage: bytes, reason: str) -> None:
    framer = Framer()
    packets: list[bytes] = []
    with pytest.raises(BadPacket, match=reason):
        framer.feed(SMALL + garbage, packets)
    assert packets == [SMALL]


def test_the_longest_packet_passes_and_one_byte_more_does_not() -> None:
    body = MAX_LINK_PACKET_BYTES - 4
    longest = b"\x64\xfd" + body.to_bytes(2, "big") + bytes(body)
    assert frame([longest])[0] == [longest]
    with pytest.raises(BadPacket):
        frame([b"\x64\xfd" + (body + 1).to_bytes(2, "big")])


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_bad_packet(chunk: bytes) -> None:
    framer = Framer()
    packets: list[bytes] = []
    try:
        framer.feed(chunk, packets)
    except BadPacket:
        return
    assert b"".join(packets) + chunk[len(chunk) - framer.held_bytes :] == chunk
