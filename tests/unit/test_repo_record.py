"""Records: small batches carried, large ones named in as many records as it takes, and read back."""

from __future__ import annotations

import pytest

from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.building import numbered
from roost.naming.conventions import segment
from roost.repo.cause import DELETE, INSERT
from roost.repo.record import (
    CARRY_BYTES,
    MAX_CONTENT_BYTES,
    MAX_READINGS,
    Held,
    Record,
    decode_record,
    encode_named,
    encode_records,
    runs_of,
)
from roost.repo.store import Entry
from roost.wire import DigestSigner, make_data, tlv

STREAM = Name.parse("/BigCompany/Building1/Electricity/Panel1/Heater/Voltage")
OTHER = Name.parse("/BigCompany/Building1/Electricity/Panel1/Heater/Current")
FILE = Name.parse("/BigCompany/Building1/Electricity/Panel1/plan/v=1") / segment(0)


def entry(name: Name, size: int = 10) -> Entry:
    return Entry(name, make_data(name, bytes(size), DigestSigner()).wire, 1)


def readings(stream: Name, *numbers: int, size: int = 10) -> list[Entry]:
    return [entry(numbered(stream, number), size) for number in numbers]


def test_a_small_batch_is_carried_whole() -> None:
    entries = [*readings(STREAM, 1, 2), entry(FILE)]
    (content,) = encode_records(entries, INSERT)
    record = decode_record(content)
    assert [packet.wire for packet in record.packets] == [each.wire for each in entries]
    assert record.held == record.names == ()
    assert record.cause == INSERT


def test_a_batch_larger_than_a_record_is_named_in_runs() -> None:
    entries = [*readings(STREAM, *range(5, 105), size=200), *readings(OTHER, 9, 1, 2, size=200), entry(FILE)]
    (content,) = encode_records(entries, INSERT)
    assert decode_record(content) == Record(
        INSERT, (Held(STREAM, 5, 104), Held(OTHER, 1, 2), Held(OTHER, 9, 9)), (FILE,)
    )


def test_nothing_is_carried_where_the_setting_says_so() -> None:
    (content,) = encode_records(readings(STREAM, 1), INSERT, 0)
    assert decode_record(content) == Record(INSERT, (Held(STREAM, 1, 1),))


def test_what_was_deleted_has_no_packet_and_is_named() -> None:
    (content,) = encode_records([Entry(numbered(STREAM, 3), b"")], DELETE)
    assert decode_record(content) == Record(DELETE, (Held(STREAM, 3, 3),))


def test_names_take_as_many_records_as_they_need_each_within_its_bound() -> None:
    streams = [STREAM / f"metric{index}" for index in range(500)]
    contents = encode_records([Entry(numbered(stream, 1), b"") for stream in streams], DELETE)
    assert len(contents) > 1
    assert all(len(content) <= MAX_CONTENT_BYTES for content in contents)
    told = [held.stream for content in contents for held in decode_record(content).held]
    assert told == streams


def test_runs_longer_than_a_record_may_name_are_split() -> None:
    runs = [Held(STREAM, 1, MAX_READINGS), Held(OTHER, 1, 1)]
    contents = encode_named(runs, [], INSERT)
    assert [decode_record(content).held for content in contents] == [(runs[0],), (runs[1],)]


def test_a_name_that_fits_no_record_is_left_out() -> None:
    endless = Name.of("x" * CARRY_BYTES)
    (content,) = encode_named([], [endless, FILE], INSERT)
    assert decode_record(content).names == (FILE,)
    assert encode_records([], INSERT) == []


def test_a_number_in_another_form_is_a_name_of_its_own() -> None:
    odd = Name(STREAM.value + bytes.fromhex("3a020005"))
    assert runs_of([odd, numbered(STREAM, 5)]) == ([Held(STREAM, 5, 5)], [odd])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "expected"),
        (tlv.tlv(150, b""), "without a cause"),
        (tlv.tlv(150, FILE.wire), "begins with its cause"),
        (tlv.tlv(151, b"\1"), "150 was expected"),
        (tlv.tlv(150, b"\x97\1\1") + b"\0", "follow"),
        (tlv.tlv(150, b"\x97\1\1" + b"\x97\1\1"), "critical"),
        (tlv.tlv(150, b"\x97\1\1" + tlv.tlv(152, STREAM.wire)), "low to high"),
        (tlv.tlv(150, b"\x97\1\1" + tlv.tlv(152, STREAM.wire + b"\x99\1\5\x9a\1\4")), "low to high"),
        (tlv.tlv(150, b"\x97\1\1" + tlv.tlv(152, STREAM.wire + b"\x99\1\0\x9a\1\4")), "low to high"),
        (tlv.tlv(150, b"\x97\1\1" + tlv.tlv(152, STREAM.wire + b"\x99\1\1\x9a\4\xff\xff\xff\xff")), "limit"),
        (tlv.tlv(150, b"\x97\1\1" + tlv.tlv(6, b"\7\0")), "expected"),
    ],
)
def test_a_malformed_record_is_refused_with_the_reason(content: bytes, reason: str) -> None:
    with pytest.raises(BadPacket, match=reason):
        decode_record(content)


def test_what_a_later_version_adds_is_passed_over() -> None:
    assert decode_record(tlv.tlv(150, b"\x97\1\1" + b"\xfd\x80\x00\1x")) == Record(INSERT)
