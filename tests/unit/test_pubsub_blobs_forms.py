"""SVS-PS on the wire: mapping, names and encapsulation, by what ndn-svs and NDNts made [SVS-PS §8]."""

from __future__ import annotations

import pytest

from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.conventions import segment
from roost.pubsub.blobs.encapsulation import (
    ENCAPSULATED,
    Packets,
    application_name,
    final_segment,
    segment_of,
    unwrap,
)
from roost.pubsub.blobs.mapping import MAX_ENTRIES, Entry, Mapping, decode_mapping, encode_mapping
from roost.pubsub.blobs.names import VERSION_0, Naming, Publication, Query
from roost.sync.port import Stream
from roost.trust import HmacKey
from roost.trust.secret import digest_matches
from roost.wire import MAX_PACKET_BYTES, Data, DigestSigner, Signer, encode_data
from roost.wire.signature import SHA256_RSA, locator_of_name
from roost.wire.tlv import tlv

CPP_PARAMETERS = (
    "c90cca0a07050803637070cc0101"
    "cd2d07050803637070ce24cc0101071508046368617408036370703808000660556621283338080006605566212 8c4"
).replace(" ", "")
CPP_MAPPING = (
    "067e071e080363707008036e646e080373767308074d415050494e470801010801011404190203e8152f"
    "cd2d07050803637070ce24cc01010715080463686174080363707038080006605566212833380800066055662128c4"
    "16031b01001720636ee8ba98c68211cce824c5e13ca8c5c3ce08794aed5428e57674f368f63a1c"
)
CPP_OUTER = (
    "06a20712080363707008036e646e0803737673080102140d180106190800011f0241243c00155606540715080463686174080363707038080006"
    "6055664ecb17140a190800011f0241243c001508686920746865726516031b01001720058d80fac5b6ba9afc604f7de41898e33572848726c5"
    "fb77e7638cc6bb159d9f16031b01001720b9a67a29d7f12c90d9e49eeb6a924e7df4017aabc5c9b0177141736e60453162"
)
NDNTS_OUTER = (
    "0695070f08016e080167080101360100320100140c1801061902ea601a03320100154d064b071008046368617408026869360100320100"
    "14091902ea601a03320100150568656c6c6f16031b0100172016181231f28897c7ff83dcc7731b55cfac8a0c1f93339fb5047928df79658215"
    "16031b0100172005bbbceb8fb4aa010242b99892a86502f30cfa2c9d2ccdaa84f8e34c4ff04e6c"
)
NDNTS_MAPPING = (
    "0658071508016e08016708074d415050494e470801010801011518cd16070308016ece0fcc0101070a08046368617408026869"
    "16031b0100172078db4a9b7b011bcb395b7bf9dfbb9f44c67ad4d8efa4c44b7ffc08807bc7ae9e"
)

V2 = Naming(Name.parse("/ndn/svs"), 2)
V3 = Naming(Name.parse("/campus/ops"), 3)
CPP = Stream(Name.parse("/cpp"))
RADAR = Stream(Name.parse("/radar"), 1_736_266_473)
BLOB = bytes(range(256)) * 80  # 20 480 bytes
DIGEST = DigestSigner()


class LargestSigner:
    """A key whose name and signatures are as large as they get."""

    signature_type = SHA256_RSA
    key_locator = locator_of_name(Name.parse("/a/very/long/name/of/a/key/KEY/1"))

    def sign(self, portion: bytes) -> bytes:  # noqa: ARG002  a signer's shape
        return bytes(512)


# -- mapping


def test_the_mapping_of_ndn_svs_is_read_with_its_time_and_written_alike() -> None:
    data = Data.decode(bytes.fromhex(CPP_MAPPING))
    assert digest_matches(data.signed_portion, data.signature_value)
    mapping = decode_mapping(data.content)
    name = Name.parse("/chat/cpp") / V2.publication(CPP, 1).at(-1)
    assert mapping.node == CPP.name
    (entry,) = mapping.entries
    assert (entry.number, entry.time_us, entry.size_bytes) == (1, 0x00066055662128C4, -1)
    assert entry.name.prefix(2) == name.prefix(2)
    assert encode_mapping(mapping.node, mapping.entries) == data.content


def test_the_mapping_in_a_sync_interest_of_ndn_svs_stands_behind_its_vector() -> None:
    parameters = bytes.fromhex(CPP_PARAMETERS)
    mapping = decode_mapping(parameters, 14)
    assert [entry.number for entry in mapping.entries] == [1]
    assert mapping == decode_mapping(Data.decode(bytes.fromhex(CPP_MAPPING)).content)


def test_an_empty_mapping_says_nothing() -> None:
    assert decode_mapping(bytes.fromhex("cd020700")) == Mapping(Name(), ())


