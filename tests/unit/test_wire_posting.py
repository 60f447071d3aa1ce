"""The element that a reading from MQTT has behind its payload."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.errors import BadPacket
from roost.wire.posting import Posting, decode_posting
from roost.wire.reading import TEXT, Reading, decode_reading

postings = st.builds(
    Posting,
    st.integers(0, 2),
    st.booleans(),
    st.binary(max_size=300),
    st.integers(-1, 0xFFFF_FFFF),
    st.integers(0, 0xFFFF),
    st.binary(max_size=300),
)


@given(postings)
def test_a_reading_keeps_its_posting(posting: Posting) -> None:
    reading = Reading(7, TEXT, b"21.5", posting=posting)
    assert decode_reading(reading.encode()) == reading


def test_the_bytes_are_as_documented() -> None:
    wire = Posting(1, retain=True, client=b"c", expiry_s=60, packet_id=5, properties=b"\x01\x01").encode()
    assert wire.hex() == "b00c" + "0d" + "0000003c" + "0005" + "0001" + "63" + "0101"


@pytest.mark.parametrize("value", ["", "00", "030000000000000000", "100000000000000000", "000000000000000001"])
def test_what_is_no_posting_is_refused(value: str) -> None:
    with pytest.raises(BadPacket):
        decode_posting(bytes.fromhex(value), 0, len(value) // 2)


@pytest.mark.parametrize("posting", [Posting(1, expiry_s=1 << 32), Posting(2, packet_id=1 << 16)])
def test_numbers_that_mqtt_does_not_have_are_refused(posting: Posting) -> None:
    with pytest.raises(BadPacket, match="none of MQTT's numbers"):
        posting.encode()
