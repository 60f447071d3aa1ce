"""The stream cut into packets, and variable byte integers."""

from __future__ import annotations

import pytest

from roost.broker.packets.framing import MAX_VAR_INT, Framer, body_of, check_flags, header, read_var_int, var_int
from roost.broker.packets.reasons import MALFORMED_PACKET, PACKET_TOO_LARGE, Malformed

PING = b"\xc0\x00"
LONG = b"\x30\xac\x02" + bytes(300)


def test_several_packets_of_one_reading_come_out_one_by_one() -> None:
    framer = Framer(1000)
    assert framer.feed(PING + LONG + PING) == [PING, LONG, PING]
    assert framer.held == 0


def test_a_reading_that_is_one_packet_is_not_copied() -> None:
    assert Framer(1000).feed(LONG)[0] is LONG


def test_what_is_not_whole_is_held_until_the_rest_comes() -> None:
    framer = Framer(1000)
    assert framer.feed(PING + LONG[:100]) == [PING]
    assert framer.held == 100
    assert framer.feed(LONG[100:200]) == []
    assert framer.held == 200
    assert framer.feed(LONG[200:] + PING[:1]) == [LONG]
    assert framer.held == 1
    assert framer.feed(PING[1:] + PING) == [PING, PING]
    assert framer.held == 0


def test_a_header_may_come_byte_by_byte() -> None:
    framer = Framer(1000)
    out = [framer.feed(LONG[index : index + 1]) for index in range(len(LONG))]
    assert out[:-1] == [[]] * (len(LONG) - 1)
    assert out[-1] == [LONG]


def test_nothing_comes_of_nothing() -> None:
    framer = Framer(10)
    assert framer.feed(b"") == []
    framer.feed(b"\xc0")
    assert framer.feed(b"") == []
    assert framer.held == 1


def test_a_packet_of_exactly_the_limit_passes_and_one_byte_more_does_not() -> None:
    assert Framer(len(LONG)).feed(LONG) == [LONG]
    framer = Framer(len(LONG) - 1)
    assert framer.feed(PING + LONG) == [PING]
    assert framer.error == PACKET_TOO_LARGE
    assert "303 bytes" in framer.why


def test_a_packet_that_is_too_long_is_refused_by_its_header() -> None:
    framer = Framer(100)
    framer.feed(b"\x30\xac")
    framer.feed(b"\x02")
    assert framer.error == PACKET_TOO_LARGE
    assert framer.held == 0


def test_after_an_error_nothing_comes_any_more() -> None:
    framer = Framer(1)
    framer.feed(PING)
    assert framer.feed(PING) == []
    assert framer.held == 0


def test_a_reset_forgets_what_is_held_and_what_was_wrong() -> None:
    framer = Framer(100)
    assert framer.feed(PING + LONG) == [PING]
    framer.reset()
    assert (framer.error, framer.why) == (0, "")
    assert framer.feed(PING + LONG[:1]) == [PING]
    framer.reset()
    framer.max_bytes = len(LONG)
    assert framer.feed(LONG) == [LONG]


@pytest.mark.parametrize(
    "length", [b"\x80\x00", b"\xff\x80\x00", b"\x80\x80\x80\x00", b"\xff\xff\xff\xff", b"\x80" * 4]
)
def test_a_remaining_length_that_is_not_in_its_shortest_form_is_malformed(length: bytes) -> None:
    """[MQTT-1.5.5-1]."""
    framer = Framer(MAX_VAR_INT)
    assert framer.feed(PING + b"\x30" + length) == [PING]
    assert framer.error == MALFORMED_PACKET
    pieces = Framer(MAX_VAR_INT)
    for byte in b"\x30" + length:
        pieces.feed(bytes([byte]))
    assert pieces.error == MALFORMED_PACKET


VALUES = [
    (0, b"\x00"),
    (127, b"\x7f"),
    (128, b"\x80\x01"),
    (16_383, b"\xff\x7f"),
    (16_384, b"\x80\x80\x01"),
    (2_097_151, b"\xff\xff\x7f"),
    (2_097_152, b"\x80\x80\x80\x01"),
    (MAX_VAR_INT, b"\xff\xff\xff\x7f"),
]


@pytest.mark.parametrize(("number", "wire"), VALUES)
def test_variable_byte_integers_at_the_borders_of_their_lengths(number: int, wire: bytes) -> None:
    assert var_int(number) == wire
    assert read_var_int(b"x" + wire + b"x", 1, 1 + len(wire)) == (number, 1 + len(wire))
    assert header(0x30, number) == b"\x30" + wire
    assert body_of(header(0x30, number)) == 1 + len(wire)


def test_a_number_beyond_the_largest_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="268435455"):
        var_int(MAX_VAR_INT + 1)


@pytest.mark.parametrize("wire", [b"", b"\x80", b"\xff\xff", b"\x80\x00", b"\x80\x80\x80\x80\x01", b"\xff\xff\xff\xff"])
def test_a_number_that_is_cut_too_long_or_padded_is_malformed(wire: bytes) -> None:
    with pytest.raises(Malformed) as caught:
        read_var_int(wire, 0, len(wire))
    assert caught.value.reason == MALFORMED_PACKET


def test_a_number_does_not_reach_beyond_its_end() -> None:
    with pytest.raises(Malformed):
        read_var_int(b"\x80\x01", 0, 1)


def test_wrong_flags_are_malformed() -> None:
    check_flags(b"\xc0\x00", 0)
    with pytest.raises(Malformed) as caught:
        check_flags(b"\xc1\x00", 0)
    assert caught.value.reason == MALFORMED_PACKET
