"""Readings back to back, taken apart: all of them and nothing else; damage is a `BadPacket`, never another error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.errors import BadPacket
from roost.host.stretch_packets import open_bundle, split
from roost.naming import Name
from roost.naming.building import numbered
from roost.repo.question import encode_bundle
from roost.wire import DigestSigner, encode_data

NAMES = [Name.parse("/Co/B1/Power/Panel1/Heater/Voltage"), Name.of("Co", "x" * 260, "Power")]
NUMBERS = st.lists(st.integers(1, (1 << 64) - 1) | st.integers(1, 70_000), max_size=6, unique=True).map(sorted)
CONTENTS = st.sampled_from([b"", b"plain", b"y" * 300, b"\x82\x01x", b"\x82" + b"z" * 300])
SIGNER = DigestSigner()
MAX = (1 << 64) - 1


def wires(stream: Name, numbers: list[int], content: bytes, freshness_ms: int) -> list[bytes]:
    return [encode_data(numbered(stream, number), content, SIGNER, freshness_ms=freshness_ms) for number in numbers]


@given(st.sampled_from(NAMES), NUMBERS, CONTENTS, st.sampled_from([0, 1000]))
def test_packets_are_taken_apart_as_they_were_put_together(
    stream: Name, numbers: list[int], content: bytes, freshness_ms: int
) -> None:
    made = wires(stream, numbers, content, freshness_ms)
    dropped = [(3, 5), (7, 7)]
    packets, sealed, runs = open_bundle(encode_bundle(made, dropped), stream.value, 1, MAX)
    assert packets == list(zip(numbers, made, strict=True))
    assert sealed == (numbers if content.startswith(b"\x82") else [])
    assert runs == dropped


@given(st.sampled_from(NAMES), NUMBERS, CONTENTS, st.data())
def test_whatever_is_damaged_is_a_bad_packet_or_still_rising_numbers_of_the_stream(
    stream: Name, numbers: list[int], content: bytes, data: st.DataObject
) -> None:
    body = bytearray(encode_bundle(wires(stream, numbers, content, 1000), [(1, 2)]))
    for _ in range(data.draw(st.integers(0, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(body[: data.draw(st.integers(0, len(body)))])
    try:
        packets, sealed, _ = open_bundle(cut, stream.value, 1, MAX)
    except BadPacket:
        return
    found = [number for number, _ in packets]
    assert found == sorted(set(found))
    assert set(sealed) <= set(found)
    assert all(stream.value in wire and wire[0] == 6 for _, wire in packets)


@given(NUMBERS.filter(bool))
def test_numbers_outside_of_what_was_asked_for_are_refused(numbers: list[int]) -> None:
    body = b"".join(wires(NAMES[0], numbers, b"", 0))
    for low, high in ((numbers[0] + 1, MAX), (1, numbers[-1] - 1)):
        try:
            split(body, 0, NAMES[0].value, low, high)
        except BadPacket:
            continue
        raise AssertionError((low, high))


def test_a_name_shorter_than_the_streams_is_a_bad_packet() -> None:
    for body in (b"\x06\x04\x07\x02\x08\x00", b"\x06\x02\x07\x00", b"\x06\x7f\x07\x7f\x08"):
        with pytest.raises(BadPacket):
            split(body, 0, NAMES[0].value, 1, MAX)
