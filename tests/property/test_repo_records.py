"""Records and notifications: whatever bytes come, they are read or refused; what is written is read back."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.building import numbered
from roost.repo.event import decode_event, decode_snapshot, encode_event
from roost.repo.record import MAX_CONTENT_BYTES, decode_record, encode_named, encode_records, runs_of
from roost.repo.store import Entry
from roost.wire import DigestSigner, make_data, tlv

STREAMS = [Name.parse(f"/G/Panel{index}/Heater/Voltage") for index in range(3)]
readings = st.lists(st.tuples(st.sampled_from(STREAMS), st.integers(1, 60)), min_size=1, max_size=60, unique=True).map(
    lambda pairs: [numbered(stream, number) for stream, number in pairs]
)
wrapped = st.binary(max_size=300).map(lambda body: tlv.tlv(150, b"\x97\1\1" + body))


@given(st.binary(max_size=300) | wrapped)
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    for decode in (decode_record, decode_event, decode_snapshot):
        with suppress(BadPacket):
            decode(content)


@given(readings, st.integers(0, 400))
def test_a_damaged_record_is_read_or_refused(names: list[Name], at: int) -> None:
    for content in encode_named(*runs_of(names), 1):
        broken = bytearray(content)
        broken[at % len(broken)] ^= 1 << (at % 8)
        with suppress(BadPacket):
            decode_record(bytes(broken))


@given(readings, st.integers(0, 3000), st.sampled_from([0, 500, 7600]))
def test_all_readings_of_a_batch_are_in_its_records_once(names: list[Name], size: int, carry_bytes: int) -> None:
    entries = [Entry(name, make_data(name, bytes(size % 300), DigestSigner()).wire) for name in names]
    told: list[Name] = []
    for content in encode_records(entries, 1, carry_bytes):
        assert len(content) <= MAX_CONTENT_BYTES
        record = decode_record(content)
        told += [packet.name for packet in record.packets]
        told += [numbered(run.stream, number) for run in record.held for number in range(run.low, run.high + 1)]
    assert sorted(told) == sorted(names)


@given(readings, st.integers(0, 4))
def test_a_notification_is_read_back(names: list[Name], cause: int) -> None:
    event = decode_event(encode_event(cause, [name.wire for name in names]))
    assert (event.cause, list(event.names)) == (cause, names)
