"""Whole Sync Interests: those that NDNts, ndn-svs and NDNd made, and ours, byte for byte where nothing is random."""

from __future__ import annotations

import pytest

from roost.errors import BadPacket
from roost.naming import Name
from roost.sync import svs_interest
from roost.sync.port import Stream
from roost.sync.state_vector import StateVector
from roost.sync.svs_interest import build, name_value, open_interest, publication_name, room_for_vector
from roost.sync.vector_format import key_of, stream_of
from roost.trust import HmacKey
from roost.trust.secret import digest_matches
from roost.wire import (
    MAX_PACKET_BYTES,
    Data,
    DigestSigner,
    Interest,
    NullSigner,
    Signer,
    encode_data,
    encode_interest,
    sign_interest,
)
from roost.wire.signature import HMAC_SHA256, SHA256_RSA, locator_of_name
from roost.wire.tlv import tlv

# The fact sheet, §7.
NDNTS_V2_NULL = (
    "055b0728080167360102022017081ff2fdea74292f8f4db7a6d071598f2cad1acb55b0746103f69773ea8dda210012000a04010203040c0203e7"
    "241ac918ca0a070508036f6e65cc0101ca0a0705080374776fcc01022c031b01c82e00"
)
NDNTS_V2_DIGEST = (
    "057b072808016736010202201dbc88bb9746cdd42a2167e7c3daea2fbb0d3afd976d215b68e2719dcd503a0c210012000a04010203040c0203e7"
    "241ac918ca0a070508036f6e65cc0101ca0a0705080374776fcc01022c031b01002e20"
    "db97672d5e67c7fdb204d31acc62e23f6fc5594254aa149558d2a9f3cbfcd200"
)
NDNTS_V2_HMAC = (
    "057b07280801673601020220ba5c4a5e3737b203c06975656174849a40822170997dbc3fa416f03b0239497f210012000a04010203040c0203e7"
    "241ac918ca0a070508036f6e65cc0101ca0a0705080374776fcc01022c031b01042e20"
    "07c142f9fa626fa0c2d4d06d9151e515540daf60d2a75d74ab179ff42613d6a6"
)
NDNTS_V3_DIGEST = (
    "05980728080167360103022077c8bc73bc80c7846de74357401b9908ad55c895f10713aa5f08b67eb6c8ff54210012000a04010203040c0203e7"
    "245e065c0706080167360103152bc929ca12070508036f6e65d209d4046187715ad6010aca130705080374776fd20ad404677d52e9d602012c"
    "16031b01001720de4632ea6204ed704b8bba1bb61bd28f504f7e9c7ee8acc7e49fb6d4af8e6958"
)
NDNTS_V3_NULL_DATA = (
    "063c0706080167360103152bc929ca12070508036f6e65d209d4046187715ad6010a"
    "ca130705080374776fd20ad404677d52e9d602012c16031b01c81700"
)
CPP_UNSIGNED_PARAMETERS = "c90cca0a07050803637070cc0101"
CPP_HMAC = (
    "05b6072f08036e646e08037376733601020220e4f44f91e2561515a0566bdf12c3b868d793b4398a5dd278db1e02fc7905e47b0a042d7192fa"
    "0c01002412c90cca0a07050803637070cc0101cd0207002c441b01041c3f073d08096c6f63616c686f737408086964656e7469747908"
    "04686d616308203f98b95c16476f0b2fc37e8e664a11312966b635f60537f1f5ed75216fa0c0602e2035c5b69cd24e2950b783b604f6b43d46"
    "78e7ccab1f72e3fe5d2f11fe5b433dae"
)
NDND_DATA = (
    "0661070d08036e646e08037376733601031403180100151ac918ca1607090807676f2d6e6f6465d209d4046afa03f1d60101"
    "160d1b01002808000001a1e09f72f817209b86219ac497f39eff06c9eec09a7ffbc3b1898e7d57e8912068d7e118ec47aa"
)

SECRET = b"this is a secret message"
G2 = Name.parse("/g/v=2")
G3 = Name.parse("/g/v=3")
SVS2 = Name.parse("/ndn/svs/v=2")
SVS3 = Name.parse("/ndn/svs/v=3")
ONE_TWO = {("/one", 0): 1, ("/two", 0): 2}
BOOTED = {("/one", 1636266330): 10, ("/two", 1736266473): 300}


class NamelessHmac:
    """HMAC as NDNts signs with it: without a KeyLocator."""

    signature_type = HMAC_SHA256
    key_locator = b""

    def __init__(self) -> None:
        self.key = HmacKey(Name.parse("/key"), SECRET)

    def sign(self, portion: bytes) -> bytes:
        return self.key.sign(portion)


