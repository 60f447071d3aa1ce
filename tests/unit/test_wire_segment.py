"""Segmented objects and RDR metadata [ndn-packets §5; NDNts `@ndn/rdr`]."""

from __future__ import annotations

import pytest

from roost.errors import BadPacket
from roost.naming import Component, Name
from roost.naming.conventions import segment, version
from roost.wire import MAX_PACKET_BYTES, Data, DigestSigner, Interest, encode_data
from roost.wire.rdr import decode_metadata, encode_discovery, encode_metadata, is_discovery
from roost.wire.segment import SEGMENT_BYTES, Joiner, default_bytes, split
from roost.wire.signature import SHA256_RSA, locator_of_name

NAME = Name.parse("/A")
CONTENT = bytes(range(256)) * 100


class LargeSigner:
    """As large as signatures get: RSA with 4096 bits."""

    signature_type = SHA256_RSA
    key_locator = locator_of_name(Name.parse("/a/long/identity/KEY/12345678/issuer/v=1"))

    def sign(self, portion: bytes) -> bytes:
        return bytes(512) if portion else b""


def segments(content: bytes = CONTENT, size: int = 0) -> list[Data]:
    return [Data.decode(wire) for wire in split(NAME, content, DigestSigner(), version_number=1, segment_bytes=size)]


def test_the_vector_is_an_object_of_one_segment() -> None:
    (wire,) = split(NAME, b"hello", DigestSigner(), version_number=1)
    assert wire.hex().startswith("064407090801413601013201001409190203e81a03320100150568656c6c6f16031b01001720")


def test_every_segment_says_which_is_the_last() -> None:
    datas = segments()
    assert [str(data.name) for data in datas] == [f"/A/v=1/seg={number}" for number in range(4)]
    assert {data.final_block for data in datas} == {segment(3)}
    assert [len(data.content) for data in datas] == [8000, 8000, 8000, 1600]
    assert all(data.freshness_ms > 0 for data in datas)


@pytest.mark.parametrize(("size", "count"), [(0, 1), (1, 1), (10, 1), (11, 2), (20, 2), (21, 3)])
def test_how_many_segments(size: int, count: int) -> None:
    assert len(segments(bytes(size), 10)) == count


def test_without_a_version_the_name_is_taken_as_it_is() -> None:
    (wire,) = split(NAME / version(7), b"", DigestSigner())
    assert str(Data.decode(wire).name) == "/A/v=7/seg=0"


def test_the_default_size_keeps_every_packet_within_the_limit() -> None:
    for length in (1, 100, 1000, 5000, 7500):
        name = Name.of("x" * length)
        wires = list(split(name, bytes(20_000), LargeSigner(), version_number=2**63))
        assert max(map(len, wires)) <= MAX_PACKET_BYTES
    assert default_bytes(NAME, LargeSigner()) == SEGMENT_BYTES
    with pytest.raises(BadPacket, match="too long"):
        split(Name.of("x" * 8800), b"", LargeSigner())


def test_segments_join_in_any_order() -> None:
    datas = segments()
    joiner = Joiner(NAME / version(1))
    assert joiner.missing() == []
    assert joiner.add(datas[2])
    assert joiner.missing() == [0, 1, 3]
    assert joiner.missing(2) == [0, 1]
    assert not joiner.add(datas[2])
    with pytest.raises(BadPacket, match="not complete"):
        joiner.content()
    complete = [joiner.complete for data in reversed(datas) if joiner.add(data)]
    assert complete == [False, False, True]
    assert joiner.content() == CONTENT
    assert joiner.received == 4
    assert joiner.missing() == []


def make(uri: str, final: Component | None = None, content: bytes = b"x") -> Data:
    return Data.decode(encode_data(Name.parse(uri), content, DigestSigner(), final_block=final))


