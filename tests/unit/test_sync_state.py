"""Sync states: the vectors of the fact sheet, and content that is none [PSync §4]."""

from __future__ import annotations

import pytest

from roost.errors import BadPacket
from roost.naming import Name
from roost.sync.sync_state import decode_state, encode_state

A, B, C = Name.parse("/A"), Name.parse("/B"), Name.parse("/C")


@pytest.mark.parametrize(
    ("entries", "encoded"),
    [
        ([(A, 1), (B, 300)], "8011070608014108010107070801420802012c"),
        ([(A, 1), (B, 0), (C, 0)], "8018070608014108010107060801420801000706080143080100"),
        ([], "8000"),
    ],
)
def test_a_state_is_a_list_of_names_that_end_in_a_number(entries: list[tuple[Name, int]], encoded: str) -> None:
    assert encode_state(entries).hex() == encoded
    assert decode_state(bytes.fromhex(encoded), 10) == entries


def test_a_state_may_be_longer_than_a_packet() -> None:
    entries = [(Name.parse(f"/BigCompany/Building1/Panel{number}"), 2**64 - number) for number in range(1, 500)]
    content = encode_state(entries)
    assert len(content) > 8800
    assert decode_state(content, 500) == entries


def test_the_streams_of_a_state_are_whole_names() -> None:
    (stream, _), *_ = decode_state(encode_state([(Name.parse("/A/B/C"), 1)]), 1)
    assert (len(stream), str(stream.prefix(2)), stream) == (3, "/A/B", Name.parse("/A/B/C"))


def test_more_elements_than_allowed_are_refused() -> None:
    content = encode_state([(A, 1), (B, 1)])
    assert len(decode_state(content, 2)) == 2
    with pytest.raises(BadPacket, match="more than 1 elements"):
        decode_state(content, 1)


def test_an_unknown_element_is_passed_over_unless_it_is_critical() -> None:
    assert decode_state(bytes.fromhex("800bf001010706080141080101"), 1) == [(A, 1)]
    with pytest.raises(BadPacket, match="critical element 241"):
        decode_state(bytes.fromhex("800bf101010706080141080101"), 1)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "was expected"),
        ("80", "was expected"),
        ("8100", "a sync state"),
        ("800000", "a sync state"),
        ("8006070608014108", "only 4 are there"),
        ("8008070608014108", "only 6 are there"),
        ("80020700", "empty name"),
        ("800707050801410800", "1, 2, 4 or 8 bytes"),
        ("800a07080801410803010203", "1, 2, 4 or 8 bytes"),
        ("800807060801413a0101", "type 58, not in a generic number"),
        ("80080706080241080101", "longer than its name"),
    ],
)
def test_content_that_is_no_state_is_refused(content: str, reason: str) -> None:
    with pytest.raises(BadPacket, match=reason):
        decode_state(bytes.fromhex(content), 10)