def content_of(entries: dict[tuple[str, int], int], version: int) -> bytes:
    vector = StateVector(version, 10, 100)
    for (uri, boot), number in entries.items():
        vector.raise_to(key_of(Stream(Name.parse(uri), boot), version), number, 0)
    return vector.encode(vector.order)


def opened(interest: Interest, prefix: Name, version: int) -> dict[tuple[str, int], int]:
    heard = open_interest(interest, prefix, version).heard
    streams = {stream_of(key, version): number for key, number in heard.entries.items()}
    return {(str(stream.name), stream.boot): number for stream, number in streams.items()}


# -- theirs


@pytest.mark.parametrize(
    ("wire", "signer"),
    [(NDNTS_V2_NULL, NullSigner()), (NDNTS_V2_DIGEST, DigestSigner()), (NDNTS_V2_HMAC, NamelessHmac())],
    ids=["null", "digest", "hmac"],
)
def test_version_2_of_ndnts(wire: str, signer: Signer) -> None:
    data = bytes.fromhex(wire)
    interest = Interest.decode(data)
    assert opened(interest, G2, 2) == ONE_TWO
    assert signer.sign(interest.signed_portion) == interest.signature_value
    again = sign_interest(
        G2,
        signer,
        nonce=bytes((1, 2, 3, 4)),
        can_be_prefix=True,
        must_be_fresh=True,
        lifetime_ms=999,
        parameters=content_of(ONE_TWO, 2),
    )
    assert again == data
    assert name_value(build(G2, 2, content_of(ONE_TWO, 2), 1000, signer)) == name_value(data)


def test_version_3_of_ndnts() -> None:
    data = bytes.fromhex(NDNTS_V3_DIGEST)
    interest = Interest.decode(data)
    assert opened(interest, G3, 3) == BOOTED
    evidence = open_interest(interest, G3, 3).data
    assert evidence is not None
    assert digest_matches(evidence.signed_portion, evidence.signature_value)
    inner = encode_data(G3, content_of(BOOTED, 3), DigestSigner())
    flags = {"nonce": bytes((1, 2, 3, 4)), "can_be_prefix": True, "must_be_fresh": True, "lifetime_ms": 999}
    assert encode_interest(G3, parameters=inner, **flags) == data  # type: ignore[arg-type]
    assert name_value(build(G3, 3, content_of(BOOTED, 3), 1000, DigestSigner())) == name_value(data)


def test_version_3_of_ndnts_without_a_signature() -> None:
    data = bytes.fromhex(NDNTS_V3_NULL_DATA)
    assert encode_data(G3, content_of(BOOTED, 3), NullSigner()) == data
    assert opened(Interest.decode(encode_interest(G3, parameters=data)), G3, 3) == BOOTED


def test_version_2_of_ndn_svs_unsigned() -> None:
    parameters = bytes.fromhex(CPP_UNSIGNED_PARAMETERS)
    interest = Interest.decode(encode_interest(SVS2, parameters=parameters, lifetime_ms=1))
    assert interest.wire.hex().startswith("0544072f08036e646e08037376733601020220")
    assert interest.wire.hex().endswith("0c0101240e" + CPP_UNSIGNED_PARAMETERS)
    assert opened(interest, SVS2, 2) == {("/cpp", 0): 1}
    assert build(SVS2, 2, content_of({("/cpp", 0): 1}, 2), 1, None) == interest.wire


def test_version_2_of_ndn_svs_with_hmac_and_an_empty_mapping() -> None:
    interest = Interest.decode(bytes.fromhex(CPP_HMAC))
    assert HmacKey(Name.parse("/any"), SECRET).verify(interest.signed_portion, interest.signature_value)
    assert opened(interest, SVS2, 2) == {("/cpp", 0): 1}


def test_version_3_of_ndnd() -> None:
    data = Data.decode(bytes.fromhex(NDND_DATA))
    assert digest_matches(data.signed_portion, data.signature_value)
    interest = Interest.decode(encode_interest(SVS3, parameters=data.wire))
    assert opened(interest, SVS3, 3) == {("/go-node", 0x6AFA03F1): 1}
    assert open_interest(interest, SVS3, 3).data == data


# -- what may stand in it


def test_the_data_of_version_3_may_have_any_name() -> None:
    name = Name.parse("/ndn/svs/node/t=5/32=svs/v=3")
    inner = encode_data(name, content_of(BOOTED, 3), DigestSigner())
    assert opened(Interest.decode(encode_interest(SVS3, parameters=inner)), SVS3, 3) == BOOTED