def test_the_mapping_of_ndnts_is_read_and_written_alike() -> None:
    data = Data.decode(bytes.fromhex(NDNTS_MAPPING))
    mapping = decode_mapping(data.content)
    assert mapping == Mapping(Name.parse("/n"), (Entry(1, Name.parse("/chat/hi")),))
    assert encode_mapping(mapping.node, mapping.entries) == data.content


def test_a_time_that_ndnts_wrapped_twice_is_the_same_time() -> None:
    entry = Entry(1, Name.parse("/a"), time_us=0x00066055662128C4).encode()
    plain = bytes.fromhex("380800066055662128c4")
    twice = tlv(206, entry[2:].replace(plain, tlv(56, plain)))
    assert decode_mapping(tlv(205, Name.parse("/n").wire + twice)).entries[0].time_us == 0x00066055662128C4


def test_size_time_and_what_an_application_adds_are_kept() -> None:
    entries = (Entry(7, Name.parse("/a"), 5, 0, tlv(900, b"x") + tlv(57, b"y")), Entry(3, Name.parse("/b"), 0, 70_000))
    assert decode_mapping(encode_mapping(RADAR.name, entries)) == Mapping(RADAR.name, entries)


@pytest.mark.parametrize(
    ("wire", "why"),
    [
        (tlv(204, b"\1"), "element 205"),
        (encode_mapping(Name.parse("/n"), []) + b"\0", "bytes follow"),
        (encode_mapping(Name(), [Entry(1, Name.parse("/a"))]), "of which node"),
        (encode_mapping(Name.parse("/n"), [Entry(0, Name.parse("/a"))]), "numbered from 1"),
        (encode_mapping(Name.parse("/n"), [Entry(1, Name.parse("/a"), others=tlv(900, bytes(600)))]), "512 bytes"),
        (encode_mapping(Name.parse("/n"), [Entry(n, Name()) for n in range(1, MAX_ENTRIES + 2)]), "more than 1024"),
        (tlv(205, Name.parse("/n").wire + tlv(206, b"\xcc\x01\x01\x07\x00" + b"\x38\x03\x39\x01\x01")), "element 56"),
    ],
)
def test_a_mapping_that_cannot_be_is_refused(wire: bytes, why: str) -> None:
    with pytest.raises(BadPacket, match=why):
        decode_mapping(wire)


# -- names


def test_names_of_version_2_are_those_of_ndn_svs() -> None:
    assert V2.query(CPP, 1, 1) == Data.decode(bytes.fromhex(CPP_MAPPING)).name
    assert V2.publication(CPP, 2) == Data.decode(bytes.fromhex(CPP_OUTER)).name
    assert V2.home(CPP) == Name.parse("/cpp/ndn/svs")


def test_names_of_version_3_have_a_boot_time_and_typed_numbers() -> None:
    assert V3.publication(RADAR, 9) == Name.parse("/radar/campus/ops/t=1736266473/seq=9")
    assert V3.query(RADAR, 9, 18) == Name.parse("/radar/campus/ops/t=1736266473/MAPPING/seq=9/seq=18")


@pytest.mark.parametrize(("naming", "stream"), [(V2, CPP), (V3, RADAR)])
def test_what_is_asked_is_read_off_its_name(naming: Naming, stream: Stream) -> None:
    home = naming.home(stream)
    publication = naming.publication(stream, 300)
    assert naming.read(naming.query(stream, 1, 10), home) == Query(1, 10)
    assert naming.read(publication, home) == Publication(300)
    assert naming.read(publication + Name.parse("/v=0"), home) == Publication(300)
    assert naming.read(publication + Name.parse("/v=0/seg=4"), home) == Publication(300, 4)


@pytest.mark.parametrize(
    "rest",
    [
        *("/", "/x", "/8=%01", "/seq=0", "/seq=1/v=1/seg=0", "/seq=1/v=0/seq=0", "/seq=1/v=0/seg=0/x"),
        *("/MAPPING/seq=2/seq=1", "/MAPPING/seq=0/seq=1", "/MAPPING/seq=1"),
    ],
)
def test_other_names_ask_for_nothing(rest: str) -> None:
    assert V3.read(V3.home(RADAR) + Name.parse(rest), V3.home(RADAR)) is None


# -- encapsulation


def test_the_publication_of_ndn_svs_is_one_packet() -> None:
    outer = Data.decode(bytes.fromhex(CPP_OUTER))
    assert digest_matches(outer.signed_portion, outer.signature_value)
    inner = unwrap(outer)
    assert digest_matches(inner.signed_portion, inner.signature_value)
    assert inner.content == b"hi there"
    assert application_name(inner) == inner.name
    assert (segment_of(outer), final_segment(outer)) == (-1, -1)