def test_gaps_show_while_the_last_segment_is_unknown() -> None:
    joiner = Joiner(NAME)
    joiner.add(make("/A/seg=3"))
    assert joiner.missing() == [0, 1, 2]
    assert joiner.final == -1
    joiner.add(make("/A/seg=4", segment(5)))
    assert joiner.missing() == [0, 1, 2, 5]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (make("/B/seg=0"), "no segment of"),
        (make("/A"), "no segment of"),
        (make("/A/v=1/seg=0"), "no segment of"),
        (make("/A/v=0"), "no segment number"),
        (make("/A/50=abc"), "does not carry a number"),
        (make("/A/seg=0", version(1)), "no segment number"),
        (make("/A/seg=0", segment(4)), "others said 9"),
        (make("/A/seg=10"), "behind the last"),
        (make("/A/seg=99", segment(9)), "behind the last"),
        (make("/A/seg=1", content=bytes(100)), "more than 100 bytes"),
    ],
    ids=range(10),
)
def test_what_does_not_belong_is_refused(data: Data, reason: str) -> None:
    joiner = Joiner(NAME, max_bytes=100)
    joiner.add(make("/A/seg=2", segment(9)))
    with pytest.raises(BadPacket, match=reason):
        joiner.add(data)
    assert joiner.received == 1


def test_a_last_segment_below_one_already_seen_is_refused() -> None:
    joiner = Joiner(NAME)
    joiner.add(make("/A/seg=5"))
    with pytest.raises(BadPacket, match="behind the last"):
        joiner.add(make("/A/seg=0", segment(3)))


def test_the_number_of_segments_is_bounded() -> None:
    with pytest.raises(BadPacket, match="more than 10 segments"):
        Joiner(NAME, max_segments=10).add(make("/A/seg=10"))
    with pytest.raises(BadPacket, match="more than 10 segments"):
        Joiner(NAME, max_segments=10).add(make("/A/seg=0", segment(10)))


# Made by @ndn/rdr 0.0.20250307 for /A/B, newest version v=1, at 1736266473123 ms.
NDNTS_METADATA = bytes.fromhex(
    "0658071d08014108014220086d65746164617461360800000194418bdea33201001403190101150b070908014108014236010116031b01001720"
    "5dba7dbcbbeb8f428c9d714c4ce76e39bf3acb77f38d8e8116ada8241f1763f6"
)
NDNTS_DISCOVERY = bytes.fromhex("051c071008014108014220086d65746164617461210012000a0401020304")
OBJECT = Name.parse("/A/B")


def test_metadata_byte_for_byte_as_ndnts() -> None:
    wire = encode_metadata(OBJECT, OBJECT / version(1), DigestSigner(), version_number=1736266473123)
    assert wire == NDNTS_METADATA
    metadata = decode_metadata(Data.decode(NDNTS_METADATA))
    assert metadata.name == OBJECT / version(1)
    assert metadata.final_block is None


def test_discovery_byte_for_byte_as_ndnts() -> None:
    assert encode_discovery(OBJECT, nonce=b"\x01\x02\x03\x04") == NDNTS_DISCOVERY
    assert encode_discovery(Name.parse("/A/B/32=metadata"), nonce=b"\x01\x02\x03\x04") == NDNTS_DISCOVERY
    assert is_discovery(Interest.decode(NDNTS_DISCOVERY))
    assert not is_discovery(Interest.decode(bytes.fromhex("0505070308014a")))


def test_metadata_as_ndnd_makes_it_has_the_last_segment_too() -> None:
    wire = encode_metadata(OBJECT, OBJECT / version(1), DigestSigner(), version_number=0, final_block=segment(9))
    assert decode_metadata(Data.decode(wire)).final_block == segment(9)


@pytest.mark.parametrize(
    ("uri", "content", "reason"),
    [
        ("/A/v=1/seg=0", "0703080141", "no metadata"),
        ("/A/32=metadata/v=1", "0703080141", "no metadata"),
        ("/A/32=metadata/1/seg=0", "0703080141", "no metadata"),
        ("/A/32=metadata/v=1/seg=0", "", "holds no Name"),
        ("/A/32=metadata/v=1/seg=0", "8101ff", "holds no Name"),
        ("/A/32=metadata/v=1/seg=0", "0702ff", "only 1 are there"),
        ("/A/32=metadata/v=1/seg=0", "07030801411a00", "exactly one"),
    ],
)
def test_what_is_no_metadata(uri: str, content: str, reason: str) -> None:
    with pytest.raises(BadPacket, match=reason):
        decode_metadata(make(uri, content=bytes.fromhex(content)))


def test_strangers_in_metadata_are_ignored_even_critical_ones() -> None:
    assert decode_metadata(make("/A/32=metadata/v=1/seg=0", content=bytes.fromhex("81000703080141"))).name == NAME