@pytest.mark.parametrize("behind", ["cd020700", "fd012c00", "f003aabbcc", "f000f000", "cd020700e000"])
def test_what_is_not_critical_may_stand_behind_the_vector(behind: str) -> None:
    content = content_of(ONE_TWO, 2) + bytes.fromhex(behind)
    assert opened(Interest.decode(build(G2, 2, content, 1000, None)), G2, 2) == ONE_TWO


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "a number was expected"),
        ("d300", "compressed"),
        ("f000c900", "StateVector"),
        ("c900cf00", "critical element 207"),
        ("c9000700", "critical element 7"),
        ("c900f001", "is 1 bytes long"),
        ("c90fca0d070308017ad206d40101d60101", "element 204 was expected"),
    ],
)
def test_other_content_is_refused(content: str, reason: str) -> None:
    interest = Interest.decode(build(G2, 2, bytes.fromhex(content), 1000, None))
    with pytest.raises(BadPacket, match=reason):
        open_interest(interest, G2, 2).heard  # noqa: B018  it is read when it is asked for


@pytest.mark.parametrize("parameters", ["", "c900", "0601", "060c070308016716031b010017"])
def test_version_3_needs_a_whole_data(parameters: str) -> None:
    interest = Interest.decode(encode_interest(G3, parameters=bytes.fromhex(parameters)))
    with pytest.raises(BadPacket):
        open_interest(interest, G3, 3)


@pytest.mark.parametrize("name", ["/g/v=2", "/g/v=3/x", "/h/v=3", "/g"])
def test_interests_of_another_name_are_none_of_ours(name: str) -> None:
    inner = encode_data(G3, b"\xc9\x00", DigestSigner())
    interest = Interest.decode(encode_interest(Name.parse(name), parameters=inner))
    with pytest.raises(BadPacket, match="no Sync Interest of this group"):
        open_interest(interest, G3, 3)


def test_an_interest_without_parameters_is_none_of_ours() -> None:
    name = Name(G3.value + b"\x01\x20" + bytes(32))
    with pytest.raises(BadPacket, match="has no parameters"):
        open_interest(Interest.decode(encode_interest(name)), G3, 3)


def test_what_was_opened_is_remembered_by_its_bytes() -> None:
    wire = build(G3, 3, content_of(BOOTED, 3), 1000, DigestSigner())
    first, second = Interest.decode(wire), Interest.decode(Interest.decode(wire).with_nonce(b"1234"))
    assert open_interest(first, G3, 3).heard is open_interest(second, G3, 3).heard
    for number in range(300):  # and forgotten in time
        open_interest(Interest.decode(build(G3, 3, content_of({("/x", number): 1}, 3), 1000, NullSigner())), G3, 3)
    assert len(svs_interest._opened) == 256
    assert opened(first, G3, 3) == BOOTED


# -- ours


def test_equal_vectors_make_equal_interests() -> None:
    key = HmacKey(Name.parse("/key"), SECRET)
    for version, prefix in ((2, G2), (3, G3)):
        content = content_of(ONE_TWO, version)
        wire = build(prefix, version, content, 1000, key)
        assert wire == build(prefix, version, content, 1000, key)
        interest = Interest.decode(wire)
        assert (interest.lifetime_ms, interest.nonce, interest.can_be_prefix, interest.must_be_fresh) == (
            1000,
            b"",
            False,
            False,
        )
        assert interest.name.prefix(-1) == prefix


class LargestSigner:
    """RSA with 4096 bits."""

    signature_type = SHA256_RSA
    key_locator = locator_of_name(Name.parse("/a/rather/long/name/of/a/key/KEY/12345678/issuer/v=1700000000000000"))

    def sign(self, portion: bytes) -> bytes:
        return bytes(512 + 0 * len(portion))


@pytest.mark.parametrize("version", [2, 3])
def test_the_largest_vector_fits_with_the_largest_signature(version: int) -> None:
    prefix = Name.parse(f"/a/group/with/a/rather/long/name/too/v={version}")
    content = tlv(201, bytes(room_for_vector(prefix, LargestSigner()) - 4))
    wire = Interest.decode(build(prefix, version, content, 1000, LargestSigner())).with_nonce(b"1234")
    assert MAX_PACKET_BYTES - 100 < len(wire) <= MAX_PACKET_BYTES


def test_publications_are_named_by_stream_group_and_number() -> None:
    group, stream = Name.parse("/g"), Stream(Name.parse("/node/voltage"), 1736266473)
    assert str(publication_name(group, stream, 5, 3)) == "/node/voltage/g/t=1736266473/seq=5"
    assert str(publication_name(group, stream, 300, 2)) == "/node/voltage/g/%01%2C"