def test_the_publication_of_ndnts_is_segment_0_even_alone() -> None:
    outer = Data.decode(bytes.fromhex(NDNTS_OUTER))
    inner = unwrap(outer)
    assert inner.content == b"hello"
    assert application_name(inner) == Name.parse("/chat/hi")
    assert (segment_of(outer), final_segment(outer)) == (0, 0)


def test_what_we_publish_has_the_names_and_the_form_of_ndnts() -> None:
    packets = Packets(Name.parse("/n/g/8=%01"), Name.parse("/chat/hi"), b"hello", DIGEST, DIGEST, always_segmented=True)
    ours, theirs = Data.decode(packets.outer(0)), Data.decode(bytes.fromhex(NDNTS_OUTER))
    assert ours.name == theirs.name
    assert (ours.content_type, ours.final_block) == (theirs.content_type, theirs.final_block)
    assert ours.freshness_ms > 0
    assert (unwrap(ours).name, unwrap(ours).content) == (unwrap(theirs).name, unwrap(theirs).content)


def test_a_small_blob_is_one_packet_with_the_names_as_they_are() -> None:
    packets = Packets(V3.publication(RADAR, 1), Name.parse("/position/radar"), b"here", DIGEST, DIGEST)
    outer = Data.decode(packets.outer(0))
    assert (packets.count, packets.segmented) == (1, False)
    assert (outer.name, outer.content_type, outer.final_block) == (V3.publication(RADAR, 1), ENCAPSULATED, None)
    assert unwrap(outer).name == Name.parse("/position/radar")


@pytest.mark.parametrize("content", [b"", BLOB[:8000], BLOB[:8001], BLOB[:16000], BLOB, memoryview(BLOB)])
def test_a_blob_comes_back_whole(content: bytes | memoryview) -> None:
    packets = Packets(V3.publication(RADAR, 1), Name.parse("/image/radar"), content, DIGEST, DIGEST)
    assert packets.count == max(1, -(-len(content) // 8000))
    came = [Data.decode(packets.outer(number)) for number in range(packets.count)]
    assert b"".join([unwrap(outer).content for outer in came]) == bytes(content)
    if packets.segmented:
        assert [segment_of(outer) for outer in came] == list(range(packets.count))
        assert {final_segment(data) for outer in came for data in (outer, unwrap(outer))} == {packets.count - 1}


@pytest.mark.parametrize("inner", [DIGEST, LargestSigner(), HmacKey(Name.parse("/shared/KEY/1"), bytes(32))])
@pytest.mark.parametrize("outer", [DIGEST, LargestSigner()])
def test_no_packet_is_larger_than_a_packet_may_be(inner: Signer, outer: Signer) -> None:
    packets = Packets(V3.publication(RADAR, 1 << 40), Name.parse("/image" * 30), bytes(20_000), inner, outer)
    assert max(len(packets.outer(number)) for number in range(packets.count)) <= MAX_PACKET_BYTES


def test_a_name_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(BadPacket, match="no room in a packet"):
        Packets(V3.publication(RADAR, 1), Name.parse("/x" * 4200), b"", DIGEST, DIGEST)


@pytest.mark.parametrize(
    ("outer", "why"),
    [
        (encode_data(Name.parse("/o"), encode_data(Name.parse("/i"), b"", DIGEST), DIGEST), "ContentType 0"),
        (encode_data(Name.parse("/o"), b"\x06\x01", DIGEST, content_type=ENCAPSULATED), "cut off|only|expected"),
        (
            encode_data(
                Name.parse("/o/v=0/seg=1"),
                encode_data(Name.parse("/i/v=0/seg=2"), b"", DIGEST),
                DIGEST,
                content_type=ENCAPSULATED,
            ),
            "another segment",
        ),
    ],
)
def test_what_is_not_a_data_in_a_data_is_refused(outer: bytes, why: str) -> None:
    with pytest.raises(BadPacket, match=why):
        unwrap(Data.decode(outer))


@pytest.mark.parametrize(("version", "boot"), [(2, 0), (3, 7)])
def test_the_stream_of_a_packet_is_read_off_its_name(version: int, boot: int) -> None:
    naming = Naming(Name.parse("/campus/ops"), version)
    stream = Stream(Name.parse("/a/campus/ops"), boot)
    whole = naming.publication(stream, 5)
    assert naming.stream_of(whole) == stream
    assert naming.stream_of(whole / VERSION_0 / segment(3)) == stream
    others = [stream.name, Name(), whole.prefix(-1), Name.parse("/a/campus") / whole.at(-1), whole / segment(3)]
    assert [naming.stream_of(each) for each in others] == [None] * len(others)
