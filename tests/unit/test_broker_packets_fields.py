"""Strings, numbers, topics and filters."""

from __future__ import annotations

import pytest

from roost.broker.packets.fields import (
    check_end,
    check_filter,
    check_topic,
    is_shared,
    read_binary,
    read_byte,
    read_packet_id,
    read_text,
    read_u16,
    read_u32,
    split_shared,
    text,
)
from roost.broker.packets.reasons import MALFORMED_PACKET, PROTOCOL_ERROR, Malformed


def test_numbers_are_big_endian() -> None:
    assert read_byte(b"\xff\x01", 1, 2) == (1, 2)
    assert read_u16(b"\xff\x01\x02", 1, 3) == (0x0102, 3)
    assert read_u32(b"\xff\xfe\x02\x03\x04", 1, 5) == (0xFE020304, 5)


def test_nothing_is_read_beyond_the_end() -> None:
    with pytest.raises(Malformed):
        read_byte(b"ab", 1, 1)
    with pytest.raises(Malformed):
        read_u16(b"abc", 1, 2)
    with pytest.raises(Malformed):
        read_u32(b"abcdef", 1, 4)
    with pytest.raises(Malformed):
        read_binary(b"\x00\x02ab", 0, 3)
    with pytest.raises(Malformed):
        read_text(b"\x00", 0, 1)


def test_a_string_has_its_length_before_it() -> None:
    assert text(b"ab") == b"\x00\x02ab"
    assert read_text(b"x\x00\x02abc", 1, 6) == (b"ab", 5)
    assert read_binary(b"\x00\x02\x00\xff", 0, 4) == (b"\x00\xff", 4)


@pytest.mark.parametrize(
    "string", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf4\x90\x80\x80", b"\xe2\x82"]
)
def test_a_string_is_well_formed_utf8(string: bytes) -> None:
    """[MQTT-1.5.4-1] [3.1.1 MQTT-1.5.3-1], surrogates and overlong forms included."""
    with pytest.raises(Malformed) as caught:
        read_text(text(string), 0, len(string) + 2)
    assert caught.value.reason == MALFORMED_PACKET


def test_a_string_has_no_nul() -> None:
    """[MQTT-1.5.4-2] [3.1.1 MQTT-1.5.3-2]."""
    with pytest.raises(Malformed, match="NUL"):
        read_text(text(b"a\x00b"), 0, 5)


def test_a_byte_order_mark_stays() -> None:
    """[MQTT-1.5.4-3] [3.1.1 MQTT-1.5.3-3]."""
    assert read_text(text(b"\xef\xbb\xbfa"), 0, 6) == (b"\xef\xbb\xbfa", 6)


def test_a_packet_identifier_is_not_zero() -> None:
    """[MQTT-2.2.1-3] [3.1.1 MQTT-2.3.1-1]."""
    assert read_packet_id(b"\x00\x01", 0, 2) == (1, 2)
    with pytest.raises(Malformed) as caught:
        read_packet_id(b"\x00\x00", 0, 2)
    assert caught.value.reason == PROTOCOL_ERROR


def test_nothing_follows_the_last_field() -> None:
    check_end(4, 4)
    with pytest.raises(Malformed, match="3 bytes"):
        check_end(4, 7)


@pytest.mark.parametrize("topic", [b"a", b"/", b"a//b/", b"$SYS/x", "ä/€".encode(), b" "])
def test_topics_that_are_allowed(topic: bytes) -> None:
    check_topic(topic)


@pytest.mark.parametrize("topic", [b"", b"+", b"a/#", b"a+b", b"a#", b"\xff", b"a\x00"])
def test_topics_that_are_not_allowed(topic: bytes) -> None:
    """[MQTT-3.3.2-1, MQTT-3.3.2-2, MQTT-4.7.0-1, MQTT-4.7.3-1, MQTT-4.7.3-2]."""
    with pytest.raises(Malformed) as caught:
        check_topic(topic)
    assert caught.value.reason == MALFORMED_PACKET


@pytest.mark.parametrize(
    "topic_filter",
    [b"#", b"+", b"a/#", b"+/a/+/#", b"/", b"/+", b"a//#", b"$share", b"$share/g/a/+/#", b"$share/g//", b"$shared/#"],
)
def test_filters_that_are_allowed(topic_filter: bytes) -> None:
    check_filter(topic_filter)


@pytest.mark.parametrize(
    "topic_filter",
    [
        *[b"", b"a#", b"#/a", b"a/#/b", b"##", b"a+", b"+a/b", b"++", b"a\x00", b"\xff"],
        *[b"$share/", b"$share/g", b"$share//a", b"$share/g/", b"$share/+/a", b"$share/g#/a", b"$share/g/a#"],
        b"$share/g/#/a",
    ],
)
def test_filters_that_are_not_allowed(topic_filter: bytes) -> None:
    """[MQTT-4.7.1-1, MQTT-4.7.1-2, MQTT-4.7.3-1, MQTT-4.8.2-1, MQTT-4.8.2-2]."""
    with pytest.raises(Malformed) as caught:
        check_filter(topic_filter)
    assert caught.value.reason == MALFORMED_PACKET


def test_a_shared_filter_has_a_name_and_a_filter() -> None:
    assert is_shared(b"$share/g/a/#")
    assert not is_shared(b"$share")
    assert not is_shared(b"$shared/g/a")
    assert split_shared(b"$share/g/a/#") == (b"g", b"a/#")
    assert split_shared(b"$share/g//a") == (b"g", b"/a")
    with pytest.raises(Malformed):
        split_shared(b"a/b/c")
